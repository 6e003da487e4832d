// Where a runbook's members come from: a try of its query, and a template of a member file.
import { z } from 'zod'
import { csvLine } from '../../csv.ts'
import { findActiveRunbook } from '../../db/runbooks.ts'
import { templateOf } from '../../domain/member-columns.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import type { Engine } from '../../engine/engine.ts'
import { MatoolkitError } from '../../errors.ts'
import { type Route, read } from '../route.ts'
import { requireValid, YAML_CHARS_MAX } from '../runbook-text.ts'
import { json, nameText, nullableDateTime, nullableText, wholeCount } from '../shapes.ts'

/** The active version, read. */
export async function requireRunbook(engine: Engine, runbookName: string): Promise<Runbook> {
  const found = await findActiveRunbook(engine.db, runbookName)
  if (!found) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: runbookName })
  return engine.runbooks.get(engine.db, found.name, found.version)
}

const some = <T extends z.ZodType>(one: T) =>
  z.strictObject({ total: wholeCount, first: z.array(one) }).meta({ description: 'All counted.' })
const inBatch = { batchId: z.int(), key: z.string() }

const nextTick = z
  .strictObject({
    newBatches: some(z.strictObject({ time: z.string(), members: wholeCount, held: nullableText })),
    joiners: some(z.strictObject(inBatch)),
    rejoiners: some(z.strictObject(inBatch)),
    moves: some(z.strictObject({ ...inBatch, toTime: z.string() })),
    leavers: some(z.strictObject(inBatch)),
    missing: wholeCount.meta({ description: 'For the first time; next time they have left.' }),
    refreshed: wholeCount,
    reviews: some(
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
  .meta({ id: 'NextTick', description: 'What the next tick would do with this result.' })

const previewed = z
  .strictObject({
    rowCount: wholeCount,
    columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
    sample: z.array(z.record(z.string(), json)).meta({ description: 'The first 100 rows.' }),
    batchGroups: z
      .array(z.strictObject({ batchTime: nullableDateTime, memberCount: wholeCount }))
      .meta({ description: 'By time. Without batch times there is one, without a time.' }),
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
  tag: 'runbooks',
  summary: 'Ask the runbook’s data source now, without doing anything with the answer',
  about: 'Of the active version, or of a text that is not published yet.',
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
    'SOURCE_FILE_CHANGING',
  ],
  params: z.strictObject({ name: nameText }),
  body: z.strictObject({ yamlContent: z.string().max(YAML_CHARS_MAX).optional() }),
  answers: { 200: previewed },
  handle: async ({ engine, params, body, services: { preview }, signal }) => {
    const runbook =
      body.yamlContent === undefined
        ? await requireRunbook(engine, params.name)
        : requireNamed(requireValid(body.yamlContent).runbook, params.name)
    if (!preview) throw new MatoolkitError('PREVIEW_UNAVAILABLE')
    return { status: 200, body: previewed.parse(await preview(runbook, signal)) }
  },
})

/** The runbook, if its text gives it this name. */
export function requireNamed(runbook: Runbook, given: string): Runbook {
  if (given.toLowerCase() === runbook.name.toLowerCase()) return runbook
  throw new MatoolkitError('RUNBOOK_NAME_DIFFERS', { given, found: runbook.name })
}

const templateRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}/template',
  operation: 'getTemplate',
  tag: 'runbooks',
  summary: 'A member file with the columns that the runbook needs, and a sample row to replace',
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
      // The name was checked: letters, digits, hyphens.
      headers: { 'content-disposition': `attachment; filename="${runbook.name}_template.csv"` },
    }
  },
})

export const SOURCE_ROUTES: readonly Route[] = [previewRoute, templateRoute]
