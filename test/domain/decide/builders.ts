// Facts from compact literals, and a decision's records as lines for a table.
//   draftOf({ phases: { prepare: 'dispatched' }, members: { 1: 'active' }, steps: { 11: '1 prepare/create dispatched job' } })
// A step reads `member place/name status [wait]`; the member is `-` for a step of the batch itself. Counters are counted from the
// rows as the specification says, not with the code under test.

import { definitionOf, pendingStep } from '../../../src/domain/decide/definitions.ts'
import { Draft } from '../../../src/domain/decide/draft.ts'
import { jobIdOf } from '../../../src/domain/messages/messages.ts'
import { type Runbook, readRunbook } from '../../../src/domain/runbook/read.ts'
import type { EventRecord } from '../../../src/domain/state/event-record.ts'
import {
  type Batch,
  type Member,
  type MemberCounts,
  noMemberCounts,
  noStepCounts,
  type Phase,
  type Step,
  type StepCounts,
  UNBEGUN,
  type Wait,
} from '../../../src/domain/state/facts.ts'
import type {
  BatchStatus,
  MemberStatus,
  PhaseStatus,
} from '../../../src/domain/state/transitions.ts'

export const NOW = new Date('2026-03-02T08:00:00Z')
/** So many seconds from now. */
export const at = (seconds: number): Date => new Date(+NOW + seconds * 1000)

export const DEMO_YAML = `
name: demo
data_source: { type: csv, path: x.csv, primary_key: Upn, batch_time_column: When }
safeguards: { max_failed_percent: 30 }
rollbacks:
  undo:
    - { name: undo-a, worker_id: w1, function: Undo-A, params: { Upn: "{{Upn}}" } }
    - { name: undo-b, worker_id: w1, function: Undo-B }
  undo-setup:
    - { name: drop, worker_id: w1, function: Remove-Setup, params: { Batch: "{{_batch_id}}" } }
init:
  - { name: setup, worker_id: w1, function: New-Setup, output_params: { SiteId: id }, on_failure: undo-setup }
  - { name: warm, worker_id: w1, function: Start-Setup, params: { Site: "{{SiteId}}" } }
on_member_removed:
  - { name: clean, worker_id: w1, function: Remove-Thing, params: { Upn: "{{Upn}}" } }
  - { name: tidy, worker_id: w2, function: Clear-Thing }
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: create
        worker_id: w1
        function: New-Thing
        params: { Upn: "{{Upn}}" }
        output_params: { ThingId: id }
        on_failure: undo
        retry: { max_retries: 2, interval: 1m, backoff: exponential, max_interval: 90s }
      - { name: check, worker_id: w1, function: Test-Thing, poll: { interval: 1m, timeout: 10m }, retry: { max_retries: 1, interval: 1m } }
  - name: cutover
    offset: T-0
    steps:
      - { name: switch, worker_id: w2, function: "Switch-{{Kind}}", params: { Id: "{{ThingId}}" }, timeout: 10m }
  - name: after
    offset: T+7d
    steps:
      - { name: verify, worker_id: w1, function: Test-All }
`

export function runbookOf(yaml: string): Runbook {
  const { runbook, problems } = readRunbook(yaml)
  if (!runbook) throw new Error(JSON.stringify(problems))
  return runbook
}

export const DEMO = runbookOf(DEMO_YAML)

type StepText = string | readonly [string, Partial<Step>]

export interface Facts {
  readonly batch?: BatchStatus | Partial<Batch>
  readonly phases?: Readonly<Record<string, PhaseStatus | Partial<Phase>>>
  readonly members?: Readonly<Record<number, MemberStatus | Partial<Member>>>
  readonly steps?: Readonly<Record<number, StepText>>
  readonly runbooks?: Readonly<Record<number, Runbook>>
  readonly random?: () => number
}

const PHASE_IDS: Readonly<Record<string, number>> = { prepare: 101, cutover: 102, after: 103 }

