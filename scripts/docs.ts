// `npm run docs` writes every document that the program generates; `npm run docs -- --check` names those that are out of date, and
// `npm test` fails for them. A document is generated whole, or in one section between two
// marker lines with hand-written text around it. To add one, add a row to GENERATED.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { openApiDocument, parametersOf } from '../src/api/openapi.ts'
import type { Route } from '../src/api/route.ts'
import { describedRoutes } from '../src/api/routes.ts'
import { REHEARSAL_FAULTS } from '../src/app/rehearsal/faults.ts'
import { ERRORS } from '../src/base/errors/errors.ts'
import { SETTINGS } from '../src/base/settings/config.ts'
import type { ErrorActor } from '../src/domain/needs/error-meaning.ts'
import { CONDITION_KINDS, conditionText } from '../src/domain/notifications/conditions.ts'
import { type Entity, TRANSITIONS, type Transition } from '../src/domain/state/transitions.ts'
import { ERROR_TABLE } from '../src/m365/meanings/meaning-of.ts'
import { CHAOS_MODES } from '../test/proof/chaos/modes.ts'
import { renderPhaseOutcomes } from './docs-versions.ts'
import { TRANSITION_REASONS } from './transition-reasons.ts'

const root = join(import.meta.dirname, '..')
const USAGE = `npm run docs                   write every generated document
npm run docs -- --check        name the documents that are out of date`

export interface GeneratedDocument {
  readonly file: string
  /** The name in the markers; without it the whole file is generated. */
  readonly section?: string
  render(): string
}

export const GENERATED: readonly GeneratedDocument[] = [
  { file: 'docs/reference/errors.md', section: 'errors', render: renderErrors },
  { file: 'docs/rehearsal.md', section: 'faults', render: renderRehearsalFaults },
  { file: 'docs/reference/microsoft-errors.md', section: 'meanings', render: renderMeanings },
  { file: 'docs/reference/settings.md', section: 'settings', render: renderSettings },
  { file: 'docs/notifications.md', section: 'conditions', render: renderConditions },
  { file: 'docs/reference/transitions.md', section: 'transitions', render: renderTransitions },
  { file: 'docs/waves.md', section: 'phase outcomes', render: renderPhaseOutcomes },
  { file: 'docs/reliability.md', section: 'chaos modes', render: renderChaosModes },
  { file: '.env.example', render: renderEnvExample },
  { file: 'docs/openapi.json', render: () => renderOpenApi() },
  { file: 'src/api/client/endpoint-kinds.ts', render: renderEndpointKinds },
]

function renderConditions(): string {
  return CONDITION_KINDS.map((kind) => `- \`${kind}\`: ${conditionText(kind)}`).join('\n')
}

/** The file's text as it should be, given the text it has. */
export function expectedText({ file, section, render }: GeneratedDocument, text: string): string {
  if (section === undefined) return render()
  const begin = `<!-- generated: ${section} -->`
  const end = '<!-- end of generated -->'
  const from = text.indexOf(begin)
  const to = text.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`${file} needs the lines "${begin}" and "${end}"`)
  return `${text.slice(0, from)}${begin}\n\n${render().trim()}\n\n${text.slice(to)}`
}

/** A pipe would end a cell, an angle bracket would begin a tag. */
const cell = (value: string | number): string =>
  String(value).replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ')

export function markdownTable(
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

/** What happened; what to do next stands in the error itself. */
const firstSentence = (text: string): string =>
  (/^.+?[.:](?= |$)/.exec(text)?.[0] ?? text).replace(/:$/, '.')

/** One heading for each HTTP status and exit code. */
function renderErrors(): string {
  const kinds = Map.groupBy(Object.entries(ERRORS), ([, { http, exit }]) => `${http}, exit ${exit}`)
  return [...kinds]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, errors]) => {
      const lines = errors.map(([code, { sentence }]) => {
        const filled = sentence.replaceAll(/\{(\w+)( \w+)?\}/g, '*$1*$2')
        return `- \`${code}\`: ${firstSentence(filled)}`
      })
      return `### ${kind}\n\n${lines.join('\n')}`
    })
    .join('\n\n')
}

