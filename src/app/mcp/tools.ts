// The tools that assistants get: every endpoint of the API that only reads, by its row in the table of routes, and a few that compute
// here. A tool cannot change anything: all it can do is call `read`, which sends GET requests and nothing else.
import type { ReadEndpoint } from '../../api/client/endpoints.ts'
import { parametersOf } from '../../api/openapi.ts'
import type { Route } from '../../api/route.ts'
import type { ApiRole } from '../../api/sign-in/sign-in.ts'
import type { Json, JsonObject } from '../../base/text/json.ts'

type Values = Readonly<Record<string, unknown>>

type PathOf<E> = E extends `GET ${infer Path}` ? Path : never
export type ReadPath = PathOf<ReadEndpoint>

/** A GET request of the API. */
export type ReadApi = (
  path: ReadPath,
  given: { readonly params?: Values; readonly query?: Values },
) => Promise<Json>

export interface Tool {
  readonly name: string
  readonly description: string
  /** A JSON Schema of the arguments. */
  readonly input: JsonObject
  /** It pages its answer: `limit` can be lowered until the answer fits. */
  readonly isPaged: boolean
  run(args: JsonObject, read: ReadApi): Promise<Json>
}

/** Reading endpoints that are of no use in a conversation. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  getGrid: 'a picture of members by steps, drawn by the dashboard',
  getGridOverview: 'a picture of members by steps, drawn by the dashboard',
  listDatabaseRoles: 'who may come in is no subject for an assistant',
}

/** An assistant reads a page at a time, and its memory is short. */
export const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100

const isTool = ({ method, rule, gives, operation }: Route): boolean =>
  method === 'GET' &&
  (rule === 'reader' || rule === 'help-desk') &&
  gives === undefined &&
  LEFT_OUT[operation] === undefined

/** What the routes offer to a caller with these roles. */
export const routeTools = (routes: readonly Route[], roles: readonly ApiRole[]): Tool[] =>
  routes
    .filter(isTool)
    .filter(({ rule }) => rule === 'help-desk' || roles.some((role) => role !== 'HelpDesk'))
    .map(toolOf)

function toolOf(route: Route): Tool {
  const inPath = parametersOf(route.params, 'path', {})
  const inQuery = parametersOf(route.query, 'query', {}).map(limited)
  const declared = [...inPath, ...inQuery]
  return {
    name: route.operation.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    description: `${route.summary}.${route.about ? ` ${route.about}` : ''}`,
    input: {
      type: 'object',
      properties: Object.fromEntries(declared.map((one) => [String(one.name), propertyOf(one)])),
      required: declared.filter(({ required }) => required).map(({ name }) => name!),
      additionalProperties: false,
    },
    isPaged: inQuery.some(({ name }) => name === 'limit'),
    run: (args, read) =>
      read(route.path as ReadPath, {
        params: valuesOf(inPath, args),
        query: valuesOf(inQuery, args),
      }),
  }
}

const propertyOf = ({ schema, description }: JsonObject): Json => ({
  ...(schema as JsonObject),
  ...(description !== undefined && { description }),
})

const limited = (parameter: JsonObject): JsonObject =>
  parameter.name === 'limit'
    ? {
        ...parameter,
        schema: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
      }
    : parameter

const valuesOf = (parameters: readonly JsonObject[], args: JsonObject): Values =>
  Object.fromEntries(parameters.map(({ name }) => [name, args[String(name)]]))
