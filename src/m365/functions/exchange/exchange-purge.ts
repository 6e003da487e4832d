// What stands in the way of a second attempt, removed for good: a mail user whose account was deleted keeps its addresses and GUIDs, and
// a former mailbox blocks another one. Neither can be undone, so both look first.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { findUser, textOf, textOrNull } from '../entra/entra-directory.ts'
import { ownPassword, voidPassword } from '../entra/password.ts'
import { FunctionRefused, noUser } from '../failure.ts'
import { noReturn, whenChanged } from '../inverse.ts'
import { address, isNoGuid, isSameText, objectId, recipientId, withoutSmtp } from '../parameters.ts'
import { findNamed, type ReplicationContext, retryUntilFound } from '../replication.ts'
import { findRecipient, runOrNone, textsOf } from './exchange-recipient.ts'

const removal = z.strictObject({
  UserId: objectId,
  UserPrincipalName: address.describe('Only the account with this name is removed.'),
  AllowExisting: z
    .boolean()
    .default(false)
    .describe('Remove it even if something else than this worker created it.'),
})
type Removal = z.infer<typeof removal>

const removedMailUser = z.object({ UserId: z.string(), Changed: z.boolean() })

export const removeExchangeMailUser = defineM365Function({
  name: 'Remove-ExchangeMailUser',
  description:
    'Removes a mail user and its account for good, so that the names and GUIDs can be used again. Refuses a mailbox, and an account that this worker did not create. Unconfirmed: how Exchange names a deleted mail user.',
  parameters: removal,
  result: removedMailUser,
  permissions: {
    // Deleting and purging are two rights (Delete user; Permanently delete item).
    graph: ['User.ReadWrite.All', 'User.DeleteRestore.All'],
    exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'],
  },
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'There is none: it is removed permanently. New-ExchangeMailUser makes a new one.',
  undoneBy: ['New-ExchangeMailUser'],
  effectOf: whenChanged((_, { UserId }) =>
    noReturn(UserId, 'The mail user is removed permanently.'),
  ),
  isIrreversible: true,
  run: async (call: M365Call<Removal>): Promise<z.infer<typeof removedMailUser>> => {
    const { UserId, UserPrincipalName } = call.params
    const isDeleted = await deleteAccount(call)
    const isPurged = await purgeAccount(call, isDeleted)
    const isForgotten = await purgeInExchange(call)
    // From now on an account of that name is somebody else's.
    await voidPassword(call, UserPrincipalName)
    return { UserId, Changed: isDeleted || isPurged || isForgotten }
  },
})

/** False when there is no account. */
async function deleteAccount(call: M365Call<Removal>): Promise<boolean> {
  const { UserId, UserPrincipalName, AllowExisting } = call.params
  const user = await findUser(call, UserId, ['id', 'userPrincipalName', 'createdDateTime'])
  if (user === null) return false
  const named = textOf(user.userPrincipalName)
  if (!isSameText(named, UserPrincipalName))
    throw new FunctionRefused(
      `Account ${UserId} is named "${named}", not "${UserPrincipalName}". It was not removed: check both parameters.`,
    )
  const madeAt = textOrNull(user.createdDateTime)
  if (!AllowExisting && (await ownPassword(call, UserPrincipalName, madeAt)) === null)
    throw new FunctionRefused(
      `"${UserPrincipalName}" was not created by this worker. It was not removed: remove it by hand, or set AllowExisting.`,
    )
  const recipient = await findRecipient(call, UserId)
  if (recipient?.kind === 'Mailbox')
    throw new FunctionRefused(
      `"${UserPrincipalName}" has a mailbox, which would be lost. It was not removed: move the mailbox back first, or use Remove-EntraUser.`,
    )
  return deleteIn(call, pathOf`/users/${UserId}`)
}

/** False when it was purged before. One deleted a moment ago may not be among the deleted ones yet. */
async function purgeAccount(call: M365Call<Removal>, isJustDeleted: boolean): Promise<boolean> {
  const { UserId, UserPrincipalName } = call.params
  const purge = () => deleteIn(call, pathOf`/directory/deletedItems/${UserId}`)
  if (!isJustDeleted) return purge()
  const isPurged = await retryUntilFound(call, async () => (await purge()) || null)
  if (isPurged !== null) return true
  throw new FunctionRefused(
    `The account "${UserPrincipalName}" is deleted but does not show among the deleted users yet, so it cannot be removed for good. Retry the step in a few minutes.`,
  )
}

/** False when it was gone before. "Not found" at the second sending means that the first one did it. */
async function deleteIn({ tenant, signal }: ReplicationContext, path: string): Promise<boolean> {
  try {
    await tenant.graph.call({ method: 'DELETE', path, signal })
    return true
  } catch (error) {
    if (!isNotFound(error)) throw error
    return (error as ApiError).attempts > 1
  }
}

const KEPT = ['Guid', 'UserPrincipalName', 'EmailAddresses', 'ExternalDirectoryObjectId']

