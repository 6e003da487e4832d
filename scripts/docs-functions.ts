// The generated part of docs/functions.md: every worker function, from its definition.
// `npm run docs` writes it, test/house/docs-functions.test.ts compares it. Also writes the catalogue that validation knows offline.

import { CMDLETS } from '../sandbox/exchange/cmdlets.ts'
import { functionReferenceOf, type ReferenceField } from '../src/m365/function-reference.ts'
import { STANDARD_FUNCTIONS } from '../src/m365/functions/standard.ts'
import {
  factsIn,
  parametersSchema,
  type WorkerFunction,
} from '../src/worker/functions/catalogue.ts'
import { exampleStep } from '../test/m365/functions/example-steps.ts'
import {
  type CallSource,
  CMDLET_SOURCES,
  GRAPH_SOURCES,
} from '../test/m365/functions/request-sources.ts'
import { type GeneratedDocument, markdownTable } from './docs.ts'

export const FUNCTION_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: 'docs/functions.md', section: 'list', render: renderList },
  { file: 'docs/functions.md', section: 'functions', render: renderFunctions },
  { file: 'docs/permissions.md', section: 'permissions', render: renderPermissions },
  { file: 'docs/permissions.md', section: 'calls', render: renderCalls },
  { file: 'src/m365/standard-functions.json', render: renderCatalogue },
]

const anchorOf = (name: string): string => name.toLowerCase()

function renderList(): string {
  const rows = STANDARD_FUNCTIONS.map(({ name, description }) => [
    `[${name}](#${anchorOf(name)})`,
    description,
  ])
  return markdownTable(['Function', 'What it does'], rows)
}

/** For the administrator who consents: each permission, and what asks for it. */
function renderPermissions(): string {
  const uses = STANDARD_FUNCTIONS.flatMap((definition) =>
    functionReferenceOf(definition).permissions.map((permission) => ({
      permission,
      link: `[${definition.name}](functions.md#${anchorOf(definition.name)})`,
    })),
  )
  const rows = Object.entries(Object.groupBy(uses, ({ permission }) => permission))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([permission, of]) => [`\`${permission}\``, of!.map(({ link }) => link).join(', ')])
  return markdownTable(['Permission', 'Functions'], rows)
}

const LEARN = 'https://learn.microsoft.com'

/** Every call of the functions, as in test/m365/functions/requests.md. */
function renderCalls(): string {
  const rest = ({ fields, seenIn = [], open }: CallSource): string[] => [
    fields.map((field) => `\`${field}\``).join(', ') || '–',
    seenIn.join(', ') || '–',
    open === undefined ? 'confirmed' : `unconfirmed: ${open}`,
  ]
  const graph = Object.entries(GRAPH_SOURCES).map(([call, source]) => {
    const isBeta = call.includes(' /beta/')
    const url = `${LEARN}/graph/api/${source.page}${isBeta ? '?view=graph-rest-beta' : ''}`
    return [`\`${call}\``, `[${source.page}](${url})`, source.permission!, ...rest(source)]
  })
  const cmdlets = Object.entries(CMDLET_SOURCES).map(([name, source]) => [
    `\`${name}\``,
    `[page](${LEARN}/powershell/module/exchangepowershell/${name.toLowerCase()})`,
    `Exchange.ManageAsApp and ${CMDLETS[name]!.isAdministrators ? 'Exchange Administrator' : 'Exchange Recipient Administrator'}`,
    ...rest(source),
  ])
  const head = ['Call', "Microsoft's page", 'Least permission', 'Fields read', 'Sent by', 'State']
  return markdownTable(head, [...graph, ...cmdlets])
}

function renderFunctions(): string {
  return STANDARD_FUNCTIONS.map(renderFunction).join('\n\n')
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
  const takes = markdownTable(['Parameter', 'Type', 'Default', 'Meaning'], parameters.map(takesRow))
  const gives =
    result.length > 0
      ? markdownTable(['Result', 'Type', 'Meaning'], result.map(givesRow))
      : `Result: ${resultType}.`
  const undo = rest.undo ?? 'nothing to undo'
  const twice = rest.isIdempotent ? 'yes' : 'no: the worker does not repeat a job that may have run'
  const facts = [
    `Needs: ${rest.permissions.map((role) => `\`${role}\``).join(', ') || 'nothing'}`,
    `May run twice: ${twice}`,
    ...(rest.togetherMax === null
      ? []
      : [`At once: up to ${rest.togetherMax.toLocaleString('en')} people in one call`]),
    `Undo: ${undo}`,
    ...(rest.isSensitive
      ? [
          'People with [admin roles](#people-with-admin-roles): the app needs a higher role than theirs',
        ]
      : []),
    ...(rest.isBeta
      ? ['Beta: Microsoft may change the calls it uses, and does not support them in production']
      : []),
  ]
  const list = facts.map((fact) => `- ${fact}`).join('\n')
  const example = ['```yaml', exampleStep(definition), '```'].join('\n')
  return `### ${name}\n\n${description}\n\n${takes}\n\n${gives}\n\n${list}\n\n${example}`
}

const takesRow = ({ name, type, isRequired, default: value, about }: ReferenceField): string[] => [
  `\`${name}\``,
  type,
  isRequired ? '**required**' : (value ?? ''),
  about,
]

const givesRow = ({ name, type, about }: ReferenceField): string[] => [`\`${name}\``, type, about]
