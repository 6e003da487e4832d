// The fields that a step can take from a function's result, read from its schema. The outputs of a polled function are in `data`.
import { isObject, type Json, type JsonObject } from '../../base/text/json.ts'

/** Null where it may return anything; empty where it returns no object. */
export const returnedFields = (schema: JsonObject): readonly string[] | null =>
  fieldsOf(schema, schema)

function fieldsOf(schema: JsonObject, root: JsonObject): readonly string[] | null {
  const { $ref, anyOf, oneOf, type, properties, additionalProperties } = schema
  if (typeof $ref === 'string') return fieldsOf(referred($ref, root), root)
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return ofAnyChoice(choices, root)
  if (type === undefined || (Array.isArray(type) && type.includes('object'))) return null
  if (type !== 'object') return []
  if (!isObject(properties) || additionalProperties !== false) return null
  const { complete, data } = properties
  return isObject(complete) && isObject(data)
    ? fieldsOf(data as JsonObject, root)
    : Object.keys(properties)
}

function ofAnyChoice(choices: readonly Json[], root: JsonObject): readonly string[] | null {
  const fields = choices.map((one) => (isObject(one) ? fieldsOf(one as JsonObject, root) : null))
  return fields.includes(null) ? null : [...new Set(fields.flatMap((names) => names!))]
}

/** An empty schema, which allows anything, for what is not found. */
function referred(ref: string, root: JsonObject): JsonObject {
  const [, name] = /^#\/\$defs\/([^/]+)$/.exec(ref) ?? []
  const found = isObject(root.$defs) && name !== undefined ? root.$defs[name] : undefined
  return isObject(found) ? (found as JsonObject) : {}
}
