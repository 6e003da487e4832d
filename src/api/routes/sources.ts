// The sources of members: all of them with their ticks, a preview of a query, and a template for member files.

import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { csvLine } from '../../base/files/csv.ts'
import { sameName } from '../../base/text/same-name.ts'
import { findActiveRunbook } from '../../db/state/runbooks.ts'
import { countRunbooks } from '../../db/views/runbooks.ts'
import { listSources } from '../../db/views/sources.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { SOURCE_TYPES } from '../../domain/runbook/shape.ts'
import { templateOf } from '../../domain/state/member-columns.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import { parseRunbook, YAML_CHARS_MAX } from '../services/runbook-text.ts'
import {
  dateTime,
  json,
  nameText,
  nullableDateTime,
  nullableText,
  pageOf,
  pagingQuery,
  wholeCount,
} from '../shapes/shapes.ts'

/** The active version, parsed. Throws RUNBOOK_NOT_FOUND. */
export async function requireRunbook(engine: Engine, runbookName: string): Promise<Runbook> {
  const found = await findActiveRunbook(engine.db, runbookName)
  if (!found) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: runbookName })
  return engine.runbooks.get(engine.db, found.name, found.version)
}

const firstOf = <T extends z.ZodType>(row: T) =>
  z
    .strictObject({ total: wholeCount, first: z.array(row) })
    .meta({ description: 'The total and the first rows.' })
const inBatch = { batchId: z.int(), key: z.string() }

const nextTick = z
  .strictObject({
    newBatches: firstOf(
      z.strictObject({ time: z.string(), members: wholeCount, held: nullableText }),
    ),
    joiners: firstOf(z.strictObject(inBatch)),
    rejoiners: firstOf(z.strictObject(inBatch)),
    moves: firstOf(z.strictObject({ ...inBatch, toTime: z.string() })),
    leavers: firstOf(z.strictObject(inBatch)),
    missing: wholeCount.meta({
      description: 'Missing for the first time; a second tick without them makes them leavers.',
    }),
    refreshed: wholeCount,
    reviews: firstOf(
      z.strictObject({
        kind: z.string(),
        cause: z.string(),
        key: z.string(),
        batchId: z.int().nullable(),
        reason: z.string(),
      }),
    ),
    holds: z.array(z.strictObject({ batchId: z.int(), reason: z.string() })),
  })
  .meta({ id: 'NextTick', description: 'What a tick would do with this result.' })

const previewed = z
  .strictObject({
    rowCount: wholeCount,
    columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
    sample: z.array(z.record(z.string(), json)).meta({ description: 'The first 100 rows.' }),
    warnings: z
      .array(z.string())
      .meta({ description: 'Says that long cells are cut, or that the sample is shorter.' }),
    batchGroups: z
      .array(z.strictObject({ batchTime: nullableDateTime, memberCount: wholeCount }))
      .meta({
        description: 'In time order; one group without a time if the runbook has no batch times.',
      }),
    groupCount: wholeCount,
    problems: z.array(
      z.strictObject({
        kind: z.string(),
        key: nullableText,
        column: nullableText,
        batchId: z.int().nullable(),
        reason: z.string(),
      }),
    ),
    problemCount: wholeCount,
    durationMs: z.number(),
    nextTick,
  })
  .meta({ id: 'Preview' })

