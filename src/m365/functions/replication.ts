// Entra and Exchange replicate with a delay: the next server may not know a user created a moment ago. These helpers try a few
// times with growing pauses, on the job's clock and until its signal aborts.

import { ApiError } from '../../worker/http/api.ts'
import type { M365Call } from './define.ts'

/** The part of a function call that a request to the tenant needs. */
export interface ReplicationContext extends Pick<M365Call<unknown>, 'tenant' | Waiting> {
  /** Takes the first look for the answer. */
  readonly looksOnce?: boolean
}

type Waiting = 'signal' | 'clock' | 'isRecent'

/** For tests: the next poll looks again, so a missing person occupies no slot of the worker meanwhile. */
export const onceIfPolled = <Call extends M365Call<unknown>>(
  call: Call,
): Call & ReplicationContext => ({ ...call, looksOnce: call.isPolled ?? false })

/**
 * 14 s in total. Entra usually needs a few seconds; longer waits would let every misspelt name of a wave occupy a slot. For
 * slower cases a step has retries.
 */
const RETRY_DELAYS_SEC: readonly number[] = [2, 4, 8]

/** Returns what `look` finds, or null if nothing appears in time. */
export async function retryUntilFound<Found>(
  { clock, signal, looksOnce = false }: Pick<ReplicationContext, Waiting | 'looksOnce'>,
  look: () => Promise<Found | null>,
): Promise<Found | null> {
  for (const waitSec of looksOnce ? [] : RETRY_DELAYS_SEC) {
    const found = await look()
    if (found !== null) return found
    await clock.wait(waitSec * 1_000, signal)
    signal.throwIfAborted()
  }
  return look()
}

/** What a parameter names. Only what may be too new to be visible is waited for: a misspelt name fails at once. */
export const findNamed = <Found>(
  caller: Pick<ReplicationContext, Waiting | 'looksOnce'>,
  look: () => Promise<Found | null>,
): Promise<Found | null> => (caller.isRecent === false ? look() : retryUntilFound(caller, look))

/** Retries `act` on what a parameter names while it fails for coming too early; throws the last failure. */
export const retryNamed = <Done>(
  caller: Pick<ReplicationContext, Waiting | 'looksOnce'>,
  act: () => Promise<Done>,
  isTooEarly: (error: ApiError) => boolean,
): Promise<Done> =>
  caller.isRecent === false ? act() : retryWhileTooEarly(caller, act, isTooEarly)

/** Retries `act` while it fails for coming too early; throws the last failure. */
export async function retryWhileTooEarly<Done>(
  caller: Pick<ReplicationContext, Waiting | 'looksOnce'>,
  act: () => Promise<Done>,
  isTooEarly: (error: ApiError) => boolean,
): Promise<Done> {
  let last: ApiError | undefined
  const done = await retryUntilFound(caller, async () => {
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
 * Makes a change and repeats it while its outcome is unknown. Returns false when there was nothing to change: `isAlready`
 * recognises that failure, and no earlier attempt of ours lost its response.
 */
export async function changeOnce(
  { clock, signal }: Pick<ReplicationContext, Waiting>,
  change: () => Promise<unknown>,
  isAlready: (error: ApiError) => boolean,
): Promise<boolean> {
  let wasResponseLost = false
  for (let attempt = 0; ; attempt++) {
    try {
      await change()
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (isAlready(error)) return wasResponseLost
      const waitSec = RETRY_DELAYS_SEC[attempt]
      if (!error.isOutcomeUnknown || waitSec === undefined) throw error
      wasResponseLost = true
      await clock.wait(waitSec * 1_000, signal)
      signal.throwIfAborted()
    }
  }
}
