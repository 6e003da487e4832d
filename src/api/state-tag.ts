// What a caller saw, as a tag (ETag): a short hash of what an operator decides by. A change that carries the tag in `If-Match`
// is refused when that has moved on. Counters are not part of it: on a running batch they change every second, and an operator
// who cancels it means the batch and not its count of finished steps.
import { createHash } from 'node:crypto'
import type { Json } from '../domain/json.ts'
import { MatoolkitError } from '../errors.ts'

const TAG_CHARS = 22

export const tagOf = (...facts: readonly (Json | Date)[]): string =>
  createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, TAG_CHARS)

/** Throws STATE_CHANGED when the caller saw something else. Call it inside the transaction, after the lock. */
export function requireTag(ifMatch: string | null, tag: string, subject: string): void {
  if (ifMatch !== null && ifMatch !== tag) throw new MatoolkitError('STATE_CHANGED', { subject })
}
