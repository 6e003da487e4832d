// What an operator does for many members at once: retry, redo, set a variable. Who is meant is said by a selection that is never
// empty by mistake; whoever is many is done in chunks, a transaction each, and the answer counts who was helped and who was not,
// with the reasons. A dry run tells who is meant and tries the first chunk, so that its refusals are the real ones.
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
import { runOrDryRun } from '../dry-run.ts'
import { change, type Route, type RouteRequest } from '../route.ts'
import { id, json, nameText, reason, searched, wholeCount } from '../shapes.ts'
import { requireTag } from '../state-tag.ts'

/** As many as a batch can have. */
const SELECTED_MAX = 200_000
const IDS_MAX = 10_000
const LISTED_MAX = 100
const MEMBERS_PER_CHUNK = 500

const params = z.strictObject({ batchId: id })
const rowId = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

const selection = z
  .strictObject({
    all: z.literal(true).optional().meta({ description: 'Everybody the action is for.' }),
    ids: z.array(rowId).min(1).max(IDS_MAX).optional(),
    failedPhase: nameText.optional(),
    failedStep: nameText.optional(),
    error: searched.optional().meta({ description: 'Part of the error message.' }),
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
    .meta({ description: 'How many the caller saw; anything else is refused.' }),
  reason,
  dryRun: z.boolean().default(false).meta({ description: 'Say who is meant; nothing is done.' }),
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
      description: `All of them; in a dry run the first ${MEMBERS_PER_CHUNK}.`,
    }),
    doneCount: wholeCount,
    refusedCount: wholeCount,
    refused: z
      .array(z.strictObject({ memberId: z.int(), reason: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
  })
  .meta({ id: 'MembersOutcome' })

type Common = z.output<z.ZodObject<typeof common>>
type MembersAsk<Body> = RouteRequest<z.output<typeof params>, unknown, Common & Body>
type Run = (engine: Engine, order: MembersOrder) => Promise<MembersOutcome>

/** Selects, then helps chunk by chunk. `fit` are the statuses that the action is for: the others are not meant by `all`. */
async function forMembers<Body>(
  { engine, params: { batchId }, body, by, ifMatch, signal }: MembersAsk<Body>,
  fit: readonly MemberStatus[],
  run: Run,
) {
  const { select, expectedCount, reason: why, dryRun } = body
  const { tag } = await loadBatchState(engine.db, batchId)
  requireTag(ifMatch, tag, `Batch ${batchId}`)
  const { all: _, ...filter } = select
  const meant: MemberFilter = filter.ids ? filter : { ...filter, status: [...fit] }
  const selected = await selectMembers(engine.db, batchId, meant, SELECTED_MAX)
  requireExpected(selected, filter.ids, expectedCount, batchId)
  const toTry = dryRun ? selected.slice(0, MEMBERS_PER_CHUNK) : selected
  const order = { batchId, actor: by.name, reason: why }
  const found: MembersOutcome = { done: [], refused: [] }
  let tried = 0
  // Whoever is left when the caller has gone or the process stops is told as not tried, here and in the audit.
  while (tried < toTry.length && !signal.aborted) {
    const memberIds = toTry.slice(tried, tried + MEMBERS_PER_CHUNK).map((one) => one.id)
    const part = await runOrDryRun(engine, dryRun, (inner) => run(inner, { ...order, memberIds }))
    found.done.push(...part.done)
    found.refused.push(...part.refused)
    tried += memberIds.length
  }
  const counts = {
    selectedCount: selected.length,
    triedCount: tried,
    doneCount: found.done.length,
    refusedCount: found.refused.length,
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
      refused: found.refused.slice(0, LISTED_MAX),
    },
    noted: dryRun ? null : { subject: `batch ${batchId}`, reason: why, after: counts },
  }
}

function requireExpected(
  selected: readonly { readonly id: number }[],
  ids: readonly number[] | undefined,
  expectedCount: number | undefined,
  batchId: number,
): void {
  const there = new Set(selected.map((one) => one.id))
  const missing = ids?.find((one) => !there.has(one))
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
  summary: 'Let failed members try again: from the step that failed, or from an earlier one',
  about: 'Current data and the active version are used. A step that was rolled back must be named.',
  action: 'members.retry',
  body: z.strictObject({ ...common, fromStep: nameText.optional() }),
  handle: (ask) =>
    forMembers(ask, ['failed'], (engine, order) =>
      retryMembers(engine, {
        ...order,
        ...(ask.body.fromStep !== undefined && { fromStepName: ask.body.fromStep }),
      }),
    ),
})

const redoRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/redo',
  operation: 'redoMembers',
  summary: 'Let members do a step and all later ones again',
  action: 'members.redo',
  body: z.strictObject({ ...common, fromStep: nameText }),
  handle: (ask) =>
    forMembers(ask, ['active', 'failed'], (engine, order) =>
      redoMembers(engine, { ...order, fromStepName: ask.body.fromStep }),
    ),
})

const variableRoute = change({
  ...described,
  path: '/api/batches/{batchId}/members/variable',
  operation: 'setMemberVariable',
  summary: 'Give members a variable, as if a step had put it out',
  about: 'Used by whatever is sent from then on. To send a failed step again, retry it afterwards.',
  action: 'members.variable',
  body: z.strictObject({
    ...common,
    name: z
      .string()
      .regex(/^[^{}]{1,128}$/, 'must be 1 to 128 characters without braces')
      .refine((text) => text.trim() === text, 'must not begin or end with a blank'),
    value: json,
  }),
  handle: (ask) =>
    forMembers(ask, ['active', 'failed'], (engine, order) =>
      setMemberVariable(engine, { ...order, name: ask.body.name, value: ask.body.value }),
    ),
})

export const MEMBER_ACTION_ROUTES: readonly Route[] = [retryRoute, redoRoute, variableRoute]