const ACTORS: Readonly<Record<ErrorActor, string>> = {
  operator: 'You',
  runbook_author: 'Author',
  tenant_administrator: 'Admin',
  microsoft: 'Wait',
  nobody: 'No one',
}

function renderMeanings(): string {
  return Object.entries(ERROR_TABLE)
    .map(([title, entries]) => {
      const lineOf = (one: (typeof entries)[number]): string => {
        const mark = one.isUnconfirmed ? ' (*unconfirmed*)' : ''
        return `- “${recognisedBy(one.example)}” ${one.means}${mark} ${one.todo}`
      }
      const parts = [...Map.groupBy(entries, ({ actor }) => actor)].map(
        ([actor, all]) => `**${ACTORS[actor]}**\n\n${all.map(lineOf).join('\n')}`,
      )
      return `## ${title}\n\n${parts.join('\n\n')}`
    })
    .join('\n\n')
}

/** Every error of a service begins with these words. */
const SAID_BY =
  /^(?:Microsoft Graph returned|Exchange Online returned|No token for .+?refused the sign-in:|Error:) /
const RECOGNISED_BY_WORDS = 5

const codeOf = (example: string): string => example.replace(SAID_BY, '').split(': ')[0]!

const entriesByCode = Map.groupBy(Object.values(ERROR_TABLE).flat(), ({ example }) =>
  codeOf(example),
)

/** The code of an error if no other has it, else with the words that tell it from the others. */
function recognisedBy(example: string): string {
  const code = codeOf(example)
  const words = example.replace(SAID_BY, '').split(' ')
  const isUnique = entriesByCode.get(code)!.length === 1 && code.split(' ').length < 3
  const shown = isUnique ? code : words.slice(0, RECOGNISED_BY_WORDS).join(' ')
  const mark = shown.length < words.join(' ').length ? '…' : ''
  return `${shown}${mark}`.replaceAll('<', '&lt;')
}

function renderRehearsalFaults(): string {
  return Object.entries(REHEARSAL_FAULTS)
    .map(([name, { what }]) => `- \`${name}\`: ${what}`)
    .join('\n')
}

function renderChaosModes(): string {
  return CHAOS_MODES.map(({ name }) => `\`${name}\``).join(' ')
}

const shownDefault = (one: { default: unknown; defaultShown?: string }): string =>
  one.defaultShown ?? (one.default === null ? 'none' : String(one.default))

/** What it must be stands in .env.example; here only where it is a choice. */
function renderSettings(): string {
  return Object.values(SETTINGS)
    .map((one) => {
      const choice = /^(?:one|a list) of (.+)$/.exec(one.mustBe)?.[1]
      const byDefault = shownDefault(one)
      const facts = [
        ...(one.secret ? ['secret'] : []),
        ...(choice ? [choice] : []),
        ...(byDefault === 'none' ? [] : [`default: ${byDefault}`]),
      ]
      const shown = facts.length === 0 ? '' : ` (${facts.join('; ')})`
      return `- \`${one.name}\`${shown}: ${one.description}`
    })
    .join('\n')
}

function renderEnvExample(): string {
  const settings = Object.values(SETTINGS).map((one) => {
    const value = one.default === null ? '' : String(one.default)
    return `# ${one.description.replaceAll('`', '')}\n# Must be ${one.mustBe}.\n#${one.name}=${value}\n`
  })
  return `# Every setting with its default; docs/reference/settings.md says more. Generated: npm run docs\n\n${settings.join('\n')}`
}

const renderOpenApi = (): string =>
  `${JSON.stringify(openApiDocument(describedRoutes()), null, 2)}\n`

