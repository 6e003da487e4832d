// Migration batches and users as cmdlets see them. Two traps of Exchange are kept: New-MigrationBatch checks little, and its
// users show later why they cannot move; Get-MigrationUser returns everybody when it does not know the name.

import { parse } from 'csv-parse/sync'
import { isAddress, isSameAddress } from '../addresses.ts'
import { recordEffect, type SandboxCall } from '../call.ts'
import { guidOf } from '../identity.ts'
import type { JsonObject } from '../json.ts'
import {
  batchStatus,
  isMailboxOf,
  removeMailboxMove,
  sourceOf,
  startMailboxMove,
  startMailboxMoves,
  stopMailboxMove,
} from '../mailbox-moves.ts'
import { CmdletRefusal } from '../refusal.ts'
import type { MailboxMove, MigrationBatch } from '../state.ts'
import { noObject, type Parameters } from './parameters.ts'
import { NOTHING, type Output } from './recipients.ts'

const MAILBOX_MOVES_MAX = 2_000
/** Exchange's MaxNumberOfBatches. */
const BATCHES_MAX = 100

const refused = (exception: string, message: string): CmdletRefusal =>
  new CmdletRefusal(400, `Microsoft.Exchange.Migration.${exception}`, message)

function findBatch(call: SandboxCall, parameters: Parameters): MigrationBatch {
  const identity = parameters.required('Identity')
  const batch = call.tenant.state.migrationBatches.find(({ name }) => isSameAddress(name, identity))
  if (batch) return batch
  throw noObject(call, identity)
}

const count = (batch: MigrationBatch, ...statuses: readonly MailboxMove['status'][]): number =>
  batch.mailboxMoves.filter(({ status }) => statuses.includes(status)).length

const cmdletBatch = (batch: MigrationBatch): JsonObject => ({
  Identity: batch.name,
  Name: batch.name,
  BatchGuid: batch.id,
  Status: batchStatus(batch),
  MigrationType: 'ExchangeRemoteMove',
  BatchDirection: 'Onboarding',
  SourceEndpoint: batch.sourceEndpoint,
  TargetDeliveryDomain: batch.targetDeliveryDomain,
  CreationDateTimeUTC: batch.createdAt,
  StartDateTimeUTC: batch.startedAt,
  CompleteAfterUTC: batch.completeAfter,
  TotalCount: batch.mailboxMoves.length,
  ActiveCount: count(batch, 'Syncing', 'Completing', 'Stopping', 'Removing'),
  SyncedCount: count(batch, 'Synced'),
  FinalizedCount: count(batch, 'Completed'),
  FailedCount: count(batch, 'Failed', 'NeedsApproval'),
  StoppedCount: count(batch, 'Stopped'),
})

export function newBatch(call: SandboxCall, parameters: Parameters): Output {
  const { tenant, now } = call
  const { migrationBatches, migrationEndpoints } = tenant.state
  const name = parameters.required('Name')
  const endpoint = parameters.required('SourceEndpoint')
  const domain = parameters.required('TargetDeliveryDomain').toLowerCase()
  if (migrationBatches.some((one) => isSameAddress(one.name, name)))
    throw refused(
      'MigrationBatchAlreadyExistsException',
      `A migration batch named "${name}" already exists.`,
    )
  if (migrationBatches.length >= BATCHES_MAX)
    throw refused(
      'MaximumNumberOfBatchesReachedException',
      'The maximum number of migration batches is already running. Please remove a batch before you add another one.',
    )
  if (!migrationEndpoints.some((one) => isSameAddress(one.name, endpoint)))
    throw noObject(call, endpoint)
  if (!tenant.hasDomain(domain))
    throw refused(
      'TargetDeliveryDomainNotAcceptedException',
      `"${domain}" isn't an accepted domain of this organization.`,
    )
  const addresses = givenAddresses(call, parameters)
  requireInNoBatch(call, addresses)
  const batch: MigrationBatch = {
    id: guidOf(tenant.id, 'batch', name.toLowerCase()),
    name,
    sourceEndpoint: endpoint,
    targetDeliveryDomain: domain,
    createdAt: now.toISOString(),
    startedAt: null,
    stoppedAt: null,
    goneAt: null,
    completeAfter:
      parameters.instant('CompleteAfter') ??
      (parameters.flag('AutoComplete') ? now.toISOString() : null),
    mailboxMoves: addresses.map((address) =>
      newMove(call, { name, sourceEndpoint: endpoint }, address),
    ),
    leftBehind: [],
  }
  migrationBatches.push(batch)
  recordEffect(call, 'migration batch created', batch, { users: addresses.length })
  if (parameters.flag('AutoStart')) startMailboxMoves(call.world, tenant, batch, now)
  return { items: [cmdletBatch(batch)] }
}

