// Notifications over the API: the messages that were sent or failed, the conditions that are open, channels, rules, and a test of a channel.
// The orchestrator sends; a test goes the way of every message.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import {
  type ConditionMessage,
  findNotification,
  insertNotification,
  listChannelFigures,
  listConditionMessages,
  listFailingChannels,
  listNotifications,
  listOpenConditions,
  NOTIFICATION_STATUSES,
  type NotificationLine,
  type OpenCondition,
} from '../../db/orders/notifications.ts'
import { CONDITION_KINDS } from '../../domain/notifications/conditions.ts'
import { ITEM_STATES, testItem } from '../../domain/notifications/message.ts'
import { type QuietHours, WEEKDAYS } from '../../domain/notifications/quiet-hours.ts'
import { CHANNEL_TYPES, type NotificationRule } from '../../domain/notifications/rules.ts'
import { loadRunbookRules } from '../../engine/needs/notifications.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { change, read } from '../route.ts'
import {
  dateTime,
  id,
  nameText,
  nullableDateTime,
  nullableText,
  pagingQuery,
  wholeCount,
} from '../shapes/shapes.ts'

const SORT = 'newest'
const next = z.string().nullable().meta({ description: 'Cursor of the next page.' })

const item = z
  .strictObject({
    state: z.enum(ITEM_STATES),
    key: z.string().meta({ description: 'The same when a condition opens and is cleared.' }),
    kind: z.string(),
    title: z.string(),
    text: z.string().meta({ description: 'A sentence; times in UTC.' }),
    command: z.string().meta({ description: 'Handles it, or shows it in full.' }),
    runbookName: nullableText,
    batchId: z.int().nullable(),
    since: z.string(),
    at: z.string(),
  })
  .meta({ id: 'NotificationItem' })

const line = z
  .strictObject({
    id: z.int(),
    messageId: z.string().meta({ description: 'The same at every attempt.' }),
    channel: z.string(),
    status: z.enum(NOTIFICATION_STATUSES),
    items: z.array(item),
    leftOut: wholeCount.meta({ description: 'Items that the message only counts.' }),
    createdAt: dateTime,
    dueAt: dateTime.meta({ description: 'When it is sent, or tried again.' }),
    attempts: wholeCount,
    endedAt: nullableDateTime,
    error: nullableText.meta({ description: 'Of the last attempt.' }),
  })
  .meta({ id: 'Notification' })

const shown = ({ items, ...rest }: NotificationLine): z.input<typeof line> => ({
  ...rest,
  items: [...items],
})

const listRoute = read({
  method: 'GET',
  path: '/api/notifications',
  operation: 'listNotifications',
  tag: 'service',
  summary: 'List messages to people, newest first',
  about: 'Messages are kept for 30 days.',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    channel: nameText.optional(),
    status: z.enum(NOTIFICATION_STATUSES).optional(),
  }),
  answers: {
    200: z.strictObject({ notifications: z.array(line), next }).meta({ id: 'Notifications' }),
  },
  handle: async ({ engine: { db }, query: { limit, cursor, channel, status } }) => {
    const before = readCursor(SORT, cursor)?.id
    const found = await listNotifications(db, { channel, status, before }, limit + 1)
    const page = pageFrom(found, limit, SORT, (row) => ({ value: null, id: row.id }))
    return { status: 200, body: { notifications: page.rows.map(shown), next: page.next } }
  },
})

const showRoute = read({
  method: 'GET',
  path: '/api/notifications/{notificationId}',
  operation: 'getNotification',
  tag: 'service',
  summary: 'Show a message and what became of it',
  rule: 'reader',
  errors: ['NOTIFICATION_NOT_FOUND'],
  params: z.strictObject({ notificationId: id }),
  answers: { 200: line },
  handle: async ({ engine: { db }, params }) => {
    const found = await findNotification(db, params.notificationId)
    if (!found) throw new MatoolkitError('NOTIFICATION_NOT_FOUND', { id: params.notificationId })
    return { status: 200, body: shown(found) }
  },
})

const condition = z
  .strictObject({
    id: z.int(),
    key: z.string(),
    kind: z.enum(CONDITION_KINDS),
    runbookName: nullableText,
    batchId: z.int().nullable(),
    title: z.string(),
    text: z.string().meta({ description: 'A sentence; times in UTC.' }),
    command: z.string().meta({ description: 'Handles it, or shows it in full.' }),
    since: dateTime,
    openedAt: dateTime.meta({ description: 'When the message was written.' }),
    channels: z.array(z.string()).meta({ description: 'Those that get it.' }),
    messages: z
      .array(
        z.strictObject({ id: z.int(), channel: z.string(), status: z.enum(NOTIFICATION_STATUSES) }),
      )
      .meta({ description: 'That tell of it; without those in which it is only counted.' }),
  })
  .meta({ id: 'Condition' })

const shownCondition = (
  { channels, ...rest }: OpenCondition,
  messages: readonly ConditionMessage[],
): z.input<typeof condition> => ({
  ...rest,
  channels: [...channels],
  messages: messages
    .filter(({ key }) => key === rest.key)
    .map(({ id, channel, status }) => ({ id, channel, status })),
})

