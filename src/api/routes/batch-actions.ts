// What an operator decides about a whole batch: advance, hold, resume, restart, reschedule, cancel, clone.
// Each takes a reason, compares what the caller saw, and can be tried first: `dryRun` answers as the change would.
import { z } from 'zod'
import { listMemberData } from '../../db/views/members.ts'
import type { Json } from '../../domain/json.ts'
import { MEMBER_STATUSES } from '../../domain/transitions.ts'
import {
  advanceBatch,
  type BatchOrder,
  cancelBatch,
  holdBatch,
  rescheduleBatch,
  restartBatch,
  resumeBatch,
} from '../../engine/batch-actions.ts'
import { createBatch } from '../../engine/create.ts'
import type { Engine } from '../../engine/engine.ts'
import { MatoolkitError } from '../../errors.ts'
import { batch, phase, shownBatch, shownPhase } from '../batch-shapes.ts'
import { type BatchState, loadBatchState, lockBatchState } from '../batch-state.ts'
import { runOrDryRun } from '../dry-run.ts'
import { type AuditNote, change, type Route, type RouteRequest } from '../route.ts'
import { id, instant, reason, wholeCount } from '../shapes.ts'

const params = z.strictObject({ batchId: id })

const dryRun = z
  .boolean()
  .default(false)
  .meta({ description: 'The same answer, and nothing is done.' })

const decided = z
  .strictObject({ isDryRun: z.boolean(), batch, phases: z.array(phase) })
  .meta({ id: 'DecidedBatch' })

type BatchAsk = RouteRequest<
  z.output<typeof params>,
  unknown,
  { readonly reason?: string | undefined; readonly dryRun: boolean }
>
type Who = Omit<BatchOrder, 'reason'>
type Told = Readonly<Record<string, Json>>

/** Locks, compares, decides, and tells how the batch stands then. */
async function decide(
  { engine: outer, params: { batchId }, body, by, ifMatch }: BatchAsk,
  run: (engine: Engine, who: Who) => Promise<void>,
  tell: (state: BatchState) => Told,
  more: Told = {},
) {
  const who = { batchId, actor: by.name }
  const { before, after } = await runOrDryRun(outer, body.dryRun, async (engine) => {
    const before = await lockBatchState(engine, batchId, ifMatch)
    await run(engine, who)
    return { before, after: await loadBatchState(engine.db, batchId) }
  })
  const noted: AuditNote = {
    subject: `batch ${batchId}`,
    reason: body.reason ?? null,
    before: tell(before),
    after: { ...tell(after), ...more },
  }
  return {
    status: 200 as const,
    body: {
      isDryRun: body.dryRun,
      batch: shownBatch(after.line),
      phases: after.phases.map(shownPhase),
    },
    etag: body.dryRun ? before.tag : after.tag,
    noted: body.dryRun ? null : noted,
  }
}

const described = {
  method: 'POST',
  tag: 'batches',
  rule: 'admin',
  takes: 'json',
  comparesState: true,
  params,
} as const

/** An order of the engine's that takes nothing but the reason. */
const withReason =
  (
    { body }: { readonly body: { readonly reason: string } },
    run: (engine: Engine, order: BatchOrder) => Promise<void>,
  ) =>
  (engine: Engine, who: Who): Promise<void> =>
    run(engine, { ...who, reason: body.reason })

const plainBody = z.strictObject({ reason, dryRun })
const heldOf = ({ line }: BatchState): Told => ({
  heldReason: line.heldReason,
  heldBy: line.heldBy,
})
const statusOf = ({ line }: BatchState): Told => ({ status: line.status })

const advanceRoute = change({
  ...described,
  path: '/api/batches/{batchId}/advance',
  operation: 'advanceBatch',
  summary: 'Begin the next phase of a manual batch',
  about:
    'The caller names the phase it saw as the next one (`nextPhase` of the batch, or `init`), so that two operators cannot advance twice.',
  action: 'batch.advance',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: z.strictObject({
    expectedPhase: z.string().min(1).max(63),
    allowStragglers: z.boolean().default(false),
    reason: reason.optional(),
    dryRun,
  }),
  answers: { 200: decided },
  handle: (ask) => {
    const { expectedPhase, allowStragglers } = ask.body
    return decide(
      ask,
      (engine, who) => advanceBatch(engine, { ...who, expectedPhase, allowStragglers }),
      ({ line }) => ({ status: line.status, currentPhase: line.currentPhase }),
      { advancedTo: expectedPhase, allowStragglers },
    )
  },
})

const cancelRoute = change({
  ...described,
  path: '/api/batches/{batchId}/cancel',
  operation: 'cancelBatch',
  summary: 'End a batch: what is open is cancelled, what is being undone is undone to its end',
  action: 'batch.cancel',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: plainBody,
  answers: { 200: decided },
  handle: (ask) => decide(ask, withReason(ask, cancelBatch), statusOf),
})

const holdRoute = change({
  ...described,
  path: '/api/batches/{batchId}/hold',
  operation: 'holdBatch',
  summary: 'Send nothing new; jobs that no worker has taken are called back',
  action: 'batch.hold',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: plainBody,
  answers: { 200: decided },
  handle: (ask) => decide(ask, withReason(ask, holdBatch), heldOf),
})

const resumeRoute = change({
  ...described,
  path: '/api/batches/{batchId}/resume',
  operation: 'resumeBatch',
  summary: 'Go on after a hold; the time that was held does not count for retries and polls',
  action: 'batch.resume',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: plainBody,
  answers: { 200: decided },
  handle: (ask) => decide(ask, withReason(ask, resumeBatch), heldOf),
})

