// Finds out what people must be told: compares what is wrong now with the conditions that are open, and writes the difference together with
// the messages about it. It looks at the state and not at events, so a look that never happened costs time and no message. Everything is
// read under one lock: an orchestrator that stalls cannot open again what another has cleared.

import { countText } from '../../base/text/count-text.ts'
import { countDeadLetters } from '../../bus/dead-letters.ts'
import type { Queryable, Tx } from '../../db/connection/db.ts'
import { listMisses } from '../../db/orders/forecast-misses.ts'
import {
  addToGathering,
  clearConditions,
  insertConditions,
  insertNotification,
  listEndings,
  listOpenConditions,
  listUnapprovedGates,
  type NewCondition,
  type OpenCondition,
  readWatchState,
  tryLockNotifications,
  type WatchState,
  writeWatchState,
} from '../../db/orders/notifications.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { listHolds } from '../../db/state/holds.ts'
import { listActiveVersions } from '../../db/state/runbooks.ts'
import { ATTENTION_LISTED_MAX, listAttention } from '../../db/views/attention.ts'
import { findBatchLines } from '../../db/views/batches.ts'
import { listWorkers } from '../../db/views/workers.ts'
import {
  attentionCondition,
  type Condition,
  type ConditionKind,
  endingCondition,
  gateCondition,
  holdCondition,
  missCondition,
  stuckConditions,
} from '../../domain/needs/conditions.ts'
import { ITEMS_MAX, itemOf, type MessageItem } from '../../domain/notifications/message.ts'
import {
  type Channel,
  channelsFor,
  type NotificationRule,
  type NotificationSettings,
  sendAt,
} from '../../domain/notifications/rules.ts'
import { type EventRecord, eventRecord } from '../../domain/state/event-record.ts'
import type { Engine } from '../transactions/engine.ts'
import { deadLetterItem } from './attention.ts'
import { findLateBatches, loadStuck } from './stuck-batches.ts'

const ACTOR = 'orchestrator'
const HOLDS_MAX = 500
const LATE_BATCHES_MAX = 100
const ENDINGS_MAX = 500
const GATES_MAX = 500
const MISSES_MAX = 500
/** People hear of missing approvals so long before the phase. */
export const GATES_AHEAD_MS = 24 * 3_600_000
const OPEN_MAX = 5_000
/** Transactions that began before the last look and committed after it. */
const ENDINGS_OVERLAP_MS = 5 * 60_000
/** After a longer pause the endings meanwhile are no news. */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000
/** Several orchestrators look in turn, together about so often. */
export const LOOK_INTERVAL_MS = 10_000

export interface NotificationContext {
  readonly engine: Engine
  readonly settings: NotificationSettings
  /** A new id for a message. */
  readonly newId: () => string
}

interface Found {
  readonly conditions: readonly Condition[]
  /** Not everything of these kinds was looked at: none of them is cleared. */
  readonly incomplete: ReadonlySet<ConditionKind>
}

/** Returns how many conditions were opened and cleared; null when another orchestrator looks, or has just looked. */
export async function lookForConditions(
  context: NotificationContext,
): Promise<{ readonly opened: number; readonly cleared: number } | null> {
  const { engine } = context
  return engine.db.transaction(async (tx) => {
    if (!(await tryLockNotifications(tx))) return null
    const now = engine.clock.now()
    const last = await readWatchState(tx)
    const state = last && +now - +last.lookedAt < FORGOTTEN_AFTER_MS ? last : null
    if (hasJustLooked(state, now)) return null
    // From the database, whatever the transport: a broker that is down must not keep anybody from hearing of it.
    const dead = (await countDeadLetters(tx)).map(deadLetterItem)
    const found = await findConditions(tx, engine, now, state)
    const conditions = [
      ...found.conditions,
      ...dead.flatMap((item) => attentionCondition(item, now) ?? []),
    ]
    const result = await writeDifference(tx, context, { ...found, conditions }, now)
    const beganAt = state?.beganAt ?? now
    await writeWatchState(tx, { lookedAt: now, beganAt, endedUntil: found.endedUntil })
    return result
  })
}

