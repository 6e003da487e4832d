// Mailbox moves between tenants: preconditions, progress with the clock, and what completion does on both sides. The checks are
// those Microsoft documents for cross-tenant moves; each refusal names the exception a migration user would show.
import { bareOf, domainOf, isSameAddress, typeOf } from './addresses.ts'
import { chanceOf } from './identity.ts'
import { disconnectMailbox, hasMailboxPlan, hasPlan } from './mail.ts'
import { MAILBOX_MOVE_PLAN } from './skus.ts'
import type { MailboxMove, MigrationBatch, Recipient, User } from './state.ts'
import type { SandboxTenant } from './tenant.ts'
import type { World } from './world.ts'

const WITHOUT_LICENCE = 'CrossTenantMigrationWithoutLicense'

/** Why the mailbox move is impossible, as the migration user's error; null when it is possible. */
export function mailboxMoveProblem(
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
    relationshipProblem(target, source) ??
    scopeProblem(source, from) ??
    holdProblem(from) ??
    archivesProblem(from) ??
    addressProblem(target, user, from) ??
    sizeProblem(target, user, from) ??
    deliveryProblem(user, batch) ??
    licenceProblem(target, user, source, from)
  )
}

export const isMailboxOf = (user: User, exchangeGuid: string | null): boolean =>
  user.recipient?.kind === 'mailbox' && user.recipient.exchangeGuid === exchangeGuid

/** Each side allows its half of the move. The text was observed. */
export function relationshipProblem(target: SandboxTenant, source: SandboxTenant): string | null {
  const apps = target.state.migrationEndpoints
    .filter(({ remoteTenant }) => source.hasDomain(remoteTenant))
    .map(({ applicationId }) => applicationId)
  const allows = (
    side: SandboxTenant,
    other: SandboxTenant,
    capability: 'Inbound' | 'RemoteOutbound',
  ): boolean =>
    side.state.organizationRelationships.some(
      (one) =>
        one.isEnabled &&
        one.isMoveEnabled &&
        one.moveCapability === capability &&
        one.domainNames.some((name) => isSameAddress(name, other.id) || other.hasDomain(name)) &&
        (capability === 'Inbound' ||
          (one.applicationId !== null && apps.includes(one.applicationId))),
    )
  return allows(target, source, 'Inbound') && allows(source, target, 'RemoteOutbound')
    ? null
    : "MigrationPermanentException: The call to 'https://outlook.office.com/EWS/mrsproxy' MailboxReplicationService.ProxyService/OAuth failed. --> Access is denied."
}

export function scopeProblem(source: SandboxTenant, from: User): string | null {
  const { moveScopeGroupId } = source.state
  if (moveScopeGroupId === null || source.groupsContaining(from.id).has(moveScopeGroupId))
    return null
  return `MailboxMoveNotInScopePermanentException: The source mailbox "${from.userPrincipalName}" isn't in the published scope of the organization relationship.`
}

const isOnHold = ({ recipient }: User): boolean =>
  recipient!.isOnLitigationHold ||
  recipient!.hasDelayReleaseHold ||
  recipient!.inPlaceHolds.some((hold) => !hold.startsWith('-'))

const holdProblem = (from: User): string | null =>
  isOnHold(from)
    ? `SourceMailboxOnHoldPermanentException: The source mailbox "${from.userPrincipalName}" is on hold and can't be moved.`
    : null

/** "No more than 12 auxiliary archive mailboxes" (cross-tenant-mailbox-migration). No document shows the text. */
const archivesProblem = ({ recipient }: User): string | null =>
  recipient!.auxiliaryArchives <= 12
    ? null
    : `MigrationPermanentException: The source mailbox has ${recipient!.auxiliaryArchives} auxiliary archives.`

const GIGABYTE = 1024 ** 3
const QUOTA_GB = 100
const SMALL_QUOTA_GB = 50

