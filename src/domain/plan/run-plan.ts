// The plan of a run: each phase with its time, each step with its templates resolved for some members. Outputs of earlier steps are not
// known yet and appear as `<name from step>`; variables that nothing provides are listed as missing. Inserted values are cut: one long
// value in many templates would make hundreds of megabytes.

import type { Json } from '../../base/text/json.ts'
import { unmetCondition, whenText } from '../runbook/conditions.ts'
import { type FactsOf, noReturnSteps } from '../runbook/function-facts.ts'
import type { Gate, Ramp, Runbook, RunbookPhase, RunbookStep } from '../runbook/model.ts'
import { inOrder } from '../runbook/steps.ts'
import {
  insertedText,
  peopleNameIn,
  resolveTemplates,
  type Scope,
  scopeOf,
} from '../runbook/template.ts'
import type { ChangeWindows } from '../windows/change-windows.ts'
import { type PhaseWindow, phaseWindow } from '../windows/phase-window.ts'

const VALUE_CHARS_MAX = 2_000
const INSERTED_CHARS_MAX = 1_000_000
/** The limit of batch_members. */
const KEY_CHARS_MAX = 512
const CUT = '…'

export interface SampleMember {
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
  /** Outputs so far, in an unfinished batch. */
  readonly outputs: Readonly<Record<string, Json>>
}

export interface PlanFacts {
  readonly runbook: Runbook
  /** Null when it is not known yet: then no phase has a time. */
  readonly startTime: Date | null
  readonly batchId: number | null
  /** Outputs of init so far. */
  readonly batchOutputs: Readonly<Record<string, Json>>
  readonly members: readonly SampleMember[]
  /** They must all be open: the system's, where it is known, and the runbook's. */
  readonly windows: readonly ChangeWindows[]
  /** Of an existing batch. */
  readonly windowOverrideUntil?: Date | null
  readonly now: Date
  /** What functions declare. */
  readonly factsOf: FactsOf
}

export interface Example {
  readonly memberKey: string | null
  readonly functionName: string
  readonly params: Json
  /** Why the step is left out, as far as it is known now. */
  readonly leftOut: string | null
  /** Variables that nothing provides: the step would fail. */
  readonly missing: readonly string[]
}

export interface PlannedStep {
  readonly name: string
  readonly workerId: string
  readonly timeoutSec: number
  readonly maxRetries: number
  readonly isPolled: boolean
  readonly onFailure: string | null
  /** Null: it runs for everybody. */
  readonly when: string | null
  readonly puts: readonly string[]
  /** The worker has a function of its own instead of the built-in one. */
  readonly isOwnFunction: boolean
  readonly examples: readonly Example[]
}

export interface PlannedPhase {
  readonly name: string
  readonly offsetMinutes: number
  readonly dueAt: Date | null
  /** Its time has passed: it would start at once. */
  readonly isOverdue: boolean
  readonly gate: Gate | null
  readonly ramp: Ramp | null
  /** Null without windows, without a time, and for a phase that only reads. */
  readonly window: PhaseWindow | null
  /** Names of its steps after which nothing can be taken back. */
  readonly noReturnSteps: readonly string[]
  readonly steps: readonly PlannedStep[]
}

export interface RunPlan {
  readonly init: readonly PlannedStep[]
  /** In the order of their times. */
  readonly phases: readonly PlannedPhase[]
  readonly onRemoval: readonly PlannedStep[]
  /** What the examples leave out. */
  readonly warnings: readonly string[]
}

type Known = Readonly<Record<string, Json>>

export function planRun(facts: PlanFacts): RunPlan {
  const { runbook } = facts
  const promised: Record<string, Json> = {}
  const inserted = new InsertedText()
  const plan = (step: RunbookStep, members: readonly SampleMember[]) =>
    planStep({ ...facts, inserted }, step, members, promised)
  const init = runbook.init.map((step) => plan(step, []))
  const phases = inOrder(runbook.phases).map((phase) => ({
    ...planStart(facts, phase),
    steps: phase.steps.map((step) => plan(step, facts.members)),
  }))
  const onRemoval = runbook.onMemberRemoved.map((step) => plan(step, facts.members))
  return { init, phases, onRemoval, warnings: inserted.warnings() }
}