function newMove(
  { world, tenant }: SandboxCall,
  batch: Pick<MigrationBatch, 'name' | 'sourceEndpoint'>,
  address: string,
): MailboxMove {
  const user = tenant.findUser(address)
  const guid = user?.recipient?.exchangeGuid ?? null
  const from = sourceOf(world, tenant, batch)
    ?.users()
    .find((one) => isMailboxOf(one, guid))
  const archives = Array.from(
    { length: from?.recipient?.auxiliaryArchives ?? 0 },
    (_, at) => at + 1,
  )
  return {
    guid: guidOf(tenant.id, 'move', batch.name.toLowerCase(), address.toLowerCase()),
    address,
    userId: user?.id ?? null,
    status: 'Stopped',
    dueAt: null,
    error: null,
    completeAfter: null,
    isApproved: false,
    associated: archives.map((number) => `auxarchive${number}.${address}`),
  }
}

const givenAddresses = ({ tenant }: SandboxCall, parameters: Parameters): string[] =>
  addressesOf(parameters.bytes('CSVData', tenant.state.dialect.csvData))

function requireInNoBatch({ tenant }: SandboxCall, addresses: readonly string[]): void {
  const { migrationBatches } = tenant.state
  const elsewhere = addresses.find((one) =>
    migrationBatches.some((batch) => hasActiveMove(batch, one)),
  )
  const left = addresses.find((one) =>
    migrationBatches.some((batch) => batch.leftBehind.some((name) => name.endsWith(`.${one}`))),
  )
  if (left !== undefined)
    throw refused(
      'UserDuplicateInOtherBatchException',
      `"${left}" exists in another batch already.`,
    )
  if (elsewhere === undefined) return
  throw refused(
    'UserAlreadyBeingMigratedException',
    `The user "${elsewhere}" is already included in another migration batch.`,
  )
}

const hasActiveMove = (batch: MigrationBatch, address: string): boolean =>
  batch.mailboxMoves.some(
    (mailboxMove) =>
      isSameAddress(mailboxMove.address, address) && mailboxMove.status !== 'Completed',
  )

/** The column EmailAddress without duplicates. */
function addressesOf(csv: Buffer): string[] {
  let rows: Record<string, string>[]
  try {
    rows = parse(csv, { bom: true, columns: true, skip_empty_lines: true, trim: true })
  } catch (error) {
    throw refused('CsvValidationException', `The CSV file isn't valid: ${String(error)}`)
  }
  const first = rows[0]
  if (!first || !Object.hasOwn(first, 'EmailAddress'))
    throw refused(
      'CsvValidationException',
      'The CSV file must have the column EmailAddress and at least one row.',
    )
  if (rows.length > MAILBOX_MOVES_MAX)
    throw refused(
      'CsvValidationException',
      `The CSV file has ${rows.length} rows; at most ${MAILBOX_MOVES_MAX} are allowed.`,
    )
  const wrong = rows.find((row) => !isAddress(row.EmailAddress))
  if (wrong) throw refused('CsvValidationException', `"${wrong.EmailAddress}" isn't an address.`)
  const addresses = new Map(rows.map((row) => [row.EmailAddress!.toLowerCase(), row.EmailAddress!]))
  return [...addresses.values()]
}

/** As documented, an unknown name returns every batch; other servers were seen to refuse it. */
export function getBatches(call: SandboxCall, parameters: Parameters): Output {
  const { migrationBatches, dialect } = call.tenant.state
  const identity = parameters.text('Identity')
  const named = migrationBatches.filter(({ name }) => isSameAddress(name, identity ?? ''))
  const unknown =
    call.world.replay?.unknownName('Get-MigrationBatch') ??
    (dialect.notFound === '404' ? 'all' : 'refused')
  if (identity !== null && named.length === 0 && unknown === 'refused')
    throw noObject(call, identity)
  const isAll = named.length === 0 && (identity === null || unknown === 'all')
  return { items: (isAll ? migrationBatches : named).map(cmdletBatch) }
}

