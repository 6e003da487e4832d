// The grid of a batch: its members by its steps. A window of rows for a screen that scrolls, and an overview in which a row stands for
// many members.
import { z } from 'zod'
import { loadMemberHolds } from '../../db/orders/member-holds.ts'
import { countGridSteps, listGridSteps, listRowIds } from '../../db/views/grid.ts'
import { listMembers } from '../../db/views/members.ts'
import { CELL_CLASSES, CELL_OF, packCells, packOverview } from '../../domain/needs/grid.ts'
import { PERSON_STATES } from '../../domain/state/person-state.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { read } from '../route.ts'
import { RecentAnswers } from '../services/recent-answer.ts'
import { type BatchState, loadBatchState } from '../shapes/batch-state.ts'
import { gridColumns } from '../shapes/grid-columns.ts'
import { dateTime, id, idList, pageSize, position, wholeCount } from '../shapes/shapes.ts'

/** Counting a million steps takes about a second. */
const OVERVIEW_FRESH_MS = 5_000
const OVERVIEWS_KEPT_MAX = 20

const params = z.strictObject({ batchId: id })

const column = z
  .strictObject({ phaseName: z.string(), stepName: z.string() })
  .meta({ id: 'GridColumn' })

const letters = Object.entries(CELL_OF)
  .map(([status, letter]) => `${letter} ${status}`)
  .join(', ')

const grid = z
  .strictObject({
    batchId: z.int(),
    total: wholeCount.meta({ description: 'Rows of the whole grid, removed members included.' }),
    columns: z.array(column).meta({ description: 'Phases in order of time, steps in theirs.' }),
    rows: z.array(
      z.strictObject({
        memberId: z.int(),
        memberKey: z.string(),
        state: z.enum(PERSON_STATES),
        isHeld: z.boolean().meta({ description: 'A hold of this member alone.' }),
        cells: z
          .string()
          .meta({ description: `A letter a column: ${letters}; a dot for a step to come.` }),
      }),
    ),
  })
  .meta({ id: 'Grid' })

const gridRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/grid',
  operation: 'getGrid',
  tag: 'batches',
  summary: 'Show members by steps, a window of rows at a time',
  about:
    'Rows keep their numbers: members are appended. `ids` shows these members instead, such as a page of the filtered list.',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND'],
  params,
  query: z.strictObject({
    from: position.prefault('0').meta({ description: 'The number of the first row, from 0.' }),
    limit: pageSize,
    ids: idList.optional(),
  }),
  answers: { 200: grid },
  handle: async ({ engine, params: { batchId }, query: { from, limit, ids } }) => {
    const { db } = engine
    const state = await loadBatchState(db, batchId)
    const columns = await gridColumns(engine, state)
    const wanted = ids ?? (await listRowIds(db, batchId, from, limit))
    const page = { sort: 'id', after: null, limit: wanted.length } as const
    const { wave } = state.line
    const members = await listMembers(db, batchId, { ids: wanted }, { ...page, wave })
    const own = members.map((member) => member.id)
    const cells = packCells(columns, own, await listGridSteps(db, own))
    const held = new Set((await loadMemberHolds(db, own)).map((hold) => hold.memberId))
    const rows = members.map(({ id: memberId, memberKey, state }) => ({
      memberId,
      memberKey,
      state,
      isHeld: held.has(memberId),
      cells: cells.get(memberId)!,
    }))
    return { status: 200, body: { batchId, total: totalOf(state), columns, rows } }
  },
})

const overview = z
  .strictObject({
    batchId: z.int(),
    at: dateTime.meta({ description: 'When the steps were counted.' }),
    total: wholeCount,
    columns: z.array(column),
    membersPerRow: wholeCount,
    classes: z.array(z.enum(CELL_CLASSES)).meta({ description: 'What the counts stand for.' }),
    rows: z
      .array(z.array(z.array(wholeCount)))
      .meta({ description: 'By row and column, members by class; the rest has no step yet.' }),
  })
  .meta({ id: 'GridOverview' })
type Overview = z.input<typeof overview>

function overviewRoute() {
  const recent = new RecentAnswers<string, Overview>(OVERVIEW_FRESH_MS, OVERVIEWS_KEPT_MAX)
  return read({
    method: 'GET',
    path: '/api/batches/{batchId}/grid/overview',
    operation: 'getGridOverview',
    tag: 'batches',
    summary: 'Count members by steps, with neighbouring members in one row',
    rule: 'reader',
    errors: ['BATCH_NOT_FOUND'],
    params,
    query: z.strictObject({ rows: pageSize }),
    answers: { 200: overview },
    handle: async ({ engine, params: { batchId }, query: { rows }, now }) => {
      const load = () => loadOverview(engine, batchId, rows, now)
      const body = await recent.get(`${batchId} ${rows}`, now, load)
      return { status: 200, body }
    },
  })
}

async function loadOverview(
  engine: Engine,
  batchId: number,
  rowsWanted: number,
  now: Date,
): Promise<Overview> {
  const state = await loadBatchState(engine.db, batchId)
  const columns = await gridColumns(engine, state)
  const total = totalOf(state)
  const membersPerRow = Math.max(1, Math.ceil(total / rowsWanted))
  const counts = await countGridSteps(engine.db, batchId, membersPerRow)
  const rows = packOverview(columns, Math.ceil(total / membersPerRow), counts)
  return { batchId, at: now, total, columns, membersPerRow, classes: [...CELL_CLASSES], rows }
}

const totalOf = ({ line }: BatchState): number =>
  line.membersActive + line.membersFailed + line.membersRemoved

export const gridRoutes = () => [gridRoute, overviewRoute()]
