// Fits a job's parameters to a function's signature. Values come from YAML, databases and CSV, where everything is text. Names
// match without case, and texts become the declared type, exactly or not at all: "true" and "5" convert; the function's schema
// rejects "yes" and "5 apples".

import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import { nearest } from '../../base/text/spelling.ts'
import { parametersSchema, type WorkerFunction } from '../functions/catalogue.ts'

export type Fitted = { readonly params: unknown } | { readonly misfits: string }

type Parameters = { readonly [name: string]: Json }

const MISFITS_SHOWN_MAX = 5

/** The parameters as the function takes them, or what is wrong: names and reasons, never values, which may be personal. */
export function fitParameters(definition: WorkerFunction, given: Parameters): Fitted {
  const schema = parametersSchema(definition) as Schema
  const named = withNamesOf(schema, given)
  if ('misfits' in named) return named
  const read = definition.parameters.safeParse(coerce(named.params, schema))
  if (read.success) return { params: read.data }
  const misfits = read.error.issues.map((issue) => describeMisfit(issue, schema))
  return { misfits: misfits.slice(0, MISFITS_SHOWN_MAX).join('; ') }
}

/** The error of a job whose parameters do not fit. Of a failed step only its message is stored. */
export const misfitText = (functionName: string, misfits: string): string =>
  `Parameters do not fit ${functionName}: ${misfits}`

/** The parameters that such a message is about; null for any other message. */
export function misfitsIn(message: string): string[] | null {
  const misfits = /\bParameters do not fit [^\s:]+: (.+)/s.exec(message)?.[1]
  return (
    misfits
      ?.split('; ')
      .flatMap((misfit) => /^([\w$-]+)(?:\.[^\s:]+)?: /.exec(misfit)?.[1] ?? []) ?? null
  )
}

interface Issue {
  readonly code?: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
}

function describeMisfit({ code, path, message, keys }: Issue, { properties = {} }: Schema): string {
  const unknown = code === 'unrecognized_keys' ? keys?.[0] : undefined
  if (unknown === undefined) return `${path.map(String).join('.')}: ${message}`
  const guess = nearest(unknown, Object.keys(properties))
  return `${unknown}: unknown${guess ? `, did you mean ${guess}?` : ''}`
}

/** The part of JSON Schema that conversion needs. */
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

/** The alternatives a value may match, unions flattened. */
function alternativesOf(schema: Schema): Schema[] {
  const inner = schema.anyOf ?? schema.oneOf
  if (inner) return inner.flatMap(alternativesOf)
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => ({ ...schema, type }))
  return [schema]
}

const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/

function coerce(value: Json, schema: Schema): Json {
  const alternatives = alternativesOf(schema)
  if (Array.isArray(value)) {
    const items = alternatives.find(({ type }) => type === 'array')?.items
    return items ? value.map((item) => coerce(item, items)) : value
  }
  if (typeof value === 'object' && value !== null) return coerceFields(value, alternatives)
  if (alternatives.some((alternative) => hasTypeOf(value, alternative))) return value
  for (const alternative of alternatives) {
    const coerced = coerceTo(value, alternative)
    if (coerced !== undefined) return coerced
  }
  return value
}

function coerceFields(value: { [name: string]: Json }, alternatives: readonly Schema[]): Json {
  const { properties, required = [] } = alternatives.find(({ type }) => type === 'object') ?? {}
  if (!properties) return value
  const fields = Object.entries(value).flatMap(([name, item]): [string, Json][] => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!schema) return [[name, item]]
    // An empty cell is null; for an optional parameter it counts as not given.
    const isLeftOut =
      item === null && !required.includes(name) && !alternativesOf(schema).some(allowsNull)
    return isLeftOut ? [] : [[name, coerce(item, schema)]]
  })
  return Object.fromEntries(fields)
}

const allowsNull = (alternative: Schema): boolean =>
  alternative.type === 'null' || alternative.const === null || alternative.type === undefined

/** Already of the declared type, as far as the type can tell. */
function hasTypeOf(value: Json, alternative: Schema): boolean {
  if (alternative.const !== undefined) return alternative.const === value
  if (alternative.enum) return alternative.enum.includes(value)
  if (alternative.type === undefined) return true
  if (alternative.type === 'integer' || alternative.type === 'number')
    return typeof value === 'number'
  return alternative.type === (value === null ? 'null' : typeof value)
}

function coerceTo(value: Json, { type, enum: choices, items }: Schema): Json | undefined {
  if (type === 'boolean' && typeof value === 'string' && /^(?:true|false)$/i.test(value))
    return sameName(value, 'true')
  if ((type === 'number' || type === 'integer') && typeof value === 'string')
    return NUMBER.test(value) ? Number(value) : undefined
  // PowerShell's ValidateSet ignores case.
  if (choices && typeof value === 'string')
    return choices.find((choice) => sameName(String(choice), value))
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return String(value)
  // A single value stands for a list of one, as in PowerShell.
  if (type === 'array' && value !== null) return [items ? coerce(value, items) : value]
  return undefined
}
