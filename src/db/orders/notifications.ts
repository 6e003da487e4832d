// Conditions that people hear of, and the messages about them. Opening and clearing happen under one lock, together with the messages;
// sending is by lease, so that several orchestrators share the work and a dead one's messages go out with the same id.
import type { FailingChannel } from '../../domain/needs/from-sources.ts'
import type { Condition, ConditionKind, Ending } from '../../domain/notifications/conditions.ts'
import type { MessageItem } from '../../domain/notifications/message.ts'
import { Conditions } from '../connection/conditions.ts'
import type { Db, Queryable, Tx } from '../connection/db.ts'

/** Far from the locks of batches (small negative keys), holds and migrations. */
const NOTIFICATIONS_LOCK = 7_015_022
const STATE_KEY = 'notifications_state'

export interface WatchState {
  /** When conditions were last compared. */
  readonly lookedAt: Date
  /** Endings before this are not told: nobody asked for them then. */
  readonly beganAt: Date
  /** Endings up to here are told. */
  readonly endedUntil: Date
}

/** False when another orchestrator is at it. */
export async function tryLockNotifications(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>(
    'select pg_try_advisory_xact_lock($1) as locked',
    [NOTIFICATIONS_LOCK],
  )
  return row!.locked
}

/** Null before the first look. */
export async function readWatchState(db: Queryable): Promise<WatchState | null> {
  const [row] = await db.query<WatchState>(
    `select (value->>'lookedAt')::timestamptz as looked_at, (value->>'endedUntil')::timestamptz as ended_until,
            (value->>'beganAt')::timestamptz as began_at
       from settings where key = $1`,
    [STATE_KEY],
  )
  return row ?? null
}

export async function writeWatchState(tx: Tx, state: WatchState): Promise<void> {
  await tx.query(
    `insert into settings (key, value, updated_at, updated_by) values ($1, $2::jsonb, $3, 'orchestrator')
     on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at`,
    [STATE_KEY, JSON.stringify(state), state.lookedAt],
  )
}

/** Phases and batches that ended after `since`, oldest first. */
export function listEndings(db: Queryable, since: Date, limit: number): Promise<Ending[]> {
  return db.query<Ending>(
    `select * from (
       select 'phase_ended' as kind, p.id, p.batch_id, b.runbook_name, p.phase_name,
              p.status, p.completed_at as ended_at, p.members_failed as failed, p.members_total as total
         from phase_executions p join batches b on b.id = p.batch_id
        where p.completed_at > $1 and p.status in ('completed', 'failed')
       union all
       select 'batch_ended', b.id, b.id, b.runbook_name, null, b.status, b.ended_at,
              b.members_failed, b.members_active + b.members_failed
         from batches b where b.ended_at > $1) as e
      order by ended_at, kind desc, id limit $2`,
    [since, limit],
  )
}

export interface OpenCondition {
  readonly id: number
  readonly key: string
  readonly kind: ConditionKind
  readonly runbookName: string | null
  readonly batchId: number | null
  readonly title: string
  readonly text: string
  readonly command: string
  readonly since: Date
  readonly openedAt: Date
  readonly channels: readonly string[]
}

const CONDITION = `id, key, kind, runbook_name, batch_id, title, text, command, since,
  opened_at, to_json(channels) as channels`

/** Oldest first. */
export const listOpenConditions = (
  db: Queryable,
  after: number,
  limit: number,
): Promise<OpenCondition[]> =>
  db.query<OpenCondition>(
    `select ${CONDITION} from notification_conditions where cleared_at is null and id > $1 order by id limit $2`,
    [after, limit],
  )

export interface NewCondition {
  readonly condition: Condition
  readonly channels: readonly string[]
}

/** Returns the keys that are new: an ending is told once, an open condition is open once. */
export async function insertConditions(
  tx: Tx,
  found: readonly NewCondition[],
  now: Date,
): Promise<ReadonlySet<string>> {
  if (found.length === 0) return new Set()
  const rows = found.map(({ condition, channels }) => ({
    ...condition,
    runbookName: condition.runbookNames?.length === 1 ? condition.runbookNames[0] : null,
    channels,
  }))
  const inserted = await tx.query<{ key: string }>(
    `insert into notification_conditions
            (key, kind, runbook_name, batch_id, title, text, command, since, opened_at, cleared_at, is_ending, channels)
     select c.key, c.kind, c."runbookName", c."batchId", c.title, c.text, c.command, c.since, $2, case when c."isEnding" then $2::timestamptz end,
            c."isEnding", array(select jsonb_array_elements_text(c.channels))
       from jsonb_to_recordset($1::jsonb) as c (key text, kind text, "runbookName" text, "batchId" bigint, title text, text text,
              command text, since timestamptz, "isEnding" boolean, channels jsonb)
     on conflict do nothing returning key`,
    [JSON.stringify(rows), now],
  )
  return new Set(inserted.map(({ key }) => key))
}

