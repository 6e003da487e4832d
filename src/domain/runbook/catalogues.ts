// Compares a runbook with the announced functions of workers. An unknown function or parameter is a warning, not an error: a
// worker that has it may not be running yet.
import { z } from 'zod'
import { hintFor } from '../spelling.ts'
import { nodeAt, type Outline, type StepOutline, scalarAt, textAt } from './outline.ts'
import type { Findings } from './problems.ts'
import type { MapNode } from './tree.ts'

/** One worker's announcement; `functions` is null for a known worker that never announces itself. */
export interface FunctionCatalogue {
  readonly workerId: string
  readonly functions: readonly AnnouncedFunction[] | null
}

export interface AnnouncedFunction {
  readonly name: string
  /** The announced JSON Schema, not trusted. */
  readonly parameters: unknown
}

/** The part of a schema that lists the parameters. */
const SCHEMA = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
  additionalProperties: z.unknown(),
})

/** Adds a warning for every step that no known worker can run. */
export function checkCatalogues(
  outline: Outline,
  findings: Findings,
  catalogues: readonly FunctionCatalogue[],
): void {
  const steps = [
    ...outline.init,
    ...outline.phases.flatMap((phase) => phase.steps),
    ...outline.removal,
    ...outline.rollbacks.flatMap((rollback) => rollback.steps),
  ]
  for (const step of steps) checkStep(step, findings, catalogues)
}

const isSameName = (one: string, other: string): boolean =>
  one.toLowerCase() === other.toLowerCase()

function checkStep(
  { node, path }: StepOutline,
  findings: Findings,
  catalogues: readonly FunctionCatalogue[],
): void {
  const functionName = textAt(node, 'function')
  const workerId = textAt(node, 'worker_id')
  if (functionName === null || workerId === null || functionName.includes('{{')) return
  const own = catalogues.find((catalogue) => isSameName(catalogue.workerId, workerId))
  const candidates = own ? [own] : catalogues
  // No worker, or one that never announces its functions.
  if (candidates.length === 0 || candidates.some(({ functions }) => functions === null)) return
  const known = candidates.flatMap(({ functions }) => functions ?? [])
  const found = known.filter(({ name }) => isSameName(name, functionName))
  if (found.length === 0) {
    findings.add('UNKNOWN_FUNCTION', scalarAt(node, 'function')!, `${path}.function`, () => ({
      worker: own ? `The worker "${own.workerId}"` : 'A known worker',
      function: functionName,
      hint: hintFor(functionName, [...new Set(known.map(({ name }) => name))], 'It has'),
    }))
    return
  }
  // If several workers have it, one that takes these parameters is enough.
  const misfits = found.map(({ parameters }) => misfitsOf(node, parameters))
  if (misfits.some((list) => list.length === 0)) return
  for (const misfit of misfits[0]!) addMisfit(misfit, node, path, functionName, findings)
}

type Misfit = { readonly unknown: string; readonly known: string[] } | { readonly missing: string }

function misfitsOf(node: MapNode, parameters: unknown): Misfit[] {
  const { data: schema } = SCHEMA.safeParse(parameters)
  const params = nodeAt(node, 'params')
  if (!schema || (params && params.kind !== 'map')) return []
  const known = Object.keys(schema.properties)
  const given = [...(params?.entries.keys() ?? [])]
  const isOpen = schema.additionalProperties !== false
  const unknown = given.filter((name) => !isOpen && !known.some((one) => isSameName(one, name)))
  const missing = schema.required.filter((name) => !given.some((one) => isSameName(one, name)))
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
): void {
  if ('missing' in misfit) {
    const details = { function: functionName, name: misfit.missing }
    const at = scalarAt(node, 'function')!
    return findings.add('MISSING_PARAMETER', at, `${path}.params`, details)
  }
  const params = nodeAt(node, 'params') as MapNode
  const { keySpan } = params.entries.get(misfit.unknown)!
  findings.add('UNKNOWN_PARAMETER', keySpan, `${path}.params.${misfit.unknown}`, () => ({
    function: functionName,
    name: misfit.unknown,
    hint: hintFor(misfit.unknown, misfit.known, 'It takes'),
  }))
}
