// A change of many members at once: its selection, its chunks and its answer. A selection is never empty by mistake. Large selections
// are processed in chunks, one transaction each; the answer counts successes and refusals, with reasons. A dry run lists the selection
// and tries the first chunk, so its refusals are real.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import { nestedDb } from '../../db/connection/nested-db.ts'
import {
  addProgress,
  endBulkAction,
  insertBulkAction,
  type NewBulkAction,
} from '../../db/orders/bulk-actions.ts'
import { type MemberFilter, selectMembers } from '../../db/views/members.ts'
import type { LostApproval } from '../../domain/plan/lost-approvals.ts'
import { NO_REASON_YET } from '../../domain/state/holds.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { PERSON_STATES } from '../../domain/state/person-state.ts'
import { withLostApprovals } from '../../engine/needs/lost-approvals.ts'
import type { MembersOrder, MembersOutcome } from '../../engine/orders/member-actions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { requireEtag } from '../http/etag.ts'
import type { RouteRequest } from '../route.ts'
import { type CountedLine, loadBatchState } from '../shapes/batch-state.ts'
import { approvalsLost } from '../shapes/lost-approvals-shape.ts'
import { id, nameText, reason, searchText, wholeCount } from '../shapes/shapes.ts'
import { membersOfGroup } from './failure-cache.ts'

/** The maximum size of a batch. */
const SELECTED_MAX = 200_000
const IDS_MAX = 10_000
const LISTED_MAX = 100
const MEMBERS_PER_CHUNK = 500

export const bulkParams = z.strictObject({ batchId: id })
export const rowId = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

/** Step names are unique in a phase. */
export const stepPlace = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}(\/[A-Za-z0-9][A-Za-z0-9_-]{0,62})?$/,
    'must be the name of a step, or phase/step',
  )

const FILTERS = [
  'ids',
  'keys',
  'failedPhase',
  'failedStep',
  'error',
  'pattern',
  'state',
  'phase',
  'step',
  'key',
  'search',
  'held',
]

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
    state: z.array(z.enum(PERSON_STATES)).min(1).optional(),
    phase: nameText.optional().meta({ description: 'The current step is in this phase.' }),
    step: nameText.optional().meta({ description: 'The current step has this name.' }),
    key: searchText.optional().meta({ description: 'Start of the key.' }),
    search: searchText.optional().meta({ description: 'Part of the key.' }),
    held: z.boolean().optional().meta({ description: 'With or without a hold of their own.' }),
  })
  .refine(
    ({ all, ...filters }) =>
      (all === true) !== Object.values(filters).some((value) => value !== undefined),
    `must be either {"all": true} or at least one of ${FILTERS.join(', ')}`,
  )
  .refine(
    ({ pattern, ids, keys }) => pattern === undefined || (ids ?? keys) === undefined,
    'must have either pattern or ids and keys',
  )
  .meta({ id: 'Selection' })

/** What the body of each such change has. */
export const bulkBody = {
  select: selection,
  expectedCount: wholeCount
    .optional()
    .meta({ description: 'The number the caller saw; any other is refused.' }),
  reason,
  allOrNothing: z
    .boolean()
    .default(false)
    .meta({ description: 'Change no one if any member is refused.' }),
  dryRun: z
    .boolean()
    .default(false)
    .meta({ description: 'Show the selection and change nothing.' }),
}

