// Every endpoint as a type, from the API's own table of routes. Only types: nothing of the server gets to a client. The published package
// has the same table written out (scripts/client-table.ts), because a consumer has neither our sources nor their packages.

import type { ErrorCode } from '../../base/errors/errors.ts'
import type { ApiRoute } from '../routes.ts'

/** Codes of docs/reference/errors.md. */
export type ApiCode = ErrorCode

/** A value as it arrives in JSON. */
type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Wire<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Wire<T[K]> }
      : T

/** Texts of an address may be given as the numbers, booleans and lists that they mean. */
type Loose<T> = {
  readonly [K in keyof T]: string extends T[K]
    ? T[K] | number | boolean | readonly (string | number)[]
    : 'true' extends T[K]
      ? T[K] | boolean
      : T[K]
}

/** A file is sent as a form. */
type Sent<T> = T extends { readonly file: unknown } ? FormData : T

interface Shape {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly answer: unknown
}

type Typed<T> = T extends Shape
  ? {
      readonly query: Loose<T['query']>
      readonly body: Sent<T['body']>
      readonly answer: Wire<T['answer']>
    }
  : never

/** Routes of workers have no types: no client calls them. */
export type Endpoints = {
  [R in ApiRoute as R extends { readonly types?: infer T }
    ? unknown extends T
      ? never
      : `${R['method']} ${R['path']}`
    : never]: R extends { readonly types?: infer T } ? Typed<NonNullable<T>> : never
}
