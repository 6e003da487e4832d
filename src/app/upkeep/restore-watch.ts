// Watches whether the database was restored from a backup: at the start of a process, and every second while it runs.

import type { Log } from '../../base/log/log.ts'
import type { RealClock } from '../../base/run/clock.ts'
import { everyLoop, type Loop } from '../../base/run/service.ts'
import type { Role } from '../../base/settings/process.ts'
import {
  beginEpoch,
  makeRestoreWatch,
  noticeRestore,
  type Restored,
} from '../../engine/orders/restores.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

/** What arrives before the next look changes nothing: no batch can be changed. */
const INTERVAL_MS = 1_000

/** A worker alone never touches the state. */
export const watchesRestores = (roles: readonly Role[]): boolean =>
  roles.some((role) => role !== 'worker')

/** `isRestored`: a person says so, for restores that PostgreSQL does not show. */
export async function restoreAtStart(
  engine: Engine,
  isRestored: boolean,
): Promise<Restored | null> {
  const noticed = await noticeRestore(engine)
  if (noticed || !isRestored) return noticed
  return beginEpoch(engine, { actor: 'system', because: 'started with --restored' })
}

export function tellRestored(log: Log, restored: Restored | null): void {
  if (restored === null) return
  const { epoch, backupAt, hold, jobsOut } = restored
  log.warn({ epoch, backupAt, jobsOut }, `Everything is on hold: ${hold.reason}`)
}

/** For a server: an embedded database is never replaced under its process. */
export function restoreWatch({
  engine,
  clock,
  log,
}: {
  readonly engine: Engine
  readonly clock: RealClock
  readonly log: Log
}): Loop {
  const look = makeRestoreWatch(engine)
  return everyLoop({
    name: 'restore watch',
    clock,
    intervalMs: INTERVAL_MS,
    runOnce: async () => tellRestored(log, await look()),
    onError: (err, inARow) => {
      if (inARow === 1) log.warn({ err }, 'Cannot see whether the database was restored')
    },
  })
}
