// An endpoint as data. Registration, validation, handler types, access rules, the OpenAPI document and the tests over all endpoints
// derive from it. `read` makes a route that changes nothing. `change` makes one that runs in one transaction with its audit row and,
// if it creates something, its stored answer.
import { z } from 'zod'
import type { ErrorCode } from '../base/errors/errors.ts'
import type { Json } from '../base/text/json.ts'
import type { Bus } from '../bus/bus.ts'
import type { ClockReport } from '../db/connection/time.ts'
import type { SchemaVersions } from '../db/schema/migrate.ts'
import type { MeaningOf } from '../domain/needs/error-meaning.ts'
import type { NotificationSettings } from '../domain/notifications/rules.ts'
import type { PreviewQuery } from '../domain/sources/preview.ts'
import type { TickNow } from '../domain/sources/tick-report.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import type { EventFeed } from './events/event-feed.ts'
import type { SigningKey } from './evidence/signing-key.ts'
import type { FailureCache } from './services/failure-cache.ts'
import type { MemberSearch } from './services/member-search.ts'
import type { Rehearsals } from './services/rehearsals.ts'
import type { RunbookReader } from './services/runbook-reader.ts'
import type { TextSearch } from './services/text-search.ts'
import type { LookUps } from './sign-in/look-ups.ts'
import type { Actor } from './sign-in/sign-in.ts'

/**
 * Who may call a route. `reader`: Reader or Admin, or any signed-in caller where the read policy says so. `help-desk`: HelpDesk too.
 */
export type AccessRule = 'anonymous' | 'help-desk' | 'reader' | 'admin'

export const TAGS = {
  runbooks: 'Runbooks, their versions, sources and automation.',
  batches: 'Batches with their phases and steps.',
  members: 'Members of batches, and repairs.',
  reviews: 'Source changes that wait for a person.',
  audit: 'Who asked for what.',
  service: 'Health, workers, messages and events of the system.',
} as const
export type Tag = keyof typeof TAGS

export type ApiBus = Pick<Bus, 'deadLetters' | 'depth' | 'isReady' | 'capabilities'>

/** Services for handlers besides the engine. */
export interface Services {
  readonly bus: ApiBus
  /** The scheduler's preview; null in a process without a scheduler. */
  readonly preview: PreviewQuery | null
  /** The scheduler's tick; null in a process without a scheduler. */
  readonly tickNow: TickNow | null
  readonly events: EventFeed
  readonly rehearsals: Rehearsals
  /** As the file of this process has them. */
  readonly notifications: NotificationSettings
  readonly memberSearch: MemberSearch
  readonly textSearch: TextSearch
  readonly lookUps: LookUps
  /** In a thread: for texts of callers. */
  readonly runbookReader: RunbookReader
  readonly failureCache: FailureCache
  /** Looked up for each answer and not stored with the error: the tables get better. */
  readonly meaningOf: MeaningOf
  /** Signs evidence packs. Throws EVIDENCE_KEY_MISSING. */
  signingKey(): SigningKey
  /** How long the audit is kept; null: forever. */
  readonly auditKeptDays: number | null
  /** Why the orchestrator of this process waits for the database; null while it works, or without one. */
  whyWaiting(): string | null
  /** Set when a newer program has upgraded the schema; then no request is answered. */
  schemaNewer(): SchemaVersions | null
  /** The last measurement of the machine's clock; null before the first. */
  clockReport(): ClockReport | null
}

export interface RouteRequest<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** In a change it works inside the change's transaction. */
  readonly engine: Engine
  readonly services: Services
  readonly by: Actor
  /** Of the route, in the audit; null for a route that changes nothing. */
  readonly action: string | null
  /** When the caller's token ends; null if it does not. */
  readonly tokenEndsAt: Date | null
  readonly now: Date
  /** The ETag in `If-Match`: the state the caller saw. */
  readonly ifMatch: string | null
  /** The header `Accept`; empty without one. */
  readonly accept: string
  /** The id in `Last-Event-ID`: the listener's last event. */
  readonly lastEventId: number | null
  /** Aborts when the caller disconnects or the server stops. */
  readonly signal: AbortSignal
}

export type AnswerSchemas = Readonly<Record<number, z.ZodType>>

export type RouteAnswer<A extends AnswerSchemas> = {
  [S in keyof A & number]: {
    readonly status: S
    readonly body: z.input<A[S]>
    /** For `If-Match` of a later change. */
    readonly etag?: string
    readonly headers?: Readonly<Record<string, string>>
    /** For streams: aborts to cut the connection. */
    readonly cut?: AbortSignal
  }
}[keyof A & number]

/** The audit row of a change, without who, when and from where. */
export interface AuditNote {
  /** Where one route makes several decisions: which it was, such as `gate.waive`. */
  readonly action?: string
  readonly subject: string
  readonly reason?: string | null
  readonly before?: Json
  readonly after?: Json
}

/** `auditNote` is null when nothing changed: a dry run, or a state already reached. */
export type ChangeAnswer<A extends AnswerSchemas> = RouteAnswer<A> & {
  readonly auditNote: AuditNote | null
}

