// Workers, announced or configured: functions, load, and whether they are silent.

import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import { listCatalogues } from '../../db/state/workers.ts'
import { listWorkers, WAITING_COUNTED_MAX, type WorkerLine } from '../../db/views/workers.ts'
import { isSilent, WORKER_STATES, workerState } from '../../domain/needs/stuck.ts'
import { functionFacts } from '../../domain/runbook/function-facts.ts'
import type { FunctionCatalogue } from '../../domain/runbook/read.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import { held } from '../shapes/batch-shapes.ts'
import { json, nullableDateTime, nullableText, pagingQuery, wholeCount } from '../shapes/shapes.ts'

const throttle = z
  .strictObject({
    name: z.string().meta({ description: 'The quota, as the service names it.' }),
    closedUntil: nullableDateTime.meta({ description: 'Null while calls may go.' }),
    concurrency: wholeCount.meta({ description: 'Calls that may go at once now.' }),
    calls: wholeCount.meta({ description: 'Calls under way.' }),
    queued: wholeCount.meta({ description: 'Calls that wait for the gate or for a place.' }),
    throttled: wholeCount.meta({ description: 'Calls that the service throttled so far.' }),
    throttledSec: z.number().meta({ description: 'How long the gate was closed in all.' }),
  })
  .meta({ id: 'Throttle' })

const worker = z
  .strictObject({
    workerId: z.string(),
    isKnown: z
      .boolean()
      .meta({ description: 'False when steps wait for a worker that never announced itself.' }),
    isConfigured: z.boolean(),
    isSilent: z.boolean().meta({ description: 'No sign of life for a minute.' }),
    state: z.enum(WORKER_STATES).meta({
      description:
        '`draining`: held, and jobs are still outstanding; `drained`: held, and none is. A hold drains a worker.',
    }),
    held: held.nullable().meta({ description: 'A hold of this worker alone.' }),
    version: nullableText,
    slots: z.int().nullable().meta({
      description: 'Jobs it runs at once, with the slots that waiting jobs lend.',
    }),
    functions: z.array(z.string()),
    throttles: z.array(throttle).meta({
      description: 'Quotas of the services it calls, as announced last, at most a minute ago.',
    }),
    throttledUntil: nullableDateTime.meta({
      description: 'When the last of its closed quotas opens; null while all are open.',
    }),
    firstSeenAt: nullableDateTime,
    lastSeenAt: nullableDateTime,
    jobMs: z.number().nullable().meta({ description: 'Mean run time of its latest jobs.' }),
    maxOutstanding: wholeCount.meta({ description: 'The most that its job limit may be.' }),
    jobLimit: wholeCount.meta({
      description:
        'Jobs it may have outstanding now: those it finishes while one is out, and 0.15 seconds more, within the limit.',
    }),
    outstanding: wholeCount.meta({ description: 'Outstanding jobs.' }),
    oldestSentAt: nullableDateTime.meta({ description: 'When the oldest of them was sent.' }),
    waiting: wholeCount.meta({
      description: `Steps that wait for a free slot; counted up to ${WAITING_COUNTED_MAX}.`,
    }),
  })
  .meta({ id: 'Worker' })

const listRoute = read({
  method: 'GET',
  path: '/api/workers',
  operation: 'listWorkers',
  tag: 'service',
  summary: 'List workers with functions and load',
  rule: 'reader',
  answers: { 200: z.strictObject({ workers: z.array(worker) }).meta({ id: 'Workers' }) },
  handle: async ({ engine, now }) => {
    const lines = await listWorkers(engine.db)
    return { status: 200, body: { workers: lines.map((line) => shownWorker(line, engine, now)) } }
  },
})

const showRoute = read({
  method: 'GET',
  path: '/api/workers/{workerId}',
  operation: 'getWorker',
  tag: 'service',
  summary: 'Show a worker with functions, load and throttling',
  rule: 'reader',
  params: z.strictObject({ workerId: z.string().min(1).max(200) }),
  answers: { 200: worker },
  errors: ['WORKER_NOT_FOUND'],
  handle: async ({ engine, now, params: { workerId } }) => {
    const [line] = await listWorkers(engine.db, workerId)
    if (!line) throw new MatoolkitError('WORKER_NOT_FOUND', { workerId })
    return { status: 200, body: shownWorker(line, engine, now) }
  },
})

