// `matoolkit batch …`: the commands that read: batches, one batch, its phases, members, steps and summary.

import { countText } from '../../../base/text/count-text.ts'
import type { Json } from '../../../base/text/json.ts'
import { printable } from '../../../base/text/printable.ts'
import type { DescribedAttention } from '../../../domain/needs/attention.ts'
import { rampStateText, type ShownRamp } from '../../../domain/plan/ramp-shares.ts'
import {
  type Outcome,
  type OutcomeCounts,
  outcomeText,
  outcomeWord,
} from '../../../domain/state/outcome.ts'
import { ENDED_BATCH_STATUSES } from '../../../domain/state/transitions.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  showPages,
  textFlag,
} from '../../program/command-context.ts'
import { inViewersZone } from '../../terminal/io.ts'
import { type Column, type ColumnValue, type Row, rowsIn, type Show } from '../../terminal/show.ts'
import { loadItems, sayItems } from '../attention.ts'
import { type HoldInForce, loadHoldsInForce, sayHeldSystem, sayHolds } from '../holds-in-force.ts'
import { ATTEMPT_COLUMN, NOW_COLUMN } from '../step-texts.ts'
import { statusIn } from '../words.ts'
import { batchPath, findMemberId } from './paths.ts'

/** Holds named above a batch. */
const HOLDS_SAID = 5

/** Final statuses of a batch. */
export const BATCH_ENDED: readonly string[] = ENDED_BATCH_STATUSES

const LIST: readonly Column[] = [
  ['ID', 'id'],
  ['RUNBOOK', 'runbookName'],
  ['VERSION', 'runbookVersion', 'spare'],
  ['STATUS', 'status'],
  ['START', 'batchStartTime'],
  ['PHASE', 'currentPhase'],
  ['MANUAL', 'isManual', 'spare'],
  ['MEMBERS', (batch) => membersText(batch)],
]
const PHASES: readonly Column[] = [
  ['PHASE', 'phaseName'],
  ['DUE', 'dueAt'],
  ['STARTED', 'dispatchedAt', 'spare'],
  [
    'STATUS',
    statusIn('phase', ({ status, skippedBecause }) =>
      skippedBecause ? `${status}: ${skippedBecause}` : status,
    ),
  ],
  ['MEMBERS', onceBegun('members.total')],
  ['PASSED', onceBegun('members.passed')],
  ['FAILED', onceBegun('members.failed')],
  ['STOPPED', onceBegun('members.stopped'), 'spare'],
  ['STEPS OPEN', onceBegun(({ steps }) => openSteps(steps as Row))],
  ['ENDED', 'completedAt', 'spare'],
]
const MEMBERS: readonly Column[] = [
  ['ID', 'id'],
  ['MEMBER', 'memberKey', 'whole'],
  ['OUTCOME', outcomeCell],
  ['PHASE', ({ step, failure }) => ((step ?? failure) as Row | null)?.phaseName],
  ['STEP', ({ step, failure }) => ((step ?? failure) as Row | null)?.stepName],
  ['NOW', 'where'],
  ['ERROR', 'failure.error'],
]

/** Nothing in the table before a phase has begun: its 0 members would read as nobody to come. */
function onceBegun(value: ColumnValue): Column[1] {
  const isToCome = ({ status, members }: Row) =>
    status === 'pending' && (members as Row).total === 0
  return { value, say: (count, phase) => (isToCome(phase) ? null : count) }
}

/** What became of the person in a row of the API. */
export function outcomeCell({ outcome, movedToBatchId }: Row): string {
  return outcomeWord(outcome as Outcome, movedToBatchId as number | null)
}