const hasJustLooked = (state: WatchState | null, now: Date): boolean =>
  state !== null && +now - +state.lookedAt < LOOK_INTERVAL_MS / 2

async function findConditions(
  tx: Tx,
  engine: Engine,
  now: Date,
  state: WatchState | null,
): Promise<Found & { readonly endedUntil: Date }> {
  const incomplete = new Set<ConditionKind>()
  const { holds, total } = await listHolds(
    tx,
    { scope: ['system', 'runbook', 'worker', 'batch'] },
    null,
    HOLDS_MAX,
  )
  if (total > HOLDS_MAX) for (const kind of OF_HOLDS) incomplete.add(kind)
  const batchIds = holds.filter(({ scope }) => scope === 'batch').map(({ target }) => +target)
  const lines = await findBatchLines(tx, batchIds)
  const attention = await listAttention(tx)
  if (attention.length > ATTENTION_LISTED_MAX) for (const kind of OF_ATTENTION) incomplete.add(kind)
  const stuck = await findStuckBatches(tx, engine, now)
  if (!stuck.isComplete) for (const kind of OF_STUCK) incomplete.add(kind)
  // The first look tells what is open, not what ended before anybody asked for it.
  const since = state
    ? new Date(Math.max(+state.endedUntil - ENDINGS_OVERLAP_MS, +state.beganAt))
    : now
  const endings = await listEndings(tx, since, ENDINGS_MAX)
  const gates = await listUnapprovedGates(tx, now, new Date(+now + GATES_AHEAD_MS), GATES_MAX + 1)
  if (gates.length > GATES_MAX) incomplete.add('gate_waiting')
  const misses = await listMisses(tx, MISSES_MAX + 1)
  if (misses.length > MISSES_MAX) incomplete.add('forecast_miss')
  const conditions = [
    ...holds.flatMap(
      (hold) => holdCondition(hold, lines.get(+hold.target)?.runbookName ?? null) ?? [],
    ),
    ...attention
      .slice(0, ATTENTION_LISTED_MAX)
      .flatMap((item) => attentionCondition(item, now) ?? []),
    ...gates.slice(0, GATES_MAX).map(gateCondition),
    ...misses.slice(0, MISSES_MAX).map(missCondition),
    ...stuckConditions(stuck.batches, now),
    ...endings.map(endingCondition),
  ]
  const endedUntil = endings.length < ENDINGS_MAX ? now : endings.at(-1)!.endedAt
  return { conditions, incomplete, endedUntil }
}

const OF_HOLDS: readonly ConditionKind[] = ['batch_held', 'failure_limit']
const OF_ATTENTION: readonly ConditionKind[] = ['review_waiting', 'source_failing']
const OF_STUCK: readonly ConditionKind[] = ['stuck', 'worker_silent', 'phase_late']

async function findStuckBatches(tx: Tx, { pace }: Engine, now: Date) {
  const ids = await findLateBatches(tx, await listWorkers(tx), now, LATE_BATCHES_MAX + 1)
  const batches = []
  for (const id of ids.slice(0, LATE_BATCHES_MAX)) {
    const batch = await loadStuck(tx, pace, id, now)
    if (batch) batches.push(batch)
  }
  return { batches, isComplete: ids.length <= LATE_BATCHES_MAX }
}

async function writeDifference(
  tx: Tx,
  context: NotificationContext,
  { conditions, incomplete }: Found,
  now: Date,
): Promise<{ readonly opened: number; readonly cleared: number }> {
  const { settings, engine } = context
  const rules = [...settings.rules, ...(await runbookRules(tx, engine, conditions))]
  const open = await listOpenConditions(tx, 0, OPEN_MAX)
  const known = new Set(open.map(({ key }) => key))
  const told = conditions
    .filter(({ key }) => !known.has(key))
    .map((condition) => ({
      condition,
      channels: channelsFor(condition, rules, settings.channels).map(({ name }) => name),
    }))
    .filter(({ channels }) => channels.length > 0)
  const fresh = await insertConditions(tx, told, now)
  const opened = told.filter(({ condition }) => fresh.has(condition.key))
  const current = new Set(conditions.map(({ key }) => key))
  const gone = open.filter(({ key, kind }) => !current.has(key) && !incomplete.has(kind))
  await clearConditions(
    tx,
    gone.map(({ id }) => id),
    now,
  )
  await writeMessages(tx, context, opened, gone, now)
  await insertEvents(tx, null, now, ACTOR, [...opened.map(openedEvent), ...gone.map(clearedEvent)])
  return { opened: opened.length, cleared: gone.length }
}

