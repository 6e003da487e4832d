// Creates an account once, and never takes over somebody else's: an account is ours only if our vault has its password and it was made
// while we were creating it. A refused creation makes the password void, so an account that an administrator makes by hand afterwards
// stays theirs. A tenant that answers "busy" may have created it: it is looked for before the creation is sent again.

import { ApiError, isPlainRefusal } from '../../worker/http/api.ts'
import {
  isMadeWithin,
  noteCreation,
  ownPassword,
  passwordFor,
  voidPassword,
} from './entra/password.ts'
import { type ReplicationContext, retryUntilFound } from './replication.ts'

export interface Creation<Found> {
  readonly upn: string
  readonly password: string | null
  find(): Promise<Found | null>
  create(password: string): Promise<Found>
  /** Null when the tenant does not show it. */
  madeAt(found: Found): string | null
  /** The refusal says that somebody has the name already. */
  isTaken(error: ApiError): boolean
}

export interface CreatedOnce<Found> {
  readonly found: Found
  /** Null: the account is not ours. */
  readonly passwordSecret: string | null
  readonly isCreated: boolean
}

/** How often a creation is sent to a tenant that says it is busy. */
const SENDINGS_MAX = 3

export async function createOnce<Found>(
  call: ReplicationContext,
  creation: Creation<Found>,
): Promise<CreatedOnce<Found>> {
  const { upn } = creation
  const existing = await creation.find()
  if (existing !== null)
    return {
      found: existing,
      passwordSecret: await ownPassword(call, upn, creation.madeAt(existing)),
      isCreated: false,
    }
  const password = await passwordFor(call, upn, creation.password)
  const { value, reference, isNew } = password
  const span = await noteCreation(call, upn, password)
  for (let sending = 1; ; sending++) {
    try {
      const found = await creation.create(value)
      return { found, passwordSecret: reference, isCreated: true }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const isTaken = creation.isTaken(error)
      const isSentOnce = error.attempts === 1 && sending === 1
      const isFirst = isNew && isSentOnce
      // Made by this request or an earlier one of ours. Refused at the first sending, with no earlier run: by somebody else.
      const mayBeOurs = error.isOutcomeUnknown || (isTaken && !isFirst)
      if (sending === 1 && !mayBeOurs && isPlainRefusal(error)) await voidPassword(call, upn)
      const found = mayBeOurs || isTaken ? await retryUntilFound(call, () => creation.find()) : null
      if (found !== null) {
        // Taken at the first sending: it was there before.
        const made = isTaken && isSentOnce ? span.earlier : span.now
        const isOurs = mayBeOurs && isMadeWithin(creation.madeAt(found), made)
        return { found, passwordSecret: isOurs ? reference : null, isCreated: isOurs }
      }
      const isBusy = error.isOutcomeUnknown && error.isThrottled
      if (!isBusy || sending >= SENDINGS_MAX) throw error
    }
  }
}
