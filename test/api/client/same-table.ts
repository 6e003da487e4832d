// The table that the package publishes against the types of the routes: the compiler refuses this file, with the names, when they differ.
import type { Endpoints as Written, ApiCode as WrittenCode } from '../../../docs/client-table.mjs'
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
type Both = keyof Routes & keyof Written
type Every = keyof Routes | keyof Written

/** Files and streams are texts there, and something to read here. */
type Streamed =
  | 'GET /api/events'
  | 'GET /api/batches/{batchId}/report'
  | 'GET /api/batches/{batchId}/run-sheet'
  | 'GET /api/batches/{batchId}/evidence'

type Missing<E> = E extends Both ? never : ['missing', E]
type Answers<E> = E extends Both
  ? Same<Frozen<Routes[E]['answer']>, Frozen<Written[E]['answer']>> extends true
    ? never
    : ['answer', E]
  : never
type Bodies<E> = E extends Both
  ? Same<Frozen<Routes[E]['body']>, Frozen<Written[E]['body']>> extends true
    ? never
    : ['body', E]
  : never
/** Lists are given by their words there, and as any text here. */
type Queries<E> = E extends Both
  ? [Written[E]['query']] extends [Routes[E]['query']]
    ? never
    : ['query', E]
  : never

type Differences =
  | Missing<Every>
  | Answers<Exclude<Every, Streamed>>
  | Bodies<Every>
  | Queries<Every>

export const sameTable = (found: Differences): never => found
export const sameCodes: Same<RouteCode, WrittenCode> = true
