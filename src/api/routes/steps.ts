// Steps of a batch, all kinds in one list, with phase and member names. Totals come from stored counters where the filter allows it;
// other filters are counted up to a limit.

import { z } from 'zod'
import { sameName } from '../../base/text/same-name.ts'
import { countSteps, listSteps, STEP_SORTS, type StepFilter } from '../../db/views/steps.ts'
import { STEP_STATUSES } from '../../domain/state/transitions.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import { STEP_KINDS, shownStep, step } from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchState } from '../shapes/batch-state.ts'
import {
  commaSeparated,
  id,
  instant,
  nameText,
  pageOf,
  pagingQuery,
  searchText,
} from '../shapes/shapes.ts'

const COUNT_MAX = 1_000

const listRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/steps',
  operation: 'listSteps',
  tag: 'batches',
  summary: 'List the steps of a batch by status, phase, step, member, worker, error or time',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'CURSOR_INVALID'],
  params: z.strictObject({ batchId: id }),
  query: z.strictObject({
    ...pagingQuery,
    kind: commaSeparated(STEP_KINDS).default(['phase']),
    status: commaSeparated(STEP_STATUSES).optional(),
    phase: nameText.optional(),
    step: nameText.optional(),
    worker: z.string().min(1).max(63).optional(),
    memberId: id.optional(),
    memberKey: z.string().min(1).max(512).optional().meta({ description: 'The full key.' }),
    error: searchText.optional().meta({ description: 'Part of the error message.' }),
    endedFrom: instant.optional(),
    endedBefore: instant.optional(),
    sort: z.enum(STEP_SORTS).default('id'),
  }),
  answers: { 200: pageOf('steps', step) },
  handle: async ({ engine: { db }, services: { meaningOf }, params: { batchId }, query }) => {
    const { limit, cursor, sort, ...filter } = query
    const state = await loadBatchState(db, batchId)
    const after = readCursor(sort, cursor)?.id ?? null
    const found = await listSteps(db, batchId, filter, sort, after, limit + 1)
    const { rows, next } = pageFrom(found, limit, sort, (line) => ({ value: null, id: line.id }))
    const counted = totalByCounters(state, filter)
    const total = counted ?? (await countSteps(db, batchId, filter, COUNT_MAX))
    const isTotalExact = counted !== null || total < COUNT_MAX
    const steps = rows.map(shownStep(meaningOf))
    return { status: 200, body: { steps, total, isTotalExact, next } }
  },
})

/** From the phases' step counters: answers a filter by phase and status without counting a million rows. */
function totalByCounters({ phases }: BatchState, filter: StepFilter): number | null {
  const { kind, status, phase, ...others } = filter
  const isPlain = Object.values(others).every((value) => value === undefined)
  if (!isPlain || kind?.length !== 1 || kind[0] !== 'phase') return null
  const chosen = phases.filter(({ name }) => phase === undefined || sameName(name, phase))
  const counted = new Set<string>(status ?? STEP_STATUSES)
  return chosen
    .flatMap(({ steps }) => Object.entries(steps))
    .reduce((sum, [name, count]) => (counted.has(name) ? sum + count : sum), 0)
}

export const STEP_ROUTES = [listRoute]
