// Mailboxes on their way from another tenant: what must be true before one is let go, how it progresses with the clock, and what
// the cut-over does to both sides. The checks are those that Microsoft documents for cross-tenant moves; each refusal names the
// exception that a migration user would show.
import { bareOf, domainOf, isSameAddress, primaryOf, typeOf } from './addresses.ts'
import { chanceOf } from './identity.ts'
import { hasPlan } from './mail.ts'
import { MOVE_PLAN } from './skus.ts'
import type { MailboxMove, MigrationBatch, User } from './state.ts'
import type { SandboxTenant } from './tenant.ts'
import type { World } from './world.ts'

/** Why this mailbox cannot be moved here, as the migration user's error; null when it can. */
export function moveProblem(
  world: World,
  target: SandboxTenant,
  batch: MigrationBatch,
  move: MailboxMove,
): string | null {
  const user = move.userId === null ? undefined : target.user(move.userId)
  if (!user?.recipient)
    return `ManagementObjectNotFoundException: The recipient "${move.address}" couldn't be found.`
  const { recipient } = user
  if (recipient.kind === 'mailbox')
    return `UserAlreadyHasMailboxPermanentException: The target user "${move.address}" already has a primary mailbox.`
  if (recipient.exchangeGuid === null)
    return `CannotFindSourceMailboxPermanentException: The target mail user "${move.address}" has no ExchangeGuid.`
  if (user.previousMailboxGuid !== null && user.previousMailboxGuid !== recipient.exchangeGuid)
    return `TargetUserAlreadyHasPreviousMailboxPermanentException: The target user "${move.address}" had another mailbox before; clear it with Set-User -PermanentlyClearPreviousMailboxInfo.`
  const source = sourceOf(world, target, batch)
  const from = source?.users().find((one) => isMailboxOf(one, recipient.exchangeGuid))
  if (!source || !from)
    return `CannotFindSourceMailboxPermanentException: No mailbox with the ExchangeGuid ${recipient.exchangeGuid} is in the source tenant.`
  return addressProblem(target, user, from) ?? licenceProblem(target, user, source, from)
}

const isMailboxOf = (user: User, exchangeGuid: string | null): boolean =>
  user.recipient?.kind === 'mailbox' && user.recipient.exchangeGuid === exchangeGuid

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
  const isThere =
    external !== null &&
    from.proxyAddresses.some((proxy) => isSameAddress(proxy, `smtp:${external}`))
  return isThere
    ? null
    : `ExternalEmailAddressMismatchPermanentException: The ExternalEmailAddress "${external ?? ''}" of the target user is no address of the source mailbox.`
}

function licenceProblem(
  target: SandboxTenant,
  user: User,
  source: SandboxTenant,
  from: User,
): string | null {
  const isLicensed = hasPlan(target, user, [MOVE_PLAN]) || hasPlan(source, from, [MOVE_PLAN])
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

/** Starts, or starts again, what is not under way. */
export function startMoves(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  now: Date,
): void {
  batch.startedAt = now.toISOString()
  batch.stoppedAt = null
  for (const move of batch.moves) {
    if (move.status !== 'Stopped' && move.status !== 'Failed') continue
    move.error = moveProblem(world, tenant, batch, move)
    move.status = move.error === null ? 'Syncing' : 'Failed'
    const takes = world.timing.moveSyncSec * (0.5 + chanceOf(batch.id, move.address))
    move.dueAt = move.error === null ? world.after(now, takes) : null
  }
}

/** Every move that has come further by now. */
export function settleMoves(world: World, tenant: SandboxTenant, now: Date): void {
  for (const batch of tenant.state.migrationBatches)
    for (const move of batch.moves) while (advance(world, tenant, batch, move, now));
}

/** One change of status, if one is due. */
function advance(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  move: MailboxMove,
  now: Date,
): boolean {
  const dueAt = move.status === 'Synced' ? laterOf(move.dueAt, batch.completeAfter) : move.dueAt
  if (dueAt === null || Date.parse(dueAt) > +now) return false
  switch (move.status) {
    case 'Syncing':
      move.status = 'Synced'
      move.dueAt = dueAt
      return true
    case 'Synced':
      move.status = 'Completing'
      move.dueAt = world.after(new Date(dueAt), world.timing.moveCompleteSec)
      return true
    case 'Completing':
      cutOver(world, tenant, batch, move, dueAt)
      return true
    default:
      return false
  }
}

/** When both have passed; null while one is not set. */
const laterOf = (a: string | null, b: string | null): string | null =>
  a === null || b === null ? null : Date.parse(a) > Date.parse(b) ? a : b

/** The mailbox is here, and there a mail user that points here is left. What was true at the start is asked again. */
function cutOver(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch,
  move: MailboxMove,
  at: string,
): void {
  move.error = moveProblem(world, tenant, batch, move)
  move.status = move.error === null ? 'Completed' : 'Failed'
  move.dueAt = null
  if (move.error !== null) return
  const user = tenant.user(move.userId!)!
  const recipient = user.recipient!
  const source = sourceOf(world, tenant, batch)!
  const from = source.users().find((one) => isMailboxOf(one, recipient.exchangeGuid))!
  const local = (primaryOf(user.proxyAddresses) ?? user.userPrincipalName).split('@')[0]
  source.change(from, {
    recipient: {
      ...from.recipient!,
      kind: 'mailUser',
      externalEmailAddress: `${local}@${batch.targetDeliveryDomain}`,
    },
  })
  tenant.change(user, { recipient: { ...recipient, kind: 'mailbox', externalEmailAddress: null } })
  world.happened(tenant, at, 'mailbox moved', user, {
    batch: batch.name,
    from: from.userPrincipalName,
  })
}

const ENDED: readonly MailboxMove['status'][] = ['Completed', 'Failed', 'Stopped']

/** What Get-MigrationBatch calls the state of a batch. */
export function batchStatus(batch: MigrationBatch): string {
  const statuses = batch.moves.map(({ status }) => status)
  const has = (...some: readonly MailboxMove['status'][]) =>
    statuses.some((one) => some.includes(one))
  if (batch.stoppedAt !== null) return 'Stopped'
  if (batch.startedAt === null) return 'Created'
  if (has('Syncing')) return 'Syncing'
  if (has('Completing')) return 'Completing'
  if (has('Synced')) return has('Failed') ? 'SyncedwithErrors' : 'Synced'
  if (statuses.every((one) => one === 'Failed')) return 'Failed'
  return has(...ENDED.filter((one) => one !== 'Completed')) ? 'CompletedWithErrors' : 'Completed'
}
