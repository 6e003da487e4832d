// Members of a batch: the list, and removing one. Member files are in member-files.ts.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { loadHolds } from '../../db/state/holds.ts'
import type { BatchLine } from '../../db/views/batches.ts'
import {
  findMemberState,
  findMembers,
  listMembers,
  MEMBER_SORTS,
  type MemberFilter,
  type MemberLine,
  type MemberPage,
  type MemberState,
} from '../../db/views/members.ts'
import { type HoldsOnBatch, holdsOnBatch } from '../../domain/state/holds.ts'
import { foldKeyPart } from '../../domain/state/member-key.ts'
import { PERSON_STATES } from '../../domain/state/person-state.ts'
import { MEMBER_STATUSES } from '../../domain/state/transitions.ts'
import { whereOf } from '../../domain/state/where.ts'
import { removeMembers } from '../../engine/orders/member-actions.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { etagOf, requireEtag } from '../http/etag.ts'
import { change, read, type Services } from '../route.ts'
import { membersOfGroup } from '../services/failure-cache.ts'
import { held, STEP_KINDS } from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchState, lockBatchState } from '../shapes/batch-state.ts'
import {
  booleanText,
  commaSeparated,
  dateTime,
  id,
  nameText,
  nullableDateTime,
  nullableText,
  pageOf,
  pagingQuery,
  reason,
  searchText,
} from '../shapes/shapes.ts'

const COUNT_MAX = 1_000

const params = z.strictObject({ batchId: id })

const currentStep = z
  .strictObject({
    stepId: z.int(),
    stepKind: z.enum(STEP_KINDS),
    phaseName: nullableText,
    stepName: z.string(),
    workerId: z.string(),
    attempt: z.int().meta({ description: 'From 0.' }),
    waitsFor: z.enum(['slot', 'window', 'job', 'retry', 'poll']),
    since: dateTime,
    wakeAt: nullableDateTime.meta({ description: 'The next attempt or poll; a job’s deadline.' }),
  })
  .meta({ id: 'CurrentStep', description: 'The step that the member is at.' })

export const doing = nullableText.meta({
  description:
    'The part of `where` about what runs or is waited for; null when nothing is. Times in UTC.',
})

export const isHeld = z.boolean().meta({
  description:
    'A hold is what is waited for: of the member, its worker, the batch, the runbook or the system.',
})

export const memberLine = z
  .strictObject({
    id: z.int(),
    memberKey: z.string(),
    status: z.enum(MEMBER_STATUSES),
    state: z.enum(PERSON_STATES).meta({ description: 'Where the person stands in the migration.' }),
    where: z.string().meta({
      description: 'Where the person stands and what comes next, as a sentence; times in UTC.',
    }),
    doing,
    isHeld,
    held: held.nullable().meta({ description: 'A hold of this member alone.' }),
    step: currentStep.nullable(),
    isActive: z.boolean().meta({ description: 'Neither failed nor removed; see `state`.' }),
    joinedAt: dateTime,
    leftAt: nullableDateTime,
    failedAt: nullableDateTime,
    cutOverAt: nullableDateTime.meta({
      description: 'The end of the cut-over phase of a person who is cut over or done.',
    }),
    finishedAt: nullableDateTime.meta({
      description: 'The end of the last step of a person who is done.',
    }),
    removedBy: nullableText.meta({
      description: '`source` when the member left the data source.',
    }),
    movedToBatchId: z.int().nullable(),
    failure: z
      .strictObject({
        stepId: z.int(),
        phaseName: z.string(),
        stepName: z.string(),
        status: z.string(),
        error: nullableText,
      })
      .nullable()
      .meta({ description: 'The failed step of a member that is not active.' }),
  })
  .meta({ id: 'Member' })

export function shownMember(
  line: MemberLine,
  { line: batch, phases }: BatchState,
  holds: HoldsOnBatch,
): z.input<typeof memberLine> {
  const { state, removedBy, movedToBatchId } = line
  const step = line.step && {
    ...line.step,
    since: new Date(line.step.since),
    wakeAt: line.step.wakeAt === null ? null : new Date(line.step.wakeAt),
  }
  const nextPhase = phases.find(({ status }) => status === 'pending') ?? null
  const failure =
    line.failedStepId === null
      ? null
      : {
          stepId: line.failedStepId,
          phaseName: line.failedPhase!,
          stepName: line.failedStep!,
          status: line.failedStatus!,
          error: line.error,
        }
  const hold = holdOn(batch, holds, line.id, step?.workerId)
  const facts = { state, step, batch, hold, nextPhase, removedBy, movedToBatchId, failure }
  const own = holds.members.get(line.id)
  const heldSo = own ? { at: own.heldAt, by: own.heldBy, reason: own.reason } : null
  return { ...lineOf(line), state, ...whereOf(facts), held: heldSo, step, failure }
}

