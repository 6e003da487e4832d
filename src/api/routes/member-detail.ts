// One member in full: data, outputs, steps, attempts, events, and what an operator may do about it.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { listEvents } from '../../db/views/events.ts'
import { listMemberMessages } from '../../db/views/member-messages.ts'
import { findMemberDetail } from '../../db/views/members.ts'
import { listAttempts, listStepsOfMember } from '../../db/views/steps.ts'
import { type NextFacts, type NextStep, nextSteps } from '../../domain/plan/next-steps.ts'
import type { Phase } from '../../domain/state/facts.ts'
import { isUnderWay, PERSON_STATES } from '../../domain/state/person-state.ts'
import { MEMBER_STATUSES } from '../../domain/state/transitions.ts'
import { listCandidates } from '../../engine/orders/actions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { event } from '../events/event-shape.ts'
import { read } from '../route.ts'
import { action, held, shownActions, shownStep, step } from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchState } from '../shapes/batch-state.ts'
import {
  messageBatchOf,
  messageLine,
  messageSteps,
  shownMessage,
} from '../shapes/message-shapes.ts'
import { dateTime, id, json, nullableDateTime, nullableText, reference } from '../shapes/shapes.ts'
import { doing, isHeld, loadShownMembers } from './members.ts'
import { attempt } from './step-actions.ts'

const STEPS_MAX = 1_000
const ATTEMPTS_MAX = 1_000
const EVENTS_MAX = 500
const NEXT_MAX = 100
const MESSAGES_MAX = 100

const memberDetail = z
  .strictObject({
    member: z.strictObject({
      id: z.int(),
      batchId: z.int(),
      memberKey: z.string(),
      status: z.enum(MEMBER_STATUSES),
      data: z
        .record(z.string(), json)
        .meta({ description: 'The member’s row in the data source.' }),
      outputs: z.record(z.string(), json).meta({ description: 'Values that its steps returned.' }),
      joinedAt: dateTime,
      failedAt: nullableDateTime,
      leftAt: nullableDateTime,
      removedBy: nullableText,
      movedToBatchId: z.int().nullable(),
    }),
    state: z.enum(PERSON_STATES),
    held: held.nullable().meta({ description: 'A hold of this member alone.' }),
    where: z
      .string()
      .meta({ description: 'Where the person stands and what comes next; times in UTC.' }),
    doing,
    isHeld,
    next: z
      .array(
        z.strictObject({
          phaseName: z.string(),
          stepName: z.string(),
          at: nullableDateTime.meta({
            description: 'When it starts or is tried again; null when it follows the one before.',
          }),
          isPointOfNoReturn: z.boolean().meta({
            description: 'Its function cannot be undone, and what was done before it stays.',
          }),
        }),
      )
      .meta({ description: `What is to come, at most ${NEXT_MAX}; empty when nothing is.` }),
    actions: z
      .array(action)
      .meta({ description: 'What an operator may do about the member now, most useful first.' }),
    blockedBecause: nullableText.meta({
      description: 'Why a repair has to wait, such as a job that is under way.',
    }),
    messages: z.array(messageLine).meta({
      description: `Messages that the person was sent, newest first, after those that failed and those to come; at most ${MESSAGES_MAX} of each.`,
    }),
    steps: z.array(step),
    attempts: z.array(attempt).meta({ description: `The newest ${ATTEMPTS_MAX}, newest first.` }),
    events: z.array(event).meta({ description: `The newest ${EVENTS_MAX}, newest first.` }),
  })
  .meta({ id: 'MemberDetail' })

const detailRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/members/{memberId}',
  operation: 'getMember',
  tag: 'members',
  summary: 'Show a member with its data, outputs, steps, attempts and events',
  rule: 'help-desk',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND'],
  params: z.strictObject({ batchId: id, memberId: id }),
  query: z.strictObject({ reference }),
  answers: { 200: memberDetail },
  handle: async ({ engine, services, params: { batchId, memberId }, query, by, now }) => {
    await services.lookUps.require(query.reference, memberId, by, now)
    const { db } = engine
    const { meaningOf } = services
    const state = await loadBatchState(db, batchId)
    const member = await findMemberDetail(db, batchId, memberId)
    if (!member) throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
    const steps = await listStepsOfMember(db, batchId, memberId, STEPS_MAX)
    const stepIds = steps.map((line) => line.id)
    const attempts = await listAttempts(db, stepIds, ATTEMPTS_MAX)
    const events = await listEvents(db, { memberId }, 'newest', EVENTS_MAX)
    const candidates = (await listCandidates(engine, batchId, [memberId])).get(memberId) ?? []
    const refused = candidates.find(
      ({ action: name, refusal }) => refusal !== null && name !== 'move',
    )
    const next = await nextOf(engine, state, steps)
    // Who passed a phase in another wave does not wait for it again.
    const isAhead = ({ status, name }: Phase) =>
      status !== 'pending' || next.some(({ phaseName }) => phaseName === name)
    const ahead = { ...state, phases: state.phases.filter(isAhead) }
    const [shown] = await loadShownMembers(db, ahead, [memberId])
    const body = {
      member,
      state: shown!.state,
      held: shown!.held,
      where: shown!.where,
      doing: shown!.doing,
      isHeld: shown!.isHeld,
      next: isUnderWay(shown!.state) ? next : [],
      actions: shownActions(candidates),
      blockedBecause: refused?.refusal ?? null,
      messages: await loadMessages(engine, state, memberId),
      steps: steps.map(shownStep(meaningOf)),
      attempts,
      events,
    }
    return { status: 200, body }
  },
})

async function loadMessages(
  engine: Engine,
  state: BatchState,
  memberId: number,
): Promise<z.input<typeof messageLine>[]> {
  const sending = await messageSteps(engine, state)
  const page = { sort: 'id_latest', after: null, limit: MESSAGES_MAX } as const
  const batch = messageBatchOf(state)
  const lines = []
  for (const which of ['not_sent', 'failed', undefined] as const)
    lines.push(
      ...(await listMemberMessages(engine.db, batch, { memberId, state: which }, sending, page)),
    )
  return lines.map(shownMessage)
}

async function nextOf(
  engine: Engine,
  { line, phases }: BatchState,
  steps: NextFacts['steps'],
): Promise<(NextStep & { isPointOfNoReturn: boolean })[]> {
  const runbook = await engine.runbooks.get(engine.db, line.runbookName, line.runbookVersion)
  const factsOf = await engine.functions.factsOf(engine.db, engine.clock.now())
  const byName = new Map(runbook.phases.map((phase) => [phase.name.toLowerCase(), phase.steps]))
  const stepsOf = (phaseName: string) =>
    (byName.get(phaseName.toLowerCase()) ?? []).map(({ name }) => name)
  const isLast = (phaseName: string, stepName: string): boolean => {
    const found = byName.get(phaseName.toLowerCase())?.find(({ name }) => name === stepName)
    return found !== undefined && factsOf(found.workerId, found.function)?.isIrreversible === true
  }
  return nextSteps({ phases, stepsOf, steps }, NEXT_MAX).map((one) => ({
    ...one,
    isPointOfNoReturn: isLast(one.phaseName, one.stepName),
  }))
}

export const MEMBER_DETAIL_ROUTES = [detailRoute]
