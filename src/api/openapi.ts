// The OpenAPI 3.1 document, generated from the routes: the schemas that it shows are the schemas that check requests and answers. It
// is committed as docs/openapi.json; a test keeps both equal.
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { ERRORS, type ErrorCode } from '../base/errors/errors.ts'
import type { Json, JsonObject } from '../base/text/json.ts'
import { csvListOf } from './http/list-csv.ts'
import { problemSchema } from './http/problem.ts'
import { type Route, TAGS } from './route.ts'
import { declaredAs } from './shapes/shapes.ts'

const LIMIT_ERRORS: Readonly<Record<NonNullable<Route['limits']>, readonly ErrorCode[]>> = {
  'runbook texts': ['RUNBOOKS_BUSY', 'RUNBOOK_TOO_COSTLY'],
  searches: ['SEARCHES_BUSY', 'SEARCH_TOO_SLOW'],
}

/** Errors that routes of this kind can all answer with. */
function commonErrors(route: Route): ErrorCode[] {
  const signedIn: ErrorCode[] = [
    'NOT_SIGNED_IN',
    'TOKEN_REFUSED',
    'NOT_ALLOWED',
    'SIGN_IN_UNAVAILABLE',
    'SCHEMA_NEWER',
  ]
  const always: ErrorCode[] = [
    'REQUEST_INVALID',
    'REQUEST_UNREADABLE',
    'RATE_LIMITED',
    'INTERNAL',
    'TRY_AGAIN',
  ]
  const local: ErrorCode[] = ['HOST_REFUSED', 'ENCODING_REFUSED']
  const withBody: ErrorCode[] = ['BODY_TOO_LARGE', 'MEDIA_TYPE_UNKNOWN']
  return [
    ...always,
    ...local,
    ...(route.rule === 'anonymous' ? [] : signedIn),
    ...(route.takes === undefined ? [] : withBody),
    ...(route.takes === 'upload' ? ['UPLOADS_BUSY' as const] : []),
    ...(route.limits === undefined ? [] : LIMIT_ERRORS[route.limits]),
    ...(route.action === null ? ['CALLER_BUSY' as const] : []),
    ...(route.creates ? ['KEY_REUSED' as const] : []),
    ...(route.comparesState ? ['STATE_CHANGED' as const] : []),
  ]
}

/** All error codes of a route. */
export const errorsOf = (route: Route): ReadonlySet<ErrorCode> =>
  new Set([...route.errors, ...commonErrors(route)])

export function openApiDocument(routes: readonly Route[]): JsonObject {
  const components: Record<string, Json> = {}
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    paths[route.path]![route.method.toLowerCase()] = operationOf(route, components)
  }
  schemaOf(problemSchema, 'output', components)
  const inOrder = Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    openapi: '3.1.0',
    info: {
      title: 'The admin API of matoolkit',
      version: manifest.version,
      description:
        'Lists are paged (`limit`, `cursor`); `next` is the cursor of the next page. Errors are problem+json with a stable code. Times are ISO 8601 in UTC.',
      license: { name: manifest.license, identifier: manifest.license },
    },
    // Relative to where the document was read: the API knows none of its outer addresses.
    servers: [{ url: '/', description: 'The server that this document came from.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries(inOrder),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  }
}

const ACCESS: Readonly<Record<Route['rule'], string>> = {
  anonymous: 'Anyone',
  'help-desk': 'Role HelpDesk, Reader or Admin',
  reader: 'Role Reader or Admin',
  admin: 'Role Admin',
}

function operationOf(route: Route, components: Record<string, Json>): JsonObject {
  const { operation, summary, about, tag, rule, creates, comparesState } = route
  const access = ACCESS[rule]
  const parameters = [
    ...parametersOf(route.params, 'path', components),
    ...parametersOf(route.query, 'query', components),
    ...(creates ? [headerOf('Idempotency-Key', 'A repeated key returns the stored answer.')] : []),
    ...(comparesState ? [headerOf('If-Match', 'The ETag of the state you saw.')] : []),
  ]
  return {
    operationId: operation,
    tags: [tag],
    summary,
    description: `${about ? `${about} ` : ''}(${access}.)`,
    security: rule === 'anonymous' ? [] : [{ bearer: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(route.takes && { requestBody: bodyOf(route, components) }),
    responses: responsesOf(route, components),
  }
}

const headerOf = (name: string, description: string): JsonObject => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})

/** Of a path or query, as they are declared to programs. */
export function parametersOf(
  schema: z.ZodType,
  place: 'path' | 'query',
  components: Record<string, Json>,
): JsonObject[] {
  const { properties = {}, required = [] } = schemaOf(schema, 'input', components) as {
    properties?: Record<string, JsonObject>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, default: value, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    // Lists travel as `a,b`.
    ...(rest.type === 'array' && { style: 'form', explode: false }),
    schema: { ...rest, ...(value !== undefined && { default: typed(value, rest.type!) }) },
  }))
}

