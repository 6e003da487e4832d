// Turns a row of a data source into a member: key, cut-over time, data. An unusable row is reported with a reason, never
// thrown: one bad row must not stop a wave. Wrong columns make the whole result unusable.
import { type Json, RESERVED_NAMES } from '../../base/text/json.ts'
import { hintFor } from '../../base/text/spelling.ts'
import type { DataSource } from '../runbook/model.ts'
import { BATCH_VARIABLES } from '../runbook/variables.ts'
import { foldKey, spellingOf } from '../state/member-key.ts'
import { type InstantOrReason, instantOf, noInstantReason } from './source-time.ts'
import type { SourceColumn, SourceRow } from './source-values.ts'

const COLUMNS_MAX = 1_000
const COLUMN_NAME_CHARS_MAX = 128
/** The limit of batch_members. */
const KEY_CHARS_MAX = 512
/** Total text of a row: a job's data must fit into a message. */
const ROW_CHARS_MAX = 262_144
const VALUES_MAX = 10_000
const SHOWN_CHARS = 60

const UNUSABLE_NAMES: readonly string[] = [...RESERVED_NAMES, ...BATCH_VARIABLES]

type NeededColumns = Pick<
  DataSource,
  'primaryKey' | 'batchTimeColumn' | 'multiValuedColumns' | 'columns'
>

/** Why a result with these columns is unusable; null when it is usable. Completes "Its columns cannot be used: …". */
export function columnsProblem(
  columns: readonly SourceColumn[],
  needed: NeededColumns,
): string | null {
  if (columns.length === 0) return 'there are no columns'
  if (columns.length > COLUMNS_MAX) return `there are more than ${COLUMNS_MAX} columns`
  const seen = new Set<string>()
  for (const [index, { name }] of columns.entries()) {
    if (name.trim() === '') return `column ${index + 1} has no name`
    if (name.length > COLUMN_NAME_CHARS_MAX)
      return `the name of column ${index + 1} has ${name.length} characters; the limit is ${COLUMN_NAME_CHARS_MAX}`
    if (UNUSABLE_NAMES.includes(foldKey(name))) return `"${name}" is a reserved name`
    if (seen.has(foldKey(name))) return `the column "${name}" appears twice`
    seen.add(foldKey(name))
  }
  return missingColumn(columns, needed)
}

function missingColumn(columns: readonly SourceColumn[], needed: NeededColumns): string | null {
  const names = columns.map(({ name }) => name)
  const missing = [
    needed.primaryKey,
    ...(needed.batchTimeColumn === null ? [] : [needed.batchTimeColumn]),
    ...needed.multiValuedColumns.map(({ name }) => name),
    ...(needed.columns ?? []),
  ].find((name) => spellingOf(name, names) === undefined)
  if (missing === undefined) return null
  return `there is no column "${missing}". ${hintFor(missing, names, 'There are')}`.trimEnd()
}

export interface SourceMember {
  /** Trimmed; compared without case. */
  readonly key: string
  /** Null for immediate runbooks. */
  readonly time: Date | null
  readonly data: SourceRow
}

export interface RowProblem {
  /** Null when the key is the problem. */
  readonly key: string | null
  readonly column: string
  /** Completes "This row is not used: …". */
  readonly reason: string
}

export type MemberOrProblem = { readonly member: SourceMember } | { readonly problem: RowProblem }

/** Returns a function that reads the rows of one result. */
export function rowReader(
  source: DataSource,
  columns: readonly SourceColumn[],
): (row: SourceRow) => MemberOrProblem {
  const names = columns.map(({ name }) => name)
  const columnOf = (name: string) => spellingOf(name, names) ?? name
  const keyColumn = columnOf(source.primaryKey)
  const timeColumn = source.batchTimeColumn === null ? null : columnOf(source.batchTimeColumn)
  const lists = source.multiValuedColumns.map(({ name, format }) => ({
    name: columnOf(name),
    format,
  }))
  const readTime = timeReader(source, timeColumn, columns)
  return (row) => {
    const keyOrReason = keyOf(row[keyColumn])
    const key = 'key' in keyOrReason ? keyOrReason.key : null
    const problem = (column: string, reason: string) => ({ problem: { key, column, reason } })
    if ('reason' in keyOrReason) return problem(keyColumn, keyOrReason.reason)
    const time = readTime(row)
    if (time && 'reason' in time) return problem(timeColumn!, time.reason)
    const data: Record<string, Json> = { ...row }
    // A template must give the key as the member has it: blanks around an address make Microsoft 365 refuse it.
    if (typeof data[keyColumn] === 'string') data[keyColumn] = keyOrReason.key
    for (const { name, format } of lists) {
      const list = listOf(row[name] ?? null, format)
      if ('reason' in list) return problem(name, list.reason)
      data[name] = list.values
    }
    const unstorable = unstorableColumn(data)
    if (unstorable) return problem(unstorable.column, unstorable.reason)
    return { member: { key: keyOrReason.key, time: time?.at ?? null, data } }
  }
}

