// The generated parts of the runbook's reference: the keys, the problem codes and the JSON Schema. They come from the tables in
// src/domain/; `npm run docs` writes them, test/house/docs-runbook.test.ts compares them.

import { LINT_RULES } from '../src/domain/runbook/lint/lint-rules.ts'
import { runbookSchema } from '../src/domain/runbook/schema.ts'
import { RUNBOOK_SHAPE, type RunbookField, type Shape } from '../src/domain/runbook/shape.ts'
import { M365_CATALOGUE } from '../src/m365/catalogue.ts'
import type { GeneratedDocument } from './docs.ts'

export const RUNBOOK_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: 'docs/runbook.md', section: 'keys', render: renderKeys },
  { file: 'docs/runbook.schema.json', render: renderSchema },
  { file: 'docs/runbook.md', section: 'rules', render: renderLintRules },
]

function renderSchema(): string {
  return `${JSON.stringify(runbookSchema(M365_CATALOGUE.functions), null, 2)}\n`
}

/** A warning leads here, so its sentence is not repeated. */
function renderLintRules(): string {
  return Object.entries(LINT_RULES)
    .map(([id, { why, better }]) => `### ${id}\n\n${why} ${better}`)
    .join('\n\n')
}

/** One line per key; the required ones are bold. */
function renderKeys(): string {
  return keyRows('', RUNBOOK_SHAPE)
    .map(([path, { shape, required, about, ...field }]) => {
      const type = typeOf(shape)
      const byDefault = field.default === undefined ? [] : [`default ${field.default}`]
      const facts = [...(type === null ? [] : [type]), ...byDefault].join('; ')
      const key = required ? `**\`${path}\`**` : `\`${path}\``
      return `- ${key}${facts === '' ? '' : ` (${facts})`}: ${about}`
    })
    .join('\n')
}

/** Every key once: steps, retry and poll are the same wherever they stand, so only their first place is spelled out. */
function keyRows(path: string, shape: Shape, seen = new Set<string>()): [string, RunbookField][] {
  if (shape.is === 'list') return keyRows(`${path}[]`, shape.item, seen)
  if (shape.is === 'named') return keyRows(`${path}.<name>`, shape.item, seen)
  if (shape.is !== 'map') return []
  const place = SPELLED_AS[shape.called] ?? path
  if (seen.has(place)) return []
  seen.add(place)
  return Object.entries(shape.keys).flatMap(([key, field]) => {
    const keyPath = place === '' ? key : `${place}.${key}`
    const inner = keyRows(keyPath, field.shape, seen)
    return [[keyPath, field], ...inner] as [string, RunbookField][]
  })
}

const SPELLED_AS: Record<string, string> = {
  'a step': 'step',
  'a rollback or removal step': 'step',
  retry: 'retry',
}

/** Null where it goes without saying. */
function typeOf(shape: Shape): string | null {
  switch (shape.is) {
    case 'text':
      return shape.format.expected === 'text' ? null : kindOf(shape.format.expected)
    case 'boolean':
      return '`true`, `false`'
    case 'integer':
      return `${shape.min} to ${shape.max}`
    case 'choice':
      return shape.of.map((value) => `\`${value}\``).join(', ')
    case 'list':
    case 'named':
    case 'map':
    case 'json':
      return null
  }
}

/** "duration" of "a duration such as 30s, 15m, 4h or 7d". */
const kindOf = (expected: string): string =>
  expected.replace(/ such as .*/, '').replace(/^(?:the name of )?an? /, '')
