// An endpoint as data. From one table of these come registration, validation, the types inside the handlers, the sign-in rules,
// the OpenAPI document with its page, and the tests that walk all of them. `read` makes a route that changes nothing; `change`
// one that runs in one transaction together with its audit row and, where it creates something, its stored answer.
import { z } from 'zod'
import type { Bus } from '../bus/bus.ts'
import type { ClockReport } from '../db/time.ts'
import type { PreviewQuery } from '../domain/detection/preview.ts'
import type { Json } from '../domain/json.ts'
import type { Engine } from '../engine/engine.ts'
import type { ErrorCode } from '../errors.ts'
import type { Actor } from './actor.ts'
import type { EventFeed } from './event-feed.ts'
import type { FailureCache } from './failure-cache.ts'
import type { MemberSearch } from './member-search.ts'

/** Who may call it. A reader is a Reader or an Admin, or anybody who is signed in where the read policy says so. */
export type AccessRule = 'anonymous' | 'reader' | 'admin'

export const TAGS = ['runbooks', 'batches', 'members', 'reviews', 'audit', 'service'] as const
export type Tag = (typeof TAGS)[number]

export type ApiBus = Pick<Bus, 'deadLetters' | 'depth' | 'isReady'>

/** What handlers need besides the engine. */
export interface Services {
  readonly bus: ApiBus
  /** Asks a data source; the scheduler's, handed in because roles do not import each other. */
  readonly preview: PreviewQuery | null
  readonly events: EventFeed
  readonly memberSearch: MemberSearch
  readonly failureLook: FailureCache
  /** The last measurement of the machine's clock; null before the first. */
  clockReport(): ClockReport | null
}

export interface RouteRequest<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** In a change: inside its transaction. */
  readonly engine: Engine
  readonly services: Services
  readonly by: Actor
  readonly now: Date
  /** The tag in `If-Match`: what the caller saw. */
  readonly ifMatch: string | null
  /** The id in `Last-Event-ID`: what a listener had last. */
  readonly lastEventId: number | null
  /** Aborts when the caller has gone or the server stops. */
  readonly signal: AbortSignal
}

export type ResponseSchemas = Readonly<Record<number, z.ZodType>>

export type RouteReply<A extends ResponseSchemas> = {
  [S in keyof A & number]: {
    readonly status: S
    readonly body: z.input<A[S]>
    /** What `If-Match` of a later change can name. */
    readonly etag?: string
    readonly headers?: Readonly<Record<string, string>>
    /** Of a stream: aborts when its connection is to be cut. */
    readonly cut?: AbortSignal
  }
}[keyof A & number]

/** What the audit row of a change says besides who, when and from where. */
export interface AuditNote {
  readonly subject: string
  readonly reason?: string | null
  readonly before?: Json
  readonly after?: Json
}

/** `noted` is null when nothing was changed: a dry run, or a state that was so already. */
export type ChangeReply<A extends ResponseSchemas> = RouteReply<A> & {
  readonly noted: AuditNote | null
}

interface Described {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `/api/batches/{batchId}`; a parameter's name is in braces. */
  readonly path: string
  readonly operation: string
  readonly tag: Tag
  readonly summary: string
  readonly about?: string
  readonly rule: AccessRule
  /** Codes of refusals of its own; those that every route can give are added by its kind and rule. */
  readonly errors?: readonly ErrorCode[]
  /** A route that creates takes an `Idempotency-Key`. */
  readonly creates?: true
  /** Compares `If-Match` with what is there. */
  readonly comparesState?: true
  readonly takes?: 'json' | 'upload'
  /** A content type other than JSON. */
  readonly gives?: string
}

interface Schemas<P, Q, B, A> {
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly answers: A
}

type In<T> = T extends z.ZodType ? z.output<T> : never

interface ReadRoute<P, Q, B, A extends ResponseSchemas> extends Described, Schemas<P, Q, B, A> {
  /** It shows data of the people who are moved, so reading it is audited. */
  readonly isPersonal?: true
  handle(ask: RouteRequest<In<P>, In<Q>, In<B>>): Promise<RouteReply<NoInfer<A>>>
}

interface ChangeRoute<P, Q, B, A extends ResponseSchemas, R>
  extends Described,
    Schemas<P, Q, B, A> {
  readonly rule: 'admin'
  /** What the audit calls it: `batch.cancel`. */
  readonly action: string
  /**
   * Too much for one transaction: the handler makes its own, chunk by chunk. The audit has a row `… begun` before the first of
   * them and the row of the action after the last, so that what was done by halves can be seen too.
   */
  readonly inChunks?: true
  /** What takes its time and changes nothing, such as reading a file: before the transaction begins. */
  prepare?(ask: RouteRequest<In<P>, In<Q>, In<B>>): Promise<R>
  handle(ask: RouteRequest<In<P>, In<Q>, In<B>>, prepared: R): Promise<ChangeReply<NoInfer<A>>>
}

export interface GivenReply {
  readonly status: number
  readonly body: unknown
  readonly etag?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cut?: AbortSignal
  readonly noted?: AuditNote | null
}

export interface Route extends Described {
  readonly errors: readonly ErrorCode[]
  readonly params: z.ZodType
  readonly query: z.ZodType
  readonly body: z.ZodType
  readonly answers: ResponseSchemas
  /** Null for a route that changes nothing. */
  readonly action: string | null
  readonly inChunks?: true
  readonly isPersonal: boolean
  // Methods and not properties: they were typed by the very schemas that read the request, and methods may be narrower.
  prepare?(ask: RouteRequest<unknown, unknown, unknown>): Promise<unknown>
  handle(ask: RouteRequest<unknown, unknown, unknown>, prepared?: unknown): Promise<GivenReply>
}

const NOTHING = z.strictObject({})
type Nothing = typeof NOTHING

export function read<A extends ResponseSchemas, P = Nothing, Q = Nothing, B = Nothing>(
  route: ReadRoute<P, Q, B, A>,
): Route {
  return completed({ ...route, action: null, isPersonal: route.isPersonal ?? false })
}

export function change<
  A extends ResponseSchemas,
  P = Nothing,
  Q = Nothing,
  B = Nothing,
  R = undefined,
>(route: ChangeRoute<P, Q, B, A, R>): Route {
  return completed({ ...route, isPersonal: false })
}

const completed = (route: object): Route =>
  Object.assign({ params: NOTHING, query: NOTHING, body: NOTHING, errors: [] }, route as Route)