/** What a client must know of endpoints when it runs: not their types. */
function renderEndpointKinds(): string {
  const routes = describedRoutes()
  const table = (about: string, name: string, which: (route: Route) => boolean) => {
    const named = routes.filter(which).map(({ method, path }) => `'${method} ${path}'`)
    // As the formatter leaves it.
    const list =
      named.length === 1 ? `[${named[0]}]` : `[\n${named.map((one) => `  ${one},\n`).join('')}]`
    return `\n/** ${about} */\nexport const ${name}: ReadonlySet<string> = new Set(${list})\n`
  }
  return [
    '// What a client must know of endpoints when it runs. Generated from the table of routes by `npm run docs`.\n',
    table(
      'They create something, and take a key that lets the server do it once.',
      'CREATING',
      ({ creates }) => creates === true,
    ),
    table(
      'They change nothing, although they are no GET.',
      'READING',
      ({ method, action }) => method !== 'GET' && action === null,
    ),
    table('They need no token, and get none.', 'WITHOUT_TOKEN', ({ rule }) => rule === 'anonymous'),
    table('Lists whose pages are as long as they are.', 'WITHOUT_LIMIT', ({ query }) => {
      const taken = parametersOf(query, 'query', {}).map(({ name }) => name)
      return taken.includes('cursor') && !taken.includes('limit')
    }),
  ].join('')
}

function renderTransitions(): string {
  return (Object.keys(TRANSITIONS) as Entity[])
    .map((entity) => {
      const title = entity[0]!.toUpperCase() + entity.slice(1)
      const transitions = Object.entries<Transition>(TRANSITIONS[entity])
      const reasons = transitionReasons(transitions, TRANSITION_REASONS[entity])
      return `## ${title}\n\n${stateDiagram(transitions)}\n\n${reasons}`
    })
    .join('\n\n')
}

/** One arrow per pair of statuses, labelled with every event that takes it. `[*]` is before the entity exists. */
function stateDiagram(transitions: readonly [string, Transition][]): string {
  const arrows = Map.groupBy(
    transitions.flatMap(([event, { from, to }]) =>
      from.map((status) => ({ event, from: status, to })),
    ),
    ({ from, to }) => `${from === 'none' ? '[*]' : from} --> ${to}`,
  )
  const lines = [...arrows].map(
    ([arrow, all]) => `  ${arrow}: ${all.map(({ event }) => event).join(', ')}`,
  )
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n')
}

/** The diagram says from where to where. */
const transitionReasons = (
  transitions: readonly [string, Transition][],
  reasons: Readonly<Record<string, string>>,
): string => transitions.map(([event]) => `- \`${event}\`: ${reasons[event]!}`).join('\n')

/** Also those of other scripts, which use the functions of this file. */
export async function renderedDocuments(): Promise<GeneratedDocument[]> {
  const { CLI_DOCUMENTS } = await import('./docs-cli.ts')
  const { FUNCTION_DOCUMENTS } = await import('./docs-functions.ts')
  const { RUNBOOK_DOCUMENTS } = await import('./docs-runbook.ts')
  return [...GENERATED, ...CLI_DOCUMENTS, ...FUNCTION_DOCUMENTS, ...RUNBOOK_DOCUMENTS]
}

/** What every function asks of Microsoft, recorded while it runs against the sandbox. */
async function recordedDocument(): Promise<GeneratedDocument> {
  const { REQUESTS_FILE, requestsText } = await import('../test/m365/functions/requests.ts')
  const requests = await requestsText()
  return { file: relative(root, REQUESTS_FILE), render: () => requests }
}

/** Part of the program, so it may be an input of other documents: `runbook.schema.json` names the functions of `standard-functions.json`. */
export const isInput = (file: string): boolean => file.startsWith('src/')

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    console.log(USAGE)
    return
  }
  const isCheck = args.includes('--check')
  let stale = 0
  let hasNewInput = false
  for (const document of [...(await renderedDocuments()), await recordedDocument()]) {
    const path = join(root, document.file)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const expected = expectedText(document, text)
    if (expected === text) continue
    stale += 1
    const name = [document.file, document.section].filter(Boolean).join(', section ')
    if (!isCheck) writeFileSync(path, expected)
    hasNewInput ||= !isCheck && isInput(document.file)
    console.log(`${name}: ${isCheck ? 'out of date' : 'written'}`)
  }
  // This process has read the former text already.
  if (hasNewInput) spawnSync(process.execPath, [import.meta.filename], { stdio: 'inherit' })
  else if (stale === 0) console.log('All generated documents are up to date')
  else if (isCheck) {
    console.log('Write them: npm run docs')
    process.exitCode = 1
  }
}

// Not awaited at the top level: the scripts that main() imports wait for this file to be loaded.
if (import.meta.main) void main(process.argv.slice(2))
