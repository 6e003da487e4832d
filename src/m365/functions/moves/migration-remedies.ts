// What to do about a mailbox move that a person must help along. Exchange tells the cause only in words.

const LICENCE = 'assign the licence Cross Tenant User Data Migration (Add-EntraUserLicense)'
const AGAIN = 'then start the move again: Start-MigrationUser'

const REMEDIES: readonly (readonly [cause: RegExp, remedy: string])[] = [
  [/licen[cs]e/i, `In one of the two tenants, ${LICENCE}, ${AGAIN}.`],
  [/\bon ?hold|\bhold\b/i, `Release the holds of the mailbox in the source tenant, ${AGAIN}.`],
  [
    /scope/i,
    `Add the person to the group of MailboxMovePublishedScopes in the source tenant, ${AGAIN}.`,
  ],
  [
    /smtp proxy matching|TargetDeliveryDomain/i,
    `Give the target its delivery address (Set-ExchangeMoveTarget), ${AGAIN}.`,
  ],
  [/x500|LegacyExchangeDN|ExchangeGuid/i, `Prepare the target (Set-ExchangeMoveTarget), ${AGAIN}.`],
  [
    /PreviousMailbox|already has a primary mailbox/i,
    `Clear the other mailbox of the target (Clear-ExchangePreviousMailbox), ${AGAIN}.`,
  ],
]

/** A sentence to append; empty when the cause is not known. */
export function moveRemedy(status: string, why: string | null): string {
  const known = REMEDIES.find(([cause]) => cause.test(why ?? ''))?.[1]
  if (known !== undefined) return ` ${known}`
  return status === 'NeedsApproval'
    ? ` Approve the skipped items (Set-MigrationUser with ApproveSkippedItems) or ${LICENCE}, ${AGAIN}.`
    : ''
}
