// Who is needed, and for what: every kind of need (domain/needs/kinds.ts) is looked for here and nowhere else, over all batches or for one.
import { sameName } from '../../base/text/same-name.ts'
import { countDeadLetters } from '../../bus/dead-letters.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { listMisses } from '../../db/orders/forecast-misses.ts'
import { listUnapprovedGates } from '../../db/orders/gates.ts'
import { loadNeedDecisions } from '../../db/orders/need-decisions.ts'
import { listFailingChannels } from '../../db/orders/notifications.ts'
import { listBatchesIn, listHolds } from '../../db/state/holds.ts'
import { findBatchLines } from '../../db/views/batches.ts'
import { listFailedBatches, listPhaseOutlook } from '../../db/views/status.ts'
import { listWaiting, WAITING_LISTED_MAX } from '../../db/views/waiting.ts'
import { listWorkers } from '../../db/views/workers.ts'
import { channelNeed, deadLetterNeed, sourceNeed } from '../../domain/needs/from-sources.ts'
import {
  failedNeed,
  gateNeed,
  type HeldWork,
  holdNeed,
  missNeed,
  notLookedAt,
  stuckNeeds,
} from '../../domain/needs/from-work.ts'
import type { NeedKind } from '../../domain/needs/kinds.ts'
import {
  concerns,
  type Need,
  type NeedVerdict,
  verdictOf,
  withDecision,
  withoutExplained,
  withoutGates,
} from '../../domain/needs/needs.ts'
import type { Hold } from '../../domain/state/holds.ts'
import type { Engine } from '../transactions/engine.ts'
import { findLateBatches, loadStuck } from './stuck-batches.ts'

const HOLDS_MAX = 500
/** Late batches that are looked at one by one. */
const LATE_BATCHES_MAX = 100
const GATES_MAX = 500
const MISSES_MAX = 500
const FAILED_BATCHES_MAX = 200
const PHASES_MAX = 100
/** A gate is a need so long before its phase. */
export const GATES_AHEAD_MS = 24 * 3_600_000

interface Look {
  readonly db: Queryable
  readonly engine: Pick<Engine, 'pace'>
  readonly now: Date
  /** Undefined: all. */
  readonly batchId: number | undefined
  readonly runbookName?: string | undefined
}

interface Seen {
  readonly needs: readonly Need[]
  /** False when there are more than were looked at. */
  readonly isComplete: boolean
}
type Finder = (look: Look) => Promise<Seen>

const upTo = <T>(rows: readonly T[], most: number, needOf: (row: T) => Need): Seen => ({
  needs: rows.slice(0, most).map(needOf),
  isComplete: rows.length <= most,
})

const ofHolds: Finder = async ({ db, batchId }) => {
  const scope = ['system', 'runbook', 'worker', 'batch'] as const
  const { holds, total } = await listHolds(db, { scope }, null, HOLDS_MAX)
  // The filter by batch leaves out the holds that cover it; of its own there is one.
  const own =
    batchId === undefined || total <= HOLDS_MAX
      ? []
      : (await listHolds(db, { scope: ['batch'], batchId }, null, 1)).holds
  const all = [...holds, ...own.filter(({ target }) => !holds.some((one) => one.target === target))]
  const batchIds = all.filter(({ scope: of }) => of === 'batch').map(({ target }) => +target)
  const lines = await findBatchLines(db, batchIds)
  const needs: Need[] = []
  for (const hold of all) {
    const work = await heldWork(db, hold, (id) => lines.get(id)?.runbookName ?? '')
    const need = holdNeed(hold, work)
    if (need) needs.push(need)
  }
  return { needs, isComplete: total <= HOLDS_MAX }
}

async function heldWork(
  db: Queryable,
  hold: Hold,
  runbookOf: (batchId: number) => string,
): Promise<HeldWork> {
  const { scope, target } = hold
  switch (scope) {
    case 'batch':
      return { batchIds: [+target], runbookNames: [runbookOf(+target)] }
    case 'runbook':
      return { batchIds: null, runbookNames: [target] }
    case 'worker':
      return { batchIds: await listBatchesIn(db, hold, 'waits'), runbookNames: null }
    default:
      return { batchIds: null, runbookNames: null }
  }
}

const ofGates: Finder = async ({ db, now, batchId }) => {
  const until = new Date(+now + GATES_AHEAD_MS)
  const sought = { after: null, until, aheadMs: GATES_AHEAD_MS, batchId, now }
  const gates = await listUnapprovedGates(db, sought, GATES_MAX + 1)
  return upTo(gates, GATES_MAX, (gate) => gateNeed(gate, now))
}

/** Finds late batches in one statement over all, and says why each is stuck. */
const ofStuck: Finder = async ({ db, engine, now, batchId }) => {
  const ids =
    batchId === undefined
      ? await findLateBatches(db, await listWorkers(db), now, LATE_BATCHES_MAX + 1)
      : [batchId]
  const batches = []
  for (const id of ids.slice(0, LATE_BATCHES_MAX)) {
    const batch = await loadStuck(db, engine.pace, id, now)
    if (batch) batches.push(batch)
  }
  const isComplete = ids.length <= LATE_BATCHES_MAX
  const needs = stuckNeeds(batches, now)
  return { needs: isComplete ? needs : [...needs, notLookedAt(now)], isComplete }
}

