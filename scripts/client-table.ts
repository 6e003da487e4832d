// The table of endpoints written out as TypeScript, for the published client: a consumer has neither our sources nor their packages. It
// comes from the OpenAPI document; test/proof/delivery/client-table.test.ts compares it with the types of the routes themselves.
import { openApiDocument } from '../src/api/openapi.ts'
import { describedRoutes } from '../src/api/routes.ts'
import { ERRORS } from '../src/base/errors/errors.ts'
import type { Json, JsonObject } from '../src/base/text/json.ts'

interface Operation {
  readonly summary: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content: Content }>>
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonObject
}
type Content = Readonly<Record<string, { readonly schema: JsonObject }>>

/** Declarations of `Endpoints` and `ApiCode`, and of every shape that has a name. */
export function clientTable(): string {
  const routes = describedRoutes()
  const document = openApiDocument(routes) as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
    readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> }
  }
  const shapes = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)}\n`,
  )
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      endpointOf(`${method.toUpperCase()} ${path}`, operation),
    ),
  )
  const codes = Object.keys(ERRORS).map((code) => `  | '${code}'`)
  return [
    '// Every endpoint of the admin API: what it takes and gives. Generated from the table of routes.\n',
    'export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }\n',
    ...shapes,
    `export interface Endpoints {\n${endpoints.join('')}}\n`,
    `export type ApiCode =\n${codes.join('\n')}\n`,
  ].join('\n')
}

function endpointOf(name: string, { summary, parameters = [], requestBody, responses }: Operation) {
  const query = parameters.filter((one) => one.in === 'query')
  const fields = query.map(
    (one) =>
      `${comment(one.description)}readonly ${one.name}${one.required ? '' : '?'}: ${givenType(one)}${one.required ? '' : ' | undefined'}; `,
  )
  const answers = Object.entries(responses)
    .filter(([status]) => Number(status) < 400 || status === '503')
    .flatMap(([, { content }]) => Object.entries(content))
    .filter(([type]) => type !== 'application/problem+json')
  // A list can also be had as CSV, which is no answer of `call`.
  const json = answers.filter(([type]) => type.startsWith('application/json'))
  const types = (json.length > 0 ? json : answers).map(([, { schema }]) => typeOf(schema))
  return [
    `  /** ${summary}. */\n`,
    `  readonly '${name}': {\n`,
    `    readonly query: { ${fields.join('')}}\n`,
    `    readonly body: ${bodyOf(requestBody)}\n`,
    `    readonly answer: ${[...new Set(types)].join(' | ')}\n`,
    '  }\n',
  ].join('')
}

function bodyOf(body: Operation['requestBody']): string {
  if (body === undefined) return 'Record<string, never>'
  const [[type, { schema }]] = Object.entries(body.content) as [[string, { schema: JsonObject }]]
  return type === 'multipart/form-data' ? 'FormData' : typeOf(schema)
}

/** In an address a number may be a text; lists travel as `a,b`. */
function givenType({ schema }: Parameter): string {
  if (schema.type === 'string') return typeOf(schema)
  return `${typeOf(schema)} | ${schema.type === 'boolean' ? "'true' | 'false'" : 'string'}`
}

const comment = (text: Json | undefined): string =>
  typeof text === 'string' ? `/** ${text.replaceAll('*/', '* /')} */ ` : ''

const KINDS: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}

function typeOf(schema: JsonObject): string {
  const { $ref, anyOf, type, items } = schema
  if (typeof $ref === 'string') return $ref.replace('#/components/schemas/', '')
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(' | ')
  if (schema.const !== undefined) return literal(schema.const)
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one as JsonObject)).join(' | ')
  if (Array.isArray(type)) return type.map((one) => KINDS[String(one)]!).join(' | ')
  if (type === 'array') return `readonly (${typeOf(items as JsonObject)})[]`
  if (type === 'object') return objectOf(schema)
  return KINDS[String(type)] ?? 'Json'
}

const literal = (value: Json): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value)

function objectOf(schema: JsonObject): string {
  const { properties = {}, required = [], additionalProperties } = schema
  const fields = Object.entries(properties as Record<string, JsonObject>).map(([name, one]) => {
    const mark = (required as string[]).includes(name) ? '' : '?'
    const key = /^\w+$/.test(name) ? name : literal(name)
    const missing = mark === '' ? '' : ' | undefined'
    return `${comment(one.description)}readonly ${key}${mark}: ${typeOf(one)}${missing}; `
  })
  if (typeof additionalProperties !== 'object' || additionalProperties === null) {
    return `{ ${fields.join('')}}`
  }
  const inner = typeOf(additionalProperties as JsonObject)
  return fields.length === 0
    ? `{ readonly [key: string]: ${inner} }`
    : `{ ${fields.join('')}readonly [key: string]: ${inner} | undefined }`
}
