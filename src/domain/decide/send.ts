// Sending: queued steps take free slots, and their templates resolve into jobs. Templates resolve at sending and at every retry, from
// the data of that moment; a re-poll repeats what was sent.

import type { Json, JsonObject } from '../../base/text/json.ts'
import { messageParams, SEND_MESSAGE } from '../member-messages/message-text.ts'
import { jobIdOf } from '../messages/messages.ts'
import { unmetCondition } from '../runbook/conditions.ts'
import { foreignPeople } from '../runbook/foreign-people.ts'
import type { Notify, RunbookStep } from '../runbook/model.ts'
import { type MissingName, resolveTemplates, type Scope, scopeOf } from '../runbook/template.ts'
import type { Batch, Phase, Step, Variables } from '../state/facts.ts'
import { onCompensationEnd } from './compensation.ts'
import { endCorrection, isNeedless } from './corrections.ts'
import { runbookStepOf } from './definitions.ts'
import type { Draft } from './draft.ts'
import { failStep } from './fail.ts'
import { isStepHeld } from './held.ts'
import { waitAfterSign } from './lost-job.ts'
import { isRerun, queueNextAfter } from './next.ts'
import { identitiesToFind, withPeople } from './person-map.ts'
import { timeOut } from './settle.ts'
import { changesTenant, isOutsideWindow } from './tenant-effect.ts'

/** A message holds 256 KB on every transport, envelope and signature included. */
const PARAMS_BYTES_MAX = 200_000
/** Of one UTF-16 unit as JSON: a control character is written as six. */
const BYTES_PER_CHAR_MAX = 6

/**
 * Sends queued steps while their worker has free slots. Uses up `freeSlots`. True when a step was left out: the step after it is queued now,
 * and may name people who are not loaded yet.
 */
export function sendQueued(draft: Draft, freeSlots: Map<string, number>): boolean {
  let hasLeftOut = false
  const queued: Step[] = []
  for (const step of draft.steps.values()) if (step.wait?.kind === 'slot') queued.push(step)
  queued.sort(
    (a, b) => priorityOf(a) - priorityOf(b) || +a.wait!.since - +b.wait!.since || a.id - b.id,
  )
  const ofBatch = namesOf(draft.batch)
  for (const step of queued) {
    const left = freeSlots.get(step.definition.workerId) ?? 0
    if (left <= 0 || step.id < 0 || !maySend(draft, step)) continue
    if (send(draft, step, ofBatch)) freeSlots.set(step.definition.workerId, left - 1)
    hasLeftOut ||= step.status === 'skipped'
  }
  return hasLeftOut
}

/** Names and addresses of other people that the queued steps need before they are sent; empty for most. */
export function peopleToFind(draft: Draft): string[] {
  const found = new Set<string>()
  const ofBatch = namesOf(draft.batch)
  for (const step of draft.steps.values()) {
    if (step.wait?.kind !== 'slot' || step.status !== 'pending') continue
    const scope = () => scopeFor(draft, step, ofBatch)
    for (const one of identitiesToFind(draft, step, scope)) found.add(one)
  }
  return [...found]
}

/** Compensation before phase steps. */
export const priorityOf = (step: Step): number => (step.kind === 'phase' ? 1 : 0)

/** A hold stops everything it covers, a closed change window everything that changes a tenant. Compensation that has begun runs to its end in every status of the batch. */
function maySend(draft: Draft, step: Step): boolean {
  const { batch } = draft
  if (isStepHeld(draft, step) || isOutsideWindow(draft, step)) return false
  if (step.kind === 'phase') return batch.status === 'active'
  if (step.kind === 'init') return batch.status === 'init_dispatched' || batch.status === 'active'
  return true
}

/** True when a job was sent. */
function send(draft: Draft, step: Step, ofBatch: Variables): boolean {
  if (step.status === 'polling') return repoll(draft, step)
  if (isNeedless(draft, step)) return leaveOut(draft, step)
  const call = resolve(draft, step, ofBatch)
  if ('unmet' in call || 'error' in call) {
    draft.setWait(step, null)
    if ('unmet' in call) {
      draft.transitionStep(step, 'leave_out', call.unmet, { completedAt: draft.now })
      onCompensationEnd(draft, step)
    } else failStep(draft, step, 'unresolved', call.error)
    queueNextAfter(draft, step)
    return false
  }
  const jobId = jobIdOf({ ...nameOf(draft, step), poll: 0 })
  draft.transitionStep(step, 'dispatch', becauseSent(draft, step), {
    jobId,
    functionName: call.functionName,
    params: call.params,
    dispatchedAt: draft.now,
    deadlineAt: latestStart(draft, step),
    retryAfter: null,
    error: null,
    pollCount: 0,
    pollSaid: null,
    pollChanges: 0,
  })
  recordJob(draft, step, jobId)
  return true
}

