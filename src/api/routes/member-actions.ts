// Operator actions on many members: retry, redo, skip, mark done, remove, add again, move, set a variable. A selection is never empty by mistake. Large selections are processed
// in chunks, one transaction each; the answer counts successes and refusals, with reasons. A dry run lists the selection and tries the
// first chunk, so its refusals are real.
import { z } from 'zod'
import { type MemberFilter, selectMembers } from '../../db/views/members.ts'
import { foldKey } from '../../domain/member-key.ts'
import type { MemberStatus } from '../../domain/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import {
  type MembersOrder,
  type MembersOutcome,
  passMembers,
  readmitMembers,
  redoMembers,
  removeMembers,
  retryMembers,
  rollBackMembers,
  setMemberVariable,
  type UndoSummary,
} from '../../engine/member-actions.ts'
import { moveMembers } from '../../engine/moves.ts'
import { MatoolkitError } from '../../errors.ts'
import { loadBatchState } from '../batch-state.ts'
import { membersOfGroup } from '../failure-cache.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { requireEtag } from '../http/etag.ts'
import { change, type Route, type RouteRequest } from '../route.ts'
import { id, json, nameText, reason, searchText, wholeCount } from '../shapes.ts'
import { stepOutputs } from './step-actions.ts'

/** The maximum size of a batch. */
const SELECTED_MAX = 200_000
const IDS_MAX = 10_000
const LISTED_MAX = 100
const MEMBERS_PER_CHUNK = 500

const params = z.strictObject({ batchId: id })
const rowId = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

/** Step names are unique in a phase. */
const stepPlace = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}(\/[A-Za-z0-9][A-Za-z0-9_-]{0,62})?$/,
    'must be the name of a step, or phase/step',
  )

const selection = z
  .strictObject({
    all: z
      .literal(true)
      .optional()
      .meta({ description: 'All members that the action applies to.' }),
    ids: z.array(rowId).min(1).max(IDS_MAX).optional(),
    keys: z
      .array(z.string().trim().min(1).max(512))
      .min(1)
      .max(IDS_MAX)
      .optional()
      .meta({ description: 'People by key, in any case; with `ids` both are selected.' }),
    failedPhase: nameText.optional(),
    failedStep: nameText.optional(),
    error: searchText.optional().meta({ description: 'Part of the error message.' }),
    pattern: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ description: 'The `pattern` of a failure group: all members of the group.' }),
  })
  .refine(
    ({ all, ...filters }) =>
      (all === true) !== Object.values(filters).some((value) => value !== undefined),
    'must be either {"all": true} or at least one of ids, keys, failedPhase, failedStep, error, pattern',
  )
  .refine(
    ({ pattern, ids, keys }) => pattern === undefined || (ids ?? keys) === undefined,
    'must have either pattern or ids and keys',
  )
  .meta({ id: 'Selection' })

const common = {
  select: selection,
  expectedCount: wholeCount
    .optional()
    .meta({ description: 'The number the caller saw; any other is refused.' }),
  reason,
  allOrNothing: z
    .boolean()
    .default(false)
    .meta({ description: 'Change nobody when anybody is refused.' }),
  dryRun: z
    .boolean()
    .default(false)
    .meta({ description: 'Show the selection and change nothing.' }),
}

