// Turns directory users into mail recipients. A licence with an Exchange plan creates a mailbox, unless an ExchangeGuid was
// stamped before: then the mail user waits for its mailbox move. Stamped too late, the user has a new empty mailbox and the
// mailbox move is refused. Without a licence only guests are mail users: `mail` alone makes nobody a recipient.
import { domainOf, primaryOf, withAddress } from './addresses.ts'
import { guidOf } from './identity.ts'
import { MAILBOX_PLANS } from './skus.ts'
import { newRecipient, type User } from './state.ts'
import type { SandboxTenant } from './tenant.ts'

export function hasPlan(tenant: SandboxTenant, user: User, plans: readonly string[]): boolean {
  return user.assignedLicenses.some(({ skuId, disabledPlans }) =>
    tenant.state.skus
      .filter((sku) => sku.skuId === skuId)
      .flatMap((sku) => sku.servicePlans)
      .some(
        ({ servicePlanId, servicePlanName }) =>
          plans.includes(servicePlanName) && !disabledPlans.includes(servicePlanId),
      ),
  )
}

export const hasMailboxPlan = (tenant: SandboxTenant, user: User): boolean =>
  hasPlan(tenant, user, MAILBOX_PLANS)

/** The change of the recipient, for the journal; null for none. */
export type MailChange = 'mailbox created' | 'mail user created' | 'mailbox disconnected' | null

/** Creates the recipient that licences and addresses call for. Call it after changing either. */
export function provisionMail(tenant: SandboxTenant, user: User, visibleAt: string): MailChange {
  const isLicensed = hasMailboxPlan(tenant, user)
  const { recipient } = user
  if (recipient === null) {
    if (isLicensed) return makeMailbox(tenant, user, visibleAt)
    // A user with a former mailbox is no recipient until it is restored or cleared.
    if (user.mail === null || user.previousMailboxGuid !== null || !isGuest(user)) return null
    return makeMailUser(tenant, user, visibleAt)
  }
  if (recipient.kind === 'mailUser' && isLicensed && recipient.exchangeGuid === null)
    return makeMailbox(tenant, user, visibleAt)
  return null
}

const isGuest = ({ userType, creationType }: User): boolean =>
  userType === 'Guest' || creationType === 'Invitation'

/**
 * Disconnects the mailbox after its licence is removed; one that just moved here and never had a licence stays. A new licence
 * restores it; until then it blocks another mailbox.
 */
export function disconnectMailbox(tenant: SandboxTenant, user: User): MailChange {
  if (user.recipient?.kind !== 'mailbox') return null
  tenant.change(user, { recipient: null, previousMailboxGuid: user.recipient.exchangeGuid })
  return 'mailbox disconnected'
}

function makeMailbox(tenant: SandboxTenant, user: User, visibleAt: string): MailChange {
  const { recipient } = user
  const address = primaryHere(tenant, user) ?? user.userPrincipalName
  tenant.change(user, {
    mail: address,
    proxyAddresses: withAddress(user.proxyAddresses, `SMTP:${address}`),
    recipient: {
      ...newRecipient(user.id, visibleAt),
      ...recipient,
      kind: 'mailbox',
      exchangeGuid: user.previousMailboxGuid ?? guidOf(tenant.id, 'mailbox', user.id),
      externalEmailAddress: null,
    },
  })
  return 'mailbox created'
}

function makeMailUser(tenant: SandboxTenant, user: User, visibleAt: string): MailChange {
  const mail = user.mail!
  tenant.change(user, {
    proxyAddresses:
      primaryOf(user.proxyAddresses) === null
        ? withAddress(user.proxyAddresses, `SMTP:${mail}`)
        : user.proxyAddresses,
    recipient: {
      ...newRecipient(user.id, visibleAt),
      externalEmailAddress: tenant.hasDomain(domainOf(mail)) ? null : mail,
    },
  })
  return 'mail user created'
}

/** The primary address if its domain belongs to this tenant. */
function primaryHere(tenant: SandboxTenant, user: User): string | null {
  const primary = primaryOf(user.proxyAddresses)
  return primary !== null && tenant.hasDomain(domainOf(primary)) ? primary : null
}
