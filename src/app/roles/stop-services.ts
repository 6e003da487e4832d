// Stops services in the reverse order of starting, within the shutdown grace, and then closes what they used, in any case.

import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Service } from '../../base/run/service.ts'

/** Part of the grace reserved for closing the database. */
const CLOSING_SEC = 2

export interface StopOptions {
  readonly clock: Clock
  readonly log: Log
  readonly graceSec: number
  close(): Promise<void>
}

/** Rejects if one did not stop in time. */
export async function stopServices(
  started: readonly Service[],
  { clock, log, graceSec, close }: StopOptions,
): Promise<void> {
  const graceOver = new AbortController()
  const done = new AbortController()
  void clock.wait((graceSec - CLOSING_SEC) * 1_000, done.signal).then(() => graceOver.abort())
  const failures: unknown[] = []
  for (const service of started.toReversed()) {
    await service.stop(graceOver.signal).catch((err: unknown) => {
      log.error({ err, service: service.name }, 'Service did not stop in time')
      failures.push(err)
    })
  }
  done.abort()
  await close()
  log.info('Stopped')
  if (failures.length > 0) throw failures[0]
}
