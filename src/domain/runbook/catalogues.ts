// The functions and parameters that steps name, against the catalogues: what the program brings along is always known, and workers
// announce theirs with the schemas of the parameters. An unknown function or parameter is a warning: its worker may not have
// started yet. A missing required parameter is an error: the job would be refused for every member.

import { z } from 'zod'
import { sameName } from '../../base/text/same-name.ts'
import { didYouMean, hintFor } from '../../base/text/spelling.ts'
import { SEND_MESSAGE } from '../member-messages/message-text.ts'
import type { FunctionFacts } from './function-facts.ts'
import {
  entriesAt,
  nodeAt,
  type Outline,
  outlinedSteps,
  type StepOutline,
  scalarAt,
  textAt,
} from './outline.ts'
import type { Findings } from './problems.ts'
import type { MapNode } from './tree.ts'

/**
 * What one worker announced; `functions` is null for a worker that is known and never announces itself. Without a worker's id it is what
 * the program brings along: every worker of this program has it.
 */
export interface FunctionCatalogue {
  readonly workerId: string | null
  readonly functions: readonly AnnouncedFunction[] | null
}

export interface AnnouncedFunction {
  readonly name: string
  readonly description?: string | null | undefined
  /** The announced JSON Schema, not trusted. */
  readonly parameters: unknown
  /** Missing from a worker of an earlier program. */
  readonly facts?: FunctionFacts | null | undefined
}

/** The part of a schema that lists the parameters. */
const SCHEMA = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
  additionalProperties: z.unknown(),
})

export interface CatalogueOptions {
  /** Of the program and of the workers that announced themselves. */
  readonly catalogues: readonly FunctionCatalogue[]
  /** A missing parameter is a warning instead of an error. */
  readonly allowMissingParameters?: boolean
}

/** Adds a problem for every step whose function or parameters no catalogue has. */
export function checkCatalogues(
  outline: Outline,
  findings: Findings,
  options: CatalogueOptions,
): void {
  for (const step of outlinedSteps(outline)) checkStep(step, findings, options)
}

function checkStep(
  { node, path }: StepOutline,
  findings: Findings,
  { catalogues, allowMissingParameters = false }: CatalogueOptions,
): void {
  const notify = node.entries.get('notify')
  const functionName = notify ? SEND_MESSAGE : textAt(node, 'function')
  const workerId = textAt(node, 'worker_id')
  if (functionName === null || workerId === null || functionName.includes('{{')) return
  const own = catalogues.find((one) => one.workerId !== null && sameName(one.workerId, workerId))
  // A worker that never announces itself may have any function.
  if (own?.functions === null) return
  const known = own?.functions ?? catalogues.flatMap(({ functions }) => functions ?? [])
  const found = known.filter(({ name }) => sameName(name, functionName))
  if (own && found.some((one) => isClash(one, catalogues))) {
    const key = notify ? 'notify' : 'function'
    const at = notify?.keySpan ?? scalarAt(node, 'function')!
    const details = { worker: own.workerId!, function: functionName }
    return findings.add('FUNCTION_NAME_TAKEN', at, `${path}.${key}`, details)
  }
  if (found.length === 0) {
    const at = notify?.keySpan ?? scalarAt(node, 'function')!
    findings.add('UNKNOWN_FUNCTION', at, `${path}.${notify ? 'notify' : 'function'}`, () => ({
      worker: own ? `Worker "${own.workerId}"` : 'No known worker',
      has: own ? 'has no' : 'has the',
      function: functionName,
      hint: own
        ? hintFor(functionName, namesOf(known), 'It has')
        : didYouMean(functionName, namesOf(known)) ||
          'Check the name, or start a worker that has it.',
    }))
    return
  }
  // Its parameters come from the message.
  if (notify) return
  checkOutputs(node, path, found, findings)
  // If several workers have it, one that takes these parameters is enough.
  const misfits = found.map(({ parameters }) => misfitsOf(node, parameters))
  if (misfits.some((list) => list.length === 0)) return
  const missing = allowMissingParameters ? 'MISSING_PARAMETER_ALLOWED' : 'MISSING_PARAMETER'
  for (const misfit of misfits[0]!) addMisfit(misfit, node, path, functionName, findings, missing)
}

/** A custom function that does not say that it is meant to run instead of the built-in one of its name. */
export const isClash = (
  { name, facts }: AnnouncedFunction,
  catalogues: readonly FunctionCatalogue[],
): boolean =>
  facts?.isCustom === true &&
  facts.overrides !== true &&
  catalogues.some(
    ({ workerId, functions }) =>
      workerId === null && functions?.some((builtIn) => sameName(builtIn.name, name)),
  )

/** A field that the function never returns: the step would succeed, and the next one lack its variable. */
function checkOutputs(
  node: MapNode,
  path: string,
  found: readonly AnnouncedFunction[],
  findings: Findings,
): void {
  const returned = found.map(({ facts }) => facts?.returns)
  // If several workers have the function, one that returns the field is enough.
  if (returned.includes(undefined)) return
  const fields = [...new Set(returned.flatMap((names) => names!))]
  for (const { key, value } of entriesAt(node, 'output_params')) {
    if (value.kind !== 'scalar' || typeof value.value !== 'string') continue
    const field = value.value
    if (fields.some((name) => sameName(name, field))) continue
    findings.add('UNKNOWN_OUTPUT', value, `${path}.output_params.${key}`, () => ({
      function: found[0]!.name,
      field,
      hint: fields.length > 0 ? hintFor(field, fields, 'It returns') : 'It returns no fields.',
    }))
  }
}

const namesOf = (functions: readonly AnnouncedFunction[]): string[] => [
  ...new Set(functions.map(({ name }) => name)),
]

type Misfit = { readonly unknown: string; readonly known: string[] } | { readonly missing: string }

function misfitsOf(node: MapNode, parameters: unknown): Misfit[] {
  const { data: schema } = SCHEMA.safeParse(parameters)
  const params = nodeAt(node, 'params')
  if (!schema || (params && params.kind !== 'map')) return []
  const known = Object.keys(schema.properties)
  const given = [...(params?.entries.keys() ?? [])]
  const isOpen = schema.additionalProperties !== false
  const unknown = given.filter((name) => !isOpen && !known.some((one) => sameName(one, name)))
  const missing = schema.required.filter((name) => !given.some((one) => sameName(one, name)))
  return [
    ...unknown.map((name) => ({ unknown: name, known })),
    ...missing.map((name) => ({ missing: name })),
  ]
}

function addMisfit(
  misfit: Misfit,
  node: MapNode,
  path: string,
  functionName: string,
  findings: Findings,
  missing: 'MISSING_PARAMETER' | 'MISSING_PARAMETER_ALLOWED',
): void {
  if ('missing' in misfit) {
    const details = { function: functionName, name: misfit.missing }
    const at = scalarAt(node, 'function')!
    return findings.add(missing, at, `${path}.params`, details)
  }
  const params = nodeAt(node, 'params') as MapNode
  const { keySpan } = params.entries.get(misfit.unknown)!
  findings.add('UNKNOWN_PARAMETER', keySpan, `${path}.params.${misfit.unknown}`, () => ({
    function: functionName,
    name: misfit.unknown,
    hint: hintFor(misfit.unknown, misfit.known, 'It takes'),
  }))
}
