// `matoolkit batch …`: the commands that read: batches, one batch, its phases, members, steps and summary.

import type { Answer, ListedRow } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { rampStateText } from '../../../domain/plan/ramp-shares.ts'
import { PERSON_STATES, statesText, stateWord } from '../../../domain/state/person-state.ts'
import { ENDED_BATCH_STATUSES } from '../../../domain/state/transitions.ts'
import {
  type CommandContext,
  choiceFlag,
  type Flags,
  showPages,
  textFlag,
} from '../../program/command-context.ts'
import { inViewersZone } from '../../terminal/io.ts'
import type { Column, Show } from '../../terminal/show.ts'
import { type HoldInForce, loadHoldsInForce, sayHeldSystem, sayHolds } from '../holds-in-force.ts'
import { countedNeeds, loadNeeds, sayNeeds } from '../needs.ts'
import { ATTEMPT_COLUMN, NOW_COLUMN } from '../step-texts.ts'
import { statusIn } from '../words.ts'
import { findMemberId, namedBatch } from './named.ts'

/** Holds named above a batch. */
const HOLDS_SAID = 5

export const BATCH_ORDERS = ['newest', 'oldest', 'start', 'start_latest'] as const
export const MEMBER_ORDERS = ['id', 'key'] as const

/** Final statuses of a batch. */
export const BATCH_ENDED: readonly string[] = ENDED_BATCH_STATUSES

type Batch = ListedRow<'GET /api/batches'>
type Phase = Answer<'GET /api/batches/{batchId}/phases'>['phases'][number]
type Member = ListedRow<'GET /api/batches/{batchId}/members'>

const LIST: readonly Column<Batch>[] = [
  ['ID', 'id'],
  ['RUNBOOK', 'runbookName'],
  ['VERSION', 'runbookVersion', 'spare'],
  ['STATUS', 'status'],
  ['START', 'batchStartTime'],
  ['PHASE', 'currentPhase'],
  ['MANUAL', 'isManual', 'spare'],
  ['MEMBERS', membersText],
]
const PHASES: readonly Column<Phase>[] = [
  ['PHASE', 'phaseName'],
  ['DUE', 'dueAt'],
  ['STARTED', 'dispatchedAt', 'spare'],
  [
    'STATUS',
    statusIn('phase', ({ status, skippedBecause }) =>
      skippedBecause ? `${status}: ${skippedBecause}` : status,
    ),
  ],
  ['MEMBERS', onceBegun(({ members }) => members.total)],
  ['PASSED', onceBegun(({ members }) => members.passed)],
  ['FAILED', onceBegun(({ members }) => members.failed)],
  ['STOPPED', onceBegun(({ members }) => members.stopped), 'spare'],
  ['STEPS OPEN', onceBegun(({ steps }) => steps.pending + steps.dispatched + steps.polling)],
  ['ENDED', 'completedAt', 'spare'],
]
const MEMBERS: readonly Column<Member>[] = [
  ['ID', 'id'],
  ['MEMBER', 'memberKey', 'whole'],
  ['STATE', stateCell],
  ['PHASE', ({ step, failure }) => (step ?? failure)?.phaseName],
  ['STEP', ({ step, failure }) => (step ?? failure)?.stepName],
  ['NOW', 'where'],
  ['ERROR', 'failure.error'],
]

/** Nothing in the table before a phase has begun: its 0 members would read as nobody to come. */
function onceBegun(value: (phase: Phase) => number): Column<Phase>[1] {
  const isToCome = ({ status, members }: Phase) => status === 'pending' && members.total === 0
  return { value, say: (count, phase) => (isToCome(phase) ? null : count) }
}

/** The states as people write them. */
export const STATE_NAMES = PERSON_STATES.map((state) => state.replace('_', '-')).join(', ')
export const stateFlag = (flags: Flags): string | undefined =>
  textFlag(flags, 'state')?.replaceAll(/[ -]/g, '_')