/** A correction whose time is true again passes without a job. */
function leaveOut(draft: Draft, step: Step): false {
  endCorrection(draft, step, 'the start is again the one that the member was told')
  queueNextAfter(draft, step)
  return false
}

function becauseSent(draft: Draft, step: Step): string {
  const again = step.attempt > 0 ? `, attempt ${step.attempt + 1}` : ''
  return `${placeOf(draft, step)}${again}, sent to ${step.definition.workerId}`
}

function placeOf(draft: Draft, step: Step): string {
  switch (step.kind) {
    case 'init':
      return `the next init step of version ${step.definition.runbookVersion}`
    case 'phase':
      return `the member's next step in phase ${runOf(draft, draft.phaseOf(step)!)}`
    case 'rollback':
      return `the next step of the rollback of version ${step.definition.runbookVersion}`
    case 'removal':
      return `the next cleanup step of version ${step.definition.runbookVersion}`
    case 'undo':
      return `the undo of step ${step.definition.stepName}`
  }
}

const runOf = (draft: Draft, phase: Phase): string =>
  isRerun(draft, phase) ? `${phase.name}, run again by version ${phase.runbookVersion}` : phase.name

function repoll(draft: Draft, step: Step): boolean {
  if (step.pollTimeoutAt! <= draft.now) {
    timeOut(draft, step)
    return false
  }
  const poll = step.pollCount + 1
  const jobId = jobIdOf({ ...nameOf(draft, step), poll })
  draft.countPoll(step, 'repoll', {
    jobId,
    pollCount: poll,
    lastPolledAt: draft.now,
    deadlineAt: latestStart(draft, step),
  })
  recordJob(draft, step, jobId)
  return true
}

const nameOf = ({ batch }: Draft, { kind, id: stepId, attempt }: Step) =>
  ({ kind, stepId, attempt, epoch: batch.epoch }) as const

/** A worker starts the job by then or not at all, and never after its change window has closed. Its timeout counts from its start. */
function latestStart(draft: Draft, step: Step): Date {
  const latest = draft.later(draft.queueLimitSec + step.definition.timeoutSec)
  const { until } = draft.window
  return until !== null && until < latest && changesTenant(draft, step) ? until : latest
}

function recordJob(draft: Draft, step: Step, jobId: string): void {
  const { timeoutSec } = step.definition
  const wakeAt = draft.later(waitAfterSign(timeoutSec))
  draft.setWait(step, { kind: 'job', since: draft.now, wakeAt, jobId })
  const { functionName, params, deadlineAt } = step
  draft.jobs.push({
    jobId,
    step,
    params,
    timeoutSec,
    functionName: functionName!,
    notAfter: deadlineAt!,
    expiresAt: deadlineAt === draft.window.until ? afterGrace(deadlineAt!) : deadlineAt!,
  })
}

const EXPIRY_GRACE_MS = 60_000

/** When a change window closes, timers take the job back. An expired one would be a dead letter, which waits for a person. */
const afterGrace = (closesAt: Date): Date => new Date(+closesAt + EXPIRY_GRACE_MS)

type Call = { functionName: string; params: Json } | { error: string }

function resolve(draft: Draft, step: Step, ofBatch: Variables): Call | { unmet: string } {
  // The inverse is stored with the step: data, in which nothing is looked up.
  if (step.kind === 'undo') return { functionName: step.functionName!, params: step.params }
  const definition = runbookStepOf(draft, step)
  if (!definition) {
    return {
      error: `version ${step.definition.runbookVersion} has no step "${step.definition.stepName}"`,
    }
  }
  const plain = scopeFor(draft, step, ofBatch)
  const people = withPeople(draft, step, plain)
  const scope = people ?? plain
  // What may have begun is finished, even if the member's data has changed since.
  const unmet = step.mayHaveEffect ? null : unmetCondition(definition.when, scope)
  if (unmet !== null) return { unmet }
  people?.forget()
  const foreign = foreignOf(draft, step, definition)
  if (foreign !== null) return { error: foreign }
  if (definition.notify) return resolveMessage(draft, step, definition.notify, scope)
  const name = resolveTemplates(definition.function, scope)
  const params = resolveTemplates(definition.params, scope)
  if (people?.missing.size) return { error: sayNobody([...people.missing]) }
  if (!name.ok || !params.ok) {
    return unresolved([...(name.ok ? [] : name.missing), ...(params.ok ? [] : params.missing)])
  }
  if (typeof name.value !== 'string' || name.value.trim() === '') {
    return { error: `the function resolves to ${JSON.stringify(name.value)}, which is not a name` }
  }
  const tooLarge = sayTooLarge(params.value)
  if (tooLarge !== null) return { error: tooLarge }
  if (people?.waiting.size) noteWaiting(draft, step, [...people.waiting])
  return { functionName: name.value, params: params.value }
}

