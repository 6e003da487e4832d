// What comes next for one member: the step that it is at, then the rest of the runbook with the times of the phases.
import type { Phase } from '../state/facts.ts'
import { isOpen, type StepStatus } from '../state/transitions.ts'

export interface NextStep {
  readonly phaseName: string
  readonly stepName: string
  /** When it starts or is tried again; null when it follows the one before. */
  readonly at: Date | null
}

export interface NextFacts {
  /** In order of time. */
  readonly phases: readonly Pick<Phase, 'name' | 'status' | 'dueAt' | 'id'>[]
  /** The names of a phase's steps, in order. */
  readonly stepsOf: (phaseName: string) => readonly string[]
  /** The member's steps in phases. */
  readonly steps: readonly {
    readonly phaseExecutionId: number | null
    readonly stepName: string
    readonly status: StepStatus
    readonly wakeAt: Date | null
  }[]
}

/** For a member in progress; at most `limit`. */
export function nextSteps({ phases, stepsOf, steps }: NextFacts, limit: number): NextStep[] {
  const found: NextStep[] = []
  for (const { id, name, status, dueAt } of phases) {
    if (status !== 'pending' && status !== 'dispatched') continue
    const own = new Map(
      steps
        .filter(({ phaseExecutionId }) => phaseExecutionId === id)
        .map((step) => [step.stepName.toLowerCase(), step]),
    )
    let isFirst = status === 'pending'
    for (const stepName of stepsOf(name)) {
      const step = own.get(stepName.toLowerCase())
      if (step && !isOpen(step.status)) continue
      if (found.length === limit) return found
      found.push({ phaseName: name, stepName, at: isFirst ? dueAt : (step?.wakeAt ?? null) })
      isFirst = false
    }
  }
  return found
}
