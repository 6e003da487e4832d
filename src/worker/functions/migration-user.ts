// One person of a migration batch: added, completed, stopped, started, removed and watched alone. A mailbox move that waits for a person,
// be it an approval, a licence, a hold or a group, is told at once with what to do instead of being waited for.
import { z } from 'zod'
import type { JsonObject } from '../../domain/json.ts'
import { defineFunction, type FunctionCall } from '../catalogue.ts'
import { textOf, textOrNull } from './entra-directory.ts'
import { runOrNone } from './exchange-recipient.ts'
import { FunctionRefused, NotFound, notThereReason } from './failure.ts'
import {
  addToBatch,
  batchName,
  createMigrationBatch,
  findBatch,
  isUser,
  migrationPermissions,
  sourceEndpoint,
  targetDeliveryDomain,
} from './migration-batch.ts'
import { moveRemedy } from './migration-remedies.ts'
import { address, isSameText, optional } from './parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from './replication.ts'

const identity = address.describe('Address of the target in this tenant.')
const permissions = migrationPermissions

/** Copied and kept up to date. */
const SYNCED = ['Synced', 'IncrementalSynced', 'CompletionSynced']
const COMPLETING = ['Completing']
const COMPLETED = ['Completed', 'CompletedWithWarnings']
const STOPPED = ['Stopped', 'IncrementalStopped']
/** A person must act; seen live without being documented. */
const WAITING = ['NeedsApproval']
const FAILED = [
  ...['Failed', 'CompletionFailed', 'IncrementalFailed', 'Corrupted'],
  ...STOPPED,
  ...['Stopping', 'Removing'],
]

const isIn = (list: readonly string[], user: JsonObject): boolean =>
  [user.Status, user.StatusSummary].some((status, at) =>
    // Only a wait shows in the summary alone.
    (at === 0 ? list : list.filter((one) => WAITING.includes(one))).some((one) =>
      isSameText(one, textOf(status)),
    ),
  )

/** The mailbox move needs a person to continue. */
class MigrationStopped extends Error {
  override readonly name = 'MigrationStopped'
}

function stoppedBecause(user: JsonObject, name: string): MigrationStopped {
  const status = textOf(user.Status)
  const why = textOrNull(user.ErrorSummary)
  const reason = why ?? 'Exchange gives no reason; run Get-MigrationUserStatistics'
  return new MigrationStopped(
    `The mailbox move of "${name}" is ${status}: ${reason.replace(/\.$/, '')}.${moveRemedy(status, why)}`,
  )
}

/** Exchange returns every user when it does not know the identity, hence the filter. */
async function findMigrationUser(
  { tenant, signal }: ReplicationContext,
  name: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MigrationUser', { Identity: name }, { signal }),
  )
  return found.find((user) => isUser(user, name)) ?? null
}

async function readMigrationUser(caller: ReplicationContext, name: string): Promise<JsonObject> {
  const user = await retryUntilFound(caller, () => findMigrationUser(caller, name))
  return user ?? Promise.reject(new NotFound(inNoBatch(name)))
}

const inNoBatch = (name: string): string =>
  `No migration batch contains "${name}". Check the address, and that Add-MigrationUser has run.`

