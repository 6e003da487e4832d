// The keys of a runbook as JSON Schema for editors, in draft 7, which common YAML plug-ins read. It covers the table of keys;
// `matoolkit runbook validate` also checks rules between values and variables.
import type { Json } from '../../base/text/json.ts'
import type { AnnouncedFunction } from './catalogues.ts'
import { RUNBOOK_SHAPE, type RunbookField, type Shape } from './shape.ts'
import type { TextFormat } from './text-formats.ts'

type Schema = { [key: string]: Json }

type Packaged = readonly AnnouncedFunction[]

export function runbookSchema(packaged: Packaged): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'https://www.schemastore.org/matoolkit-runbook.json',
    title: 'matoolkit runbook',
    description: 'Who is migrated, when, and with which steps.',
    ...schemaOf(RUNBOOK_SHAPE, packaged),
  }
}

function schemaOf(shape: Shape, packaged: Packaged): Schema {
  switch (shape.is) {
    case 'text':
      return textSchema(shape.format)
    case 'boolean':
      return { type: 'boolean' }
    case 'integer':
      return { type: 'integer', minimum: shape.min, maximum: shape.max }
    case 'choice':
      return { type: 'string', enum: [...shape.of, ...Object.keys(shape.also)] }
    case 'list':
      return { type: 'array', items: schemaOf(shape.item, packaged), minItems: shape.min }
    case 'named':
      return {
        type: 'object',
        propertyNames: textSchema(shape.key),
        additionalProperties: schemaOf(shape.item, packaged),
      }
    case 'map':
      return mapSchema(shape.keys, packaged)
    case 'json':
      return {}
  }
}

function textSchema({ pattern, maxLength }: TextFormat): Schema {
  return {
    type: 'string',
    minLength: 1,
    ...(pattern === undefined ? {} : { pattern }),
    ...(maxLength === undefined ? {} : { maxLength }),
  }
}

function mapSchema(keys: Readonly<Record<string, RunbookField>>, packaged: Packaged): Schema {
  const fields = Object.entries(keys)
  const properties = Object.fromEntries(
    fields.map(([key, field]) => [key, fieldSchema(field, packaged)]),
  )
  return {
    type: 'object',
    properties: 'function' in keys ? withPackagedFunctions(properties, packaged) : properties,
    required: fields.filter(([, { required }]) => required).map(([key]) => key),
    ...('notify' in keys && { oneOf: [having('function', 'string'), having('notify', 'object')] }),
    patternProperties: { '^x-': {} },
    additionalProperties: false,
  }
}

const having = (key: string, type: string): Schema => ({
  type: 'object',
  properties: { [key]: { type } },
  required: [key],
})

/** Editors offer the functions of the program and all of their parameters; other names are left to `runbook validate`. */
function withPackagedFunctions(
  properties: Record<string, Schema>,
  packaged: Packaged,
): Record<string, Schema> {
  const names = packaged.map(({ name }) => name)
  return {
    ...properties,
    function: { ...properties.function, anyOf: [{ enum: names }, {}] },
    params: { ...properties.params, properties: parametersOf(packaged) },
  }
}

/** Descriptions only: a template may stand for a value of any type. */
function parametersOf(packaged: Packaged): Record<string, Schema> {
  const users = new Map<string, string[]>()
  for (const { name, parameters } of packaged) {
    const { properties } = parameters as { properties: Record<string, unknown> }
    for (const parameter of Object.keys(properties)) {
      users.set(parameter, [...(users.get(parameter) ?? []), name])
    }
  }
  return Object.fromEntries(
    [...users].map(([parameter, names]) => [parameter, { description: `Of ${names.join(', ')}.` }]),
  )
}

const fieldSchema = (
  { shape, about, default: value }: RunbookField,
  packaged: Packaged,
): Schema => ({
  description: about,
  ...schemaOf(shape, packaged),
  ...(value === undefined ? {} : { default: value }),
})
