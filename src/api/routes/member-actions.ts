// Operator actions on many members: retry, redo, set a variable. A selection is never empty by mistake. Large selections are processed
// in chunks, one transaction each; the answer counts successes and refusals, with reasons. A dry run lists the selection and tries the
// first chunk, so its refusals are real.
import { z } from 'zod'
import { type MemberFilter, selectMembers } from '../../db/views/members.ts'
import type { MemberStatus } from '../../domain/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import {
  type MembersOrder,
  type MembersOutcome,
  redoMembers,
  retryMembers,
  setMemberVariable,
} from '../../engine/member-actions.ts'
import { MatoolkitError } from '../../errors.ts'
import { loadBatchState } from '../batch-state.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { requireEtag } from '../http/etag.ts'
import { change, type Route, type RouteRequest } from '../route.ts'
import { id, json, nameText, reason, searchText, wholeCount } from '../shapes.ts'

/** The maximum size of a batch. */
const SELECTED_MAX = 200_000
const IDS_MAX = 10_000
const LISTED_MAX = 100
const MEMBERS_PER_CHUNK = 500

const params = z.strictObject({ batchId: id })
const rowId = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

const selection = z
  .strictObject({
    all: z
      .literal(true)
      .optional()
      .meta({ description: 'All members that the action applies to.' }),
    ids: z.array(rowId).min(1).max(IDS_MAX).optional(),
    failedPhase: nameText.optional(),
    failedStep: nameText.optional(),
    error: searchText.optional().meta({ description: 'Part of the error message.' }),
  })
  .refine(
    ({ all, ...filters }) =>
      (all === true) !== Object.values(filters).some((value) => value !== undefined),
    'must be either {"all": true} or at least one of ids, failedPhase, failedStep, error',
  )
  .meta({ id: 'Selection' })

const common = {
  select: selection,
  expectedCount: wholeCount
    .optional()
    .meta({ description: 'The number the caller saw; any other is refused.' }),
  reason,
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
    refusedCount: wholeCount,
    refused: z
      .array(z.strictObject({ memberId: z.int(), reason: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
  })
  .meta({ id: 'MembersOutcome' })

type Common = z.output<z.ZodObject<typeof common>>
type MembersRequest<Body> = RouteRequest<z.output<typeof params>, unknown, Common & Body>
type Run = (engine: Engine, order: MembersOrder) => Promise<MembersOutcome>

/** Runs the action on the selection in chunks. `applicable`: the statuses that a selection without ids covers. */
async function forMembers<Body>(
  { engine, params: { batchId }, body, by, ifMatch, signal }: MembersRequest<Body>,
  applicable: readonly MemberStatus[],
  run: Run,
) {
  const { select, expectedCount, reason: why, dryRun } = body
  const { etag } = await loadBatchState(engine.db, batchId)
  requireEtag(ifMatch, etag, `Batch ${batchId}`)
  const { all: _, ...filter } = select
  const covered: MemberFilter = filter.ids ? filter : { ...filter, status: [...applicable] }
  const selected = await selectMembers(engine.db, batchId, covered, SELECTED_MAX)
  requireExpected(selected, filter.ids, expectedCount, batchId)
  const toTry = dryRun ? selected.slice(0, MEMBERS_PER_CHUNK) : selected
  const order = { batchId, actor: by.name, reason: why }
  const total: MembersOutcome = { done: [], refused: [] }
  let tried = 0
  // When the caller disconnects or the process stops, the rest counts as not tried, in the answer and in the audit.
  while (tried < toTry.length && !signal.aborted) {
    const memberIds = toTry.slice(tried, tried + MEMBERS_PER_CHUNK).map((member) => member.id)
    const chunk = await runOrDryRun(engine, dryRun, (inner) => run(inner, { ...order, memberIds }))
    total.done.push(...chunk.done)
    total.refused.push(...chunk.refused)
    tried += memberIds.length
  }
  const counts = {
    selectedCount: selected.length,
    triedCount: tried,
    doneCount: total.done.length,
    refusedCount: total.refused.length,
  }
  return {
    status: 200 as const,
    body: {
      batchId,
      isDryRun: dryRun,
      ...counts,
      selected: selected
        .slice(0, LISTED_MAX)
        .map(({ id: memberId, memberKey }) => ({ memberId, memberKey })),
      refused: total.refused.slice(0, LISTED_MAX),
    },
    auditNote: dryRun ? null : { subject: `batch ${batchId}`, reason: why, after: counts },
  }
}

function requireExpected(
  selected: readonly { readonly id: number }[],
  ids: readonly number[] | undefined,
  expectedCount: number | undefined,
  batchId: number,
): void {
  const found = new Set(selected.map((member) => member.id))
  const missing = ids?.find((memberId) => !found.has(memberId))
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
  body: z.strictObject({ ...common, fromStep: nameText.optional() }),
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
  body: z.strictObject({ ...common, fromStep: nameText }),
  handle: (request) =>
    forMembers(request, ['active', 'failed'], (engine, order) =>
      redoMembers(engine, { ...order, fromStepName: request.body.fromStep }),
    ),
})

const variableRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/variable',
  operation: 'setMemberVariable',
  summary: 'Set a variable of members, as if a step had returned it',
  about: 'Jobs sent from then on use it. To send a failed step again, retry it afterwards.',
  action: 'members.variable',
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

export const MEMBER_ACTION_ROUTES: readonly Route[] = [retryRoute, redoRoute, variableRoute]
