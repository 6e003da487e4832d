// What if: a change that is rehearsed before anybody makes it. More or fewer slots, fewer people, or faults.

import { countText } from '../../base/text/count-text.ts'
import { hintFor } from '../../base/text/spelling.ts'
import type { Runbook } from '../runbook/model.ts'
import { stepsOf } from '../runbook/steps.ts'
import { foldKey, spellingOf } from '../state/member-key.ts'

export interface WhatIf {
  /** Of every worker; null: as they are. */
  readonly slots: number | null
  /** Of single workers. */
  readonly workerSlots: Readonly<Record<string, number>>
  /** Only so many, the first of the batch; null: all who are left. */
  readonly people: number | null
  /** Keys of people who stay out. */
  readonly without: readonly string[]
  readonly faults: readonly string[]
}

/** Slots of all processes of a worker. */
export const WHAT_IF_SLOTS_MAX = 512
/** Of a worker that never announced itself. */
export const SLOTS_ASSUMED = 32

/** The workers of all its steps. */
export const runbookWorkers = (runbook: Runbook): string[] => [
  ...new Set(stepsOf(runbook).map(({ workerId }) => workerId)),
]

/** Slots of the runbook's workers, as they announced them, and what is taken for granted about others. */
export function slotsAsTheyAre(
  runbook: Runbook,
  announced: readonly { readonly workerId: string; readonly slots: number | null }[],
): { workerSlots: Record<string, number>; assumed: string[] } {
  const known = new Map(announced.map(({ workerId, slots }) => [workerId, slots]))
  const workers = runbookWorkers(runbook)
  const slotsOf = (worker: string) => known.get(spellingOf(worker, [...known.keys()]) ?? worker)
  return {
    workerSlots: Object.fromEntries(
      workers.map((worker) => [worker, slotsOf(worker) || SLOTS_ASSUMED]),
    ),
    assumed: workers
      .filter((worker) => !slotsOf(worker))
      .map((worker) => `Worker ${worker} has announced no slots. ${SLOTS_ASSUMED} are assumed.`),
  }
}

/** What is changed: the workers of the runbook with their slots, and the keys of the people who are left. */
export interface WhatIfGround {
  readonly workerSlots: Readonly<Record<string, number>>
  readonly keys: readonly string[]
}

/** Why the change cannot be rehearsed; null if it can. Only a comparison needs one. */
export function whatIfProblem(
  { slots, workerSlots, people, without, faults }: WhatIf,
  ground: WhatIfGround,
  isCompared: boolean,
): string | null {
  const workers = Object.keys(ground.workerSlots)
  const stranger = Object.keys(workerSlots).find((name) => !spellingOf(name, workers))
  if (stranger !== undefined)
    return `the runbook has no worker "${stranger}". ${hintFor(stranger, workers, 'Its workers are')}`
  const left = ground.keys.length
  if (people !== null && people >= left)
    return `${countText(people, 'person', 'people')} are not fewer than the ${left} who are left`
  const keys = new Set(ground.keys.map(foldKey))
  const unknown = without.find((key) => !keys.has(foldKey(key)))
  if (unknown !== undefined) return `"${unknown}" is not among the ${left} people who are left`
  if (keptKeys({ people, without }, ground.keys).length === 0) return 'no one would be left'
  const hasWorkers = Object.keys(workerSlots).length > 0
  if (!isCompared) return hasWorkers ? 'slots of single workers need a comparison' : null
  const isChange =
    slots !== null || people !== null || without.length > 0 || faults.length > 0 || stranger
  return isChange || hasWorkers ? null : 'nothing would change'
}

/** Who is rehearsed, in the order of the batch. */
export function keptKeys(
  { people, without }: Pick<WhatIf, 'people' | 'without'>,
  keys: readonly string[],
): string[] {
  const out = new Set(without.map(foldKey))
  const kept = keys.filter((key) => !out.has(foldKey(key)))
  return people === null ? kept : kept.slice(0, people)
}

/** Slots by worker with the change. */
export function changedSlots(
  { slots, workerSlots }: Pick<WhatIf, 'slots' | 'workerSlots'>,
  asTheyAre: WhatIfGround['workerSlots'],
): Record<string, number> {
  const workers = Object.keys(asTheyAre)
  const every = workers.map((name) => [name, slots ?? asTheyAre[name]!] as const)
  const single = Object.entries(workerSlots).map(
    ([name, count]) => [spellingOf(name, workers) ?? name, count] as const,
  )
  return Object.fromEntries([...every, ...single])
}

/** `With 16 slots of contoso-worker and 300 of 500 people`. */
export function whatIfText(
  { slots, workerSlots, people, without, faults }: WhatIf,
  { keys }: Pick<WhatIfGround, 'keys'>,
): string {
  const kept = keptKeys({ people, without }, keys).length
  const parts = [
    ...(slots === null ? [] : [`${countText(slots, 'slot')} a worker`]),
    ...Object.entries(workerSlots).map(([name, count]) => `${countText(count, 'slot')} of ${name}`),
    ...(kept === keys.length ? [] : [`${kept} of ${countText(keys.length, 'person', 'people')}`]),
    ...(faults.length === 0 ? [] : [`the faults ${faults.join(', ')}`]),
  ]
  return `With ${parts.join(' and ')}`
}
