// Adds people to the migration batch of their wave, up to a thousand in one call: a CSV file has a row for each (New-MigrationBatch,
// Set-MigrationBatch -AddUsers), and a batch holds 2,000. Nobody is taken out of another batch.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { defineM365Function, type M365Call, type OnBehalfInM365 } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { answerEach, answerOf, FunctionRefused } from '../failure.ts'
import { by, whenChanged } from '../inverse.ts'
import { isSameText } from '../parameters.ts'
import { type ReplicationContext, retryUntilFound } from '../replication.ts'
import {
  addToBatch,
  batchName,
  createMigrationBatch,
  findBatch,
  migrationPermissions,
  sourceEndpoint,
  targetDeliveryDomain,
} from './migration-batch.ts'
import {
  findMigrationUser,
  isIn,
  moveIdentity,
  moveOf,
  REMOVING,
  readMoves,
  runUser,
  STOPPED,
} from './migration-moves.ts'

const added = z.object({
  Identity: z.string(),
  BatchName: z.string(),
  Status: z.string(),
  Changed: z.boolean(),
})
type Added = z.infer<typeof added>

const addition = z.strictObject({
  Identity: moveIdentity,
  BatchName: batchName.describe('One batch for a whole wave; the first person creates it.'),
  SourceEndpoint: sourceEndpoint,
  TargetDeliveryDomain: targetDeliveryDomain,
})
type Addition = z.infer<typeof addition>

export const addMigrationUser = defineM365Function({
  name: 'Add-MigrationUser',
  description:
    'Adds a person to a migration batch, which copies the mailbox and waits. Creates the batch for the first one, without a date of completion.',
  parameters: addition,
  result: added,
  permissions: migrationPermissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  copy: 'begins',
  undo: 'Remove-MigrationUser, if Changed is true.',
  undoneBy: ['Remove-MigrationUser'],
  effectOf: whenChanged((_, { Identity, BatchName }) =>
    by({
      target: Identity,
      before: { exists: false },
      run: 'Remove-MigrationUser',
      with: { Identity },
      keeps: `The migration batch "${BatchName}" stays, even if it is empty.`,
    }),
  ),
  run: async (call: M365Call<Addition>): Promise<Added> => {
    const { Identity } = call.params
    const present = await findMigrationUser(call, Identity)
    if (present !== null) return presentAnswer(present, call.params)
    await add(call, call.params, [Identity])
    const shown = await retryUntilFound(call, () => findMigrationUser(call, Identity))
    return addedAnswer(call, call.params, shown)
  },
  together: {
    key: ({ BatchName, SourceEndpoint, TargetDeliveryDomain }) =>
      JSON.stringify([BatchName, SourceEndpoint, TargetDeliveryDomain]).toLowerCase(),
    limit: 1_000,
    waitMs: 2_000,
    run: addAll,
  },
})

async function addAll(
  calls: readonly M365Call<Addition>[],
  onBehalfOf: OnBehalfInM365,
): Promise<readonly (Added | Error)[]> {
  const { BatchName } = calls[0]!.params
  // Of all batches: somebody may be in another one.
  const before = await readMoves(onBehalfOf(calls), null, BatchName)
  const absent = calls.filter(({ params }) => moveOf(before, params.Identity) === null)
  const newcomers = new Map(absent.map((call) => [call.params.Identity.toLowerCase(), call]))
  const addresses = [...newcomers.values()].map(({ params }) => params.Identity)
  if (addresses.length > 0) await add(onBehalfOf(absent), calls[0]!.params, addresses)
  const shown = await answerOf(() => readWhenShown(onBehalfOf(absent), BatchName, addresses))
  const answers = await answerEach(calls, async (call): Promise<Added> => {
    const { Identity } = call.params
    const present = moveOf(before, Identity)
    if (present !== null) return presentAnswer(present, call.params)
    if (shown instanceof Error) throw shown
    const known = await addedAnswer(onBehalfOf([call]), call.params, moveOf(shown, Identity))
    // Asked for twice at once: only one of them added the person.
    return { ...known, Changed: newcomers.get(Identity.toLowerCase()) === call }
  })
  return calls.map((call) => answers.get(call)!)
}

/** What the batch shows once everybody is there, or at last. */
async function readWhenShown(
  caller: ReplicationContext,
  batch: string,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, JsonObject>> {
  let shown: ReadonlyMap<string, JsonObject> = new Map()
  if (addresses.length > 0)
    await retryUntilFound(caller, async () => {
      shown = await readMoves(caller, batch)
      return addresses.every((one) => moveOf(shown, one) !== null) ? true : null
    })
  return shown
}

async function add(
  caller: ReplicationContext,
  { BatchName, SourceEndpoint, TargetDeliveryDomain }: Addition,
  addresses: readonly string[],
): Promise<void> {
  if ((await findBatch(caller, BatchName)) === null) {
    const made = await createMigrationBatch(caller, {
      Name: BatchName,
      SourceEndpoint,
      TargetDeliveryDomain,
      EmailAddresses: addresses,
      AutoStart: true,
      completeAfter: null,
    })
    if (made.isBy === 'us') return
  }
  await addToBatch(caller, BatchName, addresses)
}

function presentAnswer(user: JsonObject, { Identity, BatchName }: Addition): Added {
  const holder = textOf(user.BatchId)
  if (isIn(REMOVING, user))
    throw new FunctionRefused(
      `"${Identity}" is still being removed from migration batch "${holder}". Retry the step in a few minutes.`,
    )
  if (isSameText(holder, BatchName))
    return { Identity, BatchName, Status: textOf(user.Status), Changed: false }
  throw new FunctionRefused(
    `"${Identity}" is in migration batch "${holder}" already (${textOf(user.Status)}). Remove it there first: Remove-MigrationUser.`,
  )
}

async function addedAnswer(
  caller: ReplicationContext,
  { Identity, BatchName }: Addition,
  user: JsonObject | null,
): Promise<Added> {
  if (user === null)
    throw new FunctionRefused(
      `Exchange took "${Identity}" for migration batch "${BatchName}" but does not show it yet. Retry the step in a few minutes.`,
    )
  // A batch that was stopped stays so for the others.
  if (isIn(STOPPED, user)) await runUser(caller, 'Start', Identity)
  return { Identity, BatchName, Status: textOf(user.Status), Changed: true }
}