/** Where the person in a row of the API stands. */
export function stateCell({
  state,
  movedToBatchId,
}: Pick<Member, 'state' | 'movedToBatchId'>): string {
  return stateWord(state, movedToBatchId)
}

const STEPS: readonly Column<ListedRow<'GET /api/batches/{batchId}/steps'>>[] = [
  ['ID', 'id'],
  ['MEMBER', 'memberKey', 'whole'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['STATUS', statusIn('step', 'status')],
  ATTEMPT_COLUMN,
  ['VERSION', 'runbookVersion', 'spare'],
  ['WORKER', 'workerId', 'spare'],
  NOW_COLUMN,
  ['ENDED', 'completedAt', 'spare'],
  ['ERROR', 'errorMessage'],
]

export async function runListBatches(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const runbook = textFlag(flags, 'runbook')
  const holds = await sayHeldSystem(context)
  const needs = await loadNeeds(context, { runbook })
  await showPages(context, 'GET /api/batches', {
    given: {
      query: {
        runbook,
        status: textFlag(flags, 'status'),
        manual: flags.manual === true ? true : undefined,
        held: flags.held === true ? true : undefined,
        sort: choiceFlag(flags, 'sort', BATCH_ORDERS),
        ...(flags.tonight && tonight(context)),
      },
    },
    columns: [...listColumns(holds), ['NEEDS', ({ id }) => countedNeeds(needs, id)]],
    empty: 'No batches.',
  })
  sayNeeds(context, needs)
}

/** The night that runs, or the one to come. */
function tonight({ io }: CommandContext) {
  const hours = (count: number) => new Date(+io.now() + count * 3_600_000).toISOString()
  return { startsFrom: hours(-12), startsBefore: hours(18), sort: 'start' as const }
}

/** A batch is held by its own hold, its runbook's, or the system's. */
function listColumns(holds: readonly HoldInForce[]): Column<Batch>[] {
  const isAll = holds.some(({ scope }) => scope === 'system')
  const runbooks = new Set(holds.filter(({ scope }) => scope === 'runbook').map((h) => h.target))
  const isHeld = ({ held, runbookName, endedAt }: Batch) =>
    held || (endedAt === null && (isAll || runbooks.has(runbookName)))
  return LIST.map((column) =>
    column[0] === 'STATUS'
      ? ['STATUS', statusIn('batch', (row) => (isHeld(row) ? 'held' : row.status))]
      : column,
  )
}

type Summary = Answer<'GET /api/batches/{batchId}/summary'>
type BatchPage = Answer<'GET /api/batches/{batchId}'>
/** A batch with its phases, and what else the answer knows of it. */
export type ShownBatch = Pick<BatchPage, 'batch' | 'phases'> &
  Partial<Pick<BatchPage, 'nextPhase' | 'initSteps'>> &
  Partial<Pick<Summary, 'window' | 'throughput' | 'estimate' | 'openReviews'>> & {
    readonly isDryRun?: boolean
  }

const BATCH_FIELDS: readonly Column<ShownBatch>[] = [
  ['batch', 'batch.id'],
  ['runbook', ({ batch }) => `${batch.runbookName} version ${batch.runbookVersion}`],
  ['status', statusIn('batch', 'batch.status')],
  ['failed in init', initFailure],
  ['held', heldText],
  ['change window', windowText],
  ['start', 'batch.batchStartTime'],
  ['manual', 'batch.isManual'],
  ['created by', 'batch.createdBy'],
  ['members', ({ batch }) => membersText(batch)],
  ['next to advance', 'nextPhase'],
  ['finished', 'batch.endedAt'],
  ['pace', paceText],
  ['ends', estimateText],
  ['late', missesText],
  ['needs', reviewsText],
]

function paceText({ throughput, phases }: ShownBatch): string | null {
  const isRunning = phases.some(({ status }) => status === 'dispatched')
  const { stepsPerMin = 0 } = throughput ?? {}
  return isRunning && stepsPerMin > 0 ? `${stepsPerMin} steps a minute` : null
}

function estimateText({ batch, estimate }: ShownBatch): string | null {
  if (!estimate || batch.endedAt !== null) return null
  const { endsAt, p90, because, night } = estimate
  const tonight = night?.endsAt ? `tonight about ${night.endsAt}, latest ${night.p90}; ` : ''
  return endsAt === null
    ? `${tonight}no estimate: ${because}`
    : `${tonight}about ${endsAt}, latest ${p90}: ${because}`
}

/** Null when every phase is forecast to be in time. */
function missesText({ estimate }: ShownBatch): string | null {
  return estimate?.phases.flatMap(({ miss }) => (miss ? [miss.text] : [])).join('; ') || null
}

function initFailure({ initSteps = [] }: ShownBatch): string | null {
  const failed = initSteps.find(({ status }) => status === 'failed' || status === 'poll_timeout')
  return failed ? `${failed.stepName}: ${failed.errorMessage}` : null
}

/** Null for a batch without windows, and for one that has ended. `window` is its state now. */
function windowText({ batch: { changeWindow }, window }: ShownBatch): string | null {
  const { closedAt = null, opensAt = null, override = null } = changeWindow ?? {}
  const opening = opensAt === null ? 'none opens within a year' : `opens at ${opensAt}`
  const closing = window?.isOpen && window.closesAt ? `open, closes at ${window.closesAt}` : null
  // The API tells the last override; where the window is closed, it has ended.
  const overridden =
    override && window?.isOpen
      ? `overridden by ${override.by} until ${override.until}: ${override.reason}`
      : null
  const parts = [closedAt === null ? closing : `closed, ${opening}`, overridden]
  return parts.filter((part) => part !== null).join('; ') || null
}

function heldText({ batch: { held } }: ShownBatch): string | null {
  return held && `since ${held.at} by ${held.by}: ${held.reason}`
}

export function membersText({ members }: Pick<BatchPage['batch'], 'members'>): string {
  return statesText(members)
}

const REVIEWED = { removal: 'removal', move: 'move', join: 'latecomer' } as const
const REVIEW_KINDS = ['removal', 'move', 'join'] as const

/** `15 removals need your decision: matoolkit review list --batch 2`. */
function reviewsText({ openReviews, batch: { id } }: ShownBatch): string | null {
  if (!openReviews) return null
  const kinds = REVIEW_KINDS.filter((kind) => openReviews[kind] > 0)
  if (kinds.length === 0) return null
  const counts = kinds.map((kind) => countText(openReviews[kind], REVIEWED[kind]))
  const total = kinds.reduce((sum, kind) => sum + openReviews[kind], 0)
  const verb = total === 1 ? 'needs' : 'need'
  return `${counts.join(', ')} ${verb} your decision: matoolkit review list --batch ${id}`
}

/** Shows a batch with its phases. */
export async function showBatch({ show }: CommandContext, shown: ShownBatch): Promise<void> {
  await show.one(shown, BATCH_FIELDS)
  if (show.format !== 'table') return
  show.say('')
  const { phases: rows } = shown
  await show.list({ whole: null, rows, columns: PHASES, empty: 'The batch has no phases.' })
  sayGuards(show, rows)
  sayWaits(show, rows)
}

/** `cutover starts in shares: 5 % done, 25 % runs, …` and `cutover has the point of no return: complete-move`. */
function sayGuards(show: Show, phases: readonly Phase[]): void {
  for (const { phaseName, status, ramp, members, noReturnSteps } of phases) {
    if (status === 'superseded') continue
    if (ramp) show.say(printable(`${phaseName} starts in shares: ${rampStateText(ramp, members)}`))
    if (noReturnSteps.length > 0)
      show.say(printable(`${phaseName} has the point of no return: ${noReturnSteps.join(', ')}`))
  }
}

/** `cutover waits: worker w1 was last seen at 22:30`; phases that wait for the same are told together. */
function sayWaits(show: Show, phases: readonly Phase[]): void {
  for (const [why, same] of Map.groupBy(phases, ({ waitsFor }) => waitsFor)) {
    if (why === null) continue
    const names = same.map(({ phaseName }) => phaseName).join(', ')
    show.say(printable(`${names} ${same.length === 1 ? 'waits' : 'wait'}: ${why}`), 'yellow')
  }
}

export async function runGetBatch(context: CommandContext, [id]: readonly string[]): Promise<void> {
  const params = namedBatch(id)
  const { client } = context
  const summary = await client.call('GET /api/batches/{batchId}/summary', { params })
  const shown = { ...summary, ...(await client.call('GET /api/batches/{batchId}', { params })) }
  const { runbookName } = shown.batch
  const ofRunbook = (await sayHeldSystem(context)).filter(
    ({ scope, target }) => scope === 'runbook' && target === runbookName,
  )
  const query = { scope: 'member', ...params, limit: HOLDS_SAID }
  const ofMembers = await loadHoldsInForce(context, query)
  const said = [...ofRunbook, ...ofMembers.holds].slice(0, HOLDS_SAID)
  sayHolds(context, said)
  const more = ofRunbook.length + ofMembers.total - said.length
  if (more > 0) context.show.say(`and ${countText(more, 'hold')} more: matoolkit hold list`)
  await showBatch(context, shown)
}

export async function runListPhases(
  { client, show }: CommandContext,
  [id]: readonly string[],
): Promise<void> {
  const params = namedBatch(id)
  const whole = await client.call('GET /api/batches/{batchId}/phases', { params })
  const { phases: rows } = whole
  await show.list({ whole, rows, columns: PHASES, empty: 'The batch has no phases.' })
  sayWaits(show, rows)
}

export const runListMembers = (
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> =>
  showPages(context, 'GET /api/batches/{batchId}/members', {
    given: {
      params: namedBatch(id),
      query: {
        status: textFlag(flags, 'status'),
        state: stateFlag(flags),
        phase: textFlag(flags, 'phase'),
        step: textFlag(flags, 'step'),
        search: textFlag(flags, 'search'),
        failedPhase: textFlag(flags, 'failedPhase'),
        failedStep: textFlag(flags, 'failedStep'),
        error: textFlag(flags, 'error'),
        sort: choiceFlag(flags, 'sort', MEMBER_ORDERS),
      },
    },
    columns: MEMBERS,
    empty: 'No members match.',
  })

export async function runListSteps(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const member = textFlag(flags, 'member')
  const isWhole =
    context.show.format === 'table' &&
    STEP_FILTERS.every((name) => textFlag(flags, name) === undefined)
  await showPages(context, 'GET /api/batches/{batchId}/steps', {
    given: {
      params: namedBatch(id),
      query: {
        kind: textFlag(flags, 'kind'),
        status: textFlag(flags, 'status'),
        phase: textFlag(flags, 'phase'),
        step: textFlag(flags, 'step'),
        worker: textFlag(flags, 'worker'),
        memberId: member === undefined ? undefined : await findMemberId(context, id, member),
        error: textFlag(flags, 'error'),
      },
    },
    columns: STEPS,
    empty: isWhole ? await whyNoSteps(context, id) : 'No steps match.',
  })
}

const STEP_FILTERS = ['kind', 'status', 'phase', 'step', 'worker', 'member', 'error']

/** `No steps yet: prepare starts at 23:13`. */
async function whyNoSteps({ client, io }: CommandContext, id: string | undefined): Promise<string> {
  const params = namedBatch(id)
  const { phases } = await client.call('GET /api/batches/{batchId}/phases', { params })
  const next = phases.find(({ status }) => status === 'pending')
  if (!next) return 'No steps.'
  const { phaseName, dueAt } = next
  const when = dueAt === null ? 'waits to be advanced' : `starts at ${dueAt}`
  return inViewersZone(io, `No steps yet: ${phaseName} ${when}.`)
}