/** A default is given as the text that travels. */
const typed = (value: Json, type: Json): Json => {
  if (type === 'integer') return Number(value)
  return type === 'boolean' ? value === 'true' : value
}

function bodyOf(route: Route, components: Record<string, Json>): JsonObject {
  const type = route.takes === 'upload' ? 'multipart/form-data' : 'application/json'
  return {
    required: !route.body.safeParse({}).success,
    content: { [type]: { schema: schemaOf(route.body, 'input', components) } },
  }
}

function responsesOf(route: Route, components: Record<string, Json>): JsonObject {
  const responses: Record<string, Json> = {}
  for (const [status, schema] of Object.entries(route.answers)) {
    const type = route.gives ?? 'application/json'
    responses[status] = {
      description: status === '201' ? 'Created' : 'OK',
      content: {
        [type]: { schema: schemaOf(schema, 'output', components) },
        ...(status === '200' && csvListOf(route) && { 'text/csv': { schema: { type: 'string' } } }),
        ...Object.fromEntries(
          (route.alsoGives ?? []).map((other) => [other, { schema: { type: 'string' } }]),
        ),
      },
    }
  }
  const byStatus = Map.groupBy(errorsOf(route), (code) => ERRORS[code].http)
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    responses[status] = {
      description: codes.join(', '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    }
  }
  return responses
}

/** The schema as JSON Schema; schemas with an id become components and references. */
function schemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
  components: Record<string, Json>,
): JsonObject {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'date') {
        Object.assign(jsonSchema, { type: 'string', format: 'date-time' })
      }
      const declared = declaredAs.get(zodSchema)
      if (declared === undefined) return
      const { description } = jsonSchema
      for (const key of Object.keys(jsonSchema)) delete (jsonSchema as Record<string, unknown>)[key]
      Object.assign(jsonSchema, declared, description === undefined ? {} : { description })
    },
  }) as JsonObject
  const { $schema, $defs = {}, id, ...rest } = relinked(made) as JsonObject
  for (const [name, definition] of Object.entries($defs as JsonObject)) {
    const { id, ...inner } = definition as JsonObject
    components[name] ??= inner
  }
  if (typeof id !== 'string') return rest
  components[id] ??= rest
  return { $ref: `#/components/schemas/${id}` }
}

/** A map with a fixed set of keys as properties: generators know no `propertyNames`. */
function withNamedKeys(schema: JsonObject): JsonObject {
  const { propertyNames, additionalProperties, ...rest } = schema
  if (propertyNames === undefined || schema.type !== 'object') return schema
  const names = (propertyNames as JsonObject).enum
  if (!Array.isArray(names)) return { ...rest, additionalProperties: additionalProperties! }
  const properties = Object.fromEntries(names.map((name) => [name, additionalProperties!]))
  return { ...rest, properties, additionalProperties: false }
}

function relinked(value: Json): Json {
  if (Array.isArray(value)) return value.map(relinked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(withNamedKeys(value)).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/$defs/', '#/components/schemas/')
        : relinked(inner),
    ]),
  )
}
