// A change, its audit row and its stored answer in one transaction: either all of them are there or none. A caller who lost the
// answer asks again with the same Idempotency-Key and gets it, without anything being done twice.
import { type AuditEntry, insertAudit } from '../db/audit.ts'
import type { Queryable } from '../db/db.ts'
import {
  claimKey,
  findAnswer,
  type KeyedCall,
  type StoredAnswer,
  storeAnswer,
} from '../db/idempotency.ts'
import { nestedDb } from '../db/nested-db.ts'
import type { Json } from '../domain/json.ts'
import type { Engine } from '../engine/engine.ts'
import { MatoolkitError } from '../errors.ts'
import type { GivenReply, Route, RouteRequest } from './route.ts'

/** An answer as it goes out: its body becomes JSON, or is a text of another content type. */
export interface SentReply {
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

/** The body as the route's schema says, and nothing besides: what is not declared is not told. */
export function sentOf(route: Route, reply: GivenReply): SentReply {
  const { status, etag = null, headers = {} } = reply
  return { status, body: route.answers[status]!.parse(reply.body), etag, headers }
}

/** A change of any kind. */
export async function runChange(
  route: Route,
  engine: Engine,
  ask: Omit<RouteRequest<unknown, unknown, unknown>, 'engine'>,
  caller: AuditedCaller,
  keyed: KeyedCall | null,
): Promise<SentReply> {
  // Asked first: a call that was answered is answered again, whatever has become of what it was about.
  const stored = keyed && (await findAnswer(engine.db, keyed))
  if (stored) return answeredBefore(keyed, stored)
  const prepared = await route.prepare?.({ ...ask, engine })
  const ready: Ready = { route, ask, prepared }
  return route.inChunks
    ? runInChunks(ready, engine, caller)
    : runInOne(ready, engine, caller, keyed)
}

function answeredBefore({ key, requestHash }: KeyedCall, stored: StoredAnswer): SentReply {
  if (stored.requestHash !== requestHash) throw new MatoolkitError('KEY_REUSED', { key })
  const answer = stored.answer as unknown as SentReply
  return { ...answer, headers: { ...answer.headers, 'idempotent-replay': 'true' } }
}

interface Ready {
  readonly route: Route
  readonly ask: Omit<RouteRequest<unknown, unknown, unknown>, 'engine'>
  readonly prepared: unknown
}

async function runInChunks(
  { route, ask, prepared }: Ready,
  engine: Engine,
  caller: AuditedCaller,
): Promise<SentReply> {
  const { params, query, body } = ask
  if (!isDryRun(body)) {
    await insertAudit(engine.db, {
      ...caller,
      action: `${route.action} begun`,
      subject: route.operation,
      reason: null,
      after: { params, query, body } as unknown as Json,
    })
  }
  const reply = await route.handle({ ...ask, engine }, prepared)
  await note(engine.db, route, caller, reply)
  return sentOf(route, reply)
}

/** It takes every chunk back, so nothing has begun. */
const isDryRun = (body: unknown): boolean => (body as { readonly dryRun?: unknown }).dryRun === true

async function note(
  db: Queryable,
  { action }: Route,
  caller: AuditedCaller,
  { noted }: GivenReply,
): Promise<void> {
  if (!noted) return
  const { subject, reason = null, before, after } = noted
  await insertAudit(db, { ...caller, action: action!, subject, reason, before, after })
}

function runInOne(
  { route, ask, prepared }: Ready,
  engine: Engine,
  caller: AuditedCaller,
  keyed: KeyedCall | null,
): Promise<SentReply> {
  return engine.db.transaction(async (tx) => {
    const stored = keyed && (await claimKey(tx, keyed, caller.at))
    if (stored) return answeredBefore(keyed, stored)
    const inside = { ...engine, db: nestedDb(tx, engine.db.kind) }
    const reply = await route.handle({ ...ask, engine: inside }, prepared)
    const sent = sentOf(route, reply)
    await note(tx, route, caller, reply)
    if (keyed) await storeAnswer(tx, keyed, sent.status, sent as unknown as Json)
    return sent
  })
}
