// Stored answers of creating calls, by the caller's key, written in the call's transaction.
import type { Json } from '../../base/text/json.ts'
import type { Queryable, Tx } from '../connection/db.ts'

export interface KeyedCall {
  readonly actor: string
  readonly key: string
  readonly operation: string
  readonly requestHash: string
}

export interface StoredAnswer {
  readonly requestHash: string
  readonly status: number
  readonly answer: Json
}

/** Null when the key is new and now ours, else the stored answer. Waits for a running call with the same key. */
export async function claimKey(tx: Tx, call: KeyedCall, now: Date): Promise<StoredAnswer | null> {
  const { actor, key, operation, requestHash } = call
  const claimed = await tx.query(
    `insert into idempotency_keys (actor, key, operation, request_hash, created_at) values ($1, $2, $3, $4, $5)
     on conflict (actor, key) do nothing returning key`,
    [actor, key, operation, requestHash, now],
  )
  return claimed.length > 0 ? null : findAnswer(tx, call)
}

/** The committed answer for this key, or null. */
export async function findAnswer(
  db: Queryable,
  { actor, key }: KeyedCall,
): Promise<StoredAnswer | null> {
  const [stored] = await db.query<StoredAnswer>(
    `select request_hash, status, answer_json as answer
       from idempotency_keys where actor = $1 and key = $2`,
    [actor, key],
  )
  return stored ?? null
}

export async function storeAnswer(
  tx: Tx,
  { actor, key }: KeyedCall,
  status: number,
  answer: Json,
): Promise<void> {
  await tx.query(
    `update idempotency_keys set status = $3, answer_json = $4::jsonb where actor = $1 and key = $2 and status is null`,
    [actor, key, status, JSON.stringify(answer)],
  )
}

/** Deletes older keys and returns their count. */
export async function forgetKeys(db: Queryable, before: Date): Promise<number> {
  const rows = await db.query(
    'delete from idempotency_keys where created_at < $1 returning 1 as one',
    [before],
  )
  return rows.length
}
