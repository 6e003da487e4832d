// The supported query options of Microsoft Graph: $select, $filter with eq, startswith, endsWith, any, and, or, $orderby, $top, $count, and
// paging by @odata.nextLink. Anything else is refused, never ignored: a dropped filter finds too much. What Graph calls advanced needs the
// header ConsistencyLevel: eventual and $count (source: "Advanced query capabilities on Microsoft Entra ID objects").

import { ok, type SandboxCall, type SandboxResponse } from '../call.ts'
import type { Json, JsonObject } from '../json.ts'
import { GraphRefusal } from '../refusal.ts'

export interface PropertyKind {
  /** Such as `microsoft.graph.user`. */
  readonly type: string
  readonly properties: readonly string[]
  /** Returned without $select. */
  readonly usual: readonly string[]
}

const PAGE_DEFAULT = 100
const PAGE_MAX = 999
const FILTER_CHARS_MAX = 4_000

const KNOWN_OPTIONS = ['$select', '$filter', '$orderby', '$top', '$count', '$skiptoken']

/** The selected properties, by their proper names. */
export function selectOf(call: SandboxCall, kind: PropertyKind): readonly string[] {
  const selected = call.url.searchParams.get('$select')
  if (selected === null) return kind.usual
  return selected.split(',').map((name) => propertyOf(name.trim(), kind))
}

function propertyOf(name: string, kind: PropertyKind): string {
  const found = kind.properties.find((one) => one.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  throw new GraphRefusal(
    400,
    'BadRequest',
    `Parsing OData Select and Expand failed: Could not find a property named '${name}' on type '${kind.type}'.`,
  )
}

export const pick = (whole: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, whole[name] ?? null]))

const unsupported = () => new GraphRefusal(400, 'Request_UnsupportedQuery', 'Unsupported Query.')

type Test = (item: JsonObject) => boolean

const textOf = (quoted: string): string => quoted.slice(1, -1).replaceAll("''", "'")
const fold = (value: Json | undefined): string => String(value ?? '').toLowerCase()

const QUOTED = `'(?:[^']|'')*'`
const EQUALS = new RegExp(`^(\\w+) (eq|ne) (${QUOTED}|true|false|null)$`)
const STARTS = new RegExp(`^startswith\\((\\w+), ?(${QUOTED})\\)$`)
const ENDS = new RegExp(`^endswith\\((\\w+), ?(${QUOTED})\\)$`, 'i')
const WITHIN = new RegExp(`^(\\w+)/any\\((\\w+):\\2 eq (${QUOTED})\\)$`)

/** Splits at an operator outside of quotes. */
const partsOf = (filter: string, operator: 'and' | 'or'): string[] =>
  (filter.match(new RegExp(`(?:${QUOTED}|(?! ${operator} ).)+`, 'g')) ?? []).map((part) =>
    part.replace(new RegExp(`^ ?${operator} `), '').trim(),
  )

function filterOf(call: SandboxCall, kind: PropertyKind): Test {
  const filter = call.url.searchParams.get('$filter')
  if (filter === null) return () => true
  // `and` binds tighter; parentheses are refused.
  const alternatives = partsOf(filter, 'or').map((part) => partsOf(part, 'and'))
  const parts = alternatives.flat()
  if (parts.length === 0 || filter.length > FILTER_CHARS_MAX) throw unsupported()
  if (parts.some((part) => ENDS.test(part))) requireAdvanced(call)
  const tests = alternatives.map((group) => group.map((part) => testOf(part, kind)))
  return (item) => tests.some((group) => group.every((test) => test(item)))
}

function testOf(part: string, kind: PropertyKind): Test {
  const equals = EQUALS.exec(part)
  if (equals) {
    const [, name, operator, literal] = equals
    const property = propertyOf(name!, kind)
    const value = literal!.startsWith("'") ? textOf(literal!) : literal === 'null' ? '' : literal!
    return (item) => (fold(item[property]) === value.toLowerCase()) === (operator === 'eq')
  }
  const starts = STARTS.exec(part)
  if (starts) {
    const property = propertyOf(starts[1]!, kind)
    return (item) => fold(item[property]).startsWith(textOf(starts[2]!).toLowerCase())
  }
  const ends = ENDS.exec(part)
  if (ends) {
    const property = propertyOf(ends[1]!, kind)
    return (item) => fold(item[property]).endsWith(textOf(ends[2]!).toLowerCase())
  }
  const within = WITHIN.exec(part)
  if (!within) throw unsupported()
  const property = propertyOf(within[1]!, kind)
  return (item) => {
    const values = item[property]
    return (
      Array.isArray(values) && values.some((one) => fold(one) === textOf(within[3]!).toLowerCase())
    )
  }
}