export function draftOf(facts: Facts): Draft {
  const runbooks = new Map(Object.entries(facts.runbooks ?? { 1: DEMO }).map(([v, r]) => [+v, r]))
  const phases = Object.entries(facts.phases ?? {}).map(([name, given]) => phaseOf(name, given))
  const members = Object.entries(facts.members ?? {}).map(([id, given]) => memberOf(+id, given))
  const steps = Object.entries(facts.steps ?? {}).map(([id, text]) =>
    stepOf(+id, text, phases, runbooks.get(1)!),
  )
  const batch = batchOf(facts.batch ?? 'active')
  const draft = new Draft({
    now: NOW,
    actor: 'olga',
    batch,
    phases,
    runbooks,
    random: facts.random ?? (() => 0.5),
    queueLimitSec: 3_600,
  })
  draft.addMembers(members)
  draft.addSteps(steps)
  setCounters(draft, facts)
  return draft
}

const isBatchOver = (status: BatchStatus) =>
  status === 'completed' || status === 'failed' || status === 'cancelled'

function batchOf(given: BatchStatus | Partial<Batch>): Batch {
  const change = typeof given === 'string' ? { status: given } : given
  const status = change.status ?? 'active'
  return {
    id: 7,
    runbookName: 'demo',
    runbookVersion: 1,
    activeVersion: 1,
    epoch: '',
    isManual: false,
    startTime: at(86_400),
    status,
    failedInInit: false,
    currentPhase: null,
    initDispatchedAt: null,
    activatedAt: null,
    endedAt: isBatchOver(status) ? at(-5) : null,
    erasedAt: null,
    heldAt: null,
    heldBy: null,
    heldReason: null,
    windowClosedAt: null,
    windowOpensAt: null,
    windowOverrideUntil: null,
    windowOverrideBy: null,
    windowOverrideReason: null,
    outputs: {},
    membersActive: 0,
    membersFailed: 0,
    membersRemoved: 0,
    initOpen: 0,
    rollbackOpen: 0,
    removalOpen: 0,
    undoOpen: 0,
    ...change,
  }
}

function phaseOf(name: string, given: PhaseStatus | Partial<Phase>): Phase {
  const change = typeof given === 'string' ? { status: given } : given
  const status = change.status ?? 'dispatched'
  const index = DEMO.phases.findIndex((phase) => phase.name === name)
  const isBegun = status === 'dispatched' || status === 'completed' || status === 'failed'
  return {
    ...UNBEGUN,
    id: PHASE_IDS[name] ?? 110,
    name,
    index: Math.max(index, 0),
    offsetMinutes: DEMO.phases[index]?.offsetMinutes ?? 0,
    runbookVersion: 1,
    dueAt: at(0),
    status,
    skippedBecause: status === 'skipped' ? 'empty' : null,
    dispatchedAt: isBegun ? at(-60) : null,
    expandedAt: isBegun ? at(-60) : null,
    completedAt: status === 'pending' || status === 'dispatched' ? null : at(-5),
    steps: noStepCounts(),
    members: noMemberCounts(),
    ...change,
  }
}

function memberOf(id: number, given: MemberStatus | Partial<Member>): Member {
  const change = typeof given === 'string' ? { status: given } : given
  const status = change.status ?? 'active'
  return {
    id,
    key: `user${id}@contoso.example`,
    status,
    data: { Upn: `user${id}@contoso.example`, Kind: 'Mailbox' },
    outputs: {},
    failedAt: status === 'failed' ? at(-5) : null,
    removedAt: status === 'removed' ? at(-5) : null,
    removedBy: status === 'removed' ? 'source' : null,
    removalNumber: status === 'removed' ? 1 : 0,
    movedToBatchId: null,
    ...change,
  }
}

const UNDO_OF: Readonly<Record<string, string>> = { drop: 'undo-setup' }

