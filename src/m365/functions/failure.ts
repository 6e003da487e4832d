// The failures that functions raise themselves: something is missing, or the tenant is in the wrong state. Each says what to do
// next. A refusal by the tenant is an ApiError and passes through unchanged.
import { z } from 'zod'
import { chunksOf } from '../../base/run/chunks.ts'
import { isNotFound } from '../client/not-found.ts'

export class NotFound extends Error {
  override readonly name = 'NotFound'
}

/** The tenant is in a state that the function must not change. Nothing was done. */
export class FunctionRefused extends Error {
  override readonly name = 'Refused'
}

/** Why a test found nothing to look at. It is incomplete, not failed: a polled step waits until the thing appears. */
export const notThereReason = z
  .string()
  .nullable()
  .describe('What is not there yet; null when it was found.')

export const noUser = (userId: string): NotFound =>
  new NotFound(`The tenant has no user "${userId}". Check the id, and that the account exists.`)

export const noGroup = (groupId: string): NotFound =>
  new NotFound(`The tenant has no group "${groupId}". Check the id.`)

export const noRecipient = (identity: string): NotFound =>
  new NotFound(
    `Exchange has no recipient "${identity}". Check the address; a new account takes minutes to appear.`,
  )

/** Runs `act` and replaces "not found" by the given error. */
export async function orNotFound<Done>(act: () => Promise<Done>, notFound: Error): Promise<Done> {
  try {
    return await act()
  } catch (error) {
    throw isNotFound(error) ? notFound : error
  }
}

/** The answer of one job among several: what `act` returns, or the error that fails this job alone. */
export async function answerOf<Done>(act: () => Promise<Done>): Promise<Done | Error> {
  try {
    return await act()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

const ANSWERED_AT_ONCE = 8

/** The answers of those of a joint call that must be served one by one. */
export async function answerEach<Call, Done>(
  calls: readonly Call[],
  act: (call: Call) => Promise<Done>,
): Promise<ReadonlyMap<Call, Done | Error>> {
  const answers = new Map<Call, Done | Error>()
  for (const chunk of chunksOf(calls, ANSWERED_AT_ONCE))
    await Promise.all(chunk.map(async (call) => answers.set(call, await answerOf(() => act(call)))))
  return answers
}
