// The generated parts of docs/reference/functions.md: every worker function, from its definition, with a step to copy in steps.yaml and its calls in calls.yaml.
// `npm run docs` writes them, test/house/docs-functions.test.ts compares them. Also writes the catalogue that validation knows offline.

import { readFileSync } from 'node:fs'
import { functionReferenceOf, type ReferenceField } from '../src/m365/function-reference.ts'
import { STANDARD_FUNCTIONS } from '../src/m365/functions/standard.ts'
import {
  factsIn,
  parametersSchema,
  type WorkerFunction,
} from '../src/worker/functions/catalogue.ts'
import { exampleStep } from '../test/m365/functions/example-steps.ts'
import { CMDLET_SOURCES, GRAPH_SOURCES } from '../test/m365/functions/request-sources.ts'
import { REQUESTS_FILE } from '../test/m365/functions/requests.ts'
import { type SentCall, sentCalls } from '../test/m365/functions/sent-calls.ts'
import type { GeneratedDocument } from './docs.ts'

export const FUNCTION_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: 'docs/reference/functions.md', section: 'functions', render: renderFunctions },
  { file: 'docs/reference/steps.yaml', render: renderSteps },
  { file: 'docs/reference/calls.yaml', render: renderCalls },
  { file: 'src/m365/standard-functions.json', render: renderCatalogue },
]

/** A parameter that this many functions describe alike is described once. */
const COMMON_TO = 2

const described = STANDARD_FUNCTIONS.flatMap((one) => functionReferenceOf(one).parameters)
const textsByName = Map.groupBy(described, ({ name }) => name)

/** Where the kind of function makes clear which is meant, as with a mailbox and the target of a move. */
const ALSO_COMMON_TO = 5

/** What most functions that take a parameter of this name say about it; none if few agree. */
function commonTexts(name: string): string[] {
  const [most, ...others] = [...Map.groupBy(textsByName.get(name)!, ({ about }) => about)]
    .filter(([text]) => text !== '')
    .toSorted(([, a], [, b]) => b.length - a.length)
  if (most === undefined || most[1].length < COMMON_TO) return []
  return [most, ...others.filter(([, uses]) => uses.length >= ALSO_COMMON_TO)].map(([text]) => text)
}

function renderFunctions(): string {
  const list = [...textsByName.keys()].toSorted().flatMap((name) => {
    const texts = commonTexts(name)
    return texts.length === 0 ? [] : [`- \`${name}\`: ${texts.join(' Or: ')}`]
  })
  return [
    `Unless stated otherwise:\n\n${list.join('\n')}`,
    ...STANDARD_FUNCTIONS.map(renderFunction),
  ].join('\n\n')
}

/** A step of each function, to copy. Names in {{…}} are columns of a member file or outputs of earlier steps. */
function renderSteps(): string {
  const steps = STANDARD_FUNCTIONS.map(exampleStep).join('\n\n')
  return `# A step of each function, to copy into a runbook; functions.md says what each takes and returns. Names in {{…}} are columns of your\n# member file or output_params of earlier steps; those that begin with _ are built in. Generated: npm run docs\n\n${steps.trimEnd()}\n`
}

/** The dates of the commits that request-sources.ts was read against; it names none for the pages of crossTenantMigrationJobs. */
const AS_OF = { graph: '2026-08-04', cmdlets: '2026-08-21' }

