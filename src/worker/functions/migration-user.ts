// One person of a migration batch: completed, stopped, started, changed and removed alone.
import { z } from 'zod'
import type { JsonObject } from '../../domain/json.ts'
import { defineFunction } from '../catalogue.ts'
import { textOf } from './entra-directory.ts'
import { runOrNone } from './exchange-recipient.ts'
import { FunctionRefused } from './failure.ts'
import { migrationPermissions as permissions } from './migration-batch.ts'
import {
  COMPLETED,
  COMPLETING,
  FAILED,
  findMigrationUser,
  moveIdentity as identity,
  isIn,
  readMigrationUser,
  runUser,
  STOPPED,
  SYNCED,
  stoppedBecause,
  WAITING_FOR_PERSON,
} from './migration-moves.ts'
import { optional } from './parameters.ts'
import { type ReplicationContext, retryUntilFound } from './replication.ts'

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
    if (isIn([...FAILED, ...WAITING_FOR_PERSON], user)) throw stoppedBecause(user, Identity)
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
    const isChange = isIn([...FAILED, ...WAITING_FOR_PERSON], user)
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
  isIn([...SYNCED, ...COMPLETED, ...STOPPED, ...WAITING_FOR_PERSON, 'Failed', 'Corrupted'], user)

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
