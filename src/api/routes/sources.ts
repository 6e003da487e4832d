// Where a runbook's members come from: a try of its query, and a template of a member file.
import { z } from 'zod'
import { csvLine } from '../../csv.ts'
import { findActiveRunbook } from '../../db/runbooks.ts'
import { templateOf } from '../../domain/member-columns.ts'
import type { Runbook } from '../../domain/runbook.ts'
import type { Door } from '../../engine/door.ts'
import { MatoolkitError } from '../../errors.ts'
import { type Route, read } from '../route.ts'
import { count, json, maybeText, maybeTime, name } from '../shapes.ts'

/** The active version, read. */
export async function requireRunbook(door: Door, runbookName: string): Promise<Runbook> {
  const found = await findActiveRunbook(door.db, runbookName)
  if (!found) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: runbookName })
  return door.runbooks.get(door.db, found.name, found.version)
}

const previewed = z
  .strictObject({
    rowCount: count,
    columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
    sample: z.array(z.record(z.string(), json)).meta({ description: 'The first 100 rows.' }),
    batchGroups: z.array(z.strictObject({ batchTime: maybeTime, memberCount: count })),
    problems: z.array(z.strictObject({ key: maybeText, column: z.string(), reason: z.string() })),
    problemCount: count,
    durationMs: z.number(),
  })
  .meta({ id: 'Preview' })

const previewRoute = read({
  method: 'POST',
  path: '/api/runbooks/{name}/query/preview',
  operation: 'previewQuery',
  tag: 'runbooks',
  summary: 'Ask the runbook’s data source now, without doing anything with the answer',
  rule: 'admin',
  isPersonal: true,
  errors: [
    'RUNBOOK_NOT_FOUND',
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
  params: z.strictObject({ name }),
  answers: { 200: previewed },
  handle: async ({ door, params, services: { preview }, signal }) => {
    const runbook = await requireRunbook(door, params.name)
    if (!preview) throw new MatoolkitError('PREVIEW_UNAVAILABLE')
    return { status: 200, body: previewed.parse(await preview(runbook, signal)) }
  },
})

const templateRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}/template',
  operation: 'getTemplate',
  tag: 'runbooks',
  summary: 'A member file with the columns that the runbook needs, and a sample row to replace',
  rule: 'reader',
  gives: 'text/csv; charset=utf-8',
  errors: ['RUNBOOK_NOT_FOUND'],
  params: z.strictObject({ name }),
  answers: { 200: z.string() },
  handle: async ({ door, params }) => {
    const runbook = await requireRunbook(door, params.name)
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