/** By the plan of the target, or the largest that there is ("Exchange Online limits", learn.microsoft.com). No document shows the text. */
function sizeProblem(target: SandboxTenant, user: User, from: User): string | null {
  const isSmall =
    hasPlan(target, user, ['EXCHANGE_S_STANDARD']) &&
    !hasPlan(target, user, ['EXCHANGE_S_ENTERPRISE'])
  const quotaGb = isSmall ? SMALL_QUOTA_GB : QUOTA_GB
  const sizeGb = from.recipient!.sizeBytes / GIGABYTE
  return sizeGb <= quotaGb
    ? null
    : `MigrationPermanentException: Mailbox size ${sizeGb.toFixed(2)} GB exceeds target quota ${quotaGb} GB.`
}

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
    : `${WITHOUT_LICENCE}PermanentException: No license was found for the source recipient or the target recipient.`
}

export function sourceOf(
  world: World,
  target: SandboxTenant,
  batch: Pick<MigrationBatch, 'sourceEndpoint'>,
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
  for (const mailboxMove of batch.mailboxMoves)
    startMailboxMove(world, tenant, batch, mailboxMove, now)
}

const STARTABLE: readonly MailboxMove['status'][] = ['Stopped', 'Failed', 'NeedsApproval']

/** False when it runs already or is completed. */
export function startMailboxMove(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  mailboxMove: MailboxMove,
  now: Date,
): boolean {
  if (!STARTABLE.includes(mailboxMove.status)) return false
  mailboxMove.error = mailboxMoveProblem(world, tenant, batch, mailboxMove)
  mailboxMove.status = mailboxMove.error === null ? 'Syncing' : failedStatus(tenant, mailboxMove)
  const durationSec =
    world.timing.mailboxMoveSyncSec *
    (0.5 + chanceOf(batch.id, mailboxMove.address)) *
    (1 + sizeToCopy(world, tenant, batch, mailboxMove) / COPIED_IN_SYNC_TIME)
  mailboxMove.dueAt = mailboxMove.error === null ? world.after(now, durationSec) : null
  return true
}

const failedStatus = (tenant: SandboxTenant, { error }: MailboxMove): MailboxMove['status'] =>
  error?.startsWith(WITHOUT_LICENCE) && tenant.state.dialect.missingLicence === 'needsApproval'
    ? 'NeedsApproval'
    : 'Failed'

const ENDED: readonly MailboxMove['status'][] = [
  'Completed',
  'Failed',
  'Stopping',
  'Stopped',
  'Removing',
]

/**
 * Stops a mailbox move, which takes a while: "Get-MigrationUser" lists the status Stopping. False when it has ended, or when it will
 * have completed by then. How long it takes, and that a completion wins, is unconfirmed.
 */
export function stopMailboxMove(world: World, mailboxMove: MailboxMove, now: Date): boolean {
  const stoppedAt = world.after(now, world.timing.mailboxMoveStopSec)
  const isTooLate = mailboxMove.status === 'Completing' && mailboxMove.dueAt! <= stoppedAt
  if (ENDED.includes(mailboxMove.status) || isTooLate) return false
  mailboxMove.status = 'Stopping'
  mailboxMove.dueAt = stoppedAt
  return true
}

/** Removes a mailbox move from its batch, which shows it for a while as Removing ("Get-MigrationUser"). */
export function removeMailboxMove(world: World, mailboxMove: MailboxMove, now: Date): void {
  if (mailboxMove.status === 'Removing') return
  mailboxMove.status = 'Removing'
  mailboxMove.dueAt = world.after(now, world.timing.mailboxMoveStopSec)
}

/** Advances every mailbox move to the present. What was removed long enough ago is gone. */
export function advanceMailboxMoves(world: World, tenant: SandboxTenant, now: Date): void {
  const { state } = tenant
  const isGone = (at: string | null) => at !== null && Date.parse(at) <= +now
  if (state.migrationBatches.some(({ goneAt }) => isGone(goneAt)))
    state.migrationBatches = state.migrationBatches.filter(({ goneAt }) => !isGone(goneAt))
  for (const batch of state.migrationBatches) {
    advanceMovesOf(world, tenant, batch, now)
    const { mailboxMoves } = batch
    if (mailboxMoves.some(({ status, dueAt }) => status === 'Removing' && isGone(dueAt)))
      batch.mailboxMoves = mailboxMoves.filter(
        ({ status, dueAt }) => status !== 'Removing' || !isGone(dueAt),
      )
  }
}

