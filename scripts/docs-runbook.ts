// The generated parts of the runbook's reference: the keys, the problem codes and the JSON Schema. They come from the tables in
// src/domain/; `npm run docs` writes them, test/house/docs-runbook.test.ts compares them.

import { LINT_RULES } from '../src/domain/runbook/lint/lint-rules.ts'
import { PROBLEMS } from '../src/domain/runbook/problems.ts'
import { runbookSchema } from '../src/domain/runbook/schema.ts'
import { RUNBOOK_SHAPE, type RunbookField, type Shape } from '../src/domain/runbook/shape.ts'
import { M365_CATALOGUE } from '../src/m365/catalogue.ts'
import { type GeneratedDocument, markdownTable } from './docs.ts'

export const RUNBOOK_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: 'docs/runbook.md', section: 'keys', render: renderKeys },
  { file: 'docs/runbook.md', section: 'problems', render: renderProblems },
  { file: 'docs/runbook.schema.json', render: renderSchema },
  { file: 'docs/lint.md', section: 'rules', render: renderLintRules },
]

function renderSchema(): string {
  return `${JSON.stringify(runbookSchema(M365_CATALOGUE.functions), null, 2)}\n`
}

function renderProblems(): string {
  const rows = Object.entries(PROBLEMS).map(([code, { severity, sentence }]) => [
    `\`${code}\``,
    severity,
    sentence.replaceAll(/\{([a-z]+)\}/g, '*$1*'),
  ])
  return markdownTable(['Code', 'Severity', 'Sentence'], rows)
}

function renderLintRules(): string {
  return Object.entries(LINT_RULES)
    .map(([id, { sentence, why, better }]) => {
      const says = sentence.replaceAll(/\{([a-z]+)\}/g, '*$1*')
      return `### ${id}\n\n> ${says}\n\n${why}\n\n${better}`
    })
    .join('\n\n')
}

function renderKeys(): string {
  const rows = keyRows('', RUNBOOK_SHAPE).map(([path, { shape, required, about, ...field }]) => [
    `\`${path}\``,
    typeOf(shape),
    required ? '**required**' : String(field.default ?? ''),
    about,
  ])
  return markdownTable(['Key', 'Type', 'Default', 'Meaning'], rows)
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

function typeOf(shape: Shape): string {
  switch (shape.is) {
    case 'text':
      return shape.format.expected
    case 'integer':
      return `${shape.min} to ${shape.max}`
    case 'choice':
      return shape.of.map((value) => `\`${value}\``).join(', ')
    case 'list':
      return 'list'
    case 'named':
    case 'map':
      return 'map'
    case 'json':
      return 'any value'
  }
}