const outcome = z
  .strictObject({
    batchId: z.int(),
    isDryRun: z.boolean(),
    selectedCount: wholeCount,
    selected: z
      .array(z.strictObject({ memberId: z.int(), memberKey: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
    triedCount: wholeCount.meta({
      description: `All selected; in a dry run the first ${MEMBERS_PER_CHUNK}.`,
    }),
    doneCount: wholeCount,
    done: z
      .array(z.strictObject({ memberId: z.int(), memberKey: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
    refusedCount: wholeCount,
    refused: z
      .array(z.strictObject({ memberId: z.int(), memberKey: z.string(), reason: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
  })
  .meta({ id: 'MembersOutcome' })

const places = z.array(z.string()).meta({ description: '`phase/step`, last first.' })

const rolledBack = z
  .strictObject({
    ...outcome.shape,
    rollbacks: z
      .array(
        z.strictObject({
          rollback: z.string(),
          undoes: places,
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

type Common = z.output<z.ZodObject<typeof common>>
type MembersRequest<Body> = RouteRequest<z.output<typeof params>, unknown, Common & Body>
type Run = (engine: Engine, order: MembersOrder) => Promise<MembersOutcome>

/** Runs the action on the selection in chunks. `applicable`: the statuses that a selection without names covers. */
async function forMembers<Body>(
  request: MembersRequest<Body>,
  applicable: readonly MemberStatus[],
  run: Run,
) {
  const { engine, params, body, ifMatch } = request
  const { batchId } = params
  const { select, expectedCount, reason: why, allOrNothing, dryRun } = body
  const { etag } = await loadBatchState(engine.db, batchId)
  requireEtag(ifMatch, etag, `Batch ${batchId}`)
  const { all: _, pattern, ...filter } = select
  const isNamed = filter.ids !== undefined || filter.keys !== undefined
  const group =
    pattern !== undefined && (await membersOfGroup(engine.db, batchId, { ...filter, pattern }))
  const covered: MemberFilter = isNamed
    ? filter
    : { ...filter, status: [...applicable], ...(group && { ids: group }) }
  const selected = await selectMembers(engine.db, batchId, covered, SELECTED_MAX)
  requireExpected(selected, filter, expectedCount, batchId)
  const first = dryRun || allOrNothing ? await runChunks(request, selected, true, run) : null
  const isTrial = dryRun || (first !== null && first.refused.length > 0)
  const total = isTrial ? first! : await runChunks(request, selected, false, run)
  const done = isTrial && !dryRun ? [] : total.done
  const counts = {
    selectedCount: selected.length,
    triedCount: total.tried,
    doneCount: done.length,
    refusedCount: total.refused.length,
  }
  const keyOf = new Map(selected.map((member) => [member.id, member.memberKey]))
  const named = (memberId: number) => ({ memberId, memberKey: keyOf.get(memberId)! })
  return {
    status: 200 as const,
    body: {
      batchId,
      isDryRun: dryRun,
      ...counts,
      selected: selected.slice(0, LISTED_MAX).map(({ id: memberId }) => named(memberId)),
      done: done.slice(0, LISTED_MAX).map(named),
      refused: total.refused
        .slice(0, LISTED_MAX)
        .map(({ memberId, reason: refusal }) => ({ ...named(memberId), reason: refusal })),
    },
    auditNote: isTrial ? null : { subject: `batch ${batchId}`, reason: why, after: counts },
  }
}

/** A dry run tries the first chunk; a trial before the change tries all. */
async function runChunks<Body>(
  { engine, params: { batchId }, body, by, signal }: MembersRequest<Body>,
  selected: readonly { readonly id: number }[],
  isTrial: boolean,
  run: Run,
): Promise<MembersOutcome & { tried: number }> {
  const toTry = body.dryRun ? selected.slice(0, MEMBERS_PER_CHUNK) : selected
  const order = { batchId, actor: by.name, reason: body.reason }
  const total = { done: [] as number[], refused: [] as MembersOutcome['refused'], tried: 0 }
  // When the caller disconnects or the process stops, the rest counts as not tried, in the answer and in the audit.
  while (total.tried < toTry.length && !signal.aborted) {
    const memberIds = toTry
      .slice(total.tried, total.tried + MEMBERS_PER_CHUNK)
      .map((member) => member.id)
    const chunk = await runOrDryRun(engine, isTrial, (inner) => run(inner, { ...order, memberIds }))
    total.done.push(...chunk.done)
    total.refused.push(...chunk.refused)
    total.tried += memberIds.length
  }
  return total
}

function requireExpected(
  selected: readonly { readonly id: number; readonly memberKey: string }[],
  { ids, keys }: Pick<MemberFilter, 'ids' | 'keys'>,
  expectedCount: number | undefined,
  batchId: number,
): void {
  const found = new Set(selected.map((member) => member.id))
  const foundKeys = new Set(selected.map((member) => foldKey(member.memberKey)))
  const missing =
    ids?.find((memberId) => !found.has(memberId)) ??
    keys?.find((key) => !foundKeys.has(foldKey(key)))
  if (missing !== undefined) {
    throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId: missing })
  }
  if (expectedCount !== undefined && expectedCount !== selected.length) {
    const details = { found: selected.length, expected: expectedCount }
    throw new MatoolkitError('SELECTION_CHANGED', details)
  }
}

const described = {
  method: 'POST',
  tag: 'members',
  rule: 'admin',
  takes: 'json',
  comparesState: true,
  inChunks: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND', 'SELECTION_CHANGED'],
  params,
  answers: { 200: outcome },
} as const

const retryRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/retry',
  operation: 'retryMembers',
  summary: 'Retry failed members from the failed step or an earlier one',
  about: 'Uses current data and the active version. After a rollback, `fromStep` is required.',
  action: 'members.retry',
  body: z.strictObject({ ...common, fromStep: stepPlace.optional() }),
  handle: (request) =>
    forMembers(request, ['failed'], (engine, order) =>
      retryMembers(engine, {
        ...order,
        ...(request.body.fromStep !== undefined && { fromStepName: request.body.fromStep }),
      }),
    ),
})

const redoRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/redo',
  operation: 'redoMembers',
  summary: 'Redo a step and all later ones for members',
  action: 'members.redo',
  body: z.strictObject({ ...common, fromStep: stepPlace }),
  handle: (request) =>
    forMembers(request, ['active', 'failed'], (engine, order) =>
      redoMembers(engine, { ...order, fromStepName: request.body.fromStep }),
    ),
})

const readdRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/readd',
  operation: 'readdMembers',
  summary: 'Add removed members again, with the steps they had passed',
  about:
    'A member whose removal steps were sent starts over. The data source does not remove it again before its key has reappeared there.',
  action: 'members.readd',
  body: z.strictObject(common),
  handle: (request) =>
    forMembers(request, ['removed'], (engine, order) =>
      readmitMembers(engine, { ...order, event: 'readd' }),
    ),
})

const moveRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/move',
  operation: 'moveMembers',
  summary:
    'Move members to another batch of the runbook, with their data, outputs and passed steps',
  about:
    'No removal steps run. Refused once a step of T-0 or later was sent for the member. The data source does not move them back into the group they left; a row in any other group moves them.',
  action: 'members.move',
  body: z.strictObject({ ...common, toBatchId: rowId }),
  handle: (request) =>
    forMembers(request, ['active'], (engine, order) =>
      moveMembers(engine, { ...order, to: { batchId: request.body.toBatchId } }),
    ),
})

const removeRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/remove',
  operation: 'removeMembers',
  summary: 'Remove members: open steps are cancelled, removal steps run',
  action: 'members.remove',
  body: z.strictObject(common),
  handle: (request) => forMembers(request, ['active', 'failed'], removeMembers),
})

const stepOfMember = {
  step: stepPlace.optional().meta({
    description: 'The step to pass; by default `failedStep`, or the step that failed.',
  }),
}

const skipRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/skip',
  operation: 'skipMembers',
  summary: 'Skip a step of members; they continue after it',
  action: 'members.skip',
  body: z.strictObject({ ...common, ...stepOfMember }),
  handle: (request) =>
    forMembers(request, ['failed'], (engine, order) =>
      passMembers(engine, { ...order, ...stepToPass(request.body), as: 'skipped' }),
    ),
})

const doneRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/done',
  operation: 'markMembersDone',
  summary: 'Mark a step of members as done by hand, with outputs; they continue after it',
  action: 'members.done',
  errors: [...described.errors, 'VARIABLE_RESERVED'],
  body: z.strictObject({ ...common, ...stepOfMember, outputs: stepOutputs }),
  handle: (request) =>
    forMembers(request, ['failed'], (engine, order) =>
      passMembers(engine, {
        ...order,
        ...stepToPass(request.body),
        as: 'done',
        outputs: request.body.outputs,
      }),
    ),
})

function stepToPass({ step, select }: { step?: string | undefined; select: Common['select'] }) {
  const stepName = step ?? select.failedStep
  return stepName === undefined ? {} : { stepName }
}

const rollbackRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/rollback',
  operation: 'rollBackMembers',
  summary: 'Roll back what members have passed, from a step or phase on',
  about:
    'Each step’s own rollback runs, the last step’s first; a rollback that several steps share runs once. The members end as failed and can be retried. A dry run lists the rollbacks.',
  action: 'members.rollback',
  body: z
    .strictObject({
      ...common,
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
    const plans = new Map<number, UndoSummary>()
    const answer = await forMembers(request, ['active', 'failed'], (engine, order) =>
      rollBackMembers(engine, {
        ...order,
        ...(fromStep !== undefined && { fromStepName: fromStep }),
        ...(fromPhase !== undefined && { fromPhaseName: fromPhase }),
        onPlan: (memberId, plan) => plans.set(memberId, plan),
      }),
    )
    return { ...answer, body: { ...answer.body, ...togetherOf([...plans.values()]) } }
  },
})

/** The members' plans as one: each rollback once, with the number of people. */
function togetherOf(plans: readonly UndoSummary[]) {
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
      undoes: [...same[0]!.undoes],
      runs: [...same[0]!.runs],
      memberCount: same.length,
    })),
    kept: [...kept].map(([step, same]) => ({ step, memberCount: same.length })),
  }
}

const variableRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/variable',
  operation: 'setMemberVariable',
  summary: 'Set a variable of members, as if a step had returned it',
  about: 'Jobs sent from then on use it. To send a failed step again, retry it afterwards.',
  action: 'members.variable',
  errors: [...described.errors, 'VARIABLE_RESERVED'],
  body: z.strictObject({
    ...common,
    name: z
      .string()
      .regex(/^[^{}]{1,128}$/, 'must be 1 to 128 characters without braces')
      .refine((text) => text.trim() === text, 'must not start or end with a space'),
    value: json,
  }),
  handle: (request) =>
    forMembers(request, ['active', 'failed'], (engine, order) =>
      setMemberVariable(engine, { ...order, name: request.body.name, value: request.body.value }),
    ),
})

export const MEMBER_ACTION_ROUTES: readonly Route[] = [
  retryRoute,
  redoRoute,
  skipRoute,
  doneRoute,
  removeRoute,
  readdRoute,
  moveRoute,
  rollbackRoute,
  variableRoute,
]
