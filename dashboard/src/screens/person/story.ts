// A person's story in plain words, from what the API tells: where they are, why, what comes next. Instants stay ISO texts; the page
// shows them in the viewer's zone.

import type { Json } from '../../../../src/base/text/json.ts'
import { addressesIn } from '../../../../src/domain/state/member-addresses.ts'
import type { Answer } from '../../api/routes.ts'
import type { Effect } from '../../undo/change-words.ts'

export type Person = Answer<'GET /api/batches/{batchId}/members/{memberId}'>
export type PersonStep = Person['steps'][number]
export type Attempt = Person['attempts'][number]

const FAILED: readonly string[] = ['failed', 'poll_timeout']
export const isFailedStep = ({ status }: PersonStep): boolean => FAILED.includes(status)

/** The step whose failure the person has now; a rollback keeps the error of the step that it took back. */
export function failedStepOf({ state, steps }: Person): PersonStep | undefined {
  const failed = steps.filter(isFailedStep)
  if (state === 'rolled_back')
    return (
      steps.findLast(({ status, errorMessage }) => status === 'rolled_back' && errorMessage) ??
      failed.at(-1)
    )
  if (state === 'failed') return failed.findLast(({ kind }) => kind === 'phase') ?? failed.at(-1)
  return failed.findLast(({ kind }) => kind !== 'phase')
}

/** The step that is under way or waits. */
export const currentStepOf = ({ steps }: Person): PersonStep | undefined =>
  steps.find(({ waitsFor }) => waitsFor !== null)

export interface Headline {
  /** The status word. */
  readonly status: string
  readonly where: string
  readonly why: string | null
  readonly next: string
}

export function headlineOf(person: Person): Headline {
  const { state, where } = person
  switch (state) {
    case 'failed':
    case 'rolled_back':
    case 'taken_back':
      return failedHeadline(person)
    case 'scheduled':
    case 'preparing':
    case 'cutting_over':
    case 'cut_over':
      return progressHeadline(person)
    case 'done':
      return {
        status: 'done',
        where: `all steps are done; ${where}`,
        why: null,
        next: 'Nothing is left to do.',
      }
    case 'removed':
      return {
        status: 'removed',
        where,
        why: null,
        next: 'Nothing more happens for this person in this batch.',
      }
    case 'stopped':
      return {
        status: 'stopped',
        where: `not cut over: ${where}`,
        why: null,
        next: 'Nothing more happens in this batch. What was done stays.',
      }
  }
}

function failedHeadline(person: Person): Headline {
  const { member, where, doing } = person
  const undo = undoHeadline(person)
  if (undo) return undo
  const step = failedStepOf(person)
  const at = member.failedAt === null ? '' : ` since ${member.failedAt}`
  return {
    status: person.state,
    where: `${where}${doing === null ? at : ''}`,
    why: step?.errorMessage ? `The error: ${firstLine(step.errorMessage)}` : null,
    next: 'Nothing more happens for this person until the migration team acts.',
  }
}

/** An undo that is under way, has stopped or has ended, unless something else failed since. */
function undoHeadline(person: Person): Headline | null {
  const undo = person.steps.filter(({ kind }) => kind === 'undo')
  const current = undo.find(({ waitsFor }) => waitsFor !== null)
  const failed = undo.findLast(isFailedStep)
  const taken = undo.filter(({ status }) => status === 'succeeded').length
  const sofar = `${taken} of ${undo.length} changes are taken back`
  if (current)
    return {
      status: 'undoing',
      where: `the undo is under way: ${sofar}`,
      why: person.doing,
      next: 'The changes before it follow, one after the other.',
    }
  if (undo.length === 0 || lastEnd(undo) < lastEnd(person.steps.filter(isFailedPhaseStep)))
    return null
  if (failed)
    return {
      status: 'failed',
      where: `the undo stopped at step ${failed.stepName}: ${sofar}`,
      why: failed.errorMessage && `The error: ${firstLine(failed.errorMessage)}`,
      next: 'Look at the tenant. Then undo the rest again, or skip the failed step first.',
    }
  return {
    status: 'taken_back',
    where: 'taken back: what was changed for this person is undone',
    why: null,
    next: 'Nothing more happens for this person, and no action is needed. A retry takes them through again.',
  }
}

const isFailedPhaseStep = (step: PersonStep): boolean => step.kind === 'phase' && isFailedStep(step)
const lastEnd = (steps: readonly PersonStep[]): string =>
  steps.reduce(
    (last, { completedAt }) => (completedAt && completedAt > last ? completedAt : last),
    '',
  )

