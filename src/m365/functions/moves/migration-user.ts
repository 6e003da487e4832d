// One person of a migration batch: completed, stopped, started, changed and removed alone.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { defineM365Function } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { runOrNone } from '../exchange/exchange-recipient.ts'
import { FunctionRefused } from '../failure.ts'
import { by, never, noReturn, whenChanged } from '../inverse.ts'
import { optional } from '../parameters.ts'
import type { ReplicationContext } from '../replication.ts'
import { COMPLETE, notYet, removeInTime, takesMinutes, waitFor } from '../wait-for.ts'
import { isUser, migrationPermissions as permissions } from './migration-batch.ts'
import {
  BROKEN,
  COMPLETED,
  COMPLETING,
  FAILED,
  findMigrationUser,
  moveIdentity as identity,
  isIn,
  REMOVING,
  readMigrationUser,
  runUser,
  STOPPED,
  STOPPING,
  SYNCED,
  stoppedBecause,
  WAITING_FOR_PERSON,
} from './migration-moves.ts'

const changed = z.object({ Identity: z.string(), Status: z.string(), Changed: z.boolean() })
type Changed = z.infer<typeof changed>

const AS_FAR = 'What was copied meanwhile stays copied.'

export const completeMigrationUser = defineM365Function({
  name: 'Complete-MigrationUser',
  description:
    'Completes a copied mailbox move: the cut-over of one person. Refuses one that is not copied yet. Follow it with Test-MigrationUser.',
  parameters: z.strictObject({ Identity: identity }),
  result: changed,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'There is none once Exchange completes it; before that, Stop-MigrationUser.',
  undoneBy: ['Stop-MigrationUser'],
  effectOf: whenChanged((_, { Identity }) =>
    noReturn(Identity, 'The mailbox is cut over: Exchange completes the move.'),
  ),
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

export const setOneMigration = defineM365Function({
  name: 'Set-MigrationUser',
  description: 'Changes the date of one mailbox move, or approves its skipped items.',
  parameters: setting,
  result: setUser,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Set-MigrationUser with the previous date; an approval cannot be taken back.',
  undoneBy: ['Set-MigrationUser'],
  effectOf: (_, { Identity }) =>
    never(Identity, 'Exchange does not return the previous date, and an approval stays.'),
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

const changedInTime = z.object({ Identity: z.string(), Status: z.string(), ...takesMinutes })
type ChangedInTime = z.infer<typeof changedInTime>

const whatIs = (name: string, status: string): string =>
  `The mailbox move of "${name}" is ${status}`

export const startOneMigration = defineM365Function({
  name: 'Start-MigrationUser',
  description:
    'Starts one mailbox move again that stopped, failed or needs an approval. One that is stopping has to stop first: use a poll.',
  parameters: z.strictObject({ Identity: identity }),
  result: changedInTime,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Stop-MigrationUser, if Changed is true.',
  undoneBy: ['Stop-MigrationUser'],
  effectOf: whenChanged((_, { Identity, Status }) =>
    by({
      target: Identity,
      before: { Status },
      run: 'Stop-MigrationUser',
      with: { Identity },
      keeps: AS_FAR,
    }),
  ),
  run: async (call): Promise<ChangedInTime> => {
    const { Identity } = call.params
    const first = await readMigrationUser(call, Identity)
    const user = isIn(STOPPING, first)
      ? await waitFor(call, () => findMigrationUser(call, Identity), isNotStopping)
      : first
    const Status = textOf(user?.Status)
    if (user === null || isIn(REMOVING, user))
      throw new FunctionRefused(
        `The mailbox move of "${Identity}" is being removed from its batch. Add it again when it is gone: Add-MigrationUser.`,
      )
    if (isIn(STOPPING, user))
      return { Identity, Status, Changed: false, ...notYet(whatIs(Identity, Status)) }
    const isChange = isIn([...FAILED, ...WAITING_FOR_PERSON], user)
    if (isChange) await runUser(call, 'Start', Identity)
    return { Identity, Status, Changed: isChange, ...COMPLETE }
  },
})

export const stopOneMigration = defineM365Function({
  name: 'Stop-MigrationUser',
  description:
    'Stops one mailbox move, which takes minutes: use a poll. What was copied stays. Refuses a completed one.',
  parameters: z.strictObject({ Identity: identity }),
  result: changedInTime,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Start-MigrationUser.',
  undoneBy: ['Start-MigrationUser'],
  effectOf: whenChanged((_, { Identity }) =>
    by({
      target: Identity,
      before: {},
      run: 'Start-MigrationUser',
      with: { Identity },
      keeps: AS_FAR,
    }),
  ),
  run: async (call): Promise<ChangedInTime> => {
    const { Identity } = call.params
    const user = await readMigrationUser(call, Identity)
    requireNotCompleted(user, Identity)
    const Changed = !isIn(FAILED, user)
    if (Changed) await runUser(call, 'Stop', Identity)
    const now = isStopped(user)
      ? user
      : await waitFor(call, () => findMigrationUser(call, Identity), isStopped)
    if (now !== null) requireNotCompleted(now, Identity)
    const Status = now === null ? 'Removed' : textOf(now.Status)
    const isDone = now === null || isStopped(now)
    return { Identity, Status, Changed, ...(isDone ? COMPLETE : notYet(whatIs(Identity, Status))) }
  },
})

function requireNotCompleted(user: JsonObject, name: string): void {
  if (isIn(COMPLETED, user))
    throw new FunctionRefused(
      `The mailbox move of "${name}" is completed: the mailbox is here, and nothing is left to stop.`,
    )
}

const removedUser = z.object({ Identity: z.string(), ...takesMinutes })

export const removeOneMigration = defineM365Function({
  name: 'Remove-MigrationUser',
  description:
    'Stops one mailbox move and removes it from its batch, which takes minutes: use a poll. A completed mailbox stays in place.',
  parameters: z.strictObject({ Identity: identity }),
  result: removedUser,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  copy: 'discards',
  undo: 'Add-MigrationUser; copying starts over.',
  undoneBy: ['Add-MigrationUser'],
  effectOf: whenChanged((_, { Identity }) =>
    never(Identity, 'What was copied is gone; a new move starts over.'),
  ),
  run: async (call): Promise<z.infer<typeof removedUser>> => {
    const { Identity } = call.params
    const first = await findMigrationUser(call, Identity)
    if (first === null) return { Identity, Changed: false, ...COMPLETE }
    if (isIn(COMPLETING, first))
      throw new FunctionRefused(
        `The mailbox move of "${Identity}" is completing and cannot be removed now. Wait for it: Test-MigrationUser.`,
      )
    const { Changed, left } = await removeInTime(call, first, {
      look: () => findMigrationUser(call, Identity),
      isAtRest,
      isStopping: (user) => isIn(STOPPING, user),
      isRemoving: (user) => isIn(REMOVING, user),
      stop: () => runUser(call, 'Stop', Identity),
      // Already gone: an earlier response was lost.
      remove: async () => {
        const names = [...(await associatedWith(call, Identity)), Identity]
        for (const name of names) await runOrNone(() => runUser(call, 'Remove', name))
      },
    })
    const state = left === null ? COMPLETE : notYet(whatIs(Identity, textOf(left.Status)))
    return { Identity, Changed, ...state }
  },
})

const ASSOCIATED_MAX = 12

/**
 * Auxiliary archives move as users of their own and stand in the way of a second attempt ("Migration Failures": Get-MigrationUser
 * -IncludeAssociatedUsers). Exchange returns everyone for a name that it does not know: only what the switch adds to one person counts.
 */
async function associatedWith({ tenant, signal }: ReplicationContext, name: string) {
  const ask = (more: JsonObject) =>
    runOrNone(() =>
      tenant.exchange.run('Get-MigrationUser', { Identity: name, ...more }, { signal }),
    )
  const alone = await ask({})
  const all = await ask({ IncludeAssociatedUsers: true })
  const others = all.filter((user) => !isUser(user, name)).map(({ Identity }) => textOf(Identity))
  if (alone.length !== 1 || others.length === all.length || others.length > ASSOCIATED_MAX)
    return []
  return others.filter((one) => one !== '')
}

const isAtRest = (user: JsonObject): boolean =>
  isIn([...SYNCED, ...COMPLETED, ...STOPPED, ...WAITING_FOR_PERSON, ...BROKEN], user)

const isNotStopping = (user: JsonObject): boolean => !isIn(STOPPING, user)

/** It cannot complete any more by itself, or has. */
const isStopped = (user: JsonObject): boolean =>
  isIn([...STOPPED, ...BROKEN, ...WAITING_FOR_PERSON, ...COMPLETED], user)
