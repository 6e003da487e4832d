// Members of a batch: list them, remove one. How they come by file is member-files.ts.
import { z } from 'zod'
import type { Queryable } from '../../db/db.ts'
import type { BatchLine } from '../../db/view-batches.ts'
import {
  findMemberIds,
  findMemberState,
  listMembers,
  MEMBER_SORTS,
  type MemberFilter,
  type MemberLine,
  type MemberState,
} from '../../db/view-members.ts'
import { removeMembers } from '../../engine/members.ts'
import { MatoolkitError } from '../../errors.ts'
import { MEMBER_STATUSES } from '../batch-shapes.ts'
import { loadBatchState, lockBatchState } from '../batch-state.ts'
import { pageFrom, readCursor } from '../cursor.ts'
import { change, type Route, read } from '../route.ts'
import {
  id,
  listOf,
  maybeText,
  maybeTime,
  name,
  pageOf,
  paging,
  reason,
  searched,
  time,
} from '../shapes.ts'
import { requireTag, tagOf } from '../state-tag.ts'

const COUNT_MAX = 1_000

const params = z.strictObject({ batchId: id })

const memberLine = z
  .strictObject({
    id: z.int(),
    memberKey: z.string(),
    status: z.enum(MEMBER_STATUSES),
    isActive: z.boolean(),
    joinedAt: time,
    leftAt: maybeTime,
    failedAt: maybeTime,
    removedBy: maybeText.meta({ description: '`source` when the data source dropped the member.' }),
    movedToBatchId: z.int().nullable(),
    failure: z
      .strictObject({
        stepId: z.int(),
        phaseName: z.string(),
        stepName: z.string(),
        status: z.string(),
        error: maybeText,
      })
      .nullable()
      .meta({ description: 'The step that went wrong, of a member who is not active.' }),
  })
  .meta({ id: 'Member' })

const shown = (line: MemberLine): z.input<typeof memberLine> => ({
  id: line.id,
  memberKey: line.memberKey,
  status: line.status,
  isActive: line.status === 'active',
  joinedAt: line.addedAt,
  leftAt: line.removedAt,
  failedAt: line.failedAt,
  removedBy: line.removedBy,
  movedToBatchId: line.movedToBatchId,
  failure:
    line.failedStepId === null
      ? null
      : {
          stepId: line.failedStepId,
          phaseName: line.failedPhase!,
          stepName: line.failedStep!,
          status: line.failedStatus!,
          error: line.error,
        },
})

const listRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/members',
  operation: 'listMembers',
  tag: 'members',
  summary: 'The members of a batch, filtered by status, key, or how they failed',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'CURSOR_INVALID'],
  params,
  query: z.strictObject({
    ...paging,
    status: listOf(MEMBER_STATUSES).optional(),
    key: searched.optional().meta({ description: 'How the key begins.' }),
    search: searched.optional().meta({ description: 'Part of the key.' }),
    failedPhase: name.optional(),
    failedStep: name.optional(),
    error: searched.optional().meta({ description: 'Part of the error message.' }),
    sort: z.enum(MEMBER_SORTS).default('id'),
  }),
  answers: { 200: pageOf('members', memberLine) },
  handle: async ({ door: { db }, services: { memberSearch }, params: { batchId }, query }) => {
    const { limit, cursor, sort, ...filter } = query
    const { line } = await loadBatchState(db, batchId)
    const after = readCursor(sort, cursor)
    const find: FindByKey = (most, from) =>
      memberSearch.find(db, line, filter.search!.toLowerCase(), most, from)
    const { total, isTotalExact, meant } = await countMeant(db, line, filter, find)
    const isMany = !isTotalExact && sort === 'id' && isSearchOnly(filter)
    const shownOnes = isMany ? { ids: await find(limit + 1, after?.id) } : meant
    const found = await listMembers(db, batchId, shownOnes, sort, after, limit + 1)
    const at = (member: MemberLine) => ({
      value: sort === 'key' ? member.keyFolded : null,
      id: member.id,
    })
    const { rows, next } = pageFrom(found, limit, sort, at)
    return { status: 200, body: { members: rows.map(shown), total, isTotalExact, next } }
  },
})

/** The ids of the first members above an id whose key holds what is searched for. */
type FindByKey = (most: number, from?: number) => Promise<number[]>

interface Counted {
  readonly total: number
  readonly isTotalExact: boolean
  /** The same members by their ids where they are few: those who were counted are those who are listed. */
  readonly meant: MemberFilter
}

/** By the counters of the batch, by the search of its keys, or by looking. */
async function countMeant(
  db: Queryable,
  line: BatchLine,
  filter: MemberFilter,
  find: FindByKey,
): Promise<Counted> {
  const counted = totalByCounters(line, filter)
  if (counted !== null) return { total: counted, isTotalExact: true, meant: filter }
  const { search, ...others } = filter
  const byKey = search === undefined ? null : await find(COUNT_MAX)
  const isFew = byKey !== null && byKey.length < COUNT_MAX
  const narrowed = isFew ? { ...others, ids: byKey } : filter
  const ids =
    byKey !== null && isSearchOnly(filter)
      ? byKey
      : await findMemberIds(db, line.id, narrowed, COUNT_MAX)
  const isTotalExact = ids.length < COUNT_MAX
  return { total: ids.length, isTotalExact, meant: isTotalExact ? { ids } : narrowed }
}

const isSearchOnly = ({ search, ...others }: MemberFilter): boolean =>
  search !== undefined && Object.values(others).every((value) => value === undefined)

/** The batch keeps the count of its members by status. */
function totalByCounters(line: BatchLine, filter: MemberFilter): number | null {
  const { status = MEMBER_STATUSES, ...others } = filter
  if (Object.values(others).some((value) => value !== undefined)) return null
  const { membersActive: active, membersFailed: failed, membersRemoved: removed } = line
  const counts: Readonly<Record<string, number>> = { active, failed, removed }
  return [...new Set(status)].reduce((sum, one) => sum + counts[one]!, 0)
}

const tagOfMember = ({ id: memberId, status, removalNumber }: MemberState) =>
  tagOf(memberId, status, removalNumber)

const removeRoute = change({
  method: 'DELETE',
  path: '/api/batches/{batchId}/members/{memberId}',
  operation: 'removeMember',
  tag: 'members',
  summary: 'Remove a member: its open steps are cancelled and its removal steps run',
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
  handle: async ({ door, params: { batchId, memberId }, query, by, ifMatch }) => {
    await lockBatchState(door, batchId, null)
    const before = await findMemberState(door.db, batchId, memberId)
    if (!before) throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
    requireTag(ifMatch, tagOfMember(before), `Member ${memberId}`)
    const why = query.reason ?? 'removed by an operator'
    const order = { batchId, memberIds: [memberId], actor: by.name, reason: why }
    const { refused } = await removeMembers(door, order)
    if (refused[0]) throw new MatoolkitError('REFUSED', { reason: `${refused[0].reason}.` })
    const after = (await findMemberState(door.db, batchId, memberId))!
    return {
      status: 200,
      body: { batchId, memberId, status: after.status },
      etag: tagOfMember(after),
      noted: {
        subject: `member ${memberId} of batch ${batchId}`,
        reason: query.reason ?? null,
        before: { status: before.status, memberKey: before.memberKey },
        after: { status: after.status },
      },
    }
  },
})

export const MEMBER_ROUTES: readonly Route[] = [listRoute, removeRoute]
