// What people take away from a batch: its report and its run sheet, written while they are sent.
import { z } from 'zod'
import { knownZone } from '../../base/text/zoned-time.ts'
import { STYLE_SOURCE } from '../reports/page-style.ts'
import { REPORT_FORMATS, type ReportFormat, writeReport } from '../reports/report.ts'
import { loadReport } from '../reports/report-data.ts'
import { writeRunSheet } from '../reports/run-sheet.ts'
import { loadRunSheet } from '../reports/run-sheet-data.ts'
import { read } from '../route.ts'
import { booleanText, id } from '../shapes/shapes.ts'

const TYPES: Readonly<Record<ReportFormat, string>> = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
}

const zone = z
  .string()
  .max(100)
  .refine(
    (name) => knownZone(name) !== null,
    'must be the name of a time zone, such as Europe/Berlin',
  )
  .default('UTC')
  .meta({ description: 'The zone of the times that people read.' })

/** The first known type that the caller accepts. */
const acceptedFormat = (accept: string): ReportFormat => {
  const known = [...accept.matchAll(/\b(?:text\/(csv|html)|application\/(json))\b/gi)]
  return (known[0]?.slice(1).find(Boolean)?.toLowerCase() as ReportFormat | undefined) ?? 'json'
}

/** For a page of ours that somebody opens in a browser: its style, and nothing else. */
const pageHeaders = (type: string, fileName: string): Record<string, string> => ({
  'content-type': type,
  'content-disposition': `attachment; filename="${fileName}"`,
  'content-security-policy': `default-src 'none'; style-src ${STYLE_SOURCE}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
})

const reportRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/report',
  operation: 'getBatchReport',
  tag: 'batches',
  summary: 'Get the report of a batch as JSON, CSV or a page',
  about:
    'The format follows `format`, or else the header `Accept`. Every member is in it, sent page by page; a report that ends early cuts the connection.',
  rule: 'reader',
  isPersonal: true,
  gives: TYPES.json,
  alsoGives: [TYPES.csv, TYPES.html],
  errors: ['BATCH_NOT_FOUND'],
  params: z.strictObject({ batchId: id }),
  query: z.strictObject({
    format: z.enum(REPORT_FORMATS).optional(),
    zone,
    internal: booleanText
      .optional()
      .meta({ description: 'Also history, and who did what: not for a customer.' }),
  }),
  answers: {
    200: z
      .custom<AsyncIterable<string>>()
      .meta({ description: 'Batch, phases, failures by kind, and each member with its outcome.' }),
  },
  handle: async ({ engine, services, params: { batchId }, query, by, now, accept }) => {
    const order = { batchId, madeAt: now, madeBy: by.name }
    const report = await loadReport(engine, services.failureCache, order)
    const format = query.format ?? acceptedFormat(accept)
    const reader = { zone: query.zone, isInternal: query.internal ?? false }
    return {
      status: 200,
      body: writeReport(format, report, reader),
      headers: pageHeaders(TYPES[format], `batch-${batchId}-report.${format}`),
    }
  },
})

const runSheetRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/run-sheet',
  operation: 'getRunSheet',
  tag: 'batches',
  summary: 'Get the run sheet of a batch, a page to print',
  about:
    'For the night in which the network is down: phases, gates, steps, commands, and every member with a box for each phase, sent page by page.',
  rule: 'reader',
  isPersonal: true,
  gives: TYPES.html,
  errors: ['BATCH_NOT_FOUND'],
  params: z.strictObject({ batchId: id }),
  query: z.strictObject({ zone }),
  answers: { 200: z.custom<AsyncIterable<string>>().meta({ description: 'The page.' }) },
  handle: async ({ engine, services, params: { batchId }, query, by, now }) => {
    const order = { batchId, madeAt: now, madeBy: by.name }
    const sheet = await loadRunSheet(engine, services, order)
    return {
      status: 200,
      body: writeRunSheet(sheet, query.zone),
      headers: pageHeaders(TYPES.html, `batch-${batchId}-run-sheet.html`),
    }
  },
})

export const REPORT_ROUTES = [reportRoute, runSheetRoute]