const shown = (value: Json | undefined): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return `"${text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text}"`
}

function keyOf(value: Json | undefined): { key: string } | { reason: string } {
  const key = typeof value === 'object' || value === undefined ? '' : String(value).trim()
  if (typeof value === 'object' && value !== null)
    return { reason: `${shown(value)} is not a key; use a text or a number` }
  if (key === '') return { reason: 'it has no key' }
  if (key.length > KEY_CHARS_MAX)
    return { reason: `the key ${shown(key)} is longer than ${KEY_CHARS_MAX} characters` }
  return { key }
}

function unstorableColumn(data: SourceRow): { column: string; reason: string } | null {
  const budget = { charsLeft: ROW_CHARS_MAX }
  for (const [column, value] of Object.entries(data)) {
    const reason = unstorableReason(value, budget)
    if (reason) return { column, reason }
  }
  return null
}

/** PostgreSQL JSON stores neither NUL nor lone surrogates; one such text would fail the insert of a whole batch. */
function unstorableReason(value: Json, budget: { charsLeft: number }): string | null {
  if (typeof value === 'string') {
    budget.charsLeft -= value.length
    if (budget.charsLeft < 0) return `the row exceeds ${ROW_CHARS_MAX} characters here`
    if (value.includes('\0')) return 'it contains a NUL character'
    return value.isWellFormed() ? null : 'it contains half a character (a lone surrogate)'
  }
  if (typeof value !== 'object' || value === null) return null
  for (const [name, part] of Object.entries(value)) {
    const reason = unstorableReason(name, budget) ?? unstorableReason(part, budget)
    if (reason) return reason
  }
  return null
}

type TimeOrReason = { readonly at: Date } | { readonly reason: string }

/** Waves have few distinct times, and time zone lookups are slow: each text is read once. */
function timeReader(
  source: DataSource,
  column: string | null,
  columns: readonly SourceColumn[],
): (row: SourceRow) => TimeOrReason | null {
  if (column === null) return () => null
  const isTypedDay = columns.find(({ name }) => name === column)?.type === 'date'
  const zone = source.timeZone ?? (isTypedDay ? 'UTC' : null)
  const known = new Map<Json | undefined, InstantOrReason>()
  return (row) => {
    const value = row[column]
    let found = known.get(value)
    if (!found) {
      found = instantOf(value, zone)
      if (known.size >= VALUES_MAX) known.clear()
      known.set(value, found)
    }
    if ('at' in found) return found
    return { reason: noInstantReason(found.reason, shown(value), zone) }
  }
}

const DELIMITERS = { semicolon_delimited: ';', comma_delimited: ',' } as const

/** The list in a multi-valued column. Null and blank are an empty list; real lists need no splitting. */
function listOf(
  value: Json,
  format: DataSource['multiValuedColumns'][number]['format'],
): { values: Json[] } | { reason: string } {
  if (value === null) return { values: [] }
  if (Array.isArray(value)) return { values: value }
  if (typeof value === 'object') return { reason: `${shown(value)} is not a list` }
  const text = String(value)
  if (text.trim() === '') return { values: [] }
  if (format !== 'json_array') {
    const parts = text.split(DELIMITERS[format]).map((part) => part.trim())
    return { values: parts.filter((part) => part !== '') }
  }
  try {
    const parsed = JSON.parse(text) as Json
    if (Array.isArray(parsed)) return { values: parsed }
  } catch {
    // Reported below, with the value.
  }
  return { reason: `${shown(value)} is not a JSON array` }
}
