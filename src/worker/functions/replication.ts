// What was written a moment ago is not yet everywhere: a user just created can be unknown to the next server that is asked.
// These functions look again a few times, a little later each time, and then say what they see. They wait on the job's clock and
// end with its signal.
import type { FunctionCall } from '../catalogue.ts'
import { ApiError } from '../m365/api.ts'

/** What of a call is needed to ask the tenant something. */
export type ReplicationContext = Pick<FunctionCall<unknown>, 'tenant' | 'signal' | 'clock'>

/**
 * Together 14 s. Entra is usually done after a few; longer would make every misspelt name of a wave hold a slot, and whatever
 * takes longer is what a step's retry is for.
 */
export const LOOK_AGAIN_AFTER_SEC: readonly number[] = [2, 4, 8]

/** What it looks for, or null when it does not show up. */
export async function lookAgain<Found>(
  { clock, signal }: Pick<ReplicationContext, 'clock' | 'signal'>,
  look: () => Promise<Found | null>,
): Promise<Found | null> {
  for (const waitSec of LOOK_AGAIN_AFTER_SEC) {
    const found = await look()
    if (found !== null) return found
    await clock.wait(waitSec * 1_000, signal)
    signal.throwIfAborted()
  }
  return look()
}

/** Does it again while it fails for coming too early; the last failure is thrown. */
export async function oncePossible<Done>(
  caller: Pick<ReplicationContext, 'clock' | 'signal'>,
  act: () => Promise<Done>,
  isTooEarly: (error: ApiError) => boolean,
): Promise<Done> {
  let last: ApiError | undefined
  const done = await lookAgain(caller, async () => {
    try {
      return { done: await act() }
    } catch (error) {
      if (!(error instanceof ApiError && isTooEarly(error))) throw error
      last = error
      return null
    }
  })
  if (done === null) throw last!
  return done.done
}

/**
 * Does it, and again when nobody knows whether it was done. False when it had been done before: `isAlready` tells that by the
 * failure, and it was not an earlier try of ours whose answer was lost.
 */
export async function changeOnce(
  { clock, signal }: Pick<ReplicationContext, 'clock' | 'signal'>,
  change: () => Promise<unknown>,
  isAlready: (error: ApiError) => boolean,
): Promise<boolean> {
  let wasLost = false
  for (let tries = 0; ; tries++) {
    try {
      await change()
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (isAlready(error)) return wasLost
      const waitSec = LOOK_AGAIN_AFTER_SEC[tries]
      if (!error.isOutcomeUnknown || waitSec === undefined) throw error
      wasLost = true
      await clock.wait(waitSec * 1_000, signal)
      signal.throwIfAborted()
    }
  }
}
