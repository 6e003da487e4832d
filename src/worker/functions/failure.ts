// How functions fail of their own accord: the thing is not there, or the tenant is not as it must be. Both say what to do next.
// Everything else is the tenant's own refusal, an ApiError, and passes through as it is.
import { ApiError } from '../m365/api.ts'

export class NotFound extends Error {
  override readonly name = 'NotFound'
}

/** The tenant is not as the function needs it, and changing that is not the function's business. Nothing was done. */
export class FunctionRefused extends Error {
  override readonly name = 'Refused'
}

export const isNotFound = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 404

export const noUser = (userId: string): NotFound =>
  new NotFound(`The tenant has no user "${userId}". Check the id, and that the account was made.`)

export const noGroup = (groupId: string): NotFound =>
  new NotFound(`The tenant has no group "${groupId}". Check the id.`)

export const noRecipient = (identity: string): NotFound =>
  new NotFound(
    `Exchange has no recipient "${identity}". Check the address; a new account takes minutes to appear there.`,
  )

/** Runs it; what is not found is said in these words. */
export async function orNotFound<Done>(act: () => Promise<Done>, sentence: Error): Promise<Done> {
  try {
    return await act()
  } catch (error) {
    throw isNotFound(error) ? sentence : error
  }
}
