// Mailbox moves between tenants: preconditions, progress with the clock, and what completion does on both sides. The checks are
// those Microsoft documents for cross-tenant moves; each refusal names the exception a migration user would show.
import { bareOf, domainOf, isSameAddress, typeOf } from './addresses.ts'
import { chanceOf } from './identity.ts'
import { hasPlan } from './mail.ts'
import { MAILBOX_MOVE_PLAN } from './skus.ts'
import type { MailboxMove, MigrationBatch, User } from './state.ts'
import type { SandboxTenant } from './tenant.ts'
import type { World } from './world.ts'

/** Why the mailbox move is impossible, as the migration user's error; null when it is possible. */
function mailboxMoveProblem(
  world: World,
  target: SandboxTenant,
  batch: MigrationBatch,
  mailboxMove: MailboxMove,
): string | null {
  const user = mailboxMove.userId === null ? undefined : target.user(mailboxMove.userId)
  if (!user?.recipient)
    return `ManagementObjectNotFoundException: The recipient "${mailboxMove.address}" couldn't be found.`
  const { recipient } = user
  if (recipient.kind === 'mailbox')
    return `UserAlreadyHasMailboxPermanentException: The target user "${mailboxMove.address}" already has a primary mailbox.`
  if (recipient.exchangeGuid === null)
    return `CannotFindSourceMailboxPermanentException: The target mail user "${mailboxMove.address}" has no ExchangeGuid.`
  if (user.previousMailboxGuid !== null && user.previousMailboxGuid !== recipient.exchangeGuid)
    return `TargetUserAlreadyHasPreviousMailboxPermanentException: The target user "${mailboxMove.address}" had another mailbox before; clear it with Set-User -PermanentlyClearPreviousMailboxInfo.`
  const source = sourceOf(world, target, batch)
  const from = source?.users().find((one) => isMailboxOf(one, recipient.exchangeGuid))
  if (!source || !from)
    return `CannotFindSourceMailboxPermanentException: No mailbox with the ExchangeGuid ${recipient.exchangeGuid} is in the source tenant.`
  return (
    holdProblem(from) ??
    addressProblem(target, user, from) ??
    deliveryProblem(user, batch) ??
    licenceProblem(target, user, source, from)
  )
}

const isMailboxOf = (user: User, exchangeGuid: string | null): boolean =>
  user.recipient?.kind === 'mailbox' && user.recipient.exchangeGuid === exchangeGuid

const isOnHold = ({ recipient }: User): boolean =>
  recipient!.isOnLitigationHold || recipient!.inPlaceHolds.length > 0

const holdProblem = (from: User): string | null =>
  isOnHold(from)
    ? `SourceMailboxOnHoldPermanentException: The source mailbox "${from.userPrincipalName}" is on hold and can't be moved.`
    : null

function addressProblem(target: SandboxTenant, user: User, from: User): string | null {
  const recipient = user.recipient!
  const foreign = user.proxyAddresses.find(
    (proxy) => typeOf(proxy) === 'smtp' && !target.hasDomain(domainOf(bareOf(proxy))),
  )
  if (foreign !== undefined)
    return `NotAcceptedDomainException: You can't use the domain because it's not an accepted domain for your organization: ${foreign}.`
  const needed = [
    `x500:${from.recipient!.legacyExchangeDn}`,
    ...from.proxyAddresses.filter((proxy) => typeOf(proxy) === 'x500'),
  ]
  const missing = needed.find((one) => !user.proxyAddresses.some((has) => isSameAddress(has, one)))
  if (missing !== undefined)
    return `TargetUserMissingX500PermanentException: The target user lacks the address "${missing}" of the source mailbox.`
  const external = recipient.externalEmailAddress
  const isSourceAddress =
    external !== null &&
    from.proxyAddresses.some((proxy) => isSameAddress(proxy, `smtp:${external}`))
  return isSourceAddress
    ? null
    : `ExternalEmailAddressMismatchPermanentException: The ExternalEmailAddress "${external ?? ''}" of the target user is not an address of the source mailbox.`
}

/** The address that the source's mail user will point to. */
const deliveryAddressOf = (user: User, batch: MigrationBatch): string | undefined =>
  user.proxyAddresses
    .filter((proxy) => typeOf(proxy) === 'smtp')
    .map(bareOf)
    .find((address) => domainOf(address) === batch.targetDeliveryDomain)

const deliveryProblem = (user: User, batch: MigrationBatch): string | null =>
  deliveryAddressOf(user, batch) === undefined
    ? `TargetDeliveryDomainMismatchPermanentException: The target mailbox doesn't have an smtp proxy matching '${batch.targetDeliveryDomain}'.`
    : null

