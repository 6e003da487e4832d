// What Exchange does in minutes: it stops and removes mailbox moves and their batches, and shows them as Stopping and Removing meanwhile
// (*Get-MigrationUser*, *Get-MigrationBatch*, Status). A function says that it is not complete instead of calling it done; a polled step looks
// again, any other fails with the reason and is retried.
import { z } from 'zod'
import type { JsonObject } from '../../base/text/json.ts'
import type { M365Call } from './define.ts'
import { onceIfPolled, retryUntilFound } from './replication.ts'

export const takesMinutes = {
  Changed: z.boolean().describe('With a poll, of the last one alone.'),
  complete: z
    .boolean()
    .describe(
      'False while Exchange still needs time: give the step a poll, or retries for minutes.',
    ),
  Reason: z.string().nullable().describe('What it waits for; null when it is complete.'),
}

export const COMPLETE = { complete: true, Reason: null }

/** `what` names the thing and its status. */
export const notYet = (what: string) => ({
  complete: false,
  Reason: `${what}; Exchange needs minutes for that. Give the step a poll, or retry it in a few minutes.`,
})

/** The thing once it is as wanted, or as it is at last; null when it is gone. A polled step looks once. */
export async function waitFor<Thing>(
  call: M365Call<unknown>,
  look: () => Promise<Thing | null>,
  isWanted: (thing: Thing) => boolean,
): Promise<Thing | null> {
  let last: Thing | null = null
  await retryUntilFound(onceIfPolled(call), async () => {
    last = await look()
    return last === null || isWanted(last) ? true : null
  })
  return last
}

interface Removal {
  look(): Promise<JsonObject | null>
  /** Stopped, completed or failed: it can be removed. */
  isAtRest(thing: JsonObject): boolean
  isStopping(thing: JsonObject): boolean
  isRemoving(thing: JsonObject): boolean
  stop(): Promise<unknown>
  remove(): Promise<unknown>
}

/** Stops what is not at rest, then removes it. Continues where an earlier run or poll left off; `left` is null once it is gone. */
export async function removeInTime(
  call: M365Call<unknown>,
  first: JsonObject,
  { look, isAtRest, isStopping, isRemoving, stop, remove }: Removal,
): Promise<{ readonly Changed: boolean; readonly left: JsonObject | null }> {
  const isBusy = (thing: JsonObject) => !isAtRest(thing) && !isRemoving(thing)
  const mustStop = isBusy(first) && !isStopping(first)
  if (mustStop) await stop()
  const stopped = isBusy(first) ? await waitFor(call, look, (one) => !isBusy(one)) : first
  if (stopped !== null && isBusy(stopped)) return { Changed: mustStop, left: stopped }
  const canRemove = stopped !== null && isAtRest(stopped)
  if (canRemove) await remove()
  const left = stopped && (await waitFor(call, look, () => false))
  return { Changed: mustStop || canRemove, left }
}