/** Whatever the values are: names that the other tenant's worker read are strangers here. */
function foreignOf(draft: Draft, { definition }: Step, written: RunbookStep): string | null {
  const facts = draft.factsOf(written.workerId, written.function)
  if (!facts?.people) return null
  const runbook = draft.runbooks.get(definition.runbookVersion)!
  const [found] = foreignPeople(runbook, written, facts)
  return found
    ? `${found.parameter} names people of this tenant, and "${found.variable}" was read by worker "${found.worker}" in another one: write {{person:${found.variable}}}`
    : null
}

const sayNobody = (names: readonly string[]): string =>
  `no one in this migration has an account in the target by the name of ${quoted(names)}: the name is not used there, it may be a stranger`

/** Their own step with `waiting:` does it once they have moved. */
function noteWaiting(draft: Draft, step: Step, names: readonly string[]): void {
  draft.note('people_wait', `left out until they have an account in the target: ${quoted(names)}`, {
    step,
    details: { people: [...names] },
  })
}

const NAMES_SHOWN_MAX = 20

const quoted = (names: readonly string[]): string => {
  const shown = names.slice(0, NAMES_SHOWN_MAX).map((name) => `"${name}"`)
  const more = names.length - shown.length
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** A correction of a time that the member was told, or the message itself. */
function resolveMessage(draft: Draft, step: Step, notify: Notify, scope: Scope): Call {
  const { messages } = draft.runbooks.get(step.definition.runbookVersion)!
  const params = messageParams(messages!, notify, {
    scope,
    startTime: draft.batch.startTime,
    correctsTime: step.correctsTime,
    messageId: messageIdOf(draft, step),
  })
  if (!params.ok) return unresolved(params.missing)
  const tooLarge = sayTooLarge(params.value)
  return tooLarge === null
    ? { functionName: SEND_MESSAGE, params: params.value }
    : { error: tooLarge }
}

/**
 * The same for every retry, so that a mailbox tells whether it was sent; another for each time that somebody is told. The member's key keeps two systems apart
 * that count the same and send from one mailbox.
 */
function messageIdOf(draft: Draft, { id, memberId, correctsSentAt }: Step): string {
  const { batch } = draft
  const person = memberId === null ? '' : draft.member(memberId).key
  const times = [batch.startTime, correctsSentAt].map((time) => time?.toISOString() ?? '')
  return [batch.runbookName, batch.id, person, id, batch.epoch, ...times].join('/')
}

const unresolved = (missing: readonly MissingName[]): { error: string } => ({
  error: `unresolved: ${[...new Set(missing.map(sayMissing))].join(', ')}`,
})

const sayMissing = ({ name, nearest }: { name: string; nearest: string | null }) =>
  nearest === null ? `{{${name}}}` : `{{${name}}} (did you mean {{${nearest}}}?)`

const NOTHING: Variables = {}

function scopeFor(draft: Draft, step: Step, ofBatch: Variables): Scope {
  const member = step.memberId === null ? null : draft.member(step.memberId)
  return scopeOf([
    ofBatch,
    member?.outputs ?? NOTHING,
    draft.batch.outputs,
    member?.data ?? NOTHING,
  ])
}

/** The variables that every batch has. */
const namesOf = ({ id, startTime }: Batch): Variables => ({
  _batch_id: id,
  _batch_start_time: startTime?.toISOString() ?? null,
})

/** Null when the parameters fit a message. Serialized only if they may not: most jobs are small. */
function sayTooLarge(params: Json): string | null {
  if (roughSize(params) * BYTES_PER_CHAR_MAX <= PARAMS_BYTES_MAX) return null
  const bytes = bytesOf(params)
  if (bytes <= PARAMS_BYTES_MAX) return null
  const sizes = Object.entries(params as JsonObject).map(([name, value]) => ({
    name,
    bytes: bytesOf(value),
  }))
  const { name, bytes: own } = sizes.reduce((a, b) => (b.bytes > a.bytes ? b : a))
  return `the parameters have ${bytes} bytes, and a message takes ${PARAMS_BYTES_MAX}: shorten "${name}", which has ${own}`
}

const bytesOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value))

/** Roughly the characters of a value as JSON, without serializing it. */
function roughSize(value: Json): number {
  if (typeof value === 'string') return value.length
  if (value === null || typeof value !== 'object') return 8
  let size = 2
  if (Array.isArray(value)) for (const inner of value) size += roughSize(inner)
  else for (const key of Object.keys(value)) size += key.length + roughSize(value[key]!)
  return size
}
