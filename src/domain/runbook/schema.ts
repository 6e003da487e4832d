// The keys of a runbook as JSON Schema for editors, in draft 7, which common YAML plug-ins read. It covers the table of keys;
// `matoolkit runbook validate` also checks rules between values and variables.
import type { Json } from '../json.ts'
import { RUNBOOK_SHAPE, type RunbookField, type Shape, type TextFormat } from './shape.ts'

type Schema = { [key: string]: Json }

export function runbookSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'matoolkit runbook',
    description: 'Who is migrated, when, and with which steps.',
    ...schemaOf(RUNBOOK_SHAPE),
  }
}

function schemaOf(shape: Shape): Schema {
  switch (shape.is) {
    case 'text':
      return textSchema(shape.format)
    case 'integer':
      return { type: 'integer', minimum: shape.min, maximum: shape.max }
    case 'choice':
      return { type: 'string', enum: [...shape.of] }
    case 'list':
      return { type: 'array', items: schemaOf(shape.item), minItems: shape.min }
    case 'named':
      return {
        type: 'object',
        propertyNames: textSchema(shape.key),
        additionalProperties: schemaOf(shape.item),
      }
    case 'map':
      return mapSchema(shape.keys)
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

function mapSchema(keys: Readonly<Record<string, RunbookField>>): Schema {
  const fields = Object.entries(keys)
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([key, field]) => [key, fieldSchema(field)])),
    required: fields.filter(([, { required }]) => required).map(([key]) => key),
    patternProperties: { '^x-': {} },
    additionalProperties: false,
  }
}

const fieldSchema = ({ shape, about, default: value }: RunbookField): Schema => ({
  description: about,
  ...schemaOf(shape),
  ...(value === undefined ? {} : { default: value }),
})