/** These members of the batch, as lists show them. */
export async function loadShownMembers(
  db: Queryable,
  state: BatchState,
  ids: readonly number[],
): Promise<z.input<typeof memberLine>[]> {
  const page = {
    sort: 'id',
    after: null,
    limit: ids.length,
    wave: state.line.wave,
  } as const
  const members = await listMembers(db, state.line.id, { ids }, page)
  const holds = holdsOnBatch(await loadHolds(db, state.line.id))
  return members.map((member) => shownMember(member, state, holds))
}

/** The widest hold that covers the member's step. */
function holdOn(
  { heldBy, heldReason }: BatchLine,
  { system, runbook, workers, members }: HoldsOnBatch,
  memberId: number,
  workerId: string | undefined,
): { readonly heldBy: string; readonly reason: string } | null {
  const own = heldBy === null ? null : { heldBy, reason: heldReason! }
  const ofWorker = workerId === undefined ? undefined : workers.get(workerId)
  return system ?? runbook ?? own ?? members.get(memberId) ?? ofWorker ?? null
}

const lineOf = (line: MemberLine) => ({
  id: line.id,
  memberKey: line.memberKey,
  status: line.status,
  isActive: line.status === 'active',
  joinedAt: line.addedAt,
  leftAt: line.removedAt,
  failedAt: line.failedAt,
  cutOverAt: line.cutOverAt,
  finishedAt: line.finishedAt,
  removedBy: line.removedBy,
  movedToBatchId: line.movedToBatchId,
})

const listRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/members',
  operation: 'listMembers',
  tag: 'members',
  summary: 'List the members of a batch by status, key or failure',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'CURSOR_INVALID'],
  params,
  query: z.strictObject({
    ...pagingQuery,
    status: commaSeparated(MEMBER_STATUSES).optional(),
    state: commaSeparated(PERSON_STATES).optional(),
    phase: nameText.optional().meta({ description: 'The current step is in this phase.' }),
    step: nameText.optional().meta({ description: 'The current step has this name.' }),
    key: searchText.optional().meta({ description: 'Start of the key.' }),
    search: searchText.optional().meta({ description: 'Part of the key.' }),
    failedPhase: nameText.optional(),
    failedStep: nameText.optional(),
    error: searchText.optional().meta({ description: 'Part of the error message.' }),
    pattern: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ description: 'The `pattern` of a failure group.' }),
    held: booleanText.optional().meta({ description: 'With or without a hold of their own.' }),
    sort: z.enum(MEMBER_SORTS).default('id'),
  }),
  answers: { 200: pageOf('members', memberLine) },
  handle: async ({ engine: { db }, services, params: { batchId }, query }) => {
    const { limit, cursor, sort, held: isHeld, pattern, ...others } = query
    const state = await loadBatchState(db, batchId)
    const { line } = state
    const ids =
      pattern === undefined ? undefined : await membersOfGroup(db, batchId, { ...others, pattern })
    const filter = { ...others, isHeld, ids }
    const holds = holdsOnBatch(await loadHolds(db, batchId))
    const asked = { sort, after: readCursor(sort, cursor), limit: limit + 1 }
    const page = { ...asked, wave: line.wave }
    const { total, isTotalExact, members } = await findPage(db, services, line, filter, page)
    const at = (member: MemberLine) => ({
      value: sort === 'key' ? member.keyFolded : null,
      id: member.id,
    })
    const { rows, next } = pageFrom(members, limit, sort, at)
    return {
      status: 200,
      body: {
        members: rows.map((row) => shownMember(row, state, holds)),
        total,
        isTotalExact,
        next,
      },
    }
  },
})

interface FoundMembers {
  readonly members: MemberLine[]
  readonly total: number
  readonly isTotalExact: boolean
}

/** The total comes from the batch's counters, from cached keys and failures, or from a bounded count. */
async function findPage(
  db: Queryable,
  services: Services,
  line: BatchLine,
  filter: MemberFilter,
  page: MemberPage,
): Promise<FoundMembers> {
  const list = (by: MemberFilter) => listMembers(db, line.id, by, page)
  const counted = totalByCounters(line, filter)
  if (counted !== null) return { members: await list(filter), total: counted, isTotalExact: true }
  const { search, ...others } = filter
  if (search !== undefined && isEmpty(others))
    return findByKey(db, services, line, filter, search, page)
  const narrowed = await narrow(db, services, line, filter)
  const { total, members } = await findMembers(db, line.id, narrowed, page, COUNT_MAX)
  if (total < COUNT_MAX) return { members, total, isTotalExact: true }
  return { members: await list(narrowed), total, isTotalExact: false }
}

