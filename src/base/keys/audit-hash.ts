// The hash of an audit row: it covers the row and the previous hash. The database seals with it, an evidence pack is verified with it.
import { createHash } from 'node:crypto'
import type { Json } from '../text/json.ts'

/** The previous hash of the first row. */
export const NO_HASH = '0'.repeat(64)

/** What a seal covers. */
export interface HashedRow {
  readonly id: number
  readonly at: Date
  /** Never reassigned: tenant and object id, or the local user. */
  readonly actor: string
  /** The actor's display name at that time. */
  readonly actorName: string
  readonly action: string
  readonly subject: string
  readonly reason: string | null
  /** The address the request came from. */
  readonly source: string | null
  readonly clientApp: string | null
  readonly requestId: string | null
  readonly before: Json
  readonly after: Json
}

export function chainHashOf(row: HashedRow, previousHash: string): string {
  const { id, at, actor, actorName, action, subject } = row
  const { reason, source, clientApp, requestId, before, after } = row
  const what = [id, at.toISOString(), actor, actorName, action, subject, reason, source, clientApp]
  const text = JSON.stringify([...what, requestId, inOrder(before), inOrder(after), previousHash])
  return createHash('sha256').update(text).digest('hex')
}

/** Sorts keys, so that a dump and restore in another key order keeps every hash. */
function inOrder(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inOrder)
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, inner]) => [key, inOrder(inner)]))
}