function progressHeadline(person: Person): Headline {
  const { held, where } = person
  const step = currentStepOf(person)
  const isHeld = held !== null || person.isHeld
  const place = step ? `${placeOf(step)}: ${where}` : where
  if (held && step?.waitsFor === 'job')
    return {
      status: 'held',
      where: place,
      why: `Held by ${held.by} since ${held.at}: ${held.reason}`,
      next: 'The job that runs now finishes. Nothing new starts until the hold ends.',
    }
  if (isHeld)
    return {
      status: 'held',
      where: step ? `on hold before ${placeOf(step)}: ${where}` : `on hold: ${where}`,
      why: held && `On hold since ${held.at}.`,
      next: 'Nothing new starts until the hold ends.',
    }
  return { status: person.state, where: place, why: whyOf(person, step), next: nextText(person) }
}

function whyOf({ steps }: Person, step: PersonStep | undefined): string | null {
  if (step?.waitsFor === 'retry' && step.errorMessage)
    return `The attempt before failed: ${firstLine(step.errorMessage)}`
  if (step?.pollSaid) return `The last answer was: ${step.pollSaid}`
  if (step !== undefined) return null
  const last = steps.findLast(({ kind }) => kind === 'phase')
  return last ? `All steps of phase ${last.phaseName} are done.` : 'Nothing was changed yet.'
}

/** The first thing to come with a time; `next` starts with the current step. */
function nextText(person: Person): string {
  const current = currentStepOf(person)
  const [then] = person.next.filter(
    ({ stepName, phaseName }) =>
      current === undefined || stepName !== current.stepName || phaseName !== current.phaseName,
  )
  if (then === undefined) return current ? 'This is the last step.' : 'Nothing is left to do.'
  const { phaseName, stepName, at } = then
  if (at !== null) return `Phase ${phaseName} starts at ${at} with step ${stepName}.`
  return phaseName === current?.phaseName
    ? `Step ${stepName} follows at once.`
    : `Phase ${phaseName} starts when it is advanced.`
}

const placeOf = ({ kind, phaseName, stepName }: PersonStep): string =>
  kind === 'phase' ? `phase ${phaseName}, step ${stepName}` : `${kind} step ${stepName}`

/** The steps that were the point of no return. */
export const noReturnIn = (effects: readonly Effect[] = []): ReadonlySet<number> =>
  new Set(effects.filter((one) => one.isPointOfNoReturn).map(({ stepId }) => stepId))

export const firstLine = (text: string): string => text.split('\n')[0]!

/** Steps in the order of the runbook, phase by phase; cleaning up comes last. */
export interface Chapter {
  readonly title: string
  readonly key: string
  readonly steps: readonly PersonStep[]
}
export function chaptersOf({ steps }: Person): Chapter[] {
  const titled = Map.groupBy(steps, ({ kind, phaseName, phaseExecutionId }) =>
    kind === 'phase' ? `${phaseExecutionId} Phase ${phaseName}` : `${TITLES[kind]}`,
  )
  return [...titled].map(([key, own]) => ({
    key,
    title: key.replace(/^\d+ /, ''),
    steps: own,
  }))
}
const TITLES = {
  init: 'Init',
  rollback: 'Rollback',
  removal: 'Removal',
  undo: 'Undo',
  phase: 'Phase',
} as const

/** What is to come, phase by phase, with the time it starts. */
export interface Coming {
  readonly phaseName: string
  readonly at: string | null
  readonly stepNames: readonly string[]
  /** The last step that cannot be undone. */
  readonly noReturnStep: string | null
}
export const comingOf = ({ next }: Person): Coming[] =>
  [...Map.groupBy(next, ({ phaseName }) => phaseName)].map(([phaseName, own]) => ({
    phaseName,
    at: own[0]!.at,
    stepNames: own.map(({ stepName }) => stepName),
    noReturnStep: own.findLast((one) => one.isPointOfNoReturn)?.stepName ?? null,
  }))

export interface Address {
  readonly address: string
  /** The columns or outputs that hold it. */
  readonly names: readonly string[]
}
/** The source may name the address in the target beforehand, in a column such as `TargetUpn` or `NewMail`. */
const NEW_COLUMN = /^(?:target|new)/i

/** Addresses of the data source are the old ones; those of its columns about the target and those that steps returned the new ones. */
export function addressesOf({ member }: Person): { old: Address[]; new: Address[] } {
  const { memberKey, data, outputs } = member
  const columns = Object.entries(data)
  const old = collect([['key', memberKey], ...columns.filter(([name]) => !NEW_COLUMN.test(name))])
  const known = new Set(old.map(({ address }) => address))
  const ahead = columns.filter(([name]) => NEW_COLUMN.test(name))
  const added = collect([...ahead, ...Object.entries(outputs)])
  return { old, new: added.filter(({ address }) => !known.has(address)) }
}

function collect(entries: readonly (readonly [name: string, value: unknown])[]): Address[] {
  const found = new Map<string, string[]>()
  for (const [name, value] of entries) {
    for (const address of addressesIn(value as Json))
      found.set(address, [...(found.get(address) ?? []), name])
  }
  return [...found].map(([address, names]) => ({ address, names }))
}
