// What a caller gives an endpoint and gets from it.
import type { Endpoints } from './table.ts'

/** Method and path, such as `GET /api/batches/{batchId}`. */
export type Endpoint = keyof Endpoints
export type ReadEndpoint = Extract<Endpoint, `GET ${string}`>
export type ChangeEndpoint = Exclude<Endpoint, ReadEndpoint>

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never
type Part<Name extends string, T> = [keyof T] extends [never]
  ? { readonly [K in Name]?: undefined }
  : Record<string, never> extends { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
    ? { readonly [K in Name]?: T }
    : { readonly [K in Name]: T }

/** Path parameters, query and body of an endpoint; parts that it lacks are refused. */
export type RequestOf<E extends Endpoint> = Part<
  'params',
  { readonly [N in NamesIn<E>]: string | number }
> &
  Part<'query', Endpoints[E]['query']> &
  Part<'body', Endpoints[E]['body']>

export type Answer<E extends Endpoint> = Endpoints[E]['answer']

/** Endpoints whose answer is a page of a list. */
export type ListEndpoint = {
  [E in ReadEndpoint]: Answer<E> extends { readonly next: string | null } ? E : never
}[ReadEndpoint]

/** A row of a list. */
export type ListedRow<E extends ListEndpoint> = {
  [K in keyof Answer<E>]: Answer<E>[K] extends readonly (infer R)[] ? R : never
}[keyof Answer<E>]
