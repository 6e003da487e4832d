// What a runbook asks of workers, against what they say they can do. Workers announce their functions with the schemas of the
// parameters; a function or a parameter that is in no catalogue is a warning and not an error, because a worker that has it may
// not have been started yet.
import { z } from 'zod'
import { hintFor } from '../spelling.ts'
import { nodeAt, type Outline, type StepOutline, scalarAt, textAt } from './outline.ts'
import type { Findings } from './problems.ts'
import type { MapNode } from './tree.ts'

/** What one worker announced; `functions` is null for a worker that is known and never announces itself. */
export interface FunctionCatalogue {
  readonly workerId: string
  readonly functions: readonly AnnouncedFunction[] | null
}

export interface AnnouncedFunction {
  readonly name: string
  /** As in the announcement: a JSON Schema, which is looked at with care. */
  readonly parameters: unknown
}

/** The part of a schema that says which parameters there are. */
const SCHEMA = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
  additionalProperties: z.unknown(),
})

/** Adds a warning for every step that asks for what no known worker has. */
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

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

function checkStep(
  { node, path }: StepOutline,
  findings: Findings,
  catalogues: readonly FunctionCatalogue[],
): void {
  const wanted = textAt(node, 'function')
  const workerId = textAt(node, 'worker_id')
  if (wanted === null || workerId === null || wanted.includes('{{')) return
  const own = catalogues.find((one) => same(one.workerId, workerId))
  const asked = own ? [own] : catalogues
  // Nobody to ask, or somebody who does not tell.
  if (asked.length === 0 || asked.some(({ functions }) => functions === null)) return
  const known = asked.flatMap(({ functions }) => functions ?? [])
  const found = known.filter(({ name }) => same(name, wanted))
  if (found.length === 0) {
    findings.add('UNKNOWN_FUNCTION', scalarAt(node, 'function')!, `${path}.function`, () => ({
      worker: own ? `The worker "${own.workerId}"` : 'A known worker',
      function: wanted,
      hint: hintFor(wanted, [...new Set(known.map(({ name }) => name))], 'It has'),
    }))
    return
  }
  // Where several workers have it, one that takes these parameters is enough.
  const misfits = found.map(({ parameters }) => misfitsOf(node, parameters))
  if (misfits.some((list) => list.length === 0)) return
  for (const misfit of misfits[0]!) addMisfit(misfit, node, path, wanted, findings)
}

type Misfit = { readonly unknown: string; readonly known: string[] } | { readonly missing: string }

function misfitsOf(node: MapNode, parameters: unknown): Misfit[] {
  const { data: schema } = SCHEMA.safeParse(parameters)
  const params = nodeAt(node, 'params')
  if (!schema || (params && params.kind !== 'map')) return []
  const known = Object.keys(schema.properties)
  const given = [...(params?.entries.keys() ?? [])]
  const isOpen = schema.additionalProperties !== false
  const unknown = given.filter((name) => !isOpen && !known.some((one) => same(one, name)))
  const missing = schema.required.filter((name) => !given.some((one) => same(one, name)))
  return [
    ...unknown.map((name) => ({ unknown: name, known })),
    ...missing.map((name) => ({ missing: name })),
  ]
}

function addMisfit(
  misfit: Misfit,
  node: MapNode,
  path: string,
  wanted: string,
  findings: Findings,
): void {
  if ('missing' in misfit) {
    const details = { function: wanted, name: misfit.missing }
    const at = scalarAt(node, 'function')!
    return findings.add('MISSING_PARAMETER', at, `${path}.params`, details)
  }
  const params = nodeAt(node, 'params') as MapNode
  const { keySpan } = params.entries.get(misfit.unknown)!
  findings.add('UNKNOWN_PARAMETER', keySpan, `${path}.params.${misfit.unknown}`, () => ({
    function: wanted,
    name: misfit.unknown,
    hint: hintFor(misfit.unknown, misfit.known, 'It takes'),
  }))
}
