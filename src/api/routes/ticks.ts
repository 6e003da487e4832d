// Ticks of a runbook's data source, a tick now, and the rows that the last good tick could not use.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { listIssues } from '../../db/sources/source-issues.ts'
import { listTicks } from '../../db/sources/ticks.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { change, read } from '../route.ts'
import {
  dateTime,
  nameText,
  nullableDateTime,
  nullableText,
  pagingQuery,
  reason,
  wholeCount,
} from '../shapes/shapes.ts'
import { need, shownNeed } from '../shapes/verdict-shape.ts'
import { requireRunbook } from './sources.ts'

const params = z.strictObject({ name: nameText })
const SORT = 'id'
const at = ({ id }: { readonly id: number }) => ({ value: null, id })

const tick = z
  .strictObject({
    id: z.int(),
    runbookVersion: z.int(),
    startedBy: z.string(),
    startedAt: dateTime,
    endedAt: nullableDateTime,
    outcome: z.enum(['running', 'good', 'failed', 'abandoned']),
    rowCount: z.int().nullable(),
    groupCount: z.int().nullable(),
    counts: z.record(z.string(), wholeCount).meta({ description: 'Changes made, by kind.' }),
    error: nullableText,
  })
  .meta({ id: 'Tick' })

const ticksRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}/ticks',
  operation: 'listTicks',
  tag: 'runbooks',
  summary: 'List the ticks of the runbook’s source, newest first; kept for a month',
  rule: 'reader',
  errors: ['RUNBOOK_NOT_FOUND', 'CURSOR_INVALID'],
  params,
  query: z.strictObject(pagingQuery),
  answers: {
    200: z
      .strictObject({ ticks: z.array(tick), next: z.string().nullable() })
      .meta({ id: 'Ticks' }),
  },
  handle: async ({ engine, params: p, query: { limit, cursor } }) => {
    const runbook = await requireRunbook(engine, p.name)
    const before = readCursor(SORT, cursor)?.id ?? null
    const found = await listTicks(engine.db, runbook.name, { limit: limit + 1, before })
    const { rows, next } = pageFrom(found, limit, SORT, at)
    return { status: 200, body: { ticks: [...rows], next } }
  },
})

const issue = z
  .strictObject({
    id: z.int(),
    tickId: z.int(),
    kind: z.string(),
    memberKey: nullableText,
    column: nullableText,
    batchId: z.int().nullable(),
    reason: z.string(),
    foundAt: dateTime,
  })
  .meta({ id: 'SourceIssue' })

const issuesRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}/issues',
  operation: 'listSourceIssues',
  tag: 'runbooks',
  summary: 'List unusable rows and changes not made, as of the last good tick',
  rule: 'reader',
  isPersonal: true,
  errors: ['RUNBOOK_NOT_FOUND', 'CURSOR_INVALID'],
  params,
  query: z.strictObject(pagingQuery),
  answers: {
    200: z
      .strictObject({ issues: z.array(issue), next: z.string().nullable() })
      .meta({ id: 'SourceIssues' }),
  },
  handle: async ({ engine, params: p, query: { limit, cursor } }) => {
    const runbook = await requireRunbook(engine, p.name)
    const after = readCursor(SORT, cursor)?.id ?? 0
    const found = await listIssues(engine.db, runbook.name, { limit: limit + 1, after })
    const { rows, next } = pageFrom(found, limit, SORT, at)
    const issues = rows.map(({ key, ...rest }) => ({ ...rest, memberKey: key }))
    return { status: 200, body: { issues, next } }
  },
})

const tickReport = z
  .strictObject({
    runbookName: z.string(),
    outcome: z.enum(['good', 'failed', 'abandoned']),
    counts: z.record(z.string(), wholeCount).meta({ description: 'Changes made, by kind.' }),
    error: nullableText,
    needs: z.array(need).meta({
      description: 'What waits for a person: reviews, a failing source, rows left out.',
    }),
  })
  .meta({ id: 'TickReport' })

const tickRoute = change({
  method: 'POST',
  path: '/api/runbooks/{name}/ticks',
  operation: 'tickNow',
  tag: 'runbooks',
  summary: 'Query the runbook’s data source now and apply what changed',
  about:
    'Waits for the end of the tick. A failed tick is an answer, not an error: `outcome` and `error` say so.',
  rule: 'admin',
  action: 'source.tick',
  inChunks: true,
  takes: 'json',
  errors: [
    'RUNBOOK_NOT_FOUND',
    'AUTOMATION_OFF',
    'TICK_RUNNING',
    'TICK_TAKEN_OVER',
    'PREVIEW_UNAVAILABLE',
  ],
  params,
  body: z.strictObject({ reason: reason.optional() }),
  answers: { 200: tickReport },
  handle: async ({ params: { name }, body, services: { tickNow }, by, signal }) => {
    if (!tickNow) throw new MatoolkitError('PREVIEW_UNAVAILABLE')
    const report = await tickNow(name, by.name, signal)
    if (!report) throw new MatoolkitError('TICK_RUNNING', { name })
    const { runbookName, outcome, counts, error } = report
    return {
      status: 200,
      body: { runbookName, outcome, counts, error, needs: report.needs.map(shownNeed) },
      auditNote: {
        subject: `runbook ${runbookName}`,
        reason: body.reason ?? null,
        after: { outcome, counts },
      },
    }
  },
})

export const TICK_ROUTES = [ticksRoute, tickRoute, issuesRoute]