const catalogue = z
  .strictObject({
    workerId: z
      .string()
      .nullable()
      .meta({ description: 'Null: the program brings them along, and every worker has them.' }),
    functions: z
      .array(
        z.strictObject({
          name: z.string(),
          description: nullableText,
          parameters: json.meta({ description: 'JSON Schema, as the worker announced it.' }),
          facts: functionFacts.nullable(),
        }),
      )
      .nullable()
      .meta({ description: 'Null for a configured worker that never announced itself.' }),
  })
  .meta({ id: 'FunctionCatalogue' })

/** A worker with every standard function announces 100 KB. */
const CATALOGUES_A_PAGE = 20
const CATALOGUE_SORT = 'workerId'

const cataloguesRoute = read({
  method: 'GET',
  path: '/api/catalogues',
  operation: 'listCatalogues',
  tag: 'service',
  summary: 'List the functions of workers with their parameters',
  about: `Runbooks are checked against these. The first page begins with what the program brings along, without a worker’s id; each has ${CATALOGUES_A_PAGE} workers.`,
  rule: 'reader',
  query: z.strictObject({
    cursor: pagingQuery.cursor,
    workerId: z.string().min(1).max(200).optional().meta({ description: 'Only of this worker.' }),
  }),
  answers: {
    200: z
      .strictObject({ catalogues: z.array(catalogue), next: nullableText })
      .meta({ id: 'FunctionCatalogues' }),
  },
  errors: ['CURSOR_INVALID'],
  handle: async ({ engine, query }) => {
    const after = readCursor(CATALOGUE_SORT, query.cursor)?.value ?? null
    const found = await listCatalogues(engine.db, {
      after,
      limit: CATALOGUES_A_PAGE + 1,
      workerId: query.workerId ?? null,
    })
    const { rows, next } = pageFrom(found, CATALOGUES_A_PAGE, CATALOGUE_SORT, ({ workerId }) => ({
      value: workerId,
      id: 0,
    }))
    const isFirstPage = after === null && query.workerId === undefined
    const shown = isFirstPage ? [engine.functions.packaged, ...rows] : rows
    return { status: 200, body: { catalogues: shown.map(shownCatalogue), next } }
  },
})

const shownCatalogue = ({ workerId, functions }: FunctionCatalogue) => ({
  workerId,
  functions:
    functions?.map(({ name, description, parameters, facts }) => ({
      name,
      description: description ?? null,
      parameters: parameters as Json,
      facts: facts ?? null,
    })) ?? null,
})

function shownWorker(
  { heldAt, heldBy, heldReason, pace: measured, ...line }: WorkerLine,
  { pace }: Engine,
  now: Date,
): z.input<typeof worker> {
  const throttles = line.throttles.map((one) => ({
    ...one,
    closedUntil: laterThan(one.closedUntil, now),
  }))
  const closed = throttles.flatMap(({ closedUntil }) => closedUntil ?? [])
  return {
    ...line,
    state: workerState({ ...line, isHeld: heldAt !== null }, now),
    held: heldAt && { at: heldAt, by: heldBy!, reason: heldReason! },
    functions: [...line.functions],
    throttles,
    throttledUntil: closed.length === 0 ? null : new Date(Math.max(...closed.map(Number))),
    isSilent: isSilent(line, now),
    jobMs: line.jobMs === null ? null : Math.round(line.jobMs),
    maxOutstanding: pace.maxOutstandingOf(line),
    jobLimit: pace.jobLimitOf({ ...line, pace: measured }),
  }
}

/** The announcement may be a minute old: a gate has opened since. */
const laterThan = (at: string | null, now: Date): Date | null =>
  at !== null && new Date(at) > now ? new Date(at) : null

export const WORKER_ROUTES = [listRoute, showRoute, cataloguesRoute]