/** Exchange purges a deleted mail user only once it has seen that the directory has no account for it (Remove-MailUser). */
async function purgeInExchange(call: M365Call<Removal>): Promise<boolean> {
  const { tenant, signal, params } = call
  const seen = await retryUntilFound(call, async () => {
    const kept = await findDeletedMailUser(call)
    if (kept !== null) return isNoGuid(textOf(kept.ExternalDirectoryObjectId)) ? { kept } : null
    // While Exchange still shows the mail user itself, the deleted one is yet to come.
    return (await findRecipient(call, params.UserId)) === null ? { kept } : null
  })
  if (seen === null)
    throw new FunctionRefused(
      `The account "${params.UserPrincipalName}" is gone, but Exchange has not noticed yet and keeps its mail user. Retry the step in a few minutes.`,
    )
  if (seen.kept === null) return false
  const identity = textOf(seen.kept.Guid)
  const parameters = { Identity: identity, PermanentlyDelete: true, Confirm: false }
  const options = { signal, isIdempotent: true }
  const purge = () => runOrNone(() => tenant.exchange.run('Remove-MailUser', parameters, options))
  try {
    await purge()
  } catch (error) {
    if (!(error instanceof ApiError) || !isHeld(error)) throw error
    await excludeFromPolicies(call, identity)
    await purgeExcluded(purge, params.UserPrincipalName)
  }
  return true
}

/** A retention policy of the whole organisation keeps deleted mail users too (kevinstreet.co.uk shows the refusal). */
const isHeld = ({ message }: ApiError): boolean =>
  /litigation hold|in-?place hold|retention (?:policy|hold)/i.test(message)

/** Only this one, which has no mailbox and no content ("Set-MailUser", ExcludeFromAllOrgHolds: DistinguishedName, Guid or ExchangeGuid). */
const excludeFromPolicies = (
  { tenant, signal }: M365Call<Removal>,
  guid: string,
): Promise<unknown> =>
  tenant.exchange.run('Set-MailUser', { Identity: guid, ExcludeFromAllOrgHolds: true }, { signal })

/** How long the exclusion takes to work is unconfirmed. To repeat the purge at once is refused again and again. */
async function purgeExcluded(purge: () => Promise<unknown>, name: string): Promise<void> {
  try {
    await purge()
  } catch (error) {
    if (!(error instanceof ApiError) || !isHeld(error)) throw error
    throw new FunctionRefused(
      `The account "${name}" is gone, but a hold keeps its deleted mail user, with the addresses. It was excluded from the organisation's policies, which may take a day: retry the step tomorrow, and do not create the person again before. A litigation hold of its own must be ended by hand (Set-MailUser -ExcludeFromAllHolds).`,
    )
  }
}

async function findDeletedMailUser({
  tenant,
  signal,
  params,
}: M365Call<Removal>): Promise<JsonObject | null> {
  const { UserId, UserPrincipalName: upn } = params
  const parameters = { Identity: upn, SoftDeletedMailUser: true }
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MailUser', parameters, { signal, select: KEPT }),
  )
  const isOurs = (one: JsonObject) => {
    const owner = textOf(one.ExternalDirectoryObjectId)
    const names = [textOf(one.UserPrincipalName), ...textsOf(one.EmailAddresses).map(withoutSmtp)]
    return (
      (isNoGuid(owner) || isSameText(owner, UserId)) && names.some((name) => isSameText(name, upn))
    )
  }
  return found.find(isOurs) ?? null
}

const cleared = z.object({ Identity: z.string(), Changed: z.boolean() })

export const clearExchangePreviousMailbox = defineM365Function({
  name: 'Clear-ExchangePreviousMailbox',
  description:
    'Makes Exchange forget the previous mailbox of a user, which blocks a mailbox move. Its content is lost for good.',
  parameters: z.strictObject({ Identity: recipientId }),
  result: cleared,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'There is none: the previous mailbox is lost for good.',
  effectOf: whenChanged((_, { Identity }) =>
    noReturn(Identity, 'The previous mailbox is lost for good.'),
  ),
  isIrreversible: true,
  run: async (call): Promise<z.infer<typeof cleared>> => {
    const { Identity } = call.params
    const { tenant, signal } = call
    const user = await readAccount(call, Identity)
    if (/Mailbox$/i.test(textOf(user.RecipientTypeDetails)))
      throw new FunctionRefused(
        `"${Identity}" has a mailbox now. Remove its Exchange licence first (Remove-EntraUserLicense), if the mailbox is not needed.`,
      )
    const before = textOf(user.PreviousRecipientTypeDetails)
    if (before === '' || isSameText(before, 'None')) return { Identity, Changed: false }
    const parameters = {
      Identity: textOf(user.Guid),
      PermanentlyClearPreviousMailboxInfo: true,
      Confirm: false,
    }
    await tenant.exchange.run('Set-User', parameters, { signal })
    return { Identity, Changed: true }
  },
})

const ACCOUNT = ['Guid', 'RecipientTypeDetails', 'PreviousRecipientTypeDetails']

async function readAccount(caller: ReplicationContext, identity: string): Promise<JsonObject> {
  const { tenant, signal } = caller
  const user = await findNamed(caller, async () => {
    const found = await runOrNone(() =>
      tenant.exchange.run('Get-User', { Identity: identity }, { signal, select: ACCOUNT }),
    )
    if (found.length > 1)
      throw new FunctionRefused(`"${identity}" matches ${found.length} users. Use an id.`)
    return found[0] ?? null
  })
  return user ?? Promise.reject(noUser(identity))
}