/** What is known of a phase before its steps. */
function planStart(facts: PlanFacts, phase: RunbookPhase): Omit<PlannedPhase, 'steps'> {
  const { startTime, now, windows, windowOverrideUntil = null, factsOf } = facts
  const { name, offsetMinutes, gate, ramp } = phase
  const dueAt = startTime && new Date(+startTime - offsetMinutes * 60_000)
  const isOverdue = dueAt !== null && dueAt <= now
  const at = isOverdue ? now : dueAt
  return {
    name,
    offsetMinutes,
    dueAt,
    isOverdue,
    gate,
    ramp,
    window: phaseWindow(phase, factsOf, { windows, overrideUntil: windowOverrideUntil, at }),
    noReturnSteps: noReturnSteps(phase.steps, factsOf),
  }
}

/** Cuts long values, and all values after the first million characters. */
class InsertedText {
  readonly #texts = new WeakMap<object, string>()
  #charsLeft = INSERTED_CHARS_MAX
  #hasLongValues = false

  cutting(scope: Scope): Scope {
    return {
      lookup: (name) => {
        const value = scope.lookup(name)
        return value === undefined ? undefined : this.#cut(value)
      },
      names: () => scope.names(),
    }
  }

  #cut(value: Json): Json {
    const text = this.#textOf(value)
    const isLong = text.length > VALUE_CHARS_MAX
    this.#hasLongValues ||= isLong
    this.#charsLeft -= Math.min(text.length, VALUE_CHARS_MAX)
    if (this.#charsLeft < 0) return CUT
    return isLong ? text.slice(0, VALUE_CHARS_MAX) + CUT : value
  }

  #textOf(value: Json): string {
    if (typeof value !== 'object' || value === null) return String(value)
    const known = this.#texts.get(value) ?? JSON.stringify(value)
    this.#texts.set(value, known)
    return known
  }

  warnings(): string[] {
    const long = `Values of more than ${VALUE_CHARS_MAX} characters are cut in the examples.`
    const many = `The examples insert more than ${INSERTED_CHARS_MAX} characters; later values are shown as "${CUT}".`
    return [...(this.#hasLongValues ? [long] : []), ...(this.#charsLeft < 0 ? [many] : [])]
  }
}

type StepFacts = PlanFacts & { readonly inserted: InsertedText }

/** A step with an example per member; its outputs are promised to all later steps. */
function planStep(
  facts: StepFacts,
  step: RunbookStep,
  members: readonly SampleMember[],
  promised: Record<string, Json>,
): PlannedStep {
  const { name, workerId, timeoutSec, retry, poll, onFailure, outputParams } = step
  const owners = members.length > 0 ? members : [null]
  const examples = owners.map((member) => exampleOf(facts, step, member, promised))
  const puts = Object.keys(outputParams)
  for (const variable of puts) promised[variable] = `<${variable} from ${name}>`
  return {
    name,
    workerId,
    timeoutSec,
    maxRetries: retry?.maxRetries ?? 0,
    isPolled: poll !== null,
    onFailure,
    when: step.when.length === 0 ? null : whenText(step.when),
    puts,
    isOwnFunction: examples.some(
      ({ functionName }) => facts.factsOf(workerId, functionName)?.overrides === true,
    ),
    examples,
  }
}

function exampleOf(
  { startTime, batchId, batchOutputs, inserted }: StepFacts,
  { function: functionName, params, when }: RunbookStep,
  member: SampleMember | null,
  promised: Known,
): Example {
  const special = {
    _batch_id: batchId ?? '<id of the batch>',
    _batch_start_time: startTime?.toISOString() ?? '<start of the batch>',
  }
  const layers = [special, member?.outputs ?? {}, batchOutputs, promised, member?.data ?? {}]
  const call = { functionName, params }
  const resolved = resolveTemplates(call, inserted.cutting(withPeopleNamed(scopeOf(layers))))
  const missing = resolved.ok ? [] : resolved.missing.map(({ name }) => name)
  const value = (resolved.ok ? resolved.value : call) as { functionName: string; params: Json }
  const known = scopeOf([special, member?.outputs ?? {}, batchOutputs, member?.data ?? {}])
  const decided = when.filter(({ variable }) => !peopleNameIn(variable) && !(variable in promised))
  const leftOut = member === null ? null : unmetCondition(decided, known)
  return {
    memberKey: member?.key.slice(0, KEY_CHARS_MAX) ?? null,
    ...value,
    leftOut,
    missing: leftOut === null ? missing : [],
  }
}

/** Who is found is known only when the step is sent: the plan says who is looked up. */
const withPeopleNamed = (scope: Scope): Scope => ({
  names: () => scope.names(),
  lookup(name) {
    const people = peopleNameIn(name)
    if (!people) return scope.lookup(name)
    const known = scope.lookup(people.variable)
    if (known === undefined) return undefined
    return people.kind === 'person'
      ? `<${people.variable}, looked up: ${insertedText(known)}>`
      : `<those whose ${people.variable} names this member>`
  },
})