/** Of the runbooks concerned, each for its own conditions only. */
function runbookRules(
  db: Queryable,
  engine: Engine,
  conditions: readonly Condition[],
): Promise<NotificationRule[]> {
  const names = new Set(conditions.flatMap(({ runbookNames }) => runbookNames ?? []))
  return loadRunbookRules(db, engine, [...names])
}

/** Of the active versions of these runbooks; null: of all, up to `limit`. */
export async function loadRunbookRules(
  db: Queryable,
  { runbooks }: Pick<Engine, 'runbooks'>,
  names: readonly string[] | null,
  limit: number | null = null,
): Promise<NotificationRule[]> {
  const rules: NotificationRule[] = []
  for (const { name, version } of await listActiveVersions(db, names, limit)) {
    const { notifications } = await runbooks.get(db, name, version)
    rules.push(...notifications.map((rule) => ({ ...rule, runbooks: [name.toLowerCase()] })))
  }
  return rules
}

async function writeMessages(
  tx: Tx,
  { settings, newId }: NotificationContext,
  opened: readonly NewCondition[],
  gone: readonly OpenCondition[],
  now: Date,
): Promise<void> {
  const isUrgent = (kind: ConditionKind) => settings.urgent.includes(kind)
  for (const channel of settings.channels) {
    const items = [
      ...opened
        .filter(({ channels }) => channels.includes(channel.name))
        .map(({ condition }) => ({ kind: condition.kind, item: itemOf(condition, now) })),
      ...gone
        .filter(({ channels }) => channels.includes(channel.name))
        .map((one) => ({ kind: one.kind, item: clearedItem(one, now) })),
    ]
    for (const { item } of items.filter(({ kind }) => isUrgent(kind)))
      await send(tx, channel, [item], now, { isUrgent: true, newId, now })
    const rest = items.filter(({ kind }) => !isUrgent(kind)).map(({ item }) => item)
    const due = sendAt(channel, false, now)
    if (+due > +now) await send(tx, channel, rest, due, { isUrgent: false, newId, now })
    else
      for (const item of rest) await send(tx, channel, [item], now, { isUrgent: true, newId, now })
  }
}

async function send(
  tx: Tx,
  channel: Channel,
  items: readonly MessageItem[],
  due: Date,
  { isUrgent, newId, now }: { isUrgent: boolean; newId: () => string; now: Date },
): Promise<void> {
  if (items.length === 0) return
  if (!isUrgent && (await addToGathering(tx, channel.name, items, ITEMS_MAX, now))) return
  const message = {
    messageId: newId(),
    channel: channel.name,
    items: items.slice(0, ITEMS_MAX),
    leftOut: Math.max(0, items.length - ITEMS_MAX),
    isGathering: !isUrgent,
    dueAt: due,
  }
  await insertNotification(tx, message, now)
}

const clearedItem = (open: OpenCondition, now: Date): MessageItem => ({
  state: 'cleared',
  key: open.key,
  kind: open.kind,
  title: open.title,
  text: open.text,
  command: open.command,
  runbookName: open.runbookName,
  batchId: open.batchId,
  since: open.since.toISOString(),
  at: now.toISOString(),
})

const openedEvent = ({ condition, channels }: NewCondition): EventRecord =>
  eventRecord(
    'system',
    condition.isEnding ? 'ending_told' : 'condition_opened',
    `${condition.title}: ${countText(channels.length, 'channel')} told (${channels.join(', ')})`,
    { details: { key: condition.key, batchId: condition.batchId } },
  )

const clearedEvent = ({ title, key, batchId, channels }: OpenCondition): EventRecord =>
  eventRecord('system', 'condition_cleared', `Cleared: ${title} (${channels.join(', ')})`, {
    details: { key, batchId },
  })
