// Says in the log that the clock of this machine, or of the database, is wrong, and when it is right again: from the first measurement on.
import type { Log } from '../../base/log/log.ts'
import type { Role } from '../../base/settings/process.ts'
import type { ClockReport } from '../../db/connection/time.ts'
import { keepWorkersSeen } from '../../db/state/workers.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

export function clockTeller(log: Log): (report: ClockReport) => void {
  let wasWithinLimit = true
  return ({ machineSkewMs, aheadMs, withinLimit }) => {
    if (withinLimit === wasWithinLimit) return
    wasWithinLimit = withinLimit
    const facts = { machineSkewMs: Math.round(machineSkewMs), aheadMs: Math.round(aheadMs) }
    if (withinLimit) log.info(facts, 'The clocks of this machine and of the database agree again')
    else log.warn(facts, wrongClock({ machineSkewMs, aheadMs }))
  }
}

/** Leases and signs of life outlast a jump of the database's clock, so that nobody's work is taken for lost. */
export async function prepareForJump(
  { db, bus, clock }: Pick<Engine, 'db' | 'bus' | 'clock'>,
  roles: readonly Role[],
  jumpMs: number,
): Promise<void> {
  await bus.storedJobs?.keepLeases(jumpMs)
  if (roles.includes('orchestrator')) await keepWorkersSeen(db, jumpMs, clock.now())
}

function wrongClock({ machineSkewMs, aheadMs }: Pick<ClockReport, 'machineSkewMs' | 'aheadMs'>) {
  if (aheadMs >= Math.abs(machineSkewMs))
    return `The database's clock was set back by ${seconds(aheadMs)}: time stands still until it catches up. After a large correction restart the processes`
  const [by, where] = [seconds(Math.abs(machineSkewMs)), machineSkewMs > 0 ? 'ahead of' : 'behind']
  return `The clock of this machine is ${by} ${where} the database's. Work continues on the database's time; correct the clock that is wrong`
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