interface Described {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Parameters in braces: `/api/batches/{batchId}`. */
  readonly path: string
  readonly operation: string
  readonly tag: Tag
  readonly summary: string
  readonly about?: string
  readonly rule: AccessRule
  /** Its own error codes; openapi.ts adds those common to its kind and rule. */
  readonly errors?: readonly ErrorCode[]
  /** Creates something, so it takes an `Idempotency-Key`. */
  readonly creates?: true
  /** Compares `If-Match` with the current state. */
  readonly comparesState?: true
  readonly takes?: 'json' | 'upload'
  /** Work that few callers do at a time, and for seconds at most; it has errors of its own. */
  readonly limits?: 'runbook texts' | 'searches'
  /** A content type other than JSON. */
  readonly gives?: string
  /** Further ones, between which the caller chooses; an answer then names its own in its headers. */
  readonly alsoGives?: readonly string[]
}

interface Schemas<P, Q, B, A> {
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly answers: A
}

/** What a schema makes of a request: the handler gets it. */
type Parsed<T> = T extends z.ZodType ? z.output<T> : never

interface ReadRoute<P, Q, B, A extends AnswerSchemas> extends Described, Schemas<P, Q, B, A> {
  /** Shows personal data, so reads are audited. */
  readonly isPersonal?: true
  handle(request: RouteRequest<Parsed<P>, Parsed<Q>, Parsed<B>>): Promise<RouteAnswer<NoInfer<A>>>
}

interface ChangeRoute<P, Q, B, A extends AnswerSchemas, R> extends Described, Schemas<P, Q, B, A> {
  readonly rule: 'admin'
  /** Its name in the audit, such as `batch.cancel`. */
  readonly action: string
  /** Too large for one transaction: the handler opens one per chunk. The audit has a `… begun` row before the first chunk. */
  readonly inChunks?: true
  /** Stops something: reads wait until it is answered. */
  readonly isHold?: true
  /** Slow work that changes nothing, such as reading a file; runs before the transaction. */
  prepare?(request: RouteRequest<Parsed<P>, Parsed<Q>, Parsed<B>>): Promise<R>
  handle(
    request: RouteRequest<Parsed<P>, Parsed<Q>, Parsed<B>>,
    prepared: R,
  ): Promise<ChangeAnswer<NoInfer<A>>>
}

export interface UncheckedAnswer {
  readonly status: number
  readonly body: unknown
  readonly etag?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cut?: AbortSignal
  readonly auditNote?: AuditNote | null
}

export interface Route extends Described {
  readonly errors: readonly ErrorCode[]
  readonly params: z.ZodType
  readonly query: z.ZodType
  readonly body: z.ZodType
  readonly answers: AnswerSchemas
  /** Null for a route that changes nothing. */
  readonly action: string | null
  readonly inChunks?: true
  readonly isHold?: true
  readonly isPersonal: boolean
  // Methods, not properties: method parameters are bivariant, and the schemas guarantee the narrower types.
  prepare?(request: RouteRequest<unknown, unknown, unknown>): Promise<unknown>
  handle(
    request: RouteRequest<unknown, unknown, unknown>,
    prepared?: unknown,
  ): Promise<UncheckedAnswer>
}

/** What the caller of a route gives and gets, for clients in TypeScript: only a type, never a value. */
export interface RouteTypes<P, Q, B, A> {
  readonly params: Sent<P>
  readonly query: Sent<Q>
  readonly body: Sent<B>
  readonly answer: { [S in keyof A]: A[S] extends z.ZodType ? z.output<A[S]> : never }[keyof A]
}
/** What a caller sends: the schema reads it. */
type Sent<T> = T extends z.ZodType ? z.input<T> : never

/** A route that remembers its method, path and types. */
export type TypedRoute<M extends string, U extends string, T> = Route & {
  readonly method: M
  readonly path: U
  readonly types?: T
}

const NOTHING = z.strictObject({})
type Nothing = typeof NOTHING

export function read<
  const M extends Route['method'],
  const U extends string,
  A extends AnswerSchemas,
  P = Nothing,
  Q = Nothing,
  B = Nothing,
>(
  route: ReadRoute<P, Q, B, A> & { readonly method: M; readonly path: U },
): TypedRoute<M, U, RouteTypes<P, Q, B, A>> {
  return completed({ ...route, action: null, isPersonal: route.isPersonal ?? false })
}

export function change<
  const M extends Route['method'],
  const U extends string,
  A extends AnswerSchemas,
  P = Nothing,
  Q = Nothing,
  B = Nothing,
  R = undefined,
>(
  route: ChangeRoute<P, Q, B, A, R> & { readonly method: M; readonly path: U },
): TypedRoute<M, U, RouteTypes<P, Q, B, A>> {
  return completed({ ...route, isPersonal: false })
}

const completed = <M extends string, U extends string, T>(route: object): TypedRoute<M, U, T> =>
  Object.assign(
    { params: NOTHING, query: NOTHING, body: NOTHING, errors: [] },
    route as unknown as TypedRoute<M, U, T>,
  )
