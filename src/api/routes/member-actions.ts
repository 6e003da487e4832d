// Operator actions on many members: retry, skip, remove, add again, move, set a variable. See bulk-change.ts.
import { z } from 'zod'
import {
  passMembers,
  type RollbackSummary,
  readmitMembers,
  redoMembers,
  removeMembers,
  retryMembers,
  rollBackMembers,
  setMemberVariable,
} from '../../engine/orders/member-actions.ts'
import { moveMembers } from '../../engine/orders/moves.ts'
import { change } from '../route.ts'
import {
  type BulkBody,
  bulkAnswer,
  bulkBody,
  bulkRoute,
  forMembers,
  rowId,
  stepPlace,
} from '../services/bulk-change.ts'
import { json, nameText, wholeCount } from '../shapes/shapes.ts'
import { stepOutputs } from './step-actions.ts'

const places = z.array(z.string()).meta({ description: '`phase/step`, last first.' })

const rolledBack = z
  .strictObject({
    ...bulkAnswer.shape,
    rollbacks: z
      .array(
        z.strictObject({
          rollback: z.string(),
          rollsBack: places,
          runs: z.array(z.string()).meta({ description: 'The steps of the rollback.' }),
          memberCount: wholeCount,
        }),
      )
      .meta({ description: 'In the order in which they run.' }),
    kept: z
      .array(z.strictObject({ step: z.string(), memberCount: wholeCount }))
      .meta({ description: 'Steps without a rollback: their effect stays.' }),
  })
  .meta({ id: 'RolledBackMembers' })

const retryRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/retry',
  operation: 'retryMembers',
  summary: 'Retry failed members from the failed step or an earlier one, or repeat passed steps',
  about:
    'Uses current data and the active version. After a rollback, `fromStep` is required. With `again`, members that did not fail repeat `fromStep` and all later steps too.',
  action: 'members.retry',
  body: z
    .strictObject({
      ...bulkBody,
      fromStep: stepPlace.optional(),
      again: z.boolean().default(false),
    })
    .refine(({ fromStep, again }) => !again || fromStep !== undefined, 'must name fromStep'),
  handle: (request) => {
    const { fromStep: fromStepName, again } = request.body
    const status = again ? (['active', 'failed'] as const) : (['failed'] as const)
    return forMembers(request, {
      covers: { status: [...status] },
      run: (engine, order) =>
        again
          ? redoMembers(engine, { ...order, fromStepName: fromStepName! })
          : retryMembers(engine, { ...order, ...(fromStepName && { fromStepName }) }),
    })
  },
})

const readdRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/readd',
  operation: 'readdMembers',
  summary: 'Add removed members again, with the steps they had passed',
  about:
    'A member whose removal steps were sent starts over. The data source does not remove it again before its key has reappeared there.',
  action: 'members.readd',
  body: z.strictObject(bulkBody),
  handle: (request) =>
    forMembers(request, {
      covers: { status: ['removed'] },
      changesMembersOf: [request.params.batchId],
      run: (engine, order) => readmitMembers(engine, { ...order, event: 'readd' }),
    }),
})

const moveRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/move',
  operation: 'moveMembers',
  summary:
    'Move members to another batch of the runbook, with their data, outputs and passed steps',
  about:
    'No removal steps run. Refused once a step of T-0 or later was sent for the member. The data source does not move them back into the group they left; a row in any other group moves them.',
  action: 'members.move',
  body: z.strictObject({ ...bulkBody, toBatchId: rowId }),
  handle: (request) =>
    forMembers(request, {
      covers: { status: ['active'] },
      changesMembersOf: [request.params.batchId, request.body.toBatchId],
      run: (engine, order) =>
        moveMembers(engine, { ...order, to: { batchId: request.body.toBatchId } }),
    }),
})

const removeRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/remove',
  operation: 'removeMembers',
  summary: 'Remove members: open steps are cancelled, removal steps run',
  action: 'members.remove',
  body: z.strictObject(bulkBody),
  handle: (request) =>
    forMembers(request, {
      covers: { status: ['active', 'failed'] },
      changesMembersOf: [request.params.batchId],
      run: removeMembers,
    }),
})

const skipRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/skip',
  operation: 'skipMembers',
  summary: 'Skip a step of members, or mark it as done by hand; they continue after it',
  action: 'members.skip',
  errors: [...bulkRoute.errors, 'VARIABLE_RESERVED'],
  body: z.strictObject({
    ...bulkBody,
    step: stepPlace.optional().meta({
      description: 'The step to pass; by default `failedStep`, or the step that failed.',
    }),
    as: z.enum(['skipped', 'done']).default('skipped'),
    outputs: stepOutputs.meta({ description: 'Of a step that was done.' }),
  }),
  handle: (request) => {
    const { as, outputs } = request.body
    return forMembers(request, {
      covers: { status: ['failed'] },
      run: (engine, order) =>
        passMembers(engine, {
          ...order,
          ...stepToPass(request.body),
          as,
          ...(as === 'done' && { outputs }),
        }),
    })
  },
})

function stepToPass({ step, select }: { step?: string | undefined; select: BulkBody['select'] }) {
  const stepName = step ?? select.failedStep
  return stepName === undefined ? {} : { stepName }
}

const rollbackRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/rollback',
  operation: 'rollBackMembers',
  summary: 'Roll back what members have passed, from a step or phase on',
  about:
    'Each step’s own rollback runs, the last step’s first; a rollback that several steps share runs once. The members end as failed and can be retried. A dry run lists the rollbacks.',
  action: 'members.rollback',
  body: z
    .strictObject({
      ...bulkBody,
      fromStep: stepPlace.optional(),
      fromPhase: nameText.optional(),
    })
    .refine(
      ({ fromStep, fromPhase }) => fromStep === undefined || fromPhase === undefined,
      'must have either fromStep or fromPhase',
    ),
  answers: { 200: rolledBack },
  handle: async (request) => {
    const { fromStep, fromPhase } = request.body
    const plans = new Map<number, RollbackSummary>()
    const answer = await forMembers(request, {
      covers: { status: ['active', 'failed'] },
      run: (engine, order) =>
        rollBackMembers(engine, {
          ...order,
          ...(fromStep !== undefined && { fromStepName: fromStep }),
          ...(fromPhase !== undefined && { fromPhaseName: fromPhase }),
          onPlan: (memberId, plan) => plans.set(memberId, plan),
        }),
    })
    return { ...answer, body: { ...answer.body, ...togetherOf([...plans.values()]) } }
  },
})

/** The members' plans as one: each rollback once, with the number of people. */
function togetherOf(plans: readonly RollbackSummary[]) {
  const rollbacks = Map.groupBy(
    plans.flatMap((plan) => plan.rollbacks),
    (one) => JSON.stringify(one),
  )
  const kept = Map.groupBy(
    plans.flatMap((plan) => plan.kept),
    (place) => place,
  )
  return {
    rollbacks: [...rollbacks.values()].map((same) => ({
      ...same[0]!,
      rollsBack: [...same[0]!.rollsBack],
      runs: [...same[0]!.runs],
      memberCount: same.length,
    })),
    kept: [...kept].map(([step, same]) => ({ step, memberCount: same.length })),
  }
}

const variableRoute = change({
  ...bulkRoute,
  path: '/api/batches/{batchId}/members/variable',
  operation: 'setMemberVariable',
  summary: 'Set a variable of members, as if a step had returned it',
  about: 'Jobs sent from then on use it. To send a failed step again, retry it afterwards.',
  action: 'members.variable',
  errors: [...bulkRoute.errors, 'VARIABLE_RESERVED'],
  body: z.strictObject({
    ...bulkBody,
    name: z
      .string()
      .regex(/^[^{}]{1,128}$/, 'must be 1 to 128 characters without braces')
      .refine((text) => text.trim() === text, 'must not start or end with a space'),
    value: json,
  }),
  handle: (request) =>
    forMembers(request, {
      covers: { status: ['active', 'failed'] },
      run: (engine, order) =>
        setMemberVariable(engine, { ...order, name: request.body.name, value: request.body.value }),
    }),
})

export const MEMBER_ACTION_ROUTES = [
  retryRoute,
  skipRoute,
  removeRoute,
  readdRoute,
  moveRoute,
  rollbackRoute,
  variableRoute,
]
