// The clock that a function gets: its waits end with the job.
import type { Clock } from '../../base/run/clock.ts'

/**
 * A clock whose `wait` throws once the job is aborted. `Clock.wait` just returns: a custom function that polled with it took the
 * abort for the end of its wait and reported success.
 */
export const abortingClock = (clock: Clock, abort: AbortSignal): Clock => ({
  kind: clock.kind,
  now: () => clock.now(),
  wait: async (ms, signal) => {
    await clock.wait(ms, signal ? AbortSignal.any([signal, abort]) : abort)
    abort.throwIfAborted()
    signal?.throwIfAborted()
  },
})