export async function clearConditions(tx: Tx, ids: readonly number[], now: Date): Promise<void> {
  if (ids.length === 0) return
  await tx.query(
    'update notification_conditions set cleared_at = greatest(opened_at, $2) where id = any($1::bigint[]) and cleared_at is null',
    [ids, now],
  )
}

export interface NewNotification {
  readonly messageId: string
  readonly channel: string
  readonly items: readonly MessageItem[]
  readonly leftOut: number
  readonly isGathering: boolean
  readonly dueAt: Date
}

export async function insertNotification(
  tx: Queryable,
  { messageId, channel, items, leftOut, isGathering, dueAt }: NewNotification,
  now: Date,
): Promise<number> {
  const [row] = await tx.query<{ id: number }>(
    `insert into notifications (message_id, channel, items, left_out, is_gathering, status, created_at, due_at)
     values ($1, $2, $3::jsonb, $4, $5, 'waiting', $6, $7) returning id`,
    [messageId, channel, JSON.stringify(items), leftOut, isGathering, now, dueAt],
  )
  return row!.id
}

/** Adds to the message that gathers for the channel; false when there is none. Items beyond `most` are counted. */
export async function addToGathering(
  tx: Tx,
  channel: string,
  items: readonly MessageItem[],
  most: number,
  now: Date,
): Promise<boolean> {
  const changed = await tx.change(
    `update notifications n
        set items = (select coalesce(jsonb_agg(i.value order by i.place), '[]')
                       from jsonb_array_elements(n.items || $2::jsonb) with ordinality as i (value, place) where i.place <= $3),
            left_out = n.left_out + greatest(0, jsonb_array_length(n.items) + jsonb_array_length($2::jsonb) - $3::int)
      where id = (select id from notifications where channel = $1 and status = 'waiting' and is_gathering and due_at > $4
                   order by id limit 1)`,
    [channel, JSON.stringify(items), most, now],
  )
  return changed > 0
}

export interface DueNotification {
  readonly id: number
  readonly messageId: string
  readonly channel: string
  readonly items: readonly MessageItem[]
  readonly leftOut: number
  readonly createdAt: Date
  /** Before this one. */
  readonly attempts: number
  /** An earlier attempt had no answer, or its sender died. */
  readonly mayHaveArrived: boolean
}

/**
 * Leases due messages of these channels, oldest first. From the first lease on nothing is added to a message. Behind one that is tried again
 * the others wait: "cleared" never arrives before what it clears. A test waits for nothing.
 */
export function leaseDue(
  db: Queryable,
  channels: readonly string[],
  token: string,
  until: Date,
  now: Date,
  limit: number,
): Promise<DueNotification[]> {
  return db.query<DueNotification>(
    `with due as (
       select id from notifications n
        where status = 'waiting' and due_at <= $4 and (leased_until is null or leased_until <= $4) and channel = any($1::text[])
          and (items->0->>'state' = 'test' or not exists (
                select from notifications e where e.channel = n.channel and e.id < n.id and e.status = 'waiting'
                   and e.items->0->>'state' <> 'test' and (e.attempts > 0 and e.due_at > $4 or e.leased_until > $4)))
        order by due_at, id limit $5 for update skip locked)
     update notifications n set lease_token = $2, leased_until = $3, is_gathering = false,
            may_have_arrived = n.may_have_arrived or n.lease_token is not null
       from due where n.id = due.id
     returning n.id, n.message_id, n.channel, n.items, n.left_out, n.created_at, n.attempts,
            n.may_have_arrived`,
    [channels, token, until, now, limit],
  )
}

/** Gives back what was leased and not tried. */
export async function releaseLeases(
  db: Queryable,
  ids: readonly number[],
  token: string,
): Promise<void> {
  if (ids.length === 0) return
  await db.query(
    'update notifications set lease_token = null, leased_until = null where id = any($1::bigint[]) and lease_token = $2',
    [ids, token],
  )
}

export type DeliveryEnd =
  | { readonly status: 'sent' }
  | { readonly status: 'failed'; readonly error: string }
  | {
      readonly status: 'waiting'
      readonly error: string
      readonly dueAt: Date
      readonly mayHaveArrived: boolean
    }

/** False when the lease is no longer ours: another orchestrator sends it. */
export async function endDelivery(
  tx: Tx,
  id: number,
  token: string,
  end: DeliveryEnd,
  now: Date,
): Promise<boolean> {
  const changed = await tx.change(
    `update notifications
        set status = $3, error = $4, attempts = attempts + 1, due_at = coalesce($5, due_at), lease_token = null, leased_until = null,
            may_have_arrived = may_have_arrived or $7, ended_at = case when $3 <> 'waiting' then $6::timestamptz end
      where id = $1 and lease_token = $2 and status = 'waiting'`,
    [
      id,
      token,
      end.status,
      'error' in end ? end.error : null,
      'dueAt' in end ? end.dueAt : null,
      now,
      'mayHaveArrived' in end && end.mayHaveArrived,
    ],
  )
  return changed > 0
}