export function advanceMovesOf(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  now: Date,
): void {
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
      ? laterOf(mailboxMove.dueAt, mailboxMove.completeAfter ?? batch.completeAfter)
      : mailboxMove.dueAt
  if (dueAt === null || Date.parse(dueAt) > +now) return false
  switch (mailboxMove.status) {
    case 'Syncing':
      mailboxMove.status = 'Synced'
      mailboxMove.dueAt = dueAt
      return true
    case 'Synced':
      if (!mailboxMove.isApproved && brokenItemsOf(world, tenant, batch, mailboxMove) > 0) {
        mailboxMove.status = 'NeedsApproval'
        mailboxMove.error = 'Some items were skipped. Approve them to complete the migration.'
        return true
      }
      mailboxMove.status = 'Completing'
      mailboxMove.dueAt = world.after(new Date(dueAt), world.timing.mailboxMoveCompleteSec)
      return true
    case 'Completing':
      completeMove(world, tenant, batch, mailboxMove, dueAt)
      return true
    case 'Stopping':
      mailboxMove.status = 'Stopped'
      mailboxMove.dueAt = null
      return true
    case 'Completed':
      endGrace(world, tenant, mailboxMove, dueAt)
      return true
    default:
      return false
  }
}

function mailboxAtSource(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  { userId }: MailboxMove,
): Recipient | null {
  const guid = tenant.user(userId ?? '')?.recipient?.exchangeGuid ?? null
  const from = sourceOf(world, tenant, batch)
    ?.users()
    .find((one) => isMailboxOf(one, guid))
  return from?.recipient ?? null
}

const brokenItemsOf = (...of: Parameters<typeof mailboxAtSource>): number =>
  mailboxAtSource(...of)?.brokenItemCount ?? 0

/** Large mailboxes take longer ("Do auto-expanded archive mailboxes move?", cross-tenant-mailbox-migration). */
const sizeToCopy = (...of: Parameters<typeof mailboxAtSource>): number =>
  mailboxAtSource(...of)?.sizeBytes ?? 0
const COPIED_IN_SYNC_TIME = 10 * GIGABYTE

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
  mailboxMove.status = mailboxMove.error === null ? 'Completed' : failedStatus(tenant, mailboxMove)
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
  mailboxMove.dueAt = world.after(new Date(at), GRACE_SEC)
  world.recordEvent(tenant, at, 'mailbox moved', user, {
    batch: batch.name,
    from: from.userPrincipalName,
  })
}

/** "Cross-tenant mailbox migration": a moved mailbox needs a licence with Exchange within 30 days. */
const GRACE_SEC = 30 * 86_400

function endGrace(world: World, tenant: SandboxTenant, mailboxMove: MailboxMove, at: string): void {
  mailboxMove.dueAt = null
  const user = tenant.user(mailboxMove.userId ?? '')
  if (!user || hasMailboxPlan(tenant, user)) return
  const change = disconnectMailbox(tenant, user)
  if (change !== null) world.recordEvent(tenant, at, change, user)
}

const FINISHED: readonly MailboxMove['status'][] = [
  'Completed',
  'Failed',
  'Stopping',
  'Stopped',
  'Removing',
  'NeedsApproval',
]

/** A batch's status in the terms of Get-MigrationBatch. */
export function batchStatus(batch: MigrationBatch): string {
  const statuses = batch.mailboxMoves.map(({ status }) => status)
  const has = (...wanted: readonly MailboxMove['status'][]) =>
    statuses.some((status) => wanted.includes(status))
  if (batch.goneAt !== null) return 'Removing'
  if (batch.stoppedAt !== null) return has('Stopping') ? 'Stopping' : 'Stopped'
  if (batch.startedAt === null) return 'Created'
  if (has('Syncing')) return 'Syncing'
  if (has('Completing')) return 'Completing'
  if (has('Synced')) return has('Failed') ? 'SyncedwithErrors' : 'Synced'
  if (statuses.every((one) => one === 'Failed')) return 'Failed'
  return has(...FINISHED.filter((one) => one !== 'Completed')) ? 'CompletedWithErrors' : 'Completed'
}