const ofFailures: Finder = async ({ db, now, batchId }) => {
  const failed = await listFailedBatches(db, FAILED_BATCHES_MAX + 1, { batchId })
  return upTo(failed, FAILED_BATCHES_MAX, (batch) => failedNeed(batch, now))
}

/** As people were told; the forecast has the present figures. */
const ofMisses: Finder = async ({ db, batchId }) =>
  upTo(await listMisses(db, MISSES_MAX + 1, batchId ?? null), MISSES_MAX, missNeed)

const ofSources: Finder = async ({ db, now, batchId, runbookName }) =>
  upTo(await listWaiting(db, { batchId, runbookName }), WAITING_LISTED_MAX, (item) =>
    sourceNeed(item, now),
  )

/** From the database, whatever the transport: a broker that is down must not keep anybody from hearing of it. */
const ofDeadLetters: Finder = async ({ db, now }) => {
  const counts = await countDeadLetters(db)
  return upTo(counts, counts.length, ({ topic, count }) => deadLetterNeed(topic, count, now))
}

const ofChannels: Finder = async ({ db }) => {
  const failing = await listFailingChannels(db)
  return upTo(failing, failing.length, channelNeed)
}

/** How each kind is found; the compiler asks for a new one. */
const FOUND_BY: Readonly<Record<NeedKind, readonly [Finder, ...Finder[]]>> = {
  everything_held: [ofHolds],
  worker_silent: [ofStuck],
  gate_waiting: [ofHolds, ofGates],
  failure_limit: [ofHolds],
  batch_held: [ofHolds],
  people_failed: [ofFailures],
  phase_late: [ofStuck],
  stuck: [ofStuck],
  forecast_miss: [ofMisses],
  review_waiting: [ofSources],
  source_failing: [ofSources],
  dead_letters: [ofDeadLetters],
  channel_failing: [ofChannels],
  rows_left_out: [ofSources],
}

/** No batch waits for them, and they belong to no runbook. */
const OF_NO_RUNBOOK: readonly Finder[] = [ofDeadLetters, ofChannels]

export interface FoundNeeds {
  readonly needs: readonly Need[]
  /** Not everything of these kinds was looked at: one that is missing here may be open. */
  readonly incomplete: ReadonlySet<NeedKind>
}

export interface NeedScope {
  readonly batchId?: number | undefined
  readonly runbookName?: string | undefined
}

/** Reads in the transaction that is given. */
export async function findNeeds(
  db: Queryable,
  engine: Pick<Engine, 'pace'>,
  now: Date,
  { batchId, runbookName }: NeedScope = {},
): Promise<FoundNeeds> {
  const isWide = batchId === undefined && runbookName === undefined
  const finders = [...new Set(Object.values(FOUND_BY).flat())].filter(
    (finder) => isWide || !OF_NO_RUNBOOK.includes(finder),
  )
  const seen = new Map<Finder, Seen>()
  const look = { db, engine, now, batchId, runbookName }
  for (const finder of finders) seen.set(finder, await finder(look))
  const holds = seen.get(ofHolds)!.needs
  const gates = seen.get(ofGates)!.needs
  const all = [...seen].flatMap(([finder, { needs }]) => {
    if (finder === ofHolds) return withoutGates(needs, gates)
    return finder === ofStuck ? withoutExplained(needs, holds, gates) : needs
  })
  const incomplete = new Set(
    (Object.entries(FOUND_BY) as [NeedKind, readonly Finder[]][])
      .filter(([, by]) => by.some((finder) => seen.get(finder)?.isComplete === false))
      .map(([kind]) => kind),
  )
  const wanted = await inScope(db, all, { batchId, runbookName })
  const decisions = await loadNeedDecisions(
    db,
    wanted.map(({ key }) => key),
  )
  const needs = wanted.map((need) => withDecision(need, decisions.get(need.key) ?? null))
  return { needs, incomplete }
}

async function inScope(
  db: Queryable,
  needs: readonly Need[],
  { batchId, runbookName }: NeedScope,
): Promise<readonly Need[]> {
  if (batchId !== undefined) {
    const line = (await findBatchLines(db, [batchId])).get(batchId)
    return line ? needs.filter((need) => concerns(need, line)) : []
  }
  if (runbookName === undefined) return needs
  const isOf = (name: string) => sameName(name, runbookName)
  return needs.filter(({ runbookNames }) => runbookNames === null || runbookNames.some(isOf))
}

export interface LoadedVerdict extends NeedVerdict {
  readonly isComplete: boolean
}

/** Who is needed and what runs, over all batches or for one: every screen and every exit code says this. */
export async function loadVerdict(
  engine: Engine,
  now: Date,
  scope: NeedScope = {},
): Promise<LoadedVerdict> {
  const { needs, incomplete } = await findNeeds(engine.db, engine, now, scope)
  const phases = await listPhaseOutlook(engine.db, PHASES_MAX, scope.batchId ?? null)
  const isRunning = ({ status }: { status: string }) => status === 'dispatched'
  const next = phases.find((phase) => !isRunning(phase) && phase.dueAt !== null)
  const doing = {
    running: phases.filter(isRunning).length,
    next: next
      ? `${next.phaseName} of batch ${next.batchId} at ${next.dueAt!.toISOString()}`
      : null,
  }
  return { ...verdictOf(needs, doing), isComplete: incomplete.size === 0 }
}
