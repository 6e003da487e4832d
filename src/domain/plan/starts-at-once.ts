// What a change would start immediately: phases whose time has come, and steps that waited for a resume. A person reads it before the
// change; the same facts refuse a start by mistake.
import { countText } from '../../base/text/count-text.ts'
import { OVERDUE_AFTER_SEC } from '../decide/version-upgrade.ts'
import type { Runbook } from '../runbook/read.ts'
import type { Batch, Phase } from '../state/facts.ts'
import { isBatchEnded } from '../state/transitions.ts'

export interface PhaseStart {
  /** Null for a batch that a dry run would create. */
  readonly batchId: number | null
  /** `init` for init steps that run again. */
  readonly phaseName: string
  /** Null for init. */
  readonly dueAt: Date | null
  readonly isOverdue: boolean
  /** Active members of the batch. */
  readonly people: number
  readonly stepNames: readonly string[]
  /** What must happen first; null when it starts at once. */
  readonly waitsFor: 'init' | 'resume' | null
}

/** A step that waits in a held batch and goes out when it resumes. */
export interface StepStart {
  readonly batchId: number
  /** Null for init, rollback and removal steps. */
  readonly phaseName: string | null
  readonly stepName: string
  /** 0 for init steps, which belong to the batch. */
  readonly people: number
}

export interface StartsAtOnce {
  readonly phases: readonly PhaseStart[]
  readonly steps: readonly StepStart[]
}

type BatchFacts = Pick<Batch, 'id' | 'status' | 'heldAt' | 'membersActive'>
type PhaseFacts = Pick<Phase, 'name' | 'status' | 'dueAt'> & {
  /** False: it waits at its gate. */
  readonly isApproved?: boolean
}

export const stepNamesIn = ({ phases }: Runbook): ((phaseName: string) => readonly string[]) => {
  const byName = new Map(
    phases.map(({ name, steps }) => [name.toLowerCase(), steps.map((step) => step.name)]),
  )
  return (phaseName) => byName.get(phaseName.toLowerCase()) ?? []
}

/** Pending phases whose time has come and that no gate stops, earliest first. */
const dueNow = <P extends PhaseFacts>(phases: readonly P[], now: Date): P[] =>
  phases
    .filter(
      ({ status, dueAt, isApproved }) =>
        status === 'pending' && dueAt !== null && dueAt <= now && isApproved !== false,
    )
    .sort((a, b) => +a.dueAt! - +b.dueAt!)

/** Without active members a phase is skipped, so nothing starts. */
export function phaseStarts(
  batch: BatchFacts,
  phases: readonly PhaseFacts[],
  stepNamesOf: (phaseName: string) => readonly string[],
  now: Date,
): PhaseStart[] {
  if (isBatchEnded(batch.status) || batch.membersActive === 0) return []
  return dueNow(phases, now).map(({ name, dueAt }) => ({
    batchId: batch.id,
    phaseName: name,
    dueAt,
    isOverdue: +now - +dueAt! > OVERDUE_AFTER_SEC * 1_000,
    people: batch.membersActive,
    stepNames: stepNamesOf(name),
    waitsFor: waitOf(batch),
  }))
}

/** Init steps that run again for a batch. */
export const initStart = (batch: BatchFacts, { init }: Runbook): PhaseStart => ({
  batchId: batch.id,
  phaseName: 'init',
  dueAt: null,
  isOverdue: false,
  people: batch.membersActive,
  stepNames: init.map(({ name }) => name),
  waitsFor: waitOf(batch),
})

function waitOf({ heldAt, status }: BatchFacts): PhaseStart['waitsFor'] {
  if (heldAt !== null) return 'resume'
  return status === 'active' ? null : 'init'
}

/** One line each, without a full stop. `showTime` writes a time for its reader. */
export const startTexts = (
  { phases, steps }: StartsAtOnce,
  showTime: (at: Date) => string,
): string[] => [
  ...phases.map((start) => phaseText(start, showTime)),
  ...steps.map(({ batchId, phaseName, stepName, people }) => {
    const of = phaseName === null ? '' : ` of phase ${phaseName}`
    return `Batch ${batchId}: step ${stepName}${of}, which waited for the resume, goes out${forPeople(people)}`
  }),
]

const WHEN = { init: 'starts after init', resume: 'starts when the batch resumes' } as const

function phaseText(
  { batchId, phaseName, dueAt, isOverdue, people, stepNames, waitsFor }: PhaseStart,
  showTime: (at: Date) => string,
): string {
  const due = dueAt === null ? '' : ` (${isOverdue ? 'overdue since' : 'due'} ${showTime(dueAt)})`
  const when = waitsFor === null ? 'starts at once' : WHEN[waitsFor]
  const what = phaseName === 'init' ? 'init' : `phase ${phaseName}`
  const where = batchId === null ? 'New batch' : `Batch ${batchId}`
  return `${where}: ${what}${due} ${when}${forPeople(people)}: ${stepNames.join(', ')}`
}

const forPeople = (people: number): string =>
  people === 0 ? '' : ` for ${countText(people, 'person', 'people')}`