function stepOf(id: number, text: StepText, phases: readonly Phase[], runbook: Runbook): Step {
  const [line, change] = typeof text === 'string' ? [text, {}] : text
  const [member, where, status, wait] = line.split(' ') as [string, string, Step['status'], string?]
  const [place, name] = where.split('/') as [string, string]
  const kind = place === 'init' || place === 'rollback' || place === 'removal' ? place : 'phase'
  const list =
    kind === 'init'
      ? runbook.init
      : kind === 'removal'
        ? runbook.onMemberRemoved
        : kind === 'rollback'
          ? runbook.rollbacks.get(UNDO_OF[name] ?? 'undo')
          : runbook.phases.find((phase) => phase.name === place)?.steps
  const index = list?.findIndex((one) => one.name === name) ?? -1
  if (index < 0) throw new Error(`the runbook has no ${where}`)
  const bare: Step = {
    ...pendingStep(definitionOf(list![index]!, index, 1), {
      id,
      kind,
      memberId: member === '-' ? null : Number(member),
      ...(kind === 'phase' && { phaseId: phases.find((phase) => phase.name === place)!.id }),
      ...(kind === 'rollback' && { originStepId: 11, originAttempt: 0 }),
      ...(kind === 'removal' && { removalNumber: 1 }),
    }),
    ...change,
  }
  return withWait({ ...bare, ...wornBy(status, bare), status, ...change }, wait)
}

/** The history of a row with this status. */
function wornBy(status: Step['status'], step: Step): Partial<Step> {
  if (status === 'pending') return {}
  const { kind, attempt, pollCount } = step
  const sent = {
    jobId: jobIdOf({ kind, stepId: step.id, attempt, poll: pollCount, epoch: '' }),
    functionName: 'F',
    params: {},
    dispatchedAt: at(-30),
    deadlineAt: at(3570),
  }
  if (status === 'dispatched') return sent
  if (status === 'polling') {
    const polled = { pollStartedAt: at(-90), pollTimeoutAt: at(510), lastPolledAt: at(-30) }
    return { ...sent, ...polled, mayHaveEffect: true }
  }
  if (status === 'cancelled' || status === 'skipped') return { completedAt: at(-5) }
  const isBad = status !== 'succeeded'
  return { ...sent, mayHaveEffect: true, completedAt: at(-5), ...(isBad && { error: 'it broke' }) }
}

/** `slot`, `job`, `retry+5`, `poll-0`: the number is the wake time, in seconds from now. */
function withWait(step: Step, text: string | undefined): Step {
  if (text === undefined) return step
  const [, kind, seconds] = /^(\w+?)([+-]\d+)?$/.exec(text)!
  const since = at(-30)
  const wakeAt = seconds === undefined ? null : at(Number(seconds))
  if (kind === 'slot') return { ...step, wait: { kind, since, wakeAt } }
  if (kind === 'job') {
    const jobId =
      step.jobId ??
      jobIdOf({ kind: step.kind, stepId: step.id, attempt: step.attempt, poll: 0, epoch: '' })
    return { ...step, jobId, wait: { kind, since, wakeAt: wakeAt ?? at(3690), jobId } }
  }
  const retryAfter = kind === 'retry' ? wakeAt : null
  return { ...step, retryAfter, wait: { kind: kind as 'retry' | 'poll', since, wakeAt: wakeAt! } }
}

export interface Counters {
  readonly members: readonly [active: number, failed: number, removed: number]
  readonly open: readonly [init: number, rollback: number, removal: number, undo: number]
  readonly phases: Readonly<Record<string, { steps: StepCounts; members: MemberCounts }>>
}

const OPEN: readonly string[] = ['pending', 'dispatched', 'polling']
const FAILED: readonly string[] = ['failed', 'poll_timeout', 'rolled_back']

/** The expected counters, from the rows alone. */
export function recount(draft: Draft): Counters {
  const steps = [...draft.steps.values()]
  const countMembers = (status: MemberStatus) =>
    [...draft.members.values()].filter((member) => member.status === status).length
  const countOpen = (kind: Step['kind']) =>
    steps.filter((step) => step.kind === kind && OPEN.includes(step.status)).length
  const phases = draft.phases.map((phase) => {
    const own = steps.filter((step) => step.phaseId === phase.id)
    const counts = noStepCounts()
    for (const step of own) counts[step.status]++
    const members = noMemberCounts()
    for (const [id, theirs] of Map.groupBy(own, (step) => step.memberId!)) {
      const outcome = outcomeHere(theirs, draft.member(id))
      members.total++
      if (outcome !== 'open') members[outcome]++
    }
    return [phase.name, { steps: counts, members }] as const
  })
  return {
    members: [countMembers('active'), countMembers('failed'), countMembers('removed')],
    open: [countOpen('init'), countOpen('rollback'), countOpen('removal'), countOpen('undo')],
    phases: Object.fromEntries(phases),
  }
}

