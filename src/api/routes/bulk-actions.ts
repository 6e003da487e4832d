// Changes of many members that people can come back to: the list, one of them with what has become of its members, and these members.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import {
  type ActionMember,
  type BulkActionLine,
  countActionMembers,
  countBulkActions,
  countStatesNow,
  findBulkAction,
  listActionMembers,
  listBulkActions,
} from '../../db/views/bulk-actions.ts'
import { noStates, PERSON_STATES } from '../../domain/state/person-state.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import { stateCounts } from '../shapes/batch-shapes.ts'
import { loadBatchState } from '../shapes/batch-state.ts'
import {
  commaSeparated,
  dateTime,
  id,
  json,
  nullableDateTime,
  nullableText,
  pageOf,
  pagingQuery,
  wholeCount,
} from '../shapes/shapes.ts'
import { loadShownMembers, memberLine } from './members.ts'

/** A chunk takes seconds; without progress for so long its process has died. */
const INTERRUPTED_AFTER_MS = 5 * 60_000
const COUNT_MAX = 10_000

const line = {
  id: z.int(),
  batchId: z.int(),
  action: z.string().meta({ description: 'As in the audit, such as `members.retry`.' }),
  by: z.string(),
  reason: z.string(),
  startedAt: dateTime,
  endedAt: nullableDateTime,
  state: z.enum(['running', 'ended', 'interrupted']).meta({
    description: '`interrupted`: its process died; the members that are not listed were not tried.',
  }),
  selection: json.meta({ description: 'The filters; of `ids` and `keys` only how many.' }),
  options: json.meta({ description: 'Such as `fromStep` or `toBatchId`.' }),
  selectedCount: wholeCount,
  doneCount: wholeCount,
  refusedCount: wholeCount,
}
const bulkAction = z.strictObject(line).meta({ id: 'BulkAction' })

const shownAction = (found: BulkActionLine, now: Date): z.input<typeof bulkAction> => {
  const { startedBy, progressAt, ...rest } = found
  const isSilent = +now - +progressAt > INTERRUPTED_AFTER_MS
  const state = found.endedAt !== null ? 'ended' : isSilent ? 'interrupted' : 'running'
  return { ...rest, by: startedBy, state }
}

const SORT = 'newest'

const listRoute = read({
  method: 'GET',
  path: '/api/actions',
  operation: 'listActions',
  tag: 'members',
  summary: 'List changes of many members, newest first',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    batchId: id.optional(),
    action: z.string().max(100).optional().meta({ description: 'Such as `members.retry`.' }),
  }),
  answers: { 200: pageOf('actions', bulkAction) },
  handle: async ({ engine: { db }, now, query: { limit, cursor, ...filter } }) => {
    const before = readCursor(SORT, cursor)?.id ?? null
    const found = await listBulkActions(db, filter, before, limit + 1)
    const { rows, next } = pageFrom(found, limit, SORT, (one) => ({ value: null, id: one.id }))
    const total = await countBulkActions(db, filter)
    const actions = rows.map((row) => shownAction(row, now))
    return { status: 200, body: { actions, total, isTotalExact: true, next } }
  },
})

const params = z.strictObject({ actionId: id })

async function requireAction({ db }: Engine, actionId: number): Promise<BulkActionLine> {
  const found = await findBulkAction(db, actionId)
  if (found) return found
  throw new MatoolkitError('ACTION_NOT_FOUND', { actionId })
}

const showRoute = read({
  method: 'GET',
  path: '/api/actions/{actionId}',
  operation: 'getAction',
  tag: 'members',
  summary: 'Show a change of many members and what has become of them',
  rule: 'reader',
  errors: ['ACTION_NOT_FOUND'],
  params,
  answers: {
    200: z
      .strictObject({
        ...line,
        now: z
          .strictObject(stateCounts)
          .meta({ description: 'The changed members by their state now.' }),
        failedAgain: wholeCount.meta({ description: 'Failed since the change began.' }),
        heldNow: wholeCount.meta({ description: 'With a hold of their own.' }),
        openNow: wholeCount.meta({ description: 'With a step that is not decided.' }),
      })
      .meta({ id: 'BulkActionNow' }),
  },
  handle: async ({ engine, now: at, params: { actionId } }) => {
    const found = await requireAction(engine, actionId)
    const state = await loadBatchState(engine.db, found.batchId)
    const rows = await countStatesNow(engine.db, actionId, state.line.wave)
    const sum = (field: 'failedAgain' | 'held' | 'open') =>
      rows.reduce((total, row) => total + row[field], 0)
    const now = { ...noStates(), ...Object.fromEntries(rows.map((row) => [row.state, row.count])) }
    const more = { failedAgain: sum('failedAgain'), heldNow: sum('held'), openNow: sum('open') }
    return { status: 200, body: { ...shownAction(found, at), now, ...more } }
  },
})

const actionMember = z
  .strictObject({
    member: memberLine,
    refusal: nullableText.meta({ description: 'Why it was refused; null for a changed member.' }),
    failedAgain: z.boolean(),
  })
  .meta({ id: 'ActionMember' })

const MEMBER_SORT = 'id'

const membersRoute = read({
  method: 'GET',
  path: '/api/actions/{actionId}/members',
  operation: 'listActionMembers',
  tag: 'members',
  summary: 'List the members of a change and where they stand now',
  rule: 'reader',
  isPersonal: true,
  errors: ['ACTION_NOT_FOUND', 'CURSOR_INVALID'],
  params,
  query: z.strictObject({
    ...pagingQuery,
    result: z.enum(['done', 'refused']).optional(),
    state: commaSeparated(PERSON_STATES).optional(),
  }),
  answers: { 200: pageOf('members', actionMember) },
  handle: async ({ engine, params: { actionId }, query }) => {
    const { db } = engine
    const { limit, cursor, ...asked } = query
    const { batchId } = await requireAction(engine, actionId)
    const state = await loadBatchState(db, batchId)
    const filter = { ...asked, wave: state.line.wave }
    const after = readCursor(MEMBER_SORT, cursor)?.id ?? 0
    const found = await listActionMembers(db, actionId, filter, after, limit + 1)
    const at = ({ memberId }: ActionMember) => ({ value: null, id: memberId })
    const { rows, next } = pageFrom(found, limit, MEMBER_SORT, at)
    const ids = rows.map(({ memberId }) => memberId)
    const shown = new Map((await loadShownMembers(db, state, ids)).map((one) => [one.id, one]))
    const total = await countActionMembers(db, actionId, filter, COUNT_MAX)
    const members = rows.map(({ memberId, ...row }) => ({ ...row, member: shown.get(memberId)! }))
    return { status: 200, body: { members, total, isTotalExact: total < COUNT_MAX, next } }
  },
})

export const BULK_ACTION_ROUTES = [listRoute, showRoute, membersRoute]
