// Migration users as cmdlets see them: one person of a migration batch. Get-MigrationUser returns everybody when it does not know the
// name; a date of the user's own overrides the batch's (Set-MigrationUser).

import { isSameAddress } from '../addresses.ts'
import { recordEffect, type SandboxCall } from '../call.ts'
import { guidOf } from '../identity.ts'
import type { JsonObject } from '../json.ts'
import { removeMailboxMove, startMailboxMove, stopMailboxMove } from '../mailbox-moves.ts'
import { CmdletRefusal } from '../refusal.ts'
import type { MailboxMove, MigrationBatch } from '../state.ts'
import { noObject, type Parameters } from './parameters.ts'
import { NOTHING, type Output } from './recipients.ts'

interface Migrating {
  readonly batch: MigrationBatch
  readonly mailboxMove: MailboxMove
}

const allIn = ({ tenant }: SandboxCall): Migrating[] =>
  tenant.state.migrationBatches.flatMap((batch) =>
    batch.mailboxMoves.map((mailboxMove) => ({ batch, mailboxMove })),
  )

const isNamed = ({ mailboxMove: { address, guid } }: Migrating, name: string): boolean =>
  isSameAddress(address, name) || isSameAddress(guid, name)

function findUser(call: SandboxCall, parameters: Parameters): Migrating {
  const identity = parameters.required('Identity')
  const found = allIn(call).find((one) => isNamed(one, identity))
  if (found) return found
  throw noObject(call, identity)
}

export function getMigrationUsers(call: SandboxCall, parameters: Parameters): Output {
  const all = allIn(call)
  const identity = parameters.text('Identity')
  const named = all.filter((one) => isNamed(one, identity ?? ''))
  const unknown = call.world.replay?.unknownName('Get-MigrationUser') ?? 'all'
  if (identity !== null && named.length === 0 && unknown === 'refused')
    throw noObject(call, identity)
  const isAll = named.length === 0 && (identity === null || unknown === 'all')
  const batchId = parameters.text('BatchId')
  const found = (isAll ? all : named).filter(
    ({ batch }) => batchId === null || isSameAddress(batch.name, batchId),
  )
  const isWithAssociated = parameters.flag('IncludeAssociatedUsers')
  const shown = found.flatMap(({ batch, mailboxMove }) => [
    cmdletUser(batch, mailboxMove),
    ...(isWithAssociated ? mailboxMove.associated : []).map((one) => ({
      ...cmdletUser(batch, mailboxMove),
      Identity: one,
      MailboxEmailAddress: one,
      Guid: guidOf(mailboxMove.guid, one),
    })),
  ])
  return { items: shown }
}

const SUMMARY: Readonly<Record<MailboxMove['status'], string>> = {
  Syncing: 'Active',
  Synced: 'Synced',
  Completing: 'Active',
  Completed: 'Completed',
  NeedsApproval: 'Synced',
  Failed: 'Failed',
  Stopping: 'Active',
  Stopped: 'Stopped',
  Removing: 'Active',
}

const cmdletUser = (batch: MigrationBatch, mailboxMove: MailboxMove): JsonObject => ({
  Identity: mailboxMove.address,
  Guid: mailboxMove.guid,
  MailboxEmailAddress: mailboxMove.address,
  BatchId: batch.name,
  RecipientType: 'Mailbox',
  Status: mailboxMove.status,
  StatusSummary: SUMMARY[mailboxMove.status],
  ErrorSummary: mailboxMove.error,
})

const recordChange = (
  call: SandboxCall,
  what: string,
  { batch, mailboxMove }: Migrating,
  details: JsonObject = {},
): void =>
  recordEffect(
    call,
    what,
    { id: mailboxMove.guid, name: mailboxMove.address },
    { batch: batch.name, ...details },
  )

export function setMigrationUser(call: SandboxCall, parameters: Parameters): Output {
  const found = findUser(call, parameters)
  const { mailboxMove } = found
  const completeAfter = parameters.instant('CompleteAfter')
  if (completeAfter !== null && completeAfter !== mailboxMove.completeAfter) {
    mailboxMove.completeAfter = completeAfter
    recordChange(call, 'migration user dated', found, { completeAfter })
  }
  if (parameters.flag('ApproveSkippedItems') && !mailboxMove.isApproved) {
    mailboxMove.isApproved = true
    if (mailboxMove.status === 'NeedsApproval' && mailboxMove.dueAt !== null) {
      mailboxMove.status = 'Synced'
      mailboxMove.error = null
    }
    recordChange(call, 'skipped items approved', found)
  }
  return NOTHING
}

export function startMigrationUser(call: SandboxCall, parameters: Parameters): Output {
  const found = findUser(call, parameters)
  const { batch, mailboxMove } = found
  requireAtRest(mailboxMove, 'CannotStartMigrationUserException', ['Stopping', 'Removing'])
  if (startMailboxMove(call.world, call.tenant, batch, mailboxMove, call.now))
    recordChange(call, 'migration user started', found)
  return NOTHING
}

export function stopMigrationUser(call: SandboxCall, parameters: Parameters): Output {
  const found = findUser(call, parameters)
  if (stopMailboxMove(call.world, found.mailboxMove, call.now))
    recordChange(call, 'migration user stopped', found)
  return NOTHING
}

export function removeMigrationUser(call: SandboxCall, parameters: Parameters): Output {
  const associated = associatedNamed(call, parameters.required('Identity'))
  if (associated) {
    requireAtRest(associated.mailboxMove, 'CannotRemoveMigrationUserException', BUSY)
    associated.mailboxMove.associated = associated.mailboxMove.associated.filter(
      (one) => !isSameAddress(one, associated.name),
    )
    return NOTHING
  }
  const found = findUser(call, parameters)
  const { mailboxMove } = found
  requireAtRest(mailboxMove, 'CannotRemoveMigrationUserException', BUSY)
  found.batch.leftBehind.push(...mailboxMove.associated)
  if (mailboxMove.status === 'Removing') return NOTHING
  removeMailboxMove(call.world, mailboxMove, call.now)
  recordChange(call, 'migration user removed', found)
  return NOTHING
}

const BUSY: readonly MailboxMove['status'][] = ['Syncing', 'Completing', 'Stopping']

const associatedNamed = (call: SandboxCall, name: string) =>
  allIn(call)
    .map((one) => ({ ...one, name }))
    .find(({ mailboxMove }) => mailboxMove.associated.some((one) => isSameAddress(one, name)))

function requireAtRest(
  { status, address }: MailboxMove,
  exception: string,
  busy: readonly MailboxMove['status'][],
): void {
  if (busy.includes(status))
    throw new CmdletRefusal(
      400,
      `Microsoft.Exchange.Migration.${exception}`,
      `The migration user "${address}" is ${status}. Stop it first, and wait until it has stopped.`,
    )
}
