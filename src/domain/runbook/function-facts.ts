// What the engine and the migration rules may rely on about a function, in words that name no vendor. A package of functions declares its
// facts, a worker announces them with its catalogue, and nothing is assumed about a function that nobody declared.
import { z } from 'zod'
import type { FunctionCatalogue } from './catalogues.ts'

/** `reads` only looks, `tells` reaches a person and changes no tenant, `changes` may change it. */
const FUNCTION_EFFECTS = ['reads', 'tells', 'changes'] as const

const isTrue = z.literal(true).optional()

const predecessors = z.strictObject({
  functions: z.array(z.string()).readonly(),
  because: z.string().meta({ description: 'What happens otherwise, and what to do.' }),
  unless: z
    .strictObject({ parameter: z.string(), startsWith: z.string() })
    .optional()
    .meta({ description: 'A call whose parameter begins like this may come earlier.' }),
})

/** Where the counts are in a result: a list with an entry for each thing counted, and the names of its fields. */
const supplyCount = z.strictObject({
  noun: z.string().meta({ description: 'What people call it, in the plural: licences.' }),
  list: z.string(),
  id: z.string(),
  name: z.string(),
  free: z.string(),
  isHeld: z.string().meta({ description: 'Whether the member of the step has one.' }),
})
export type SupplyCount = z.infer<typeof supplyCount>

export const functionFacts = z
  .strictObject({
    effect: z.enum(FUNCTION_EFFECTS),
    isIdempotent: z.boolean(),
    undoneBy: z.array(z.string()).readonly().meta({ description: 'Functions that take it back.' }),
    isIrreversible: isTrue.meta({ description: 'What it does is lost for good.' }),
    removes: isTrue.meta({
      description: 'The object is gone afterwards, until a function of `undoneBy` restores it.',
    }),
    creates: isTrue.meta({
      description: 'It makes an object: running it again finds what a failed run made.',
    }),
    isMomentary: isTrue.meta({
      description: 'It leaves nothing that a later step could check or take back.',
    }),
    copy: z.enum(['begins', 'discards']).optional().meta({
      description:
        'It begins to copy what a person has, which takes days, or throws the copy away.',
    }),
    people: z.array(z.string()).readonly().optional().meta({
      description:
        'Parameters that name other people: what a worker of another tenant read does not fit.',
    }),
    subject: z
      .string()
      .optional()
      .meta({ description: 'Checks see the changes of functions with the same subject.' }),
    countsSupply: supplyCount.optional().meta({
      description: 'Its result counts something that may run out: a gate adds it up.',
    }),
    comesAfter: predecessors.optional().meta({
      description: 'Functions that must come first on the same worker, if the runbook has them.',
    }),
    returns: z.array(z.string()).readonly().optional().meta({
      description: 'The fields of its result; missing where it may return any.',
    }),
    isCustom: isTrue.meta({ description: 'From the worker’s folder of custom functions.' }),
    overrides: isTrue.meta({
      description: 'It is meant to run instead of the built-in function of its name.',
    }),
  })
  .meta({ id: 'FunctionFacts' })
export type FunctionFacts = z.infer<typeof functionFacts>

/** What the owner of a function may say; the rest follows from how it is made. */
export const declaredFacts = functionFacts
  .omit({ isIdempotent: true, returns: true, isCustom: true, overrides: true })
  .partial()
export type DeclaredFacts = z.infer<typeof declaredFacts>

/** Null for a function that nobody declared, and for a template. */
export type FactsOf = (workerId: string, functionName: string) => FunctionFacts | null

/** Unknown counts as a change. */
export const mayChangeTenant = (facts: FunctionFacts | null): boolean =>
  facts === null || facts.effect === 'changes'

/**
 * A worker's own announcement counts first. A worker that announced no facts, such as one of an earlier program, has those that another
 * catalogue declares under the same name.
 */
export function factsFrom(catalogues: readonly FunctionCatalogue[]): FactsOf {
  const announced = new Map<string, FunctionFacts>()
  const byName = new Map<string, FunctionFacts>()
  for (const { workerId, functions } of catalogues) {
    for (const { name, facts } of functions ?? []) {
      if (!facts) continue
      if (workerId !== null) announced.set(keyOf(workerId, name), facts)
      else byName.set(name.toLowerCase(), facts)
    }
  }
  return (workerId, functionName) =>
    announced.get(keyOf(workerId, functionName)) ?? byName.get(functionName.toLowerCase()) ?? null
}

const keyOf = (workerId: string, name: string): string => `${workerId} ${name}`.toLowerCase()

/** Of a system without catalogues. */
export const NO_FACTS: FactsOf = () => null

interface NamedStep {
  readonly name: string
  readonly workerId: string
  readonly function: string
}

/** The steps after which nothing that came before can be taken back. An unknown function is not judged. */
export const noReturnSteps = (steps: readonly NamedStep[], factsOf: FactsOf): string[] =>
  steps
    .filter((step) => factsOf(step.workerId, step.function)?.isIrreversible)
    .map(({ name }) => name)
