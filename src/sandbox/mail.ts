// How the directory's users come to be recipients of mail. A licence with an Exchange plan brings a mailbox, unless an
// ExchangeGuid was stamped before: then the mail user waits for its mailbox to be moved here. Stamped too late, the user has a
// new and empty mailbox, and the move is refused; that order is the rule this file is for. Without a licence, whoever has an
// address is a mail user.
import { domainOf, primaryOf, withAddress } from './addresses.ts'
import { guidOf } from './identity.ts'
import { MAILBOX_PLANS } from './skus.ts'
import { legacyExchangeDnOf, type Recipient, type User } from './state.ts'
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

/** What became of the user's mail, for the journal; null when nothing did. */
export type MailChange = 'mailbox created' | 'mail user created' | 'mailbox disconnected' | null

/** Gives the user the recipient that its licences and addresses ask for. To be called after whatever changed them. */
export function provisionMail(tenant: SandboxTenant, user: User, visibleAt: string): MailChange {
  const isLicensed = hasMailboxPlan(tenant, user)
  const { recipient } = user
  if (recipient === null) {
    if (isLicensed) return makeMailbox(tenant, user, visibleAt)
    // Whoever had a mailbox is no recipient until it is had back or cleared away.
    if (user.mail === null || user.previousMailboxGuid !== null) return null
    return makeMailUser(tenant, user, visibleAt)
  }
  if (recipient.kind === 'mailUser' && isLicensed && recipient.exchangeGuid === null)
    return makeMailbox(tenant, user, visibleAt)
  return null
}

/**
 * After the licence for it was taken away; a mailbox that never had one, being newly moved here, stays. It can be had back with a
 * new licence, and stands in the way of another mailbox.
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
      ...newRecipient(user, visibleAt),
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
      ...newRecipient(user, visibleAt),
      externalEmailAddress: tenant.hasDomain(domainOf(mail)) ? null : mail,
    },
  })
  return 'mail user created'
}

/** The primary address, if its domain is one of this tenant's. */
function primaryHere(tenant: SandboxTenant, user: User): string | null {
  const primary = primaryOf(user.proxyAddresses)
  return primary !== null && tenant.hasDomain(domainOf(primary)) ? primary : null
}

const newRecipient = (user: User, visibleAt: string): Recipient => ({
  kind: 'mailUser',
  exchangeGuid: null,
  archiveGuid: null,
  externalEmailAddress: null,
  legacyExchangeDn: legacyExchangeDnOf(user.id),
  isHidden: false,
  forwardingSmtpAddress: null,
  deliverToMailboxAndForward: false,
  visibleAt,
})
