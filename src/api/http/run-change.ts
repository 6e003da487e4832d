// Runs a change in one transaction with its audit row and its stored answer: all commit, or none. A caller who lost the answer
// repeats the request with the same Idempotency-Key and gets that answer; nothing is done twice.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Json } from '../../base/text/json.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { nestedDb } from '../../db/connection/nested-db.ts'
import { type AuditEntry, insertAudit } from '../../db/orders/audit.ts'
import {
  claimKey,
  findAnswer,
  type KeyedCall,
  type StoredAnswer,
  storeAnswer,
} from '../../db/orders/idempotency.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import type { Route, RouteRequest, UncheckedAnswer } from '../route.ts'

/** An answer as it is sent: a body for JSON, or text of another content type. */
export interface SentAnswer {
  readonly status: number
  readonly body: unknown
  readonly etag: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** Who, when and from where, for the audit. */
export type AuditedCaller = Pick<
  AuditEntry,
  'at' | 'actor' | 'actorName' | 'source' | 'clientApp' | 'requestId'
>

/** Parses the body by the route's schema, so that undeclared fields never leave. */
export function checkedAnswer(route: Route, reply: UncheckedAnswer): SentAnswer {
  const { status, etag = null, headers = {} } = reply
  return { status, body: route.answers[status]!.parse(reply.body), etag, headers }
}

export async function runChange(
  route: Route,
  engine: Engine,
  request: Omit<RouteRequest<unknown, unknown, unknown>, 'engine'>,
  caller: AuditedCaller,
  keyed: KeyedCall | null,
): Promise<SentAnswer> {
  // First: a repeated call gets its stored answer, even if its subject has changed or gone.
  const stored = keyed && (await findAnswer(engine.db, keyed))
  if (stored) return replayAnswer(keyed, stored)
  const prepared = await route.prepare?.({ ...request, engine })
  const ready: PreparedChange = { route, request, prepared }
  return route.inChunks
    ? runInChunks(ready, engine, caller)
    : runInOne(ready, engine, caller, keyed)
}

function replayAnswer({ key, requestHash }: KeyedCall, stored: StoredAnswer): SentAnswer {
  if (stored.requestHash !== requestHash) throw new MatoolkitError('KEY_REUSED', { key })
  const answer = stored.answer as unknown as SentAnswer
  return { ...answer, headers: { ...answer.headers, 'idempotent-replay': 'true' } }
}

interface PreparedChange {
  readonly route: Route
  readonly request: Omit<RouteRequest<unknown, unknown, unknown>, 'engine'>
  readonly prepared: unknown
}

async function runInChunks(
  { route, request, prepared }: PreparedChange,
  engine: Engine,
  caller: AuditedCaller,
): Promise<SentAnswer> {
  const { params, query, body } = request
  if (!isDryRun(body)) {
    await insertAudit(engine.db, {
      ...caller,
      action: `${route.action} begun`,
      subject: route.operation,
      reason: null,
      after: { params, query, body } as unknown as Json,
    })
  }
  const reply = await route.handle({ ...request, engine }, prepared)
  await insertAuditNote(engine.db, route, caller, reply)
  return checkedAnswer(route, reply)
}

/** A dry run rolls every chunk back, so it gets no "begun" row. */
const isDryRun = (body: unknown): boolean => (body as { readonly dryRun?: unknown }).dryRun === true

async function insertAuditNote(
  db: Queryable,
  route: Route,
  caller: AuditedCaller,
  { auditNote }: UncheckedAnswer,
): Promise<void> {
  if (!auditNote) return
  const { action = route.action!, subject, reason = null, before, after } = auditNote
  await insertAudit(db, { ...caller, action, subject, reason, before, after })
}

function runInOne(
  { route, request, prepared }: PreparedChange,
  engine: Engine,
  caller: AuditedCaller,
  keyed: KeyedCall | null,
): Promise<SentAnswer> {
  return engine.db.transaction(async (tx) => {
    const stored = keyed && (await claimKey(tx, keyed, caller.at))
    if (stored) return replayAnswer(keyed, stored)
    const inside = { ...engine, db: nestedDb(tx, engine.db.kind) }
    const reply = await route.handle({ ...request, engine: inside }, prepared)
    const sent = checkedAnswer(route, reply)
    await insertAuditNote(tx, route, caller, reply)
    if (keyed) await storeAnswer(tx, keyed, sent.status, sent as unknown as Json)
    return sent
  })
}