/** Returns how many rows are gone. */
export async function pruneNotifications(db: Db, before: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `with m as (delete from notifications where id in (
                  select id from notifications where ended_at < $1 order by ended_at limit $2) returning 1),
          c as (delete from notification_conditions where id in (
                  select id from notification_conditions where cleared_at < $1 order by cleared_at limit $2) returning 1)
     select from m union all select from c`,
    [before, limit],
  )
  return rows.length
}

export const NOTIFICATION_STATUSES = ['waiting', 'sent', 'failed'] as const

export interface NotificationLine {
  readonly id: number
  readonly messageId: string
  readonly channel: string
  readonly status: (typeof NOTIFICATION_STATUSES)[number]
  readonly items: readonly MessageItem[]
  readonly leftOut: number
  readonly createdAt: Date
  readonly dueAt: Date
  readonly attempts: number
  readonly endedAt: Date | null
  readonly error: string | null
}

const LINE = `id, message_id, channel, status, items, left_out, created_at, due_at,
  attempts, ended_at, error`

export interface NotificationFilter {
  readonly channel?: string | undefined
  readonly status?: string | undefined
  readonly before?: number | undefined
}

/** Newest first. */
export function listNotifications(
  db: Queryable,
  { channel, status, before }: NotificationFilter,
  limit: number,
): Promise<NotificationLine[]> {
  const where = new Conditions()
  if (channel !== undefined) where.and('channel = ?', channel)
  if (status !== undefined) where.and('status = ?', status)
  if (before !== undefined) where.and('id < ?', before)
  return db.query<NotificationLine>(
    `select ${LINE} from notifications where ${where.text} order by id desc limit ${where.add(limit)}`,
    where.values,
  )
}

export async function findNotification(
  db: Queryable,
  id: number,
): Promise<NotificationLine | undefined> {
  const rows = await db.query<NotificationLine>(`select ${LINE} from notifications where id = $1`, [
    id,
  ])
  return rows[0]
}

/** A message that was tried so often, over a minute, is trouble that a person should see. */
const FAILING_AFTER_ATTEMPTS = 3

/** Channels whose newest ended message failed, or that do not take the one that waits. A message that arrives, such as a test, ends it. */
export const listFailingChannels = (db: Queryable): Promise<FailingChannel[]> =>
  db.query<FailingChannel>(
    `select distinct on (channel) channel, since, error
       from (select channel, ended_at as since, error
               from (select distinct on (channel) channel, status, ended_at, error from notifications
                      where ended_at is not null order by channel, ended_at desc, id desc) as n
              where status = 'failed'
             union all
             select channel, created_at, error from notifications where status = 'waiting' and attempts >= $1 and error is not null) as f
      order by channel, since limit 50`,
    [FAILING_AFTER_ATTEMPTS],
  )

/** The channel takes messages again: those that wait for another attempt need not. */
export async function hastenRetries(tx: Tx, channel: string, now: Date): Promise<void> {
  await tx.query(
    `update notifications set due_at = $2 where channel = $1 and status = 'waiting' and attempts > 0 and due_at > $2`,
    [channel, now],
  )
}

export interface ChannelFigures {
  readonly channel: string
  readonly lastSentAt: Date | null
  readonly waiting: number
}

/** Of the 30 days for which messages are kept. */
export const listChannelFigures = (
  db: Queryable,
  channels: readonly string[],
): Promise<ChannelFigures[]> =>
  db.query<ChannelFigures>(
    `select channel, max(ended_at) filter (where status = 'sent') as last_sent_at,
            count(*) filter (where status = 'waiting')::int as waiting
       from notifications where channel = any($1::text[]) group by channel`,
    [channels],
  )

export interface ConditionMessage {
  readonly key: string
  readonly id: number
  readonly channel: string
  readonly status: (typeof NOTIFICATION_STATUSES)[number]
}

/** The messages that tell of these open conditions. One that ended before the first of them opened holds none. */
export const listConditionMessages = (
  db: Queryable,
  conditions: readonly Pick<OpenCondition, 'key' | 'openedAt'>[],
): Promise<ConditionMessage[]> => {
  const earliest = Math.min(...conditions.map(({ openedAt }) => +openedAt))
  return conditions.length === 0
    ? Promise.resolve([])
    : db.query<ConditionMessage>(
        `select i.value->>'key' as key, n.id, n.channel, n.status
           from notifications n cross join lateral jsonb_array_elements(n.items) as i (value)
          where (n.ended_at is null or n.ended_at >= $2) and i.value->>'key' = any($1::text[]) and i.value->>'state' = 'open'
          order by n.id`,
        [conditions.map(({ key }) => key), new Date(earliest)],
      )
}