export const bulkAnswer = z
  .strictObject({
    batchId: z.int(),
    isDryRun: z.boolean(),
    actionId: z.int().nullable().meta({
      description:
        'To come back to it: `GET /api/actions/{actionId}`. Null when nothing was tried.',
    }),
    selectedCount: wholeCount,
    selected: z
      .array(z.strictObject({ memberId: z.int(), memberKey: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
    triedCount: wholeCount.meta({
      description: `All selected; in a dry run at least the first ${MEMBERS_PER_CHUNK}.`,
    }),
    doneCount: wholeCount,
    done: z
      .array(z.strictObject({ memberId: z.int(), memberKey: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
    refusedCount: wholeCount,
    refused: z
      .array(z.strictObject({ memberId: z.int(), memberKey: z.string(), reason: z.string() }))
      .meta({ description: `The first ${LISTED_MAX}.` }),
    approvalsLost,
  })
  .meta({ id: 'MembersOutcome' })

/** A hold may get its reason later. */
export type BulkBody = Omit<z.output<z.ZodObject<typeof bulkBody>>, 'reason'> & {
  readonly reason?: string | undefined
}
export type MembersRequest<Body> = RouteRequest<
  z.output<typeof bulkParams>,
  unknown,
  BulkBody & Body
>

/** A change of members: which ones, and what happens to each. */
interface BulkChange {
  /** The members that a selection without names covers. */
  readonly covers: Pick<MemberFilter, 'status' | 'isHeld'>
  run(engine: Engine, order: MembersOrder): Promise<MembersOutcome>
  /** The batches whose members it changes: approvals were given for these people. */
  readonly changesMembersOf?: readonly number[]
  /** `Infinity` where all change together. */
  readonly membersPerChunk?: number
  /** Once all chunks are committed: what may not be part of them. */
  finish?(done: readonly number[]): Promise<void>
}

/** Runs the change on the selection in chunks. */
export async function forMembers<Body>(request: MembersRequest<Body>, bulk: BulkChange) {
  const { engine, params, body, ifMatch } = request
  const { batchId } = params
  const { expectedCount, reason: why, allOrNothing, dryRun } = body
  const { etag, line } = await loadBatchState(engine.db, batchId)
  requireEtag(ifMatch, etag, `Batch ${batchId}`)
  const selected = await listSelected(engine, line, body.select, bulk.covers)
  requireExpected(selected, body.select, expectedCount, batchId)
  const first = dryRun || allOrNothing ? await runChunks(request, selected, true, bulk) : null
  const isAllRefused = !dryRun && first !== null && first.refused.length > 0
  const changesNothing = dryRun || isAllRefused
  const total = changesNothing ? first! : await runChunks(request, selected, false, bulk)
  const done = isAllRefused ? [] : total.done
  if (!changesNothing) await bulk.finish?.(done)
  if (total.actionId !== null) await endBulkAction(engine.db, total.actionId, engine.clock.now())
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
      actionId: total.actionId,
      ...counts,
      selected: selected.slice(0, LISTED_MAX).map(({ id: memberId }) => named(memberId)),
      done: done.slice(0, LISTED_MAX).map(named),
      refused: total.refused
        .slice(0, LISTED_MAX)
        .map(({ memberId, reason: refusal }) => ({ ...named(memberId), reason: refusal })),
      approvalsLost: isAllRefused ? [] : total.approvalsLost,
    },
    auditNote: changesNothing
      ? null
      : { subject: `batch ${batchId}`, reason: why ?? null, after: counts },
  }
}

async function listSelected(
  { db }: Engine,
  line: CountedLine,
  { all, pattern, held, ...others }: BulkBody['select'],
  covers: BulkChange['covers'],
): Promise<{ id: number; memberKey: string }[]> {
  const filter: MemberFilter = { ...others, isHeld: held }
  const isNamed = filter.ids !== undefined || filter.keys !== undefined
  // Those on hold are not those without one: nobody is both.
  const isNobody = held !== undefined && covers.isHeld !== undefined && covers.isHeld !== held
  if (!isNamed && isNobody) return []
  const group = pattern !== undefined && (await membersOfGroup(db, line.id, { ...filter, pattern }))
  const covered: MemberFilter = isNamed
    ? filter
    : { ...filter, ...covers, ...(group && { ids: group }) }
  return selectMembers(db, line.id, covered, SELECTED_MAX, line.wave)
}

interface Tried extends MembersOutcome {
  readonly approvalsLost: LostApproval[]
}

/** A dry run tries the first chunk; a trial before the change tries all. */
async function runChunks<Body>(
  request: MembersRequest<Body>,
  selected: readonly { readonly id: number }[],
  isTrial: boolean,
  { run, changesMembersOf = [], membersPerChunk = MEMBERS_PER_CHUNK }: BulkChange,
): Promise<Tried & { tried: number; actionId: number | null }> {
  const {
    engine,
    params: { batchId },
    body,
    by,
    signal,
  } = request
  const toTry = body.dryRun ? selected.slice(0, membersPerChunk) : selected
  const order = { batchId, actor: by.name, reason: body.reason ?? NO_REASON_YET }
  const total = {
    done: [] as number[],
    refused: [] as MembersOutcome['refused'],
    approvalsLost: [] as LostApproval[],
    tried: 0,
    actionId: null as number | null,
  }
  const about = { ...order, ...recordedOf(request), selectedCount: selected.length }
  // When the caller disconnects or the process stops, the rest counts as not tried, in the answer and in the audit.
  while (total.tried < toTry.length && !signal.aborted) {
    const memberIds = toTry
      .slice(total.tried, total.tried + membersPerChunk)
      .map((member) => member.id)
    const work = async (inner: Engine): Promise<Tried> => {
      const change = () => run(inner, { ...order, memberIds })
      const { result, approvalsLost } = await withLostApprovals(inner, changesMembersOf, change)
      return { ...result, approvalsLost }
    }
    const chunk = isTrial
      ? { ...(await runOrDryRun(engine, true, work)), actionId: null }
      : await runRecorded(engine, about, total.actionId, work)
    total.actionId = chunk.actionId
    total.done.push(...chunk.done)
    total.refused.push(...chunk.refused)
    total.approvalsLost.push(...chunk.approvalsLost)
    total.tried += memberIds.length
  }
  return total
}

/** The change as it is kept: filters and names of steps, but nobody's key and no values. */
function recordedOf<Body>({ action, body, by }: MembersRequest<Body>) {
  const { ids, keys, ...filters } = body.select
  const named = { ...(ids && { ids: ids.length }), ...(keys && { keys: keys.length }) }
  const options = OPTIONS_KEPT.flatMap((name) => {
    const value = (body as Partial<Record<string, Json>>)[name]
    return value === undefined || value === false ? [] : [[name, value] as const]
  })
  return {
    action: action!,
    startedBy: by.name,
    selection: { ...filters, ...named } as Json,
    options: Object.fromEntries(options),
  }
}

const OPTIONS_KEPT = [
  'again',
  'as',
  'fromStep',
  'fromPhase',
  'step',
  'toBatchId',
  'name',
  'pastNoReturn',
]

/** The chunk and its record commit together; the first one begins the record. */
function runRecorded(
  engine: Engine,
  about: NewBulkAction,
  begun: number | null,
  work: (engine: Engine) => Promise<Tried>,
): Promise<Tried & { actionId: number }> {
  const { db, clock } = engine
  return db.transaction(async (tx) => {
    const outcome = await work({ ...engine, db: nestedDb(tx, db.kind) })
    const actionId = begun ?? (await insertBulkAction(tx, about, clock.now()))
    await addProgress(tx, actionId, outcome, clock.now())
    return { ...outcome, actionId }
  })
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

/** What the routes of these changes have in common. */
export const bulkRoute = {
  method: 'POST',
  tag: 'members',
  rule: 'admin',
  takes: 'json',
  comparesState: true,
  inChunks: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND', 'SELECTION_CHANGED'],
  params: bulkParams,
  answers: { 200: bulkAnswer },
} as const
