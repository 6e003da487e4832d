// The progress of mailbox moves, for polled steps. A whole wave is read in one call for each 1,000 people. A move that waits for a
// person, be it an approval, a licence, a hold or a group, is told at once with what to do instead of being waited for.
import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { defineM365Function, type M365Call, type OnBehalfInM365 } from '../define.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { answerOf, notThereReason } from '../failure.ts'
import { optional } from '../parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from '../replication.ts'
import { batchName, migrationPermissions } from './migration-batch.ts'
import {
  COMPLETED,
  COMPLETING,
  FAILED,
  findMigrationUser,
  inNoBatch,
  isIn,
  moveIdentity,
  moveOf,
  readMoves,
  SYNCED,
  SYNCING,
  stoppedBecause,
  WAITING_FOR_PERSON,
} from './migration-moves.ts'

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
type Progress = z.infer<typeof progress>

const question = z.strictObject({
  Identity: moveIdentity,
  WaitFor: z
    .enum(['Syncing', 'Synced', 'Completed'])
    .default('Completed')
    .describe(
      'Syncing: the copy has begun. Synced: copied and kept up to date. Completed: mail arrives here.',
    ),
  BatchName: optional(batchName).describe(
    'The batch of the wave, as in Add-MigrationUser: one call for all its people.',
  ),
})
type Question = z.infer<typeof question>
type Asking = M365Call<Question>

export const testMigrationUser = defineM365Function({
  name: 'Test-MigrationUser',
  description:
    'Tests the progress of a mailbox move, for a step with poll. Fails at once, with what to do, when the move failed, was stopped or waits for a person.',
  parameters: question,
  result: progress,
  permissions: migrationPermissions,
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  run: async (call: Asking): Promise<Progress> => {
    const { Identity } = call.params
    const look = () => findMigrationUser(call, Identity)
    return progressOf(call.params, await retryUntilFound(onceIfPolled(call), look))
  },
  together: {
    key: ({ BatchName }) => BatchName?.toLowerCase() ?? '',
    limit: 1_000,
    waitMs: 1_000,
    run: async (calls: readonly Asking[], onBehalfOf: OnBehalfInM365) => {
      const caller = onBehalfOf(calls)
      const batch = calls[0]!.params.BatchName
      const look = () => (batch === null ? searchMoves(caller, calls) : readMoves(caller, batch))
      const moves = await lookForAll(caller, calls, look)
      return Promise.all(
        calls.map(({ params }) =>
          answerOf(async () => progressOf(params, moveOf(moves, params.Identity))),
        ),
      )
    },
  },
})

/** Looks again while somebody is missing whose step has no poll. */
async function lookForAll(
  caller: ReplicationContext,
  calls: readonly Asking[],
  look: () => Promise<ReadonlyMap<string, JsonObject>>,
): Promise<ReadonlyMap<string, JsonObject>> {
  const patient = calls.filter(({ isPolled }) => !isPolled)
  let moves: ReadonlyMap<string, JsonObject> = new Map()
  await retryUntilFound({ ...caller, looksOnce: patient.length === 0 }, async () => {
    moves = await look()
    return patient.every(({ params }) => moveOf(moves, params.Identity) !== null) ? true : null
  })
  return moves
}

/** One person names the batch, which names the others. If one is in none, all batches are read, once: asking for each took longer. */
async function searchMoves(
  caller: ReplicationContext,
  calls: readonly Asking[],
): Promise<ReadonlyMap<string, JsonObject>> {
  const moves = new Map<string, JsonObject>()
  const add = (found: Iterable<[string, JsonObject]>) => {
    for (const [name, user] of found) if (!moves.has(name)) moves.set(name, user)
  }
  for (const { params } of calls) {
    if (moveOf(moves, params.Identity) !== null) continue
    const user = await findMigrationUser(caller, params.Identity)
    const batch = user && textOrNull(user.BatchId)
    if (user) moves.set(params.Identity.toLowerCase(), user)
    add(await readMoves(caller, batch))
    if (batch === null) break
  }
  return moves
}

const COPIED = [...SYNCED, ...COMPLETING, ...COMPLETED]
/** By what a step waits for: the statuses in which it is reached. */
const REACHED = { Syncing: [...SYNCING, ...COPIED], Synced: COPIED, Completed: COMPLETED } as const

function progressOf({ Identity, WaitFor }: Question, user: JsonObject | null): Progress {
  if (user === null) {
    const nothing = { Status: 'NotFound', BatchId: null, ErrorSummary: null }
    return { complete: false, data: { Identity, ...nothing, Reason: inNoBatch(Identity) } }
  }
  if (isIn([...FAILED, ...WAITING_FOR_PERSON], user)) throw stoppedBecause(user, Identity)
  const isComplete = isIn(REACHED[WaitFor], user)
  const data = {
    Identity,
    Status: textOf(user.Status),
    BatchId: textOrNull(user.BatchId),
    ErrorSummary: textOrNull(user.ErrorSummary),
    Reason: null,
  }
  return { complete: isComplete, data }
}
