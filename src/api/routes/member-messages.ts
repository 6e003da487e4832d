// The messages to the members of a batch, sent, failed and to come, and how many of each.
import { z } from 'zod'
import {
  countByStep,
  countMemberMessages,
  countSentByMessage,
  listMemberMessages,
  MESSAGE_SORTS,
  type MessageLine,
  type MessageSort,
  placeText,
} from '../../db/views/member-messages.ts'
import { MESSAGE_STATES } from '../../domain/member-messages/message-state.ts'
import { foldKeyPart } from '../../domain/state/member-key.ts'
import { PHASE_STATUSES } from '../../domain/state/transitions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import { RecentAnswers } from '../services/recent-answer.ts'
import { loadBatchState } from '../shapes/batch-state.ts'
import {
  languageText,
  messageBatchOf,
  messageLine,
  messageSteps,
  shownMessage,
} from '../shapes/message-shapes.ts'
import {
  dateTime,
  id,
  nameText,
  nullableDateTime,
  pageOf,
  pagingQuery,
  searchText,
  wholeCount,
} from '../shapes/shapes.ts'

const COUNT_MAX = 1_000
/** Counting 200,000 messages takes a tenth of a second. */
const COUNTS_FRESH_MS = 5_000
const COUNTS_KEPT_MAX = 20

const params = z.strictObject({ batchId: id })

const listRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/messages',
  operation: 'listMemberMessages',
  tag: 'members',
  summary: 'List the messages to the members of a batch, by message, language or state',
  about:
    'Without `state`: every message that was sent, corrections included. `not_sent` lists each active member by each step whose message they have not been sent.',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'CURSOR_INVALID'],
  params,
  query: z.strictObject({
    ...pagingQuery,
    state: z.enum(MESSAGE_STATES).optional(),
    message: nameText.optional(),
    language: languageText.optional(),
    memberId: id.optional(),
    search: searchText.optional().meta({ description: 'Part of the member’s key.' }),
    sort: z.enum(MESSAGE_SORTS).default('id'),
  }),
  answers: { 200: pageOf('messages', messageLine) },
  handle: async ({ engine, params: { batchId }, query }) => {
    const { limit, cursor, sort, search, ...others } = query
    const state = await loadBatchState(engine.db, batchId)
    const filter = { ...others, search: search === undefined ? undefined : foldKeyPart(search) }
    const sending = await messageSteps(engine, state)
    // Ids of one state mean nothing in the list of another.
    const order = `${sort} ${others.state ?? ''}`
    const page = { sort, after: readCursor(order, cursor), limit: limit + 1 }
    const found = await listMemberMessages(engine.db, messageBatchOf(state), filter, sending, page)
    const at = (line: MessageLine) => ({ value: cursorValue(line, sort), id: line.id })
    const { rows, next } = pageFrom(found, limit, order, at)
    const total = await countMemberMessages(
      engine.db,
      messageBatchOf(state),
      filter,
      sending,
      COUNT_MAX,
    )
    const isTotalExact = total < COUNT_MAX
    return { status: 200, body: { messages: rows.map(shownMessage), total, isTotalExact, next } }
  },
})

const cursorValue = (line: MessageLine, sort: MessageSort): string | null => {
  if (line.state === 'not_sent') return placeText(line)
  return sort === 'key' ? line.keyFolded : null
}

const counts = z
  .strictObject({
    batchId: z.int(),
    at: dateTime.meta({ description: 'When the messages were counted.' }),
    messages: z
      .array(
        z.strictObject({
          message: z.string(),
          language: z.string(),
          sent: wholeCount,
          corrections: wholeCount.meta({ description: 'Of `sent`: those that correct a time.' }),
          correctionsOwed: wholeCount.meta({
            description: 'Members whose correction is not sent yet.',
          }),
          firstAt: dateTime,
          lastAt: dateTime,
        }),
      )
      .meta({ description: 'What was sent, by message and language.' }),
    steps: z
      .array(
        z.strictObject({
          phaseName: z.string(),
          phaseStatus: z.enum(PHASE_STATUSES),
          dueAt: nullableDateTime,
          stepName: z.string(),
          message: z.string(),
          sent: wholeCount.meta({ description: 'Active members whom the step has sent it.' }),
          notSent: wholeCount.meta({ description: 'Active members whom it has not sent it.' }),
          failed: wholeCount.meta({ description: 'Members to whom it could not be sent.' }),
        }),
      )
      .meta({ description: 'The steps that send messages, in the order of their phases.' }),
  })
  .meta({ id: 'MemberMessageCounts' })
type Counts = z.input<typeof counts>

function countsRoute() {
  const recent = new RecentAnswers<number, Counts>(COUNTS_FRESH_MS, COUNTS_KEPT_MAX)
  return read({
    method: 'GET',
    path: '/api/batches/{batchId}/messages/counts',
    operation: 'countMemberMessages',
    tag: 'members',
    summary: 'Count the messages to the members of a batch',
    rule: 'reader',
    errors: ['BATCH_NOT_FOUND'],
    params,
    answers: { 200: counts },
    handle: async ({ engine, params: { batchId }, now }) => {
      const body = await recent.get(batchId, now, () => loadCounts(engine, batchId, now))
      return { status: 200, body }
    },
  })
}

async function loadCounts(engine: Engine, batchId: number, now: Date): Promise<Counts> {
  const state = await loadBatchState(engine.db, batchId)
  const sending = await messageSteps(engine, state)
  const messages = await countSentByMessage(engine.db, messageBatchOf(state))
  const byStep = await countByStep(engine.db, messageBatchOf(state), sending)
  const steps = byStep.map(({ place, sent, failed }) => {
    const notSent = Math.max(0, state.line.membersActive - sent)
    return { ...sending[place - 1]!, sent, notSent, failed }
  })
  return { batchId, at: now, messages, steps }
}

export const memberMessageRoutes = () => [listRoute, countsRoute()]