function callText({ call, isCmdlet }: SentCall): string {
  const source = (isCmdlet ? CMDLET_SOURCES : GRAPH_SOURCES)[call]
  if (!source) throw new Error(`request-sources.ts has no page for ${call}`)
  const page = isCmdlet
    ? `powershell/module/exchangepowershell/${call.toLowerCase()}`
    : `graph/api/${source.page}`
  const fields = {
    call,
    state: source.open === undefined ? 'confirmed' : 'unconfirmed',
    page: `https://learn.microsoft.com/${page}`,
    as_of: isCmdlet ? AS_OF.cmdlets : call.includes('crossTenantMig') ? undefined : AS_OF.graph,
    permission: source.permission,
    open: source.open,
  }
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${JSON.stringify(value)}`],
  )
  return `  - ${lines.join('\n    ')}`
}

/** Each call of each function, and whether Microsoft's page settles it. */
function renderCalls(): string {
  const sent = sentCalls(readFileSync(REQUESTS_FILE, 'utf8'))
  const functions = [...Map.groupBy(sent, (one) => one.function)].map(
    ([name, calls]) => `${name}:\n${[...new Set(calls.map(callText))].join('\n')}`,
  )
  return `# What each function calls in Microsoft 365. confirmed: the page names the call and each field that is sent; unconfirmed: what \`open\` says\n# stands on no page. No call was tried on a live tenant. Cmdlets go through InvokeCommand, which Microsoft does not offer to others.\n# Generated: npm run docs\n\n${functions.join('\n\n')}\n`
}

/** What validation and editors know without asking a worker. src/m365/catalogue.ts passes it on. */
function renderCatalogue(): string {
  const functions = STANDARD_FUNCTIONS.map((definition) => {
    const { properties, required, additionalProperties } = parametersSchema(definition)
    return {
      name: definition.name,
      description: definition.description,
      parameters: { properties, required, additionalProperties },
      facts: factsIn(definition),
    }
  })
  return `${JSON.stringify(functions, null, 2)}\n`
}

function renderFunction(definition: WorkerFunction): string {
  const { name, description, parameters, result, resultType, ...rest } =
    functionReferenceOf(definition)
  const gives =
    result.length > 0 ? result.map((field) => `\`${field.name}\``).join(' ') : resultType
  const marks = [
    ...(rest.isIdempotent ? [] : ['Not repeated if it may have run.']),
    ...(rest.isSensitive ? ['Administrators need [more](#people-with-admin-roles).'] : []),
    ...(rest.isBeta ? ['Microsoft beta.'] : []),
  ]
  const taken = parameters.map(renderTaken).join(' ')
  const described = parameters.flatMap(renderParameter)
  return [
    `### ${name}\n`,
    [description.replace(' Beta: Microsoft may change it.', ''), ...marks].join(' '),
    '',
    `Takes ${taken}${described.length > 0 ? ':\n' : '.'}`,
    ...described,
    `${described.length > 0 ? '\n' : ''}Returns ${gives}.${rest.undo === null ? '' : ` Undo: ${rest.undo}`}`,
  ].join('\n')
}

const CHOICE = /^[A-Za-z]+(?: or [A-Za-z]+)+$/
const withoutList = (type: string): string =>
  type.replace(/ or null$/, '').replace(/^(.+) or list of \1$/, '$1')
const isChoice = (type: string): boolean =>
  CHOICE.test(type) && !/\b(?:text|number|true|null|list)\b/.test(type)

/** As in the usage of a command: brackets around what may be left out, its default, `…` for one value or a list, a bar between choices. */
function renderTaken({ name, type, isRequired, default: value }: ReferenceField): string {
  const one = withoutList(type)
  const isList = one !== type.replace(/ or null$/, '')
  const choices = isChoice(one) ? one.split(' or ') : []
  const first = value === null || value === '' ? [] : [value]
  const values = [...new Set([...first, ...choices])].join('|')
  const shown = `\`${name}${isList ? '…' : ''}${values === '' ? '' : `=${values}`}\``
  return isRequired ? shown : `[${shown}]`
}

/** So short a description adds nothing to the name. */
const WORDS_LEAST = 5

/** A line for a parameter that its name does not explain. */
function renderParameter({ name, about }: ReferenceField): string[] {
  const isPlain = about.split(' ').length < WORDS_LEAST || commonTexts(name).includes(about)
  return isPlain ? [] : [`- \`${name}\`: ${about}`]
}
