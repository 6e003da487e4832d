// The demonstration's API and dashboard, on the loopback and a free port. Its token is in a folder of its own, which goes with it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApi } from '../../api/api.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { readPrivateFile } from '../../base/files/private-files.ts'
import { dashboardLink } from '../../base/keys/local-token.ts'
import { createLog } from '../../base/log/log.ts'
import { type Clock, realClock } from '../../base/run/clock.ts'
import { readConfig } from '../../base/settings/config.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { FUNCTION_PACKAGE } from '../roles/function-package.ts'

export interface DemoDashboard {
  /** Opened on this machine, it signs in. */
  readonly link: string
  close(): Promise<void>
}

export async function openDemoDashboard(
  engine: Engine,
  bus: Bus,
  clock: Clock,
  onError: (error: unknown) => void,
): Promise<DemoDashboard> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-demo-'))
  const apiTokenFile = join(folder, 'api-token')
  const read = readConfig({ MATOOLKIT_API_PORT: '0', MATOOLKIT_API_TOKEN_FILE: apiTokenFile })
  if ('problems' in read) throw new MatoolkitError('INTERNAL', { reason: read.problems.join(' ') })
  const destination = { write: (line: string) => onError(new Error(line.trim())) }
  const api = openApi({
    meaningOf: FUNCTION_PACKAGE.meaningOf,
    config: read.config,
    engine,
    bus,
    // It serves viewers: its times are the migration's, its pauses and limits those of the machine.
    clock: { ...clock, wait: realClock().wait },
    log: createLog({ level: 'error', format: 'json', clock, destination }),
  })
  api.start()
  const url = await api.listening
  return {
    link: dashboardLink(url, readPrivateFile(apiTokenFile)?.trim() ?? ''),
    close: async () => {
      await api.stop(AbortSignal.timeout(STOP_MS)).catch(() => {})
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Ctrl-C must end the demonstration soon, also while somebody watches. */
const STOP_MS = 1_000
