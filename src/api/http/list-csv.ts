// Any paged list as CSV for `Accept: text/csv`: the whole list, page by page, so that memory does not grow with it. The columns are the
// fields of the row's schema; a field of an object has a dot in its name.
import { z } from 'zod'
import { csvLine } from '../../base/files/csv.ts'
import { isObject, type Json } from '../../base/text/json.ts'
import type { Route, RouteRequest, UncheckedAnswer } from '../route.ts'
import { PAGE_MAX } from '../shapes/shapes.ts'
import { checkedAnswer } from './run-change.ts'

const ROWS_MAX = 1_000_000

export const CSV_TYPE = 'text/csv; charset=utf-8'

export interface CsvList {
  /** The name of the rows in a page. */
  readonly rows: string
  readonly columns: readonly (readonly string[])[]
}

/** Null for a route that answers no pages. */
export function csvListOf({ answers, query }: Route): CsvList | null {
  const page = answers[200]
  const isPaged = query instanceof z.ZodObject && 'cursor' in query.shape
  if (!isPaged || !(page instanceof z.ZodObject)) return null
  const found = Object.entries(page.shape).find(([, schema]) => schema instanceof z.ZodArray)
  if (!found) return null
  const [rows, list] = found
  const columns = columnsOf((list as z.ZodArray).element as z.ZodType, [])
  return { rows, columns }
}

function columnsOf(schema: z.ZodType, path: readonly string[]): (readonly string[])[] {
  const inner = withoutNull(schema)
  if (!(inner instanceof z.ZodObject)) return [path]
  return Object.entries(inner.shape).flatMap(([name, field]) =>
    columnsOf(field as z.ZodType, [...path, name]),
  )
}

const withoutNull = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodNullable || schema instanceof z.ZodOptional
    ? withoutNull(schema.unwrap() as z.ZodType)
    : schema

type ListRequest = RouteRequest<unknown, unknown, unknown>

/** The query of the next page: as large as pages may be. */
export const pageRequest = (request: ListRequest, cursor?: string): ListRequest => ({
  ...request,
  query: { ...(request.query as object), limit: PAGE_MAX, ...(cursor && { cursor }) },
})

/** Reads on from the first page. A list that ends early cuts the connection, so that nobody takes a part for the whole. */
export async function* csvText(
  route: Route,
  { rows, columns }: CsvList,
  request: ListRequest,
  first: UncheckedAnswer,
): AsyncGenerator<string> {
  yield csvLine(columns.map((path) => path.join('.')))
  let answer = first
  for (let count = 0; ; ) {
    const page = checkedAnswer(route, answer).body as Record<string, unknown>
    const shown = JSON.parse(JSON.stringify(page[rows])) as Json[]
    yield shown.map((row) => csvLine(columns.map((path) => cellOf(row, path)))).join('')
    count += shown.length
    if (typeof page.next !== 'string') return
    if (count >= ROWS_MAX) throw new Error(`The list has more than ${ROWS_MAX} rows.`)
    request.signal.throwIfAborted()
    answer = await route.handle(pageRequest(request, page.next))
  }
}

function cellOf(row: Json, path: readonly string[]): string {
  let value: Json | undefined = row
  for (const name of path) value = isObject(value) ? value[name] : undefined
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
