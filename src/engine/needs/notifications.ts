// Finds out what people must be told: compares what is wrong now with the conditions that are open, and writes the difference together with
// the messages about it. It looks at the state and not at events, so a look that never happened costs time and no message. Everything is
// read under one lock: an orchestrator that stalls cannot open again what another has cleared.

import { countText } from '../../base/text/count-text.ts'
import type { Queryable, Tx } from '../../db/connection/db.ts'
import {
  addToGathering,
  clearConditions,
  insertConditions,
  insertNotification,
  listEndings,
  listOpenConditions,
  type NewCondition,
  type OpenCondition,
  readWatchState,
  tryLockNotifications,
  type WatchState,
  writeWatchState,
} from '../../db/orders/notifications.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { listActiveVersions } from '../../db/state/runbooks.ts'
import { hasGrown } from '../../domain/needs/from-work.ts'
import {
  type Condition,
  type ConditionKind,
  endingCondition,
  needCondition,
} from '../../domain/notifications/conditions.ts'
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
import { findNeeds } from './find-needs.ts'

const ACTOR = 'orchestrator'
const ENDINGS_MAX = 500
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
  readonly incomplete: ReadonlySet<string>
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
    const found = await findConditions(tx, engine, now, state)
    const result = await writeDifference(tx, context, found, now)
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
  const { needs, incomplete } = await findNeeds(tx, engine, now)
  // The first look tells what is open, not what ended before anybody asked for it.
  const since = state
    ? new Date(Math.max(+state.endedUntil - ENDINGS_OVERLAP_MS, +state.beganAt))
    : now
  const endings = await listEndings(tx, since, ENDINGS_MAX)
  const conditions = [
    ...needs.flatMap((need) => needCondition(need) ?? []),
    ...endings.map(endingCondition),
  ]
  const endedUntil = endings.length < ENDINGS_MAX ? now : endings.at(-1)!.endedAt
  return { conditions, incomplete, endedUntil }
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
  // What has become urgent is told again as such, and is not over.
  const over = gone.filter(({ key }) => !hasGrown(key, current))
  await writeMessages(tx, context, opened, over, now)
  await insertEvents(tx, null, now, ACTOR, [...opened.map(openedEvent), ...over.map(clearedEvent)])
  return { opened: opened.length, cleared: over.length }
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
        .map(({ condition }) => ({
          isUrgent: isUrgent(condition.kind) && !condition.isEarly,
          item: itemOf(condition, now),
        })),
      ...gone
        .filter(({ channels }) => channels.includes(channel.name))
        .map((one) => ({ isUrgent: isUrgent(one.kind), item: clearedItem(one, now) })),
    ]
    for (const { item } of items.filter((one) => one.isUrgent))
      await send(tx, channel, [item], now, { isUrgent: true, newId, now })
    const rest = items.filter((one) => !one.isUrgent).map(({ item }) => item)
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
