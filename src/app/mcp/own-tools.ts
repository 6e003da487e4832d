// Tools that compute here instead of asking an endpoint: they check and plan a runbook and explain an error, with at most GET requests.

import type { ApiRole } from '../../api/sign-in/sign-in.ts'
import { ERRORS, MatoolkitError } from '../../base/errors/errors.ts'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { remedyText } from '../../domain/needs/remedy.ts'
import { planRun } from '../../domain/plan/run-plan.ts'
import { factsFrom } from '../../domain/runbook/function-facts.ts'
import { type FunctionCatalogue, readRunbook } from '../../domain/runbook/read.ts'
import { madeUpMember, sampleMemberOf } from '../../domain/runbook/sample-member.ts'
import { meaningOf } from '../../m365/meanings/meaning-of.ts'
import type { ReadApi, Tool } from './tools.ts'

const YAML_CHARS_MAX = 1_000_000
const MESSAGE_CHARS_MAX = 4_000

const text = (description: string, maxLength: number): JsonObject => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
})
const YAML = text('The text of the runbook (YAML).', YAML_CHARS_MAX)

const inputOf = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required: [...required],
  additionalProperties: false,
})

const validate: Tool = {
  name: 'validate_runbook',
  description:
    'Check the text of a runbook: every error and warning with line and column. Nothing is published.',
  input: inputOf({ yaml: YAML }, ['yaml']),
  isPaged: false,
  run: async ({ yaml }, read) => {
    const catalogues = await loadCatalogues(read)
    const found = readRunbook(String(yaml), { catalogues, isLinted: true })
    return { isValid: found.runbook !== null, problems: found.problems as unknown as Json }
  },
}

/** Functions of every worker, page by page. */
async function loadCatalogues(read: ReadApi): Promise<FunctionCatalogue[]> {
  const all: FunctionCatalogue[] = []
  let cursor: string | null = null
  do {
    const page = (await read('/api/catalogues', { query: { cursor } })) as {
      readonly catalogues: readonly FunctionCatalogue[]
      readonly next: string | null
    } & Json
    all.push(...page.catalogues)
    cursor = page.next
  } while (cursor !== null)
  return all
}

const planFor = (now: () => Date): Tool => ({
  name: 'plan_runbook',
  description:
    'Plan a run of a runbook: phases with times, steps with parameters for a made-up person. Give the name of a published runbook or a text.',
  input: inputOf({
    name: text('The name of a published runbook.', 63),
    yaml: YAML,
    startTime: {
      type: 'string',
      format: 'date-time',
      description: 'The cut-over time, with its zone.',
    },
    member: { type: 'object', description: 'The columns of the made-up person.' },
  }),
  isPaged: false,
  run: async ({ name, yaml, startTime, member }, read) => {
    const { runbook, problems } = readRunbook(await textOf(name, yaml, read))
    if (runbook === null) return { isValid: false, problems: problems as unknown as Json }
    const who = member
      ? madeUpMember(runbook, member as Record<string, Json>)
      : sampleMemberOf(runbook)
    const start = startTime === undefined ? null : new Date(String(startTime))
    const nobody = { batchId: null, batchOutputs: {} }
    const windows = runbook.windows ? [runbook.windows] : []
    const factsOf = factsFrom(await loadCatalogues(read))
    const facts = { runbook, startTime: start, now: now(), members: [who], windows, factsOf }
    const plan = planRun({ ...facts, ...nobody })
    return { runbookName: runbook.name, startTime: start, ...plan } as unknown as Json
  },
})

async function textOf(
  name: Json | undefined,
  yaml: Json | undefined,
  read: ReadApi,
): Promise<string> {
  if (typeof yaml === 'string') return yaml
  if (typeof name !== 'string') {
    throw new MatoolkitError('USAGE', { reason: 'Give "name" or "yaml".' })
  }
  const page = (await read('/api/runbooks/{name}', { params: { name } })) as JsonObject
  return String(page.yamlContent)
}

const explain: Tool = {
  name: 'explain_error',
  description:
    'Explain an error: a code of matoolkit, or the message of a failed step. Says what it means, who acts and what to do.',
  input: inputOf({ error: text('The code or the message.', MESSAGE_CHARS_MAX) }, ['error']),
  isPaged: false,
  run: async ({ error }) => {
    const code = String(error).trim().toUpperCase()
    const row = Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS] : null
    if (row) return { code, sentence: row.sentence, httpStatus: row.http, exitCode: row.exit }
    const meaning = meaningOf(String(error))
    if (!meaning)
      return { isKnown: false, advice: 'The message itself says all that is known here.' }
    return { ...meaning, remedy: remedyText(meaning, 'the operator') }
  },
}

/** The help desk reads no runbooks. */
export const ownTools = (now: () => Date, roles: readonly ApiRole[]): readonly Tool[] =>
  roles.some((role) => role !== 'HelpDesk') ? [validate, planFor(now), explain] : [explain]