/** Adds people, and changes the date; a date of a user's own stays. */
export function setBatch(call: SandboxCall, parameters: Parameters): Output {
  const { tenant, now, world } = call
  const batch = findBatch(call, parameters)
  requireStays(batch, 'changed')
  if (parameters.flag('AddUsers')) {
    const known = new Set(batch.mailboxMoves.map(({ address }) => address.toLowerCase()))
    const added = givenAddresses(call, parameters).filter((one) => !known.has(one.toLowerCase()))
    requireInNoBatch(call, added)
    if (batch.mailboxMoves.length + added.length > MAILBOX_MOVES_MAX)
      throw refused('CsvValidationException', `A batch holds at most ${MAILBOX_MOVES_MAX} users.`)
    const moves = added.map((address) => newMove(call, batch, address))
    batch.mailboxMoves.push(...moves)
    const isRunning = batch.startedAt !== null && batch.stoppedAt === null
    if (isRunning) for (const one of moves) startMailboxMove(world, tenant, batch, one, now)
    if (added.length > 0) recordEffect(call, 'migration users added', batch, { users: added })
  }
  const completeAfter = parameters.instant('CompleteAfter')
  if (completeAfter !== null && completeAfter !== batch.completeAfter) {
    batch.completeAfter = completeAfter
    recordEffect(call, 'migration batch changed', batch, { completeAfter })
  }
  return NOTHING
}

/** While a batch is being stopped or removed, nothing else can be done with it. */
function requireStays(batch: MigrationBatch, act: string, ...busy: readonly string[]): void {
  const status = batchStatus(batch)
  if (['Removing', ...busy].includes(status))
    throw refused(
      'MigrationBatchCannotBeChangedException',
      `The migration batch "${batch.name}" is ${status} and can't be ${act} now.`,
    )
}

export function startBatch(call: SandboxCall, parameters: Parameters): Output {
  const batch = findBatch(call, parameters)
  requireStays(batch, 'started', 'Stopping')
  startMailboxMoves(call.world, call.tenant, batch, call.now)
  recordEffect(call, 'migration batch started', batch)
  return NOTHING
}

export function completeBatch(call: SandboxCall, parameters: Parameters): Output {
  const batch = findBatch(call, parameters)
  if (batch.startedAt === null || batch.stoppedAt !== null)
    throw refused(
      'MigrationBatchCannotBeCompletedException',
      `The migration batch "${batch.name}" hasn't been started.`,
    )
  if (batch.completeAfter === null || Date.parse(batch.completeAfter) > +call.now) {
    batch.completeAfter = call.now.toISOString()
    recordEffect(call, 'migration batch completed', batch)
  }
  return NOTHING
}

export function stopBatch(call: SandboxCall, parameters: Parameters): Output {
  const batch = findBatch(call, parameters)
  if (batch.stoppedAt !== null) return NOTHING
  batch.stoppedAt = call.now.toISOString()
  for (const mailboxMove of batch.mailboxMoves) stopMailboxMove(call.world, mailboxMove, call.now)
  recordEffect(call, 'migration batch stopped', batch)
  return NOTHING
}

export function removeBatch(call: SandboxCall, parameters: Parameters): Output {
  const batch = findBatch(call, parameters)
  if (batch.goneAt !== null) return NOTHING
  if (count(batch, 'Syncing', 'Completing', 'Stopping') > 0 && !parameters.flag('Force'))
    throw refused(
      'CannotRemoveMigrationBatchException',
      `The migration batch "${batch.name}" is running. Stop it first.`,
    )
  batch.goneAt = call.world.after(call.now, call.world.timing.mailboxMoveStopSec)
  for (const mailboxMove of batch.mailboxMoves) removeMailboxMove(call.world, mailboxMove, call.now)
  recordEffect(call, 'migration batch removed', batch)
  return NOTHING
}

export function getEndpoints(call: SandboxCall, parameters: Parameters): Output {
  const identity = parameters.text('Identity')
  const found = call.tenant.state.migrationEndpoints.filter(
    ({ name }) => identity === null || isSameAddress(name, identity),
  )
  if (identity !== null && found.length === 0) throw noObject(call, identity)
  return {
    items: found.map(({ name, remoteTenant, applicationId }) => ({
      Identity: name,
      EndpointType: 'ExchangeRemoteMove',
      RemoteServer: 'outlook.office.com',
      RemoteTenant: remoteTenant,
      ApplicationId: applicationId ?? '',
    })),
  }
}

export function getAcceptedDomains(call: SandboxCall): Output {
  return {
    items: call.tenant.state.domains.map((domain, at) => ({
      Name: domain,
      DomainName: domain,
      DomainType: 'Authoritative',
      Default: at === 0,
      InitialDomain: domain === call.tenant.initialDomain,
    })),
  }
}

export function getOrganization(call: SandboxCall): Output {
  const { id, displayName: DisplayName, organizationHolds, isDehydrated } = call.tenant.state
  const about = { Name: call.tenant.initialDomain, DisplayName, IsDehydrated: isDehydrated }
  const InPlaceHolds = [...organizationHolds]
  return { items: [{ ...about, ExternalDirectoryOrganizationId: id, InPlaceHolds }] }
}
