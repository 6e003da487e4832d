// What each endpoint takes and gives, as types of the API's own table of routes. Only types: nothing of the server gets into the page.
import type { ApiRoute } from '../../../src/api/routes.ts'

/** A value as it arrives in JSON. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Wire<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Wire<T[K]> }
      : T

/** Routes of workers have no types: no page calls them. */
type Table = {
  [R in ApiRoute as R extends { readonly types?: infer T }
    ? unknown extends T
      ? never
      : `${R['method']} ${R['path']}`
    : never]: R extends { readonly types?: infer T } ? Shaped<NonNullable<T>> : never
}
type Shaped<T> = T extends { params: unknown; query: unknown; body: unknown; answer: unknown }
  ? T
  : never
export type Endpoint = keyof Table
export type Reading = Extract<Endpoint, `GET ${string}`>
export type Change = Exclude<Endpoint, Reading>

/** Texts of an address may be given as the numbers, booleans and lists that they mean. */
type Loose<T> = { readonly [K in keyof T]: string extends T[K] ? T[K] | number | boolean : T[K] }
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never
type Part<Name extends string, T> = [keyof T] extends [never]
  ? { readonly [K in Name]?: undefined }
  : Record<string, never> extends { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
    ? { readonly [K in Name]?: T }
    : { readonly [K in Name]: T }

/** Path parameters, query and body of an endpoint; parts that it lacks are refused. */
export type Given<E extends Endpoint> = Part<
  'params',
  { readonly [N in NamesIn<E>]: string | number }
> &
  Part<'query', Loose<Table[E]['query']>> &
  Part<'body', Table[E]['body']>

export type Answer<E extends Endpoint> = Wire<Table[E]['answer']>