const restartRoute = change({
  ...described,
  path: '/api/batches/{batchId}/restart',
  operation: 'restartBatch',
  summary: 'Take a batch that failed in init back to init',
  action: 'batch.restart',
  errors: ['BATCH_NOT_FOUND', 'REFUSED'],
  body: plainBody,
  answers: { 200: decided },
  handle: (ask) => decide(ask, withReason(ask, restartBatch), statusOf),
})

const overdue = z
  .array(z.strictObject({ phaseName: z.string(), dueAt: z.date() }))
  .meta({ description: 'Phases that would begin at once, because their new time has passed.' })

const rescheduleRoute = change({
  ...described,
  path: '/api/batches/{batchId}/reschedule',
  operation: 'rescheduleBatch',
  summary: 'Give a batch another start; phases that have not begun move with it',
  about:
    'Phases whose new time has passed would begin at once: the call is refused with their names unless `allowOverdue` is true.',
  action: 'batch.reschedule',
  errors: ['BATCH_NOT_FOUND', 'REFUSED', 'WOULD_BE_OVERDUE'],
  body: z.strictObject({
    startTime: instant,
    allowOverdue: z.boolean().default(false),
    reason,
    dryRun,
  }),
  answers: {
    200: z.strictObject({ ...decided.shape, overdue }).meta({ id: 'RescheduledBatch' }),
  },
  handle: async (ask) => {
    const { startTime, allowOverdue, reason: why, dryRun: isTried } = ask.body
    let late: z.input<typeof overdue> = []
    const told = await decide(
      ask,
      async (engine, who) => {
        await rescheduleBatch(engine, { ...who, reason: why, startTime })
        late = overdueIn(await loadBatchState(engine.db, who.batchId), ask.now)
        if (late.length > 0 && !allowOverdue && !isTried) throw wouldBeOverdue(who, late)
      },
      ({ line }) => ({ startTime: line.batchStartTime?.toISOString() ?? null }),
    )
    return { ...told, body: { ...told.body, overdue: late } }
  },
})

const overdueIn = ({ phases }: BatchState, now: Date): z.input<typeof overdue> =>
  phases.flatMap(({ name, dueAt, status }) =>
    status === 'pending' && dueAt !== null && dueAt <= now ? [{ phaseName: name, dueAt }] : [],
  )

const wouldBeOverdue = ({ batchId }: Who, late: z.input<typeof overdue>): MatoolkitError =>
  new MatoolkitError('WOULD_BE_OVERDUE', {
    batchId,
    phases: late.map(({ phaseName }) => phaseName).join(', '),
  })

const cloned = z
  .strictObject({
    batchId: z.int().nullable(),
    isDryRun: z.boolean(),
    clonedFrom: z.int(),
    memberCount: wholeCount,
    batch: batch.nullable(),
  })
  .meta({ id: 'ClonedBatch' })

const cloneRoute = change({
  ...described,
  path: '/api/batches/{batchId}/clone',
  operation: 'cloneBatch',
  summary: 'A new manual batch of the active version with the members of this one, from the start',
  about:
    'Members bring their data and none of their outputs. Nobody can be active in two unfinished batches, so the members must have ended here.',
  action: 'batch.clone',
  creates: true,
  errors: ['BATCH_NOT_FOUND', 'RUNBOOK_NOT_FOUND', 'MEMBER_ELSEWHERE', 'REFUSED'],
  body: z.strictObject({
    statuses: z
      .array(z.enum(MEMBER_STATUSES))
      .min(1)
      .default(['active', 'failed'])
      .meta({ description: 'Which of its members.' }),
    reason,
    dryRun,
  }),
  answers: { 200: cloned, 201: cloned },
  handle: async ({ engine: outer, params: { batchId }, body, by, ifMatch }) => {
    const made = await runOrDryRun(outer, body.dryRun, async (engine) => {
      const { line } = await lockBatchState(engine, batchId, ifMatch)
      const members = await listMemberData(engine.db, batchId, body.statuses)
      if (members.length === 0) throw nobodyToClone(batchId, body.statuses)
      const request = { runbookName: line.runbookName, sourceTime: null, createdBy: by.name }
      const { batchId: newId } = await createBatch(engine, { ...request, members })
      return { newId, members: members.length, state: await loadBatchState(engine.db, newId) }
    })
    const about = { clonedFrom: batchId, memberCount: made.members }
    if (body.dryRun) {
      const nothing = { batchId: null, isDryRun: true, batch: null, ...about }
      return { status: 200, body: nothing, noted: null }
    }
    const { newId, state } = made
    return {
      status: 201,
      body: { batchId: newId, isDryRun: false, batch: shownBatch(state.line), ...about },
      etag: state.tag,
      headers: { location: `/api/batches/${newId}` },
      noted: { subject: `batch ${newId}`, reason: body.reason, after: about },
    }
  },
})

const nobodyToClone = (batchId: number, statuses: readonly string[]): MatoolkitError =>
  new MatoolkitError('REFUSED', {
    reason: `Batch ${batchId} has no members that are ${statuses.join(' or ')}.`,
  })

export const BATCH_ACTION_ROUTES: readonly Route[] = [
  advanceRoute,
  cancelRoute,
  holdRoute,
  resumeRoute,
  restartRoute,
  rescheduleRoute,
  cloneRoute,
]