const runUser = (
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

const added = z.object({
  Identity: z.string(),
  BatchName: z.string(),
  Status: z.string(),
  Changed: z.boolean(),
})

const addition = z.strictObject({
  Identity: identity,
  BatchName: batchName.describe('One batch for a whole wave; the first person creates it.'),
  SourceEndpoint: sourceEndpoint,
  TargetDeliveryDomain: targetDeliveryDomain,
})
type Addition = z.infer<typeof addition>

export const addMigrationUser = defineFunction({
  name: 'Add-MigrationUser',
  description:
    'Adds a person to a migration batch, which copies the mailbox and waits. Creates the batch for the first one, without a date of completion.',
  parameters: addition,
  result: added,
  permissions,
  isIdempotent: true,
  undo: 'Remove-MigrationUser, if Changed is true.',
  run: async (call: FunctionCall<Addition>): Promise<z.infer<typeof added>> => {
    const { Identity, BatchName } = call.params
    const present = await findMigrationUser(call, Identity)
    if (present !== null) requireBatch(present, call.params)
    else await addOne(call)
    const user = present ?? (await retryUntilFound(call, () => findMigrationUser(call, Identity)))
    if (user === null)
      throw new FunctionRefused(
        `Exchange took "${Identity}" for migration batch "${BatchName}" but does not show it yet. Retry the step in a few minutes.`,
      )
    // A batch that was stopped stays so for the others.
    if (present === null && isIn(STOPPED, user)) await runUser(call, 'Start', Identity)
    return { Identity, BatchName, Status: textOf(user.Status), Changed: present === null }
  },
})

async function addOne(call: FunctionCall<Addition>): Promise<void> {
  const { Identity, BatchName, SourceEndpoint, TargetDeliveryDomain } = call.params
  if ((await findBatch(call, BatchName)) === null) {
    const made = await createMigrationBatch(call, {
      ...{ Name: BatchName, SourceEndpoint, TargetDeliveryDomain },
      ...{ EmailAddresses: [Identity], AutoStart: true, completeAfter: null },
    })
    if (made !== null) return
  }
  await addToBatch(call, BatchName, [Identity])
}

function requireBatch(user: JsonObject, { Identity, BatchName }: Addition): void {
  const holder = textOf(user.BatchId)
  if (isSameText(holder, BatchName)) return
  throw new FunctionRefused(
    `"${Identity}" is in migration batch "${holder}" already (${textOf(user.Status)}). Remove it there first: Remove-MigrationUser.`,
  )
}

const changed = z.object({ Identity: z.string(), Status: z.string(), Changed: z.boolean() })
type Changed = z.infer<typeof changed>

export const completeMigrationUser = defineFunction({
  name: 'Complete-MigrationUser',
  description:
    'Completes a copied mailbox move now: the cut-over of one person. Refuses one that is not copied yet. Follow it with Test-MigrationUser.',
  parameters: z.strictObject({ Identity: identity }),
  result: changed,
  permissions,
  isIdempotent: true,
  undo: 'There is none once Exchange completes it; before that, Stop-MigrationUser.',
  isIrreversible: true,
  run: async (call): Promise<Changed> => {
    const { Identity } = call.params
    const user = await readMigrationUser(call, Identity)
    const Status = textOf(user.Status)
    if (isIn([...COMPLETED, ...COMPLETING], user)) return { Identity, Status, Changed: false }
    if (isIn([...FAILED, ...WAITING], user)) throw stoppedBecause(user, Identity)
    if (!isIn([...SYNCED, 'IncrementalSyncing'], user))
      throw new FunctionRefused(
        `The mailbox move of "${Identity}" is ${Status}: not copied yet, so completing it now would cut over at an unknown time. Wait for it first: Test-MigrationUser with WaitFor Synced.`,
      )
    // Exchange has no cmdlet that completes one user; a date of their own that has passed does it (Set-MigrationUser).
    await runUser(call, 'Set', Identity, { CompleteAfter: call.clock.now().toISOString() })
    return { Identity, Status, Changed: true }
  },
})

const setting = z
  .strictObject({
    Identity: identity,
    CompleteAfter: optional(z.iso.datetime({ offset: true })).describe(
      'Leaves the cut-over to Exchange, which no hold of ours stops; replaces an earlier date.',
    ),
    ApproveSkippedItems: z
      .boolean()
      .default(false)
      .describe('Accept the loss of all items that could not be copied so far.'),
  })
  .refine(
    ({ CompleteAfter, ApproveSkippedItems }) => CompleteAfter !== null || ApproveSkippedItems,
    {
      error: 'set CompleteAfter or ApproveSkippedItems',
    },
  )

const setUser = z.object({ Identity: z.string(), Status: z.string() })

export const setOneMigration = defineFunction({
  name: 'Set-MigrationUser',
  description: 'Changes the date of one mailbox move, or approves its skipped items.',
  parameters: setting,
  result: setUser,
  permissions,
  isIdempotent: true,
  undo: 'Set-MigrationUser with the former date; an approval cannot be taken back.',
  run: async (call): Promise<z.infer<typeof setUser>> => {
    const { Identity, CompleteAfter, ApproveSkippedItems } = call.params
    const user = await readMigrationUser(call, Identity)
    if (isIn(COMPLETED, user))
      throw new FunctionRefused(`The mailbox move of "${Identity}" is completed already.`)
    await runUser(call, 'Set', Identity, {
      ...(CompleteAfter === null ? {} : { CompleteAfter: new Date(CompleteAfter).toISOString() }),
      ...(ApproveSkippedItems ? { ApproveSkippedItems: true } : {}),
    })
    return { Identity, Status: textOf(user.Status) }
  },
})

export const startOneMigration = defineFunction({
  name: 'Start-MigrationUser',
  description: 'Starts one mailbox move again that stopped, failed or needs an approval.',
  parameters: z.strictObject({ Identity: identity }),
  result: changed,
  permissions,
  isIdempotent: true,
  undo: 'Stop-MigrationUser, if Changed is true.',
  run: async (call): Promise<Changed> => {
    const { Identity } = call.params
    const user = await readMigrationUser(call, Identity)
    const isChange = isIn([...FAILED, ...WAITING], user)
    if (isChange) await runUser(call, 'Start', Identity)
    return { Identity, Status: textOf(user.Status), Changed: isChange }
  },
})

export const stopOneMigration = defineFunction({
  name: 'Stop-MigrationUser',
  description: 'Stops one mailbox move; what was copied stays. Refuses one that has completed.',
  parameters: z.strictObject({ Identity: identity }),
  result: changed,
  permissions,
  isIdempotent: true,
  undo: 'Start-MigrationUser, if Changed is true.',
  run: async (call): Promise<Changed> => {
    const { Identity } = call.params
    const user = await readMigrationUser(call, Identity)
    if (isIn(COMPLETED, user))
      throw new FunctionRefused(
        `The mailbox move of "${Identity}" is completed: the mailbox is here, and nothing is left to stop.`,
      )
    const isChange = !isIn(FAILED, user)
    if (isChange) await runUser(call, 'Stop', Identity)
    return { Identity, Status: textOf(user.Status), Changed: isChange }
  },
})

const removedUser = z.object({ Identity: z.string(), Changed: z.boolean() })

export const removeOneMigration = defineFunction({
  name: 'Remove-MigrationUser',
  description:
    'Stops the mailbox move of one person and removes it from its batch. A completed one stays in place.',
  parameters: z.strictObject({ Identity: identity }),
  result: removedUser,
  permissions,
  isIdempotent: true,
  undo: 'Add-MigrationUser; copying starts over.',
  run: async (call): Promise<z.infer<typeof removedUser>> => {
    const { Identity } = call.params
    const user = await findMigrationUser(call, Identity)
    if (user === null) return { Identity, Changed: false }
    if (isIn(COMPLETING, user))
      throw new FunctionRefused(
        `The mailbox move of "${Identity}" is completing and cannot be removed now. Wait for it: Test-MigrationUser.`,
      )
    if (!isAtRest(user)) await stopOne(call, Identity)
    // Already gone: an earlier response was lost.
    await runOrNone(() => runUser(call, 'Remove', Identity))
    return { Identity, Changed: true }
  },
})

const isAtRest = (user: JsonObject): boolean =>
  isIn([...SYNCED, ...COMPLETED, ...STOPPED, ...WAITING, 'Failed', 'Corrupted'], user)

async function stopOne(caller: ReplicationContext, name: string): Promise<void> {
  await runUser(caller, 'Stop', name)
  const stopped = await retryUntilFound(caller, async () => {
    const now = await findMigrationUser(caller, name)
    return now === null || isAtRest(now) ? true : null
  })
  if (stopped !== null) return
  throw new FunctionRefused(
    `The mailbox move of "${name}" is still stopping. Retry the step in a few minutes.`,
  )
}

const progress = z.object({
  complete: z.boolean(),
  data: z.object({
    Identity: z.string(),
    Status: z.string(),
    BatchId: z.string().nullable(),
    ErrorSummary: z.string().nullable(),
    Reason: notThereReason,
  }),
})

export const testMigrationUser = defineFunction({
  name: 'Test-MigrationUser',
  description:
    'Tests the progress of a mailbox move, for a step with poll. Fails at once, with what to do, when the move failed, was stopped or waits for a person.',
  parameters: z.strictObject({
    Identity: identity,
    WaitFor: z
      .enum(['Synced', 'Completed'])
      .default('Completed')
      .describe('Synced: copied and kept up to date. Completed: mail arrives here.'),
  }),
  result: progress,
  permissions,
  isIdempotent: true,
  undo: null,
  run: async (call): Promise<z.infer<typeof progress>> => {
    const { Identity, WaitFor } = call.params
    const user = await retryUntilFound(onceIfPolled(call), () => findMigrationUser(call, Identity))
    if (user === null) {
      const nothing = { Status: 'NotFound', BatchId: null, ErrorSummary: null }
      return { complete: false, data: { Identity, ...nothing, Reason: inNoBatch(Identity) } }
    }
    if (isIn([...FAILED, ...WAITING], user)) throw stoppedBecause(user, Identity)
    const isComplete =
      isIn(COMPLETED, user) || (WaitFor === 'Synced' && isIn([...SYNCED, ...COMPLETING], user))
    const data = {
      ...{ Identity, Status: textOf(user.Status), BatchId: textOrNull(user.BatchId) },
      ...{ ErrorSummary: textOrNull(user.ErrorSummary), Reason: null },
    }
    return { complete: isComplete, data }
  },
})