const conditionsRoute = read({
  method: 'GET',
  path: '/api/conditions',
  operation: 'listConditions',
  tag: 'service',
  summary: 'List the open conditions that a rule names, oldest first',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject(pagingQuery),
  answers: {
    200: z.strictObject({ conditions: z.array(condition), next }).meta({ id: 'Conditions' }),
  },
  handle: async ({ engine: { db }, query: { limit, cursor } }) => {
    const after = readCursor(SORT, cursor)?.id ?? 0
    const found = await listOpenConditions(db, after, limit + 1)
    const page = pageFrom(found, limit, SORT, (row) => ({ value: null, id: row.id }))
    const messages = await listConditionMessages(db, page.rows)
    const conditions = page.rows.map((row) => shownCondition(row, messages))
    return { status: 200, body: { conditions, next: page.next } }
  },
})

const channel = z
  .strictObject({
    name: z.string(),
    type: z.enum(CHANNEL_TYPES),
    timeZone: z.string(),
    quietHours: z
      .strictObject({ days: z.array(z.enum(WEEKDAYS)), from: z.string(), to: z.string() })
      .nullable(),
    digestSec: z
      .int()
      .nullable()
      .meta({ description: 'How long what is not urgent is collected.' }),
    lastSentAt: nullableDateTime.meta({ description: 'Of the last 30 days.' }),
    waiting: wholeCount.meta({ description: 'Messages that are not sent yet.' }),
    failingSince: nullableDateTime.meta({
      description: 'Its newest message failed, or one is tried again and again.',
    }),
    error: nullableText,
  })
  .meta({ id: 'Channel' })

const clockText = (minutes: number): string => {
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60]
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
}

const shownHours = ({ days, fromMin, toMin }: QuietHours) => ({
  days: [...days],
  from: clockText(fromMin),
  to: clockText(toMin),
})

const RUNBOOKS_READ_MAX = 500

const rule = z
  .strictObject({
    from: z.enum(['settings', 'runbook']).meta({ description: 'Where it is written.' }),
    conditions: z.array(z.enum(CONDITION_KINDS)).meta({ description: 'Empty: all.' }),
    channels: z.array(z.string()),
    runbooks: z.array(z.string()).nullable().meta({ description: 'Null: all.' }),
  })
  .meta({ id: 'NotificationRule' })

const shownRule =
  (from: 'settings' | 'runbook') =>
  ({ conditions, channels, runbooks }: NotificationRule): z.input<typeof rule> => ({
    from,
    conditions: [...conditions],
    channels: [...channels],
    runbooks: runbooks && [...runbooks],
  })

const channelsRoute = read({
  method: 'GET',
  path: '/api/channels',
  operation: 'listChannels',
  tag: 'service',
  summary: 'List the channels of notifications, which fail, and what each hears of',
  about: `Those of the file that this API has (MATOOLKIT_NOTIFICATIONS_FILE). Rules are of that file, then of the active runbooks, of the first ${RUNBOOKS_READ_MAX} by name.`,
  rule: 'reader',
  answers: {
    200: z
      .strictObject({
        channels: z.array(channel),
        rules: z.array(rule),
        urgent: z
          .array(z.enum(CONDITION_KINDS))
          .meta({ description: 'Conditions that pass digests and quiet hours.' }),
      })
      .meta({ id: 'Channels' }),
  },
  handle: async ({ engine, services: { notifications } }) => {
    const { db } = engine
    const { channels, urgent } = notifications
    const failing = new Map((await listFailingChannels(db)).map((one) => [one.channel, one]))
    const names = channels.map(({ name }) => name)
    const figures = new Map((await listChannelFigures(db, names)).map((one) => [one.channel, one]))
    const body = channels.map(({ name, type, timeZone, quietHours, digestSec }) => {
      const [failure, figure] = [failing.get(name), figures.get(name)]
      return {
        name,
        type,
        timeZone,
        quietHours: quietHours && shownHours(quietHours),
        digestSec,
        lastSentAt: figure?.lastSentAt ?? null,
        waiting: figure?.waiting ?? 0,
        failingSince: failure?.since ?? null,
        error: failure?.error ?? null,
      }
    })
    const ofRunbooks = await loadRunbookRules(db, engine, null, RUNBOOKS_READ_MAX)
    const rules = [
      ...notifications.rules.map(shownRule('settings')),
      ...ofRunbooks.map(shownRule('runbook')),
    ]
    return { status: 200, body: { channels: body, rules, urgent: [...urgent] } }
  },
})

const testRoute = change({
  method: 'POST',
  path: '/api/channels/{channel}/test',
  operation: 'testChannel',
  tag: 'service',
  summary: 'Send a test message to a channel',
  about:
    'An orchestrator sends it within seconds, at any hour, and tries once. Read the outcome at `/api/notifications/{id}`.',
  rule: 'admin',
  action: 'channel.test',
  errors: ['CHANNEL_UNKNOWN'],
  params: z.strictObject({ channel: nameText }),
  answers: { 202: line },
  handle: async ({ engine: { db }, services: { notifications }, params, by, now }) => {
    const { channels } = notifications
    const { channel: name } = params
    if (!channels.some((one) => one.name === name)) {
      const known = channels.map((one) => one.name).join(', ') || 'none'
      throw new MatoolkitError('CHANNEL_UNKNOWN', { channel: name, known })
    }
    const messageId = randomUUID()
    const items = [testItem(name, by.name, now)]
    const message = { messageId, channel: name, items, leftOut: 0, isGathering: false, dueAt: now }
    const number = await insertNotification(db, message, now)
    const found = await findNotification(db, number)
    return {
      status: 202,
      body: shown(found!),
      auditNote: { subject: `channel ${name}`, after: { notification: number } },
    }
  },
})

export const NOTIFICATION_ROUTES = [listRoute, showRoute, conditionsRoute, channelsRoute, testRoute]