const isEventual = ({ headers }: SandboxCall): boolean =>
  headers.consistencylevel?.toLowerCase() === 'eventual'

function requireAdvanced(call: SandboxCall): void {
  if (isEventual(call) && call.url.searchParams.get('$count') === 'true') return
  throw unsupported()
}

interface Order {
  readonly property: string
  readonly sign: 1 | -1
}

function orderOf(call: SandboxCall, kind: PropertyKind): Order | null {
  const written = call.url.searchParams.get('$orderby')
  if (written === null) return null
  const [, name, direction] = /^(\w+)(?: (asc|desc))?$/.exec(written) ?? []
  if (name === undefined) throw unsupported()
  if (call.url.searchParams.has('$filter')) requireAdvanced(call)
  return { property: propertyOf(name, kind), sign: direction === 'desc' ? -1 : 1 }
}

/** How many there are, as `/users/$count` tells it: as plain text. */
export function odataCount<Item extends { readonly id: string }>(
  call: SandboxCall,
  { all, toGraph }: Items<Item>,
  kind: PropertyKind,
): SandboxResponse {
  if (!isEventual(call)) throw unsupported()
  const isMatching = filterOf(call, kind)
  return ok(String(all.filter((item) => isMatching(toGraph(item))).length))
}

/** The items of a list, and how Graph shows them. */
export interface Items<Item extends { readonly id: string }> {
  readonly all: readonly Item[]
  toGraph(item: Item): JsonObject
}

/** A page of items ordered by id, so that changes between two pages shift nothing; or as $orderby says. */
export function odataPage<Item extends { readonly id: string }>(
  call: SandboxCall,
  { all, toGraph }: Items<Item>,
  kind: PropertyKind,
  context: string,
): SandboxResponse {
  const { searchParams } = call.url
  const unknown = [...searchParams.keys()].find((key) => !KNOWN_OPTIONS.includes(key))
  if (unknown !== undefined) throw unsupported()
  const names = selectOf(call, kind)
  const isMatching = filterOf(call, kind)
  const size = pageSizeOf(searchParams.get('$top'))
  const order = orderOf(call, kind)
  const after = searchParams.get('$skiptoken') ?? ''
  const items = order === null ? pageById(all, after) : pageByOrder(all.map(toGraph), order, after)
  const page: JsonObject[] = []
  let isMore = false
  for (const item of items) {
    const whole = order === null ? toGraph(item as Item) : (item as JsonObject)
    if (!isMatching(whole)) continue
    isMore = page.length === size
    if (isMore) break
    page.push(whole)
  }
  const last = page.at(-1)
  const token = () => (order === null ? String(last!.id) : `${keyOf(last!, order)} ${last!.id}`)
  const count = () => all.filter((item) => isMatching(toGraph(item))).length
  return ok({
    '@odata.context': `${call.url.origin}/v1.0/$metadata#${context}`,
    ...(searchParams.get('$count') === 'true' ? { '@odata.count': count() } : {}),
    ...(isMore ? { '@odata.nextLink': nextLink(call.url, token()) } : {}),
    value: page.map((item) => ({ ...annotationsOf(item), ...pick(item, names) })),
  })
}

const pageById = <Item extends { readonly id: string }>(all: readonly Item[], after: string) =>
  all.filter(({ id }) => id > after).toSorted((a, b) => (a.id < b.id ? -1 : 1))

const keyOf = (item: JsonObject, { property }: Order): string => fold(item[property])

/** `after` is the key and id of the last one shown. */
function pageByOrder(all: readonly JsonObject[], order: Order, after: string): JsonObject[] {
  const placeOf = (item: JsonObject) => `${keyOf(item, order)} ${item.id}`
  const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1) * order.sign
  return all
    .filter((item) => after === '' || compare(placeOf(item), after) > 0)
    .toSorted((a, b) => compare(placeOf(a), placeOf(b)))
}

/** Type annotations stay whatever is selected. */
const annotationsOf = (item: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([name]) => name.startsWith('@')))

function pageSizeOf(top: string | null): number {
  if (top === null) return PAGE_DEFAULT
  const size = Number(top)
  if (Number.isInteger(size) && size >= 1 && size <= PAGE_MAX) return size
  throw new GraphRefusal(
    400,
    'Request_BadRequest',
    `Invalid page size specified: '${top}'. Must be between 1 and 999 inclusive.`,
  )
}

function nextLink(url: URL, lastId: string): string {
  const next = new URL(url)
  next.searchParams.set('$skiptoken', lastId)
  return next.href
}
