// Deleted mail users. Exchange keeps them after the directory has deleted the account, and even after it has purged it, until
// Remove-MailUser -PermanentlyDelete or 30 days later. Meanwhile their addresses and GUIDs cannot be used again.
import { bareOf, isSameAddress } from './addresses.ts'
import type { SoftDeletedMailUser, User } from './state.ts'
import { recipientGuidOf, type SandboxTenant } from './tenant.ts'

/** Deletes the account; it can be restored for 30 days. */
export function softDelete(tenant: SandboxTenant, user: User, at: string): void {
  const { recipient } = user
  if (recipient?.kind === 'mailUser')
    tenant.state.softDeletedMailUsers.push({
      guid: recipientGuidOf(user),
      userId: user.id,
      userPrincipalName: user.userPrincipalName,
      mailNickname: user.mailNickname,
      proxyAddresses: [...user.proxyAddresses],
      externalEmailAddress: recipient.externalEmailAddress,
      exchangeGuid: recipient.exchangeGuid,
      archiveGuid: recipient.archiveGuid,
      isExcludedFromHolds: false,
      deletedAt: at,
    })
  tenant.change(user, { deletedDateTime: at })
}

export function undelete(tenant: SandboxTenant, user: User): void {
  tenant.change(user, { deletedDateTime: null })
  forget(tenant, ({ userId }) => userId === user.id)
}

/** The directory forgets the account; Exchange keeps the mail user, now without one. */
export function purgeAccount(tenant: SandboxTenant, user: User): void {
  tenant.purge(user)
  for (const one of tenant.state.softDeletedMailUsers) if (one.userId === user.id) one.userId = null
}

export function forget(
  tenant: SandboxTenant,
  isForgotten: (one: SoftDeletedMailUser) => boolean,
): void {
  const { state } = tenant
  if (state.softDeletedMailUsers.length === 0) return
  state.softDeletedMailUsers = state.softDeletedMailUsers.filter((one) => !isForgotten(one))
}

const namesOf = (one: SoftDeletedMailUser): (string | null)[] => [
  one.guid,
  one.userId,
  one.userPrincipalName,
  one.mailNickname,
  one.externalEmailAddress,
  ...one.proxyAddresses.map(bareOf),
]

export const softDeletedNamed = (tenant: SandboxTenant, name: string): SoftDeletedMailUser[] =>
  tenant.state.softDeletedMailUsers.filter((one) =>
    namesOf(one).some((known) => known !== null && isSameAddress(known, name)),
  )
