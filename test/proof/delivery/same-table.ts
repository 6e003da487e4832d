// Where the table that the client's package publishes differs from the types of the routes.
import type { ApiCode as RouteCode, Endpoints as Routes } from '../../../src/api/client/table.ts'
import type { Json } from '../../../src/base/text/json.ts'

/** Any JSON has no end, and is written in two ways. */
type Frozen<T> = [Json] extends [T]
  ? 'any JSON'
  : [readonly Json[]] extends [T]
    ? 'any JSON'
    : T extends object
      ? { readonly [K in keyof T]: Frozen<T[K]> }
      : T
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type Table = { readonly [endpoint in keyof Routes]: Record<'answer' | 'body' | 'query', unknown> }

/** Files and streams are texts there, and something to read here. */
type Streamed =
  | 'GET /api/events'
  | 'GET /api/batches/{batchId}/report'
  | 'GET /api/batches/{batchId}/run-sheet'
  | 'GET /api/batches/{batchId}/evidence'

type Missing<Written> = Exclude<keyof Routes, keyof Written> | Exclude<keyof Written, keyof Routes>
type Answers<Written extends Table, E extends keyof Routes> = E extends Streamed
  ? never
  : Same<Frozen<Routes[E]['answer']>, Frozen<Written[E]['answer']>> extends true
    ? never
    : ['answer', E]
type Bodies<Written extends Table, E extends keyof Routes> =
  Same<Frozen<Routes[E]['body']>, Frozen<Written[E]['body']>> extends true ? never : ['body', E]
/** Lists are given by their words there, and as any text here. */
type Queries<Written extends Table, E extends keyof Routes> = [Written[E]['query']] extends [
  Routes[E]['query'],
]
  ? never
  : ['query', E]

type OfEach<Written extends Table> = {
  [E in keyof Routes]: Answers<Written, E> | Bodies<Written, E> | Queries<Written, E>
}[keyof Routes]

/** The names of endpoints and codes that differ: of none, never. */
export type Differences<Written, WrittenCode> =
  | Missing<Written>
  | Exclude<RouteCode, WrittenCode>
  | Exclude<WrittenCode, RouteCode>
  | (Written extends Table ? OfEach<Written> : 'no table')