const previewRoute = read({
  method: 'POST',
  path: '/api/runbooks/{name}/query/preview',
  operation: 'previewQuery',
  limits: 'runbook texts',
  tag: 'runbooks',
  summary: 'Query the runbook’s data source now and change nothing',
  about: 'Uses the active version, or an unpublished text.',
  rule: 'admin',
  isPersonal: true,
  takes: 'json',
  errors: [
    'RUNBOOK_NOT_FOUND',
    'RUNBOOK_INVALID',
    'RUNBOOK_NAME_DIFFERS',
    'PREVIEW_UNAVAILABLE',
    'SOURCE_NOT_CONFIGURED',
    'SOURCE_UNREACHABLE',
    'SOURCE_SIGN_IN_REFUSED',
    'SOURCE_QUERY_REFUSED',
    'SOURCE_TIMED_OUT',
    'SOURCE_CANCELLED',
    'SOURCE_DROPPED',
    'SOURCE_TRUNCATED',
    'SOURCE_COLUMNS_INVALID',
    'SOURCE_VALUE_UNREADABLE',
    'SOURCE_FILE_INVALID',
    'SOURCE_FILE_MISSING',
    'SOURCE_FILE_CHANGING',
  ],
  params: z.strictObject({ name: nameText }),
  body: z.strictObject({ yamlContent: z.string().max(YAML_CHARS_MAX).optional() }),
  answers: { 200: previewed },
  handle: async ({ engine, params, body, services: { preview, runbookReader }, signal }) => {
    const runbook =
      body.yamlContent === undefined
        ? await requireRunbook(engine, params.name)
        : requireNamed((await parseRunbook(runbookReader, body.yamlContent)).runbook, params.name)
    if (!preview) throw new MatoolkitError('PREVIEW_UNAVAILABLE')
    return { status: 200, body: previewed.parse(await preview(runbook, signal)) }
  },
})

/** The runbook itself. Throws RUNBOOK_NAME_DIFFERS when its text has another name. */
export function requireNamed(runbook: Runbook, expected: string): Runbook {
  if (sameName(expected, runbook.name)) return runbook
  throw new MatoolkitError('RUNBOOK_NAME_DIFFERS', { given: expected, found: runbook.name })
}

const templateRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}/template',
  operation: 'getTemplate',
  tag: 'runbooks',
  summary: 'Get a member file template with the runbook’s columns and a sample row',
  rule: 'reader',
  gives: 'text/csv; charset=utf-8',
  errors: ['RUNBOOK_NOT_FOUND'],
  params: z.strictObject({ name: nameText }),
  answers: { 200: z.string() },
  handle: async ({ engine, params }) => {
    const runbook = await requireRunbook(engine, params.name)
    const { header, sample } = templateOf(runbook)
    return {
      status: 200,
      body: csvLine(header) + csvLine(sample),
      // Safe in a header: runbook names are letters, digits, "-" and "_".
      headers: { 'content-disposition': `attachment; filename="${runbook.name}_template.csv"` },
    }
  },
})

const source = z
  .strictObject({
    runbookName: z.string(),
    runbookVersion: z.int(),
    type: z.enum(SOURCE_TYPES),
    isAutomated: z.boolean(),
    lastTick: z
      .strictObject({
        id: z.int(),
        startedAt: dateTime,
        endedAt: nullableDateTime,
        outcome: z.enum(['running', 'good', 'failed', 'abandoned']),
        rowCount: z.int().nullable(),
        error: nullableText,
      })
      .nullable(),
    lastGoodAt: nullableDateTime.meta({ description: 'The end of the last good tick of a month.' }),
    nextTickAt: nullableDateTime.meta({
      description: 'Null before the first tick, and while automation is off.',
    }),
    issueCount: wholeCount.meta({
      description: 'Rows that the last good tick could not use, and changes it did not make.',
    }),
    openReviews: wholeCount,
  })
  .meta({ id: 'Source' })

const SORT = 'name'

const listRoute = read({
  method: 'GET',
  path: '/api/sources',
  operation: 'listSources',
  tag: 'runbooks',
  summary: 'List data sources with their last and next tick',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject(pagingQuery),
  answers: { 200: pageOf('sources', source) },
  handle: async ({ engine, query: { limit, cursor } }) => {
    const after = readCursor(SORT, cursor, (value) => value !== '')?.value ?? null
    const found = await listSources(engine.db, after, limit + 1)
    const { rows, next } = pageFrom(found, limit, SORT, ({ runbookName }) => ({
      value: runbookName.toLowerCase(),
      id: 0,
    }))
    const sources = []
    for (const line of rows) {
      const runbook = await engine.runbooks.get(engine.db, line.runbookName, line.runbookVersion)
      sources.push({ ...line, type: runbook.dataSource.type })
    }
    const total = await countRunbooks(engine.db, {})
    return { status: 200, body: { sources, total, isTotalExact: true, next } }
  },
})

export const SOURCE_ROUTES = [listRoute, previewRoute, templateRoute]