const isEmpty = (filter: MemberFilter): boolean =>
  Object.values(filter).every((value) => value === undefined)

async function findByKey(
  db: Queryable,
  { memberSearch }: Services,
  line: BatchLine,
  filter: MemberFilter,
  search: string,
  page: MemberPage,
): Promise<FoundMembers> {
  const find = (max: number, after?: number) =>
    memberSearch.find(db, line, foldKeyPart(search), max, after)
  const ofPage = async (): Promise<MemberFilter> =>
    page.sort === 'id' ? { ids: await find(page.limit, page.after?.id) } : filter
  const ids = await find(COUNT_MAX)
  const isTotalExact = ids.length < COUNT_MAX
  const members = await listMembers(db, line.id, isTotalExact ? { ids } : await ofPage(), page)
  return { members, total: ids.length, isTotalExact }
}

/** The same filter by member ids, where the caches know them. */
async function narrow(
  db: Queryable,
  { memberSearch, failureCache }: Services,
  line: BatchLine,
  filter: MemberFilter,
): Promise<MemberFilter> {
  const { search, failedPhase, failedStep, error, ...others } = filter
  const failure = { failedPhase, failedStep, error }
  const byFailure = isEmpty(failure) ? null : await failureCache.memberIds(db, line, failure)
  if (byFailure !== null) {
    // An active member has recovered from its failure or is being retried.
    const status = (filter.status ?? MEMBER_STATUSES).filter((value) => value !== 'active')
    return { ...others, search, status, ids: both(byFailure, filter.ids) }
  }
  if (search === undefined) return filter
  const ids = await memberSearch.find(db, line, foldKeyPart(search), COUNT_MAX)
  return ids.length < COUNT_MAX ? { ...others, ...failure, ids: both(ids, filter.ids) } : filter
}

const both = (ids: readonly number[], others: readonly number[] | undefined): readonly number[] => {
  if (others === undefined) return ids
  const known = new Set(others)
  return ids.filter((memberId) => known.has(memberId))
}

/** From the batch's counters by member status; null when other filters apply. */
function totalByCounters(line: BatchLine, filter: MemberFilter): number | null {
  const { status = MEMBER_STATUSES, ...others } = filter
  if (Object.values(others).some((value) => value !== undefined)) return null
  const { membersActive: active, membersFailed: failed, membersRemoved: removed } = line
  const counts: Readonly<Record<string, number>> = { active, failed, removed }
  return [...new Set(status)].reduce((sum, value) => sum + counts[value]!, 0)
}

const memberEtag = ({ id: memberId, status, removalNumber }: MemberState) =>
  etagOf(memberId, status, removalNumber)

const removeRoute = change({
  method: 'DELETE',
  path: '/api/batches/{batchId}/members/{memberId}',
  operation: 'removeMember',
  tag: 'members',
  summary: 'Remove a member: open steps are cancelled, removal steps run',
  rule: 'admin',
  action: 'member.remove',
  comparesState: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND', 'REFUSED'],
  params: z.strictObject({ batchId: id, memberId: id }),
  query: z.strictObject({ reason: reason.optional() }),
  answers: {
    200: z
      .strictObject({ batchId: z.int(), memberId: z.int(), status: z.enum(MEMBER_STATUSES) })
      .meta({ id: 'RemovedMember' }),
  },
  handle: async ({ engine, params: { batchId, memberId }, query, by, ifMatch }) => {
    await lockBatchState(engine, batchId, null)
    const before = await findMemberState(engine.db, batchId, memberId)
    if (!before) throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
    requireEtag(ifMatch, memberEtag(before), `Member ${memberId}`)
    const why = query.reason ?? 'removed by an operator'
    const order = { batchId, memberIds: [memberId], actor: by.name, reason: why }
    const { refused } = await removeMembers(engine, order)
    if (refused[0]) throw new MatoolkitError('REFUSED', { reason: `${refused[0].reason}.` })
    const after = (await findMemberState(engine.db, batchId, memberId))!
    return {
      status: 200,
      body: { batchId, memberId, status: after.status },
      etag: memberEtag(after),
      auditNote: {
        subject: `member ${memberId} of batch ${batchId}`,
        reason: query.reason ?? null,
        before: { status: before.status, memberKey: before.memberKey },
        after: { status: after.status },
      },
    }
  },
})

export const MEMBER_ROUTES = [listRoute, removeRoute]
