// The undo ledger: what was changed for one member, and the undo of members and of init.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import { countUndoSteps, type UndoStepCount } from '../../db/state/effects.ts'
import { findMemberDetail } from '../../db/views/members.ts'
import { isFailed, isOpen, isPassed, type StepStatus } from '../../domain/state/transitions.ts'
import { UNDO_STATES } from '../../domain/state/undo-states.ts'
import {
  readInitLedger,
  readMemberLedger,
  type ShownEffect,
  undoInitOf,
  undoMembers,
} from '../../engine/orders/undo.ts'
import { change, read } from '../route.ts'
import { bulkAnswer, bulkBody, bulkParams, bulkRoute, forMembers } from '../services/bulk-change.ts'
import { STEP_KINDS } from '../shapes/batch-shapes.ts'
import { loadBatchState, lockBatchState } from '../shapes/batch-state.ts'
import {
  dateTime,
  id,
  json,
  nullableText,
  reason,
  reference,
  wholeCount,
} from '../shapes/shapes.ts'

const state = z.enum(UNDO_STATES).meta({
  description:
    '`goes_with`: its object goes by another undo; `beyond`: done before the point of no return; `unknown`: the worker did not tell what it changed.',
})

const isPointOfNoReturn = z.boolean().meta({
  description: 'What was done before it stays, unless a person asks for more.',
})

const effect = z
  .strictObject({
    stepId: z.int(),
    batchId: z.int().meta({
      description: 'The batch in which it was changed. It is undone where the person is now.',
    }),
    kind: z.enum(STEP_KINDS),
    step: z.string().meta({ description: '`phase/step`.' }),
    functionName: nullableText.meta({ description: 'The function that changed it.' }),
    attempt: z.int(),
    at: dateTime,
    state,
    note: nullableText.meta({ description: 'Why it is not undone, or what an undo leaves.' }),
    target: nullableText,
    before: json.meta({ description: 'What was there before.' }),
    after: json.meta({ description: 'What was set; null when the inverse does not compare it.' }),
    isPointOfNoReturn,
    undo: z
      .strictObject({ functionName: z.string(), parameters: json })
      .nullable()
      .meta({ description: 'The inverse; null when there is none.' }),
    undoStepId: z.int().nullable(),
    undoError: nullableText,
  })
  .meta({ id: 'Effect' })

const shown = (one: ShownEffect): z.input<typeof effect> => ({
  ...one,
  kind: one.kind as (typeof STEP_KINDS)[number],
  undo: one.undo && { ...one.undo },
})

const effectsRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/members/{memberId}/effects',
  operation: 'listEffects',
  tag: 'members',
  summary: 'List what was changed for a member, with the inverse of each change, the last first',
  rule: 'help-desk',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND'],
  params: z.strictObject({ batchId: id, memberId: id }),
  query: z.strictObject({ reference }),
  answers: { 200: z.strictObject({ items: z.array(effect) }).meta({ id: 'Effects' }) },
  handle: async ({ engine, services, params: { batchId, memberId }, query, by, now }) => {
    await services.lookUps.require(query.reference, memberId, by, now)
    await loadBatchState(engine.db, batchId)
    if (!(await findMemberDetail(engine.db, batchId, memberId)))
      throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
    const items = await readMemberLedger(engine, batchId, memberId)
    return { status: 200, body: { items: items.map(shown) } }
  },
})

const pastNoReturn = z.boolean().default(false).meta({
  description: 'Also undo what was done before the point of no return.',
})

const plannedUndo = z.strictObject({
  step: z.string(),
  functionName: nullableText.meta({ description: 'The inverse that runs.' }),
  state,
  note: nullableText,
  isPointOfNoReturn,
  memberCount: wholeCount,
})

const undone = z
  .strictObject({
    ...bulkAnswer.shape,
    effects: z
      .array(plannedUndo)
      .meta({ description: 'In the order in which they are undone, with what stays and why.' }),
  })
  .meta({ id: 'UndoneMembers' })

const GROUPS_MAX = 500

/** The members' plans as one: each kind of change once, with the number of people. */
function togetherOf(plans: readonly (readonly ShownEffect[])[]): z.input<typeof plannedUndo>[] {
  const groups = new Map<string, z.input<typeof plannedUndo>>()
  for (const { step, undo, state: now, note, isPointOfNoReturn: isLast } of plans.flat()) {
    const functionName = undo?.functionName ?? null
    const one = { step, functionName, state: now, note, isPointOfNoReturn: isLast }
    const key = JSON.stringify(one)
    groups.set(key, { ...one, memberCount: (groups.get(key)?.memberCount ?? 0) + 1 })
  }
  return [...groups.values()].slice(0, GROUPS_MAX)
}

const undoRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/undo',
  operation: 'undoMembers',
  summary: 'Undo what was changed for members, the last change first',
  about:
    'The inverse of each change in the ledger runs as a tracked step; what no job changed is left alone. A value that was changed since is not overwritten: that step fails, and the rest of that member stays. A dry run lists the plan. All members of a batch in flight need a hold first. The members end as failed and can be retried.',
  action: 'members.undo',
  errors: [...bulkRoute.errors, 'REFUSED'],
  body: z.strictObject({ ...bulkBody, pastNoReturn }),
  answers: { 200: undone },
  handle: async (request) => {
    const plans = new Map<number, readonly ShownEffect[]>()
    const { pastNoReturn: isPastNoReturn, select } = request.body
    const answer = await forMembers(request, {
      covers: { status: ['active', 'failed', 'removed'] },
      run: (engine, order) =>
        undoMembers(engine, {
          ...order,
          isPastNoReturn,
          isWholeBatch: select.all === true,
          onPlan: (memberId, plan) => plans.set(memberId, plan),
        }),
    })
    return { ...answer, body: { ...answer.body, effects: togetherOf([...plans.values()]) } }
  },
})

const undoInitRoute = change({
  method: 'POST',
  path: '/api/batches/{batchId}/undo-init',
  operation: 'undoInit',
  tag: 'batches',
  summary: 'Undo what the init steps of a batch changed',
  about: 'After the undo of its members. A dry run lists the plan.',
  rule: 'admin',
  takes: 'json',
  comparesState: true,
  action: 'batch.undo-init',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  params: bulkParams,
  body: z.strictObject({
    reason,
    pastNoReturn,
    dryRun: z.boolean().default(false).meta({ description: 'List the plan and change nothing.' }),
  }),
  answers: {
    200: z
      .strictObject({ isDryRun: z.boolean(), items: z.array(effect) })
      .meta({ id: 'UndoneInit' }),
  },
  handle: async ({ engine, params: { batchId }, body, by, ifMatch }) => {
    const { reason: why, dryRun, pastNoReturn: isPastNoReturn } = body
    await lockBatchState(engine, batchId, ifMatch)
    const order = { batchId, actor: by.name, reason: why, isPastNoReturn }
    const items = dryRun
      ? await readInitLedger(engine, batchId, order)
      : await undoInitOf(engine, order)
    const after: Record<string, Json> = { changes: items.length }
    return {
      status: 200,
      body: { isDryRun: dryRun, items: items.map(shown) },
      auditNote: dryRun ? null : { subject: `batch ${batchId}`, reason: why, after },
    }
  },
})

const undoCounts = z
  .strictObject({
    total: wholeCount,
    done: wholeCount.meta({ description: 'Taken back, or passed by a person.' }),
    failed: wholeCount,
    left: wholeCount.meta({ description: 'Cancelled, because one after it failed.' }),
    open: wholeCount,
  })
  .meta({ id: 'UndoCounts' })

const progressRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/undo',
  operation: 'getUndo',
  tag: 'batches',
  summary: 'Count the undo steps of a batch, those of its members and those of init',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  params: bulkParams,
  answers: {
    200: z.strictObject({ members: undoCounts, init: undoCounts }).meta({ id: 'UndoProgress' }),
  },
  handle: async ({ engine, params: { batchId } }) => {
    await loadBatchState(engine.db, batchId)
    const counts = await countUndoSteps(engine.db, batchId)
    const of = (isInit: boolean) => undoCountsOf(counts.filter((one) => one.isInit === isInit))
    return { status: 200, body: { members: of(false), init: of(true) } }
  },
})

function undoCountsOf(counts: readonly UndoStepCount[]): z.output<typeof undoCounts> {
  const sum = (isMeant: (status: StepStatus) => boolean) =>
    counts.filter(({ status }) => isMeant(status)).reduce((total, { count }) => total + count, 0)
  const [total, done, failed] = [sum(() => true), sum(isPassed), sum(isFailed)]
  const open = sum(isOpen)
  return { total, done, failed, open, left: total - done - failed - open }
}

export const UNDO_ROUTES = [effectsRoute, undoRoute, undoInitRoute, progressRoute]
