// Mailbox moves as Exchange shows them: their statuses, one of them, and all of a batch. What waits for a person says what to do.
import type { JsonObject } from '../../../base/text/json.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { runOrNone } from '../exchange/exchange-recipient.ts'
import { NotFound } from '../failure.ts'
import { address, isSameText } from '../parameters.ts'
import { findNamed, type ReplicationContext } from '../replication.ts'
import { isUser, usersIn } from './migration-batch.ts'
import { moveRemedy } from './migration-remedies.ts'

export const moveIdentity = address.describe('Address of the target in this tenant.')

export const SYNCING = ['Syncing', 'IncrementalSyncing']
/** Copied and kept up to date. */
export const SYNCED = ['Synced', 'IncrementalSynced', 'CompletionSynced']
export const COMPLETING = ['Completing']
export const COMPLETED = ['Completed', 'CompletedWithWarnings']
export const STOPPED = ['Stopped', 'IncrementalStopped']
/** Exchange needs minutes for either. */
export const STOPPING = ['Stopping']
export const REMOVING = ['Removing']
/** Nothing more happens by itself. */
export const BROKEN = ['Failed', 'CompletionFailed', 'IncrementalFailed', 'Corrupted']
/** A person must act; seen live without being documented. */
export const WAITING_FOR_PERSON = ['NeedsApproval']
export const FAILED = [...BROKEN, ...STOPPED, ...STOPPING, ...REMOVING]

export const isIn = (list: readonly string[], user: JsonObject): boolean =>
  [user.Status, user.StatusSummary].some((status, at) =>
    // Only a wait shows in the summary alone.
    (at === 0 ? list : list.filter((one) => WAITING_FOR_PERSON.includes(one))).some((one) =>
      isSameText(one, textOf(status)),
    ),
  )

/** The mailbox move needs a person to continue. */
class MigrationStopped extends Error {
  override readonly name = 'MigrationStopped'
}

export function stoppedBecause(user: JsonObject, name: string): MigrationStopped {
  const status = textOf(user.Status)
  const why = textOrNull(user.ErrorSummary)
  const reason = why ?? 'Exchange gives no reason; run Get-MigrationUserStatistics'
  return new MigrationStopped(
    `The mailbox move of "${name}" is ${status}: ${reason.replace(/\.$/, '')}.${moveRemedy(status, why)}`,
  )
}

/** Exchange returns every user when it does not know the identity, hence the filter. */
export async function findMigrationUser(
  { tenant, signal }: ReplicationContext,
  name: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MigrationUser', { Identity: name }, { signal }),
  )
  return found.find((user) => isUser(user, name)) ?? null
}

export async function readMigrationUser(
  caller: ReplicationContext,
  name: string,
): Promise<JsonObject> {
  const user = await findNamed(caller, () => findMigrationUser(caller, name))
  return user ?? Promise.reject(new NotFound(inNoBatch(name)))
}

export const inNoBatch = (name: string): string =>
  `No migration batch contains "${name}". Check the address, and that Add-MigrationUser has run.`

export const runUser = (
  { tenant, signal }: ReplicationContext,
  verb: 'Set' | 'Start' | 'Stop' | 'Remove',
  name: string,
  more: JsonObject = {},
): Promise<readonly JsonObject[]> =>
  tenant.exchange.run(
    `${verb}-MigrationUser`,
    { Identity: name, ...(verb === 'Set' ? {} : { Confirm: false }), ...more },
    { signal, isIdempotent: true },
  )

/**
 * Migration users by address, of one batch or of the whole tenant: up to 1,000 in one call (Get-MigrationUser, BatchId and ResultSize).
 * A person who is in two batches is shown in the wanted one.
 */
export async function readMoves(
  caller: ReplicationContext,
  batch: string | null,
  wanted: string | null = batch,
): Promise<ReadonlyMap<string, JsonObject>> {
  const moves = new Map<string, JsonObject>()
  for (const user of await usersIn(caller, batch)) {
    const isWanted = wanted !== null && isSameText(textOf(user.BatchId), wanted)
    for (const name of [user.Identity, user.MailboxEmailAddress].map(textOf)) {
      const key = name.toLowerCase()
      if (key !== '' && (isWanted || !moves.has(key))) moves.set(key, user)
    }
  }
  return moves
}

export const moveOf = (
  moves: ReadonlyMap<string, JsonObject>,
  identity: string,
): JsonObject | null => moves.get(identity.toLowerCase()) ?? null