const STEPS: readonly Column[] = [
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

const openSteps = ({ pending, dispatched, polling }: Row): number =>
  Number(pending) + Number(dispatched) + Number(polling)

export async function runListBatches(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const runbook = textFlag(flags, 'runbook')
  const query = {
    runbook,
    status: textFlag(flags, 'status'),
    manual: flags.manual === true ? true : undefined,
    held: flags.held === true ? true : undefined,
    sort: textFlag(flags, 'sort'),
  }
  const holds = await sayHeldSystem(context)
  const items = await loadItems(context, { runbook })
  await showPages(context, {
    path: '/api/batches',
    query,
    rows: 'batches',
    columns: [...listColumns(holds), needsColumn(items)],
    empty: 'No batches.',
  })
  sayItems(context, items)
}

/** A batch is held by its own hold, its runbook's, or the system's. */
function listColumns(holds: readonly HoldInForce[]): Column[] {
  const isAll = holds.some(({ scope }) => scope === 'system')
  const runbooks = new Set(holds.filter(({ scope }) => scope === 'runbook').map((h) => h.target))
  const isHeld = ({ held, runbookName, endedAt }: Row) =>
    held || (endedAt === null && (isAll || runbooks.has(String(runbookName))))
  return LIST.map((column) =>
    column[0] === 'STATUS'
      ? ['STATUS', statusIn('batch', (row) => (isHeld(row) ? 'held' : row.status))]
      : column,
  )
}

/** `15 removals, 1 move`: the reviews of each batch. */
function needsColumn(items: readonly DescribedAttention[]): Column {
  const byBatch = Map.groupBy(items, ({ batchId }) => batchId)
  const needs = (id: number) =>
    [...Map.groupBy(byBatch.get(id) ?? [], ({ kind }) => kind)]
      .map(([kind, same]) => [same.reduce((sum, { count }) => sum + count, 0), kind] as const)
      .map(([count, kind]) => countText(count, kind.slice(0, -1)))
  return ['NEEDS', ({ id }) => needs(Number(id)).join(', ') || null]
}

const BATCH_FIELDS: readonly Column[] = [
  ['batch', 'batch.id'],
  [
    'runbook',
    ({ batch }) =>
      `${String((batch as Row).runbookName)} version ${Number((batch as Row).runbookVersion)}`,
  ],
  ['status', statusIn('batch', 'batch.status')],
  ['failed in init', ({ initSteps }) => initFailure(initSteps as Row[] | undefined)],
  ['held', ({ batch }) => heldText(batch as Row)],
  ['change window', ({ batch, window }) => windowText(batch as Row, window as Row | undefined)],
  ['start', 'batch.batchStartTime'],
  ['manual', 'batch.isManual'],
  ['created by', 'batch.createdBy'],
  ['members', ({ batch }) => membersText(batch as Row)],
  ['next to advance', 'nextPhase'],
  ['finished', 'batch.endedAt'],
  ['pace', (body) => paceText(body)],
  ['ends', ({ batch, estimate }) => estimateText(batch as Row, estimate as Row | undefined)],
  ['late', ({ estimate }) => missesText(estimate as Row | undefined)],
  ['needs', ({ openReviews, batch }) => reviewsText(openReviews as Row | undefined, batch as Row)],
]

function paceText({ throughput, phases }: Row): string | null {
  const isRunning = ((phases ?? []) as Row[]).some(({ status }) => status === 'dispatched')
  const { stepsPerMin = 0 } = (throughput ?? {}) as Row
  return isRunning && Number(stepsPerMin) > 0 ? `${Number(stepsPerMin)} steps a minute` : null
}

function estimateText({ endedAt }: Row, estimate: Row | undefined): string | null {
  if (!estimate || endedAt !== null) return null
  const { endsAt, p90, because } = estimate
  return endsAt === null
    ? `no estimate: ${String(because)}`
    : `about ${String(endsAt)}, 90 % sure by ${String(p90)}: ${String(because)}`
}

/** Null when every phase is forecast to be in time. */
function missesText(estimate: Row | undefined): string | null {
  const misses = rowsIn(estimate ?? {}, 'phases').flatMap(({ miss }) => (miss ? [miss as Row] : []))
  return misses.length === 0 ? null : misses.map(({ text }) => String(text)).join('; ')
}

function initFailure(steps: readonly Row[] = []): string | null {
  const failed = steps.find(({ status }) => ['failed', 'poll_timeout'].includes(String(status)))
  return failed ? `${String(failed.stepName)}: ${String(failed.errorMessage)}` : null
}

/** Null for a batch without windows, and for one that has ended. `window` is its state now. */
function windowText({ changeWindow }: Row, window: Row | null = null): string | null {
  const { closedAt = null, opensAt = null, override = null } = (changeWindow ?? {}) as Row
  const opening = opensAt === null ? 'none opens within a year' : `opens at ${opensAt}`
  const closing = window?.isOpen && window.closesAt ? `open, closes at ${window.closesAt}` : null
  const { until, by, reason } = (override ?? {}) as Row
  // The API tells the last override; where the window is closed, it has ended.
  const overridden =
    override && window?.isOpen ? `overridden by ${by} until ${until}: ${reason}` : null
  const parts = [closedAt === null ? closing : `closed, ${opening}`, overridden]
  return parts.filter((part) => part !== null).join('; ') || null
}

function heldText({ held }: Row): string | null {
  if (!held) return null
  const { at, by, reason } = held as Row
  return `since ${String(at)} by ${String(by)}: ${String(reason)}`
}

export const membersText = ({ members }: Row): string =>
  outcomeText(members as unknown as OutcomeCounts)

const REVIEWED = { removal: 'removal', move: 'move', join: 'latecomer' } as const

/** `15 removals need your decision: matoolkit review list --batch 2`. */
function reviewsText(openReviews: Row | undefined, { id }: Row): string | null {
  const kinds = Object.entries(openReviews ?? {}).filter(([, count]) => Number(count) > 0)
  if (kinds.length === 0) return null
  const counts = kinds.map(([kind, count]) =>
    countText(Number(count), REVIEWED[kind as keyof typeof REVIEWED]),
  )
  const total = kinds.reduce((sum, [, count]) => sum + Number(count), 0)
  const verb = total === 1 ? 'needs' : 'need'
  return `${counts.join(', ')} ${verb} your decision: matoolkit review list --batch ${Number(id)}`
}

/** Shows a batch with its phases. */
export async function showBatch({ show }: CommandContext, body: Row): Promise<void> {
  await show.one(body as Json, BATCH_FIELDS)
  if (show.format !== 'table') return
  show.say('')
  const rows = rowsIn(body, 'phases')
  await show.list({ whole: null, rows, columns: PHASES, empty: 'The batch has no phases.' })
  sayGuards(show, rows)
  sayWaits(show, rows)
}

/** `cutover starts in shares: 5 % done, 25 % runs, …` and `cutover has the point of no return: complete-move`. */
function sayGuards(show: Show, phases: readonly Row[]): void {
  for (const { phaseName, status, ramp, members, noReturnSteps } of phases) {
    if (status === 'superseded') continue
    if (ramp) {
      const told = rampStateText(ramp as unknown as ShownRamp, members as unknown as OutOf)
      show.say(printable(`${phaseName} starts in shares: ${told}`))
    }
    const steps = noReturnSteps as string[]
    if (steps.length > 0)
      show.say(printable(`${phaseName} has the point of no return: ${steps.join(', ')}`))
  }
}
type OutOf = Parameters<typeof rampStateText>[1]

/** `cutover waits: worker w1 was last seen at 22:30`; phases that wait for the same are told together. */
function sayWaits(show: Show, phases: readonly Row[]): void {
  const waiting = phases.filter(({ waitsFor }) => typeof waitsFor === 'string')
  for (const [why, same] of Map.groupBy(waiting, ({ waitsFor }) => String(waitsFor))) {
    const names = same.map(({ phaseName }) => String(phaseName)).join(', ')
    show.say(printable(`${names} ${same.length === 1 ? 'waits' : 'wait'}: ${why}`), 'yellow')
  }
}

export async function runGetBatch(context: CommandContext, [id]: readonly string[]): Promise<void> {
  const { body: summary } = await context.client.get<Row>(`${batchPath(id)}/summary`)
  const body = { ...summary, ...(await context.client.get<Row>(batchPath(id))).body }
  const { runbookName } = (body as Row).batch as Row
  const ofRunbook = (await sayHeldSystem(context)).filter(
    ({ scope, target }) => scope === 'runbook' && target === runbookName,
  )
  const query = { scope: 'member', batchId: idOf('batch', id), limit: HOLDS_SAID }
  const ofMembers = await loadHoldsInForce(context, query)
  const said = [...ofRunbook, ...ofMembers.holds].slice(0, HOLDS_SAID)
  sayHolds(context, said)
  const more = ofRunbook.length + ofMembers.total - said.length
  if (more > 0) context.show.say(`and ${countText(more, 'hold')} more: matoolkit hold list`)
  await showBatch(context, body)
}

export async function runListPhases(
  { client, show }: CommandContext,
  [id]: readonly string[],
): Promise<void> {
  const { body } = await client.get<Row>(`${batchPath(id)}/phases`)
  const rows = rowsIn(body, 'phases')
  await show.list({ whole: body as Json, rows, columns: PHASES, empty: 'The batch has no phases.' })
  sayWaits(show, rows)
}

export const runListMembers = (
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> =>
  showPages(context, {
    path: `${batchPath(id)}/members`,
    query: {
      status: textFlag(flags, 'status'),
      outcome: textFlag(flags, 'outcome')?.replaceAll(/in[ -]progress/g, 'in_progress'),
      phase: textFlag(flags, 'phase'),
      step: textFlag(flags, 'step'),
      search: textFlag(flags, 'search'),
      failedPhase: textFlag(flags, 'failedPhase'),
      failedStep: textFlag(flags, 'failedStep'),
      error: textFlag(flags, 'error'),
      sort: textFlag(flags, 'sort'),
    },
    rows: 'members',
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
  await showPages(context, {
    path: `${batchPath(id)}/steps`,
    query: {
      kind: textFlag(flags, 'kind'),
      status: textFlag(flags, 'status'),
      phase: textFlag(flags, 'phase'),
      step: textFlag(flags, 'step'),
      worker: textFlag(flags, 'worker'),
      memberId: member && (await findMemberId(context, id, member)),
      error: textFlag(flags, 'error'),
    },
    rows: 'steps',
    columns: STEPS,
    empty: isWhole ? await whyNoSteps(context, id) : 'No steps match.',
  })
}

const STEP_FILTERS = ['kind', 'status', 'phase', 'step', 'worker', 'member', 'error']

/** `No steps yet: prepare starts at 23:13`. */
async function whyNoSteps({ client, io }: CommandContext, id: string | undefined): Promise<string> {
  const { body } = await client.get<Row>(`${batchPath(id)}/phases`)
  const next = rowsIn(body, 'phases').find(({ status }) => status === 'pending')
  if (!next) return 'No steps.'
  const { phaseName, dueAt } = next
  const when = dueAt === null ? 'waits to be advanced' : `starts at ${String(dueAt)}`
  return inViewersZone(io, `No steps yet: ${String(phaseName)} ${when}.`)
}
