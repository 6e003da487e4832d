// The steps of a runbook: which list a step is in, and all steps of a kind, in the order in which they run.
import { named } from '../../base/text/same-name.ts'
import type { StepKind } from '../state/facts.ts'
import type { Runbook, RunbookPhase, RunbookStep } from './model.ts'

/** Steps of an undo are made when it begins: no runbook has them. */
type ListKind = Exclude<StepKind, 'undo'>

export interface StepList {
  readonly kind: ListKind
  /** Of the phase or the rollback. */
  readonly name: string | null
  readonly steps: readonly RunbookStep[]
}

/** The first that is due comes first. */
export const inOrder = <T extends { readonly offsetMinutes: number }>(phases: readonly T[]): T[] =>
  phases.toSorted((a, b) => b.offsetMinutes - a.offsetMinutes)

/** All lists, as a batch comes to them. */
export const stepLists = ({
  init,
  phases,
  onMemberRemoved,
  rollbacks,
}: Pick<Runbook, 'init' | 'phases' | 'onMemberRemoved' | 'rollbacks'>): StepList[] => [
  { kind: 'init', name: null, steps: init },
  ...inOrder(phases).map(({ name, steps }) => ({ kind: 'phase' as const, name, steps })),
  { kind: 'removal', name: null, steps: onMemberRemoved },
  ...[...rollbacks].map(([name, steps]) => ({ kind: 'rollback' as const, name, steps })),
]

/** The steps of these kinds; of all without one. */
export const stepsOf = (runbook: Runbook, ...kinds: readonly ListKind[]): RunbookStep[] =>
  stepLists(runbook).flatMap(({ kind, steps }) =>
    kinds.length === 0 || kinds.includes(kind) ? steps : [],
  )

const conditional = new WeakMap<Runbook, boolean>()

/** Whether a step of the runbook may be left out. Kept: it is asked in every transaction. */
export function hasConditions(runbook: Runbook): boolean {
  const known = conditional.get(runbook)
  if (known !== undefined) return known
  const found = stepsOf(runbook).some(({ when }) => when.length > 0)
  conditional.set(runbook, found)
  return found
}

export const phaseNamed = (runbook: Runbook | undefined, name: string): RunbookPhase | undefined =>
  runbook && named(runbook.phases, name)

/** The list that a step is in; a phase and a rollback have a name. */
export function stepListOf(
  runbook: Runbook | undefined,
  kind: StepKind,
  name: string | null,
): readonly RunbookStep[] | undefined {
  switch (kind) {
    case 'init':
      return runbook?.init
    case 'phase':
      return name === null ? undefined : phaseNamed(runbook, name)?.steps
    case 'removal':
      return runbook?.onMemberRemoved
    case 'rollback':
      return name === null ? undefined : runbook?.rollbacks.get(name.toLowerCase())
    case 'undo':
      return undefined
  }
}
