// What a runbook will do, before it does it: each phase with its time, each step with its words put in for some members. What an
// earlier step will put out is not known yet and stands there as `<name from step>`; what nobody will provide is named as missing.
import type { Json } from './json.ts'
import type { Runbook, RunbookPhase, RunbookStep } from './runbook/model.ts'
import { resolveTemplates, scopeOf } from './template.ts'

export interface Person {
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
  /** What its steps have put out already, in a batch under way. */
  readonly outputs: Readonly<Record<string, Json>>
}

export interface PlanFacts {
  readonly runbook: Runbook
  /** Null when nobody knows it yet: then no phase has a time. */
  readonly startTime: Date | null
  readonly batchId: number | null
  /** What init has put out already. */
  readonly batchOutputs: Readonly<Record<string, Json>>
  readonly people: readonly Person[]
  readonly now: Date
}

export interface Example {
  readonly memberKey: string | null
  readonly functionName: string
  readonly params: Json
  /** Names that nobody provides: the step would fail for them. */
  readonly missing: readonly string[]
}

export interface PlannedStep {
  readonly name: string
  readonly workerId: string
  readonly timeoutSec: number
  readonly maxRetries: number
  readonly isPolled: boolean
  readonly onFailure: string | null
  readonly puts: readonly string[]
  readonly examples: readonly Example[]
}

export interface PlannedPhase {
  readonly name: string
  readonly offsetMinutes: number
  readonly dueAt: Date | null
  /** Its time has passed: it would begin at once. */
  readonly isOverdue: boolean
  readonly steps: readonly PlannedStep[]
}

export interface RunPlan {
  readonly init: readonly PlannedStep[]
  /** In the order of their times. */
  readonly phases: readonly PlannedPhase[]
  readonly onRemoval: readonly PlannedStep[]
}

type Known = Readonly<Record<string, Json>>

export function planRun(facts: PlanFacts): RunPlan {
  const { runbook, startTime, now } = facts
  const promised: Record<string, Json> = {}
  const tell = (step: RunbookStep, people: readonly Person[]) => told(facts, step, people, promised)
  const init = runbook.init.map((step) => tell(step, []))
  const phases = inOrder(runbook.phases).map(({ name, offsetMinutes, steps }) => {
    const dueAt = startTime && new Date(+startTime - offsetMinutes * 60_000)
    const isOverdue = dueAt !== null && dueAt <= now
    return {
      name,
      offsetMinutes,
      dueAt,
      isOverdue,
      steps: steps.map((step) => tell(step, facts.people)),
    }
  })
  return { init, phases, onRemoval: runbook.onMemberRemoved.map((one) => tell(one, facts.people)) }
}

const inOrder = (phases: readonly RunbookPhase[]): RunbookPhase[] =>
  phases.toSorted((a, b) => b.offsetMinutes - a.offsetMinutes)

/** A step's words for each person; what it puts out is promised to all later steps. */
function told(
  facts: PlanFacts,
  step: RunbookStep,
  people: readonly Person[],
  promised: Record<string, Json>,
): PlannedStep {
  const { name, workerId, timeoutSec, retry, poll, onFailure, outputParams } = step
  const whose = people.length > 0 ? people : [null]
  const examples = whose.map((person) => exampleOf(facts, step, person, promised))
  const puts = Object.keys(outputParams)
  for (const variable of puts) promised[variable] = `<${variable} from ${name}>`
  return {
    name,
    workerId,
    timeoutSec,
    maxRetries: retry?.maxRetries ?? 0,
    isPolled: poll !== null,
    onFailure,
    puts,
    examples,
  }
}

function exampleOf(
  { startTime, batchId, batchOutputs }: PlanFacts,
  { function: functionName, params }: RunbookStep,
  person: Person | null,
  promised: Known,
): Example {
  const special = {
    _batch_id: batchId ?? '<id of the batch>',
    _batch_start_time: startTime?.toISOString() ?? '<start of the batch>',
  }
  const layers = [special, person?.outputs ?? {}, batchOutputs, promised, person?.data ?? {}]
  const words = { functionName, params }
  const resolved = resolveTemplates(words, scopeOf(layers))
  const missing = resolved.ok ? [] : resolved.missing.map(({ name }) => name)
  const value = (resolved.ok ? resolved.value : words) as { functionName: string; params: Json }
  return { memberKey: person?.key ?? null, ...value, missing }
}