function licenceProblem(
  target: SandboxTenant,
  user: User,
  source: SandboxTenant,
  from: User,
): string | null {
  const isLicensed =
    hasPlan(target, user, [MAILBOX_MOVE_PLAN]) || hasPlan(source, from, [MAILBOX_MOVE_PLAN])
  return isLicensed
    ? null
    : 'CrossTenantMigrationWithoutLicensePermanentException: No license was found for the source recipient or the target recipient.'
}

function sourceOf(
  world: World,
  target: SandboxTenant,
  batch: MigrationBatch,
): SandboxTenant | undefined {
  const endpoint = target.state.migrationEndpoints.find(({ name }) =>
    isSameAddress(name, batch.sourceEndpoint),
  )
  return endpoint && world.tenant(endpoint.remoteTenant)
}

/** Starts or restarts mailbox moves that are stopped or failed. */
export function startMailboxMoves(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  now: Date,
): void {
  batch.startedAt = now.toISOString()
  batch.stoppedAt = null
  for (const mailboxMove of batch.mailboxMoves) {
    if (mailboxMove.status !== 'Stopped' && mailboxMove.status !== 'Failed') continue
    mailboxMove.error = mailboxMoveProblem(world, tenant, batch, mailboxMove)
    mailboxMove.status = mailboxMove.error === null ? 'Syncing' : 'Failed'
    const durationSec =
      world.timing.mailboxMoveSyncSec * (0.5 + chanceOf(batch.id, mailboxMove.address))
    mailboxMove.dueAt = mailboxMove.error === null ? world.after(now, durationSec) : null
  }
}

/** Advances every mailbox move to the present. */
export function advanceMailboxMoves(world: World, tenant: SandboxTenant, now: Date): void {
  for (const batch of tenant.state.migrationBatches)
    for (const mailboxMove of batch.mailboxMoves)
      while (advance(world, tenant, batch, mailboxMove, now));
}

/** Applies one due status change. */
function advance(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  mailboxMove: MailboxMove,
  now: Date,
): boolean {
  const dueAt =
    mailboxMove.status === 'Synced'
      ? laterOf(mailboxMove.dueAt, batch.completeAfter)
      : mailboxMove.dueAt
  if (dueAt === null || Date.parse(dueAt) > +now) return false
  switch (mailboxMove.status) {
    case 'Syncing':
      mailboxMove.status = 'Synced'
      mailboxMove.dueAt = dueAt
      return true
    case 'Synced':
      mailboxMove.status = 'Completing'
      mailboxMove.dueAt = world.after(new Date(dueAt), world.timing.mailboxMoveCompleteSec)
      return true
    case 'Completing':
      completeMove(world, tenant, batch, mailboxMove, dueAt)
      return true
    default:
      return false
  }
}

/** The later of two times; null while one is missing. */
const laterOf = (a: string | null, b: string | null): string | null =>
  a === null || b === null ? null : Date.parse(a) > Date.parse(b) ? a : b

/**
 * Completes a mailbox move: the mailbox is here, and a mail user pointing here stays at the source. Preconditions are checked
 * again.
 */
function completeMove(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  mailboxMove: MailboxMove,
  at: string,
): void {
  mailboxMove.error = mailboxMoveProblem(world, tenant, batch, mailboxMove)
  mailboxMove.status = mailboxMove.error === null ? 'Completed' : 'Failed'
  mailboxMove.dueAt = null
  if (mailboxMove.error !== null) return
  const user = tenant.user(mailboxMove.userId!)!
  const recipient = user.recipient!
  const source = sourceOf(world, tenant, batch)!
  const from = source.users().find((one) => isMailboxOf(one, recipient.exchangeGuid))!
  source.change(from, {
    recipient: {
      ...from.recipient!,
      kind: 'mailUser',
      externalEmailAddress: deliveryAddressOf(user, batch)!,
    },
  })
  tenant.change(user, { recipient: { ...recipient, kind: 'mailbox', externalEmailAddress: null } })
  world.recordEvent(tenant, at, 'mailbox moved', user, {
    batch: batch.name,
    from: from.userPrincipalName,
  })
}

const FINISHED: readonly MailboxMove['status'][] = ['Completed', 'Failed', 'Stopped']

/** A batch's status in the terms of Get-MigrationBatch. */
export function batchStatus(batch: MigrationBatch): string {
  const statuses = batch.mailboxMoves.map(({ status }) => status)
  const has = (...wanted: readonly MailboxMove['status'][]) =>
    statuses.some((status) => wanted.includes(status))
  if (batch.stoppedAt !== null) return 'Stopped'
  if (batch.startedAt === null) return 'Created'
  if (has('Syncing')) return 'Syncing'
  if (has('Completing')) return 'Completing'
  if (has('Synced')) return has('Failed') ? 'SyncedwithErrors' : 'Synced'
  if (statuses.every((one) => one === 'Failed')) return 'Failed'
  return has(...FINISHED.filter((one) => one !== 'Completed')) ? 'CompletedWithErrors' : 'Completed'
}
