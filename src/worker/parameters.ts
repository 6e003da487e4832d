// Parameters by signature. A runbook's values come from YAML, from databases and from CSV files, where everything is text; a
// function says what it wants. Names are matched without regard to case and texts become the type that is asked for, exactly or
// not at all: "true" and "5" do, "yes" and "5 apples" are refused with the rest by the function's own schema.
import type { Json } from '../domain/json.ts'
import { nearest } from '../domain/spelling.ts'
import { parametersSchema, type WorkerFunction } from './catalogue.ts'

export type Fitted = { readonly params: unknown } | { readonly misfits: string }

type Parameters = { readonly [name: string]: Json }

const MISFITS_SHOWN_MAX = 5

/** The parameters as the function takes them, or what is wrong with them: names and reasons, never values, which may be personal. */
export function fitParameters(one: WorkerFunction, given: Parameters): Fitted {
  const schema = schemaOf(one)
  const named = withNamesOf(schema, given)
  if ('misfits' in named) return named
  const read = one.parameters.safeParse(coerce(named.params, schema))
  if (read.success) return { params: read.data }
  const misfits = read.error.issues.map((issue) => sayMisfit(issue, schema))
  return { misfits: misfits.slice(0, MISFITS_SHOWN_MAX).join('; ') }
}

interface Issue {
  readonly code?: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
}

function sayMisfit({ code, path, message, keys }: Issue, { properties = {} }: Schema): string {
  const unknown = code === 'unrecognized_keys' ? keys?.[0] : undefined
  if (unknown === undefined) return `${path.map(String).join('.')}: ${message}`
  const guess = nearest(unknown, Object.keys(properties))
  return `${unknown}: unknown${guess ? `, did you mean ${guess}?` : ''}`
}

/** The part of JSON Schema that matters here. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly const?: Json
  readonly enum?: readonly Json[]
}

const schemas = new WeakMap<WorkerFunction, Schema>()

function schemaOf(one: WorkerFunction): Schema {
  const known = schemas.get(one)
  if (known) return known
  const schema = parametersSchema(one) as Schema
  schemas.set(one, schema)
  return schema
}

function withNamesOf(
  { properties = {} }: Schema,
  given: Parameters,
): { params: Json } | { misfits: string } {
  const names = new Map(Object.keys(properties).map((name) => [name.toLowerCase(), name]))
  const params = new Map<string, Json>()
  for (const [written, value] of Object.entries(given)) {
    const name = names.get(written.toLowerCase()) ?? written
    if (params.has(name)) return { misfits: `${name}: given twice` }
    params.set(name, value)
  }
  return { params: Object.fromEntries(params) }
}

/** Every way in which a value may be good. */
function waysOf(schema: Schema): Schema[] {
  const inner = schema.anyOf ?? schema.oneOf
  if (inner) return inner.flatMap(waysOf)
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => ({ ...schema, type }))
  return [schema]
}

const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/

function coerce(value: Json, schema: Schema): Json {
  const ways = waysOf(schema)
  if (Array.isArray(value)) {
    const items = ways.find(({ type }) => type === 'array')?.items
    return items ? value.map((item) => coerce(item, items)) : value
  }
  if (typeof value === 'object' && value !== null) return coerceFields(value, ways)
  if (ways.some((way) => isAt(value, way))) return value
  for (const way of ways) {
    const coerced = coerceTo(value, way)
    if (coerced !== undefined) return coerced
  }
  return value
}

function coerceFields(value: { [name: string]: Json }, ways: readonly Schema[]): Json {
  const { properties, required = [] } = ways.find(({ type }) => type === 'object') ?? {}
  if (!properties) return value
  const fields = Object.entries(value).flatMap(([name, item]): [string, Json][] => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!schema) return [[name, item]]
    // An empty cell of a table is null: for a parameter that may be left out it counts as left out.
    const isLeftOut = item === null && !required.includes(name) && !waysOf(schema).some(allowsNull)
    return isLeftOut ? [] : [[name, coerce(item, schema)]]
  })
  return Object.fromEntries(fields)
}

const allowsNull = (way: Schema): boolean =>
  way.type === 'null' || way.const === null || way.type === undefined

/** Already what this way asks for, as far as its type can tell. */
function isAt(value: Json, way: Schema): boolean {
  if (way.const !== undefined) return way.const === value
  if (way.enum) return way.enum.includes(value)
  if (way.type === undefined) return true
  if (way.type === 'integer' || way.type === 'number') return typeof value === 'number'
  return way.type === (value === null ? 'null' : typeof value)
}

function coerceTo(value: Json, { type, enum: choices, items }: Schema): Json | undefined {
  if (type === 'boolean' && typeof value === 'string' && /^(?:true|false)$/i.test(value))
    return value.toLowerCase() === 'true'
  if ((type === 'number' || type === 'integer') && typeof value === 'string')
    return NUMBER.test(value) ? Number(value) : undefined
  // PowerShell compares its ValidateSet without regard to case.
  if (choices && typeof value === 'string')
    return choices.find((one) => String(one).toLowerCase() === value.toLowerCase())
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return String(value)
  // One where several are wanted, as PowerShell has it.
  if (type === 'array' && value !== null) return [items ? coerce(value, items) : value]
  return undefined
}