function outcomeHere(steps: readonly Step[], member: Member) {
  const left = steps.filter(({ status }) => status !== 'succeeded' && status !== 'skipped')
  if (left.length === 0) return 'passed'
  if (left.some(({ status }) => FAILED.includes(status))) return 'failed'
  if (left.some(({ status }) => OPEN.includes(status))) return 'open'
  return member.status === 'removed' ? 'removed' : 'stopped'
}

/** The counters in the draft. */
export const countersOf = ({ batch, phases }: Draft): Counters => ({
  members: [batch.membersActive, batch.membersFailed, batch.membersRemoved],
  open: [batch.initOpen, batch.rollbackOpen, batch.removalOpen, batch.undoOpen],
  phases: Object.fromEntries(
    phases.map(({ name, steps, members }) => [
      name,
      { steps: { ...steps }, members: { ...members } },
    ]),
  ),
})

/** Counters of the rows, except those given in the literal (a phase of 150 members need not list them). */
function setCounters(draft: Draft, facts: Facts): void {
  const { members, open, phases } = recount(draft)
  const given = typeof facts.batch === 'object' ? facts.batch : {}
  const { batch } = draft
  batch.membersActive = given.membersActive ?? members[0]
  batch.membersFailed = given.membersFailed ?? members[1]
  batch.membersRemoved = given.membersRemoved ?? members[2]
  batch.initOpen = given.initOpen ?? open[0]
  batch.rollbackOpen = given.rollbackOpen ?? open[1]
  batch.removalOpen = given.removalOpen ?? open[2]
  batch.undoOpen = given.undoOpen ?? open[3]
  for (const phase of draft.phases) {
    const own = facts.phases![phase.name]
    const isGiven = typeof own === 'object' && own.members !== undefined
    if (isGiven) continue
    phase.steps = phases[phase.name]!.steps
    phase.members = phases[phase.name]!.members
  }
}

/** The records as lines; only those that exist. */
export interface Recorded {
  events?: string[]
  attempts?: string[]
  jobs?: string[]
  made?: string[]
  waits?: string[]
}

export function recorded(draft: Draft): Recorded {
  const all: Required<Recorded> = {
    events: draft.events.map((event) => eventLine(draft, event)),
    attempts: draft.attempts.map(({ jobId, outcome, error }) =>
      [jobId, outcome, error].filter(Boolean).join(' '),
    ),
    jobs: draft.jobs.map(
      ({ jobId, functionName, params, timeoutSec, notAfter }) =>
        `${jobId} ${functionName} ${JSON.stringify(params)} for ${timeoutSec} s, begun by ${sayTime(notAfter)}`,
    ),
    made: draft.newSteps.map(
      ({ id, kind, definition, originStepId, originAttempt, removalNumber }) => {
        const of = originStepId === null ? removalNumber : `${originStepId}.${originAttempt}`
        return `${id} ${kind}/${definition.stepName}${of === null ? '' : ` of ${of}`}`
      },
    ),
    waits: [...draft.changedWaits].map(({ id, wait }) => `${id} ${sayWait(wait)}`),
  }
  return Object.fromEntries(Object.entries(all).filter(([, lines]) => lines.length > 0))
}

function eventLine(
  draft: Draft,
  { entity, event, from, to, because, ...about }: EventRecord,
): string {
  const which =
    entity === 'step'
      ? ` ${about.stepId}`
      : entity === 'member'
        ? ` ${about.memberId}`
        : entity === 'phase'
          ? ` ${draft.phase(about.phaseId!).name}`
          : ''
  const move = from === null ? '' : ` ${from}→${to}`
  return `${entity}${which} ${event}${move}: ${because}`
}

const sayTime = (time: Date): string => {
  const seconds = (+time - +NOW) / 1000
  return seconds < 0 ? String(seconds) : `+${seconds}`
}

function sayWait(wait: Wait | null): string {
  if (wait === null) return 'nothing'
  return wait.wakeAt === null ? wait.kind : `${wait.kind} ${sayTime(wait.wakeAt)}`
}
