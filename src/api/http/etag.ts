// ETags: a short hash of the state that an operator decides by. A change with `If-Match` is refused when that state has changed.
// Counters are left out: on a running batch they change every second, and would refuse every cancel.
import { createHash } from 'node:crypto'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'

const TAG_CHARS = 22

export const etagOf = (...facts: readonly (Json | Date)[]): string =>
  createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, TAG_CHARS)

/** Throws STATE_CHANGED when the caller saw another state. Call it in the transaction, after locking. */
export function requireEtag(ifMatch: string | null, etag: string, subject: string): void {
  if (ifMatch !== null && ifMatch !== etag) throw new MatoolkitError('STATE_CHANGED', { subject })
}
