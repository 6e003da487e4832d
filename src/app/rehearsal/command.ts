// `matoolkit runbook rehearse`: reads runbook, people and tenants, rehearses, and shows the report. Needs no server and touches none.
// `batch rehearse` is in batch-command.ts: the API rehearses what runs.

import { jsonSeed, problemsOf, SeedFault, stateOf } from '../../../sandbox/seed.ts'
import type { Seed } from '../../../sandbox/state.ts'
import { EXIT, MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { loadConfig } from '../../base/settings/config.ts'
import { inHome } from '../../cli/connection/home.ts'
import { readBytes } from '../../cli/input/files.ts'
import { readMemberRows } from '../../cli/input/member-rows.ts'
import { readRunbookFile } from '../../cli/input/runbook-file.ts'
import { readTime } from '../../cli/input/typed-time.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { openShow } from '../../cli/terminal/output.ts'
import type { OutputFormat } from '../../cli/terminal/show.ts'
import { openDisposable } from '../../db/schema/disposable-pglite.ts'
import { readNotificationsFile } from '../roles/notifications-file.ts'
import { readWindowsFile } from '../roles/windows-file.ts'
import { FAULT_NAMES, type FaultScript, faultScriptSchema, namedFaults } from './faults.ts'
import { rehearse } from './rehearse.ts'
import { showRehearsal } from './report-text.ts'

export interface RehearseFlags {
  readonly members?: string
  readonly tenant?: string
  readonly start?: string
  readonly faults?: string
  readonly windowsFile?: string
  readonly seed: number
  readonly slots: number
  readonly notifications?: string
  readonly output?: OutputFormat
}

export async function runRehearse(file: string, flags: RehearseFlags, io: Io): Promise<void> {
  const show = openShow(flags.output, io)
  const { yaml, runbook, warnings: lint } = await readRunbookFile(file, io)
  const members = await readMemberRows(runbook, file, flags.members)
  const startAt = flags.start === undefined ? null : new Date(readTime({ io }, flags.start))
  const report = await rehearse({
    yaml,
    runbook,
    lint,
    members,
    startAt,
    tenantSeed: flags.tenant === undefined ? null : await readTenants(flags.tenant),
    faults: flags.faults === undefined ? null : await readFaults(flags.faults),
    notifications: readNotificationsFile(flags.notifications ?? null),
    now: io.now(),
    seed: flags.seed,
    slots: flags.slots,
    windows: readWindowsFile(flags.windowsFile ?? loadConfig().windowsFile),
    openDatabase: () => openDisposable(inHome('templates')),
  })
  await showRehearsal(report, show, io)
  io.exitCode = report.verdict === 'not ready' ? EXIT.failed : EXIT.ok
}

/** Names, or a file. */
async function readFaults(given: string): Promise<FaultScript> {
  const named = namedFaults(given)
  if (named) return named
  const refuse = (reason: string) =>
    new MatoolkitError('REHEARSAL_FAULTS_INVALID', { reason, known: FAULT_NAMES })
  if (!given.endsWith('.json')) throw refuse(`"${given}" is not a list of known faults`)
  let script: unknown
  try {
    script = JSON.parse((await readBytes(given)).toString('utf8'))
  } catch (error) {
    if (error instanceof MatoolkitError) throw error
    throw refuse(`"${given}" is not JSON`)
  }
  const read = faultScriptSchema.safeParse(script)
  if (read.success) return read.data
  throw refuse(problemsOf(read.error))
}

async function readTenants(file: string): Promise<Seed> {
  try {
    const seed = jsonSeed((await readBytes(file)).toString('utf8'))
    stateOf(seed)
    return seed
  } catch (error) {
    if (!(error instanceof SeedFault)) throw error
    throw new MatoolkitError('REHEARSAL_TENANT_INVALID', { file, reason: messageOf(error) })
  }
}
