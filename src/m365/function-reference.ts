// The reference entry of a function, for the command line and docs/reference/functions.md. Everything comes from its definition.
import {
  parametersSchema,
  resultSchema,
  type WorkerFunction,
} from '../worker/functions/catalogue.ts'

export interface ReferenceField {
  readonly name: string
  /** In words: "text", "true or false", "list of text". */
  readonly type: string
  readonly isRequired: boolean
  /** As written in a runbook; null without a default. */
  readonly default: string | null
  readonly about: string
}

export interface FunctionReference {
  readonly name: string
  readonly description: string
  readonly parameters: readonly ReferenceField[]
  /** The fields of the result; empty when it is not an object. */
  readonly result: readonly ReferenceField[]
  readonly resultType: string
  /** In words, such as "Microsoft Graph: User.Read.All". */
  readonly permissions: readonly string[]
  readonly isIdempotent: boolean
  /** The most people it serves in one call; null for one at a time. */
  readonly togetherMax: number | null
  readonly undo: string | null
  /** Microsoft may change the calls it uses. */
  readonly isBeta: boolean
  /** For people with admin roles the app needs a higher role itself. */
  readonly isSensitive: boolean
}

export function functionReferenceOf(definition: WorkerFunction): FunctionReference {
  const result = resultSchema(definition) as Schema
  const { graph = [], exchange = [] } = definition.permissions
  return {
    name: definition.name,
    description: definition.description,
    parameters: fieldsOf(parametersSchema(definition) as Schema, ''),
    result: fieldsOf(result, ''),
    resultType: typeOf(result),
    permissions: [
      ...graph.map((role) => `Microsoft Graph: ${role}`),
      ...exchange.map((role) => `Exchange: ${role}`),
    ],
    isIdempotent: definition.isIdempotent,
    togetherMax: definition.together?.limit ?? null,
    undo: definition.undo,
    isBeta: definition.isBeta ?? false,
    isSensitive: definition.isSensitive ?? false,
  }
}

/** The part of JSON Schema that definitions use. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly description?: string
  readonly format?: string
}

/** Flattens nested fields, as in `data.Match`. */
function fieldsOf({ properties = {}, required = [] }: Schema, prefix: string): ReferenceField[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = prefix + key
    const field: ReferenceField = {
      name,
      type: typeOf(schema),
      isRequired: required.includes(key),
      default: schema.default === undefined ? null : String(schema.default),
      about: schema.description ?? '',
    }
    return schema.properties ? fieldsOf(schema, `${name}.`) : [field]
  })
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  null: 'null',
  object: 'map',
}

function typeOf(schema: Schema): string {
  const { type, anyOf, items } = schema
  if (schema.enum) return schema.enum.map(String).join(' or ')
  if (anyOf) {
    // Empty text means "not given" and is not shown.
    const words = anyOf.filter((one) => one.const !== '').map(typeOf)
    return [...new Set(words)].join(' or ')
  }
  if (Array.isArray(type)) return type.map((one) => WORDS[one] ?? one).join(' or ')
  if (type === 'array') return `list of ${items ? typeOf(items) : 'anything'}`
  if (schema.format === 'uuid') return 'GUID'
  return WORDS[String(type)] ?? 'anything'
}
