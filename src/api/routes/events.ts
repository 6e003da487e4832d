// Events: the paged list of a batch or member, and the live stream (server-sent events).
import { z } from 'zod'
import { countEvents, type EventLine, listEvents } from '../../db/views/events.ts'
import { ENTITIES, event } from '../events/event-shape.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import { loadBatchLine } from '../shapes/batch-state.ts'
import { commaSeparated, id, pageOf, pagingQuery, position } from '../shapes/shapes.ts'

const COUNT_MAX = 1_000

const filterQuery = { memberId: id.optional(), entity: commaSeparated(ENTITIES).optional() }

const listRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/events',
  operation: 'listEvents',
  tag: 'batches',
  summary: 'List what happened in a batch or to a member, and why',
  about: '`entity=batch,phase` gives the course of the batch without member events.',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'CURSOR_INVALID'],
  params: z.strictObject({ batchId: id }),
  query: z.strictObject({
    ...pagingQuery,
    ...filterQuery,
    sort: z.enum(['newest', 'oldest']).default('newest'),
  }),
  answers: { 200: pageOf('events', event) },
  handle: async ({ engine: { db }, params: { batchId }, query }) => {
    const { limit, cursor, sort, memberId, entity } = query
    await loadBatchLine(db, batchId)
    const filter = { batchId, memberId, entities: entity }
    const last = readCursor(sort, cursor)?.id
    const from = sort === 'newest' ? { before: last } : { after: last }
    const found = await listEvents(db, { ...filter, ...from }, sort, limit + 1)
    const at = (line: EventLine) => ({ value: null, id: line.id })
    const { rows, next } = pageFrom(found, limit, sort, at)
    const total = await countEvents(db, filter, COUNT_MAX)
    return {
      status: 200,
      body: { events: [...rows], total, isTotalExact: total < COUNT_MAX, next },
    }
  },
})

const listenRoute = read({
  method: 'GET',
  path: '/api/events',
  operation: 'listenEvents',
  tag: 'service',
  summary: 'Stream events as they happen (server-sent events)',
  about:
    'Each message is an event with its id. A client that reconnects with `Last-Event-ID` (or `after`) gets every event since, in order and once. A message `end` says why the stream closes; reconnect then.',
  rule: 'reader',
  isPersonal: true,
  gives: 'text/event-stream; charset=utf-8',
  errors: ['LISTENERS_FULL', 'LISTENERS_OF_PERSON_FULL'],
  query: z.strictObject({
    after: position
      .optional()
      .meta({ description: 'The id of your last event; 0 streams from the beginning.' }),
    batchId: id.optional(),
    ...filterQuery,
  }),
  answers: {
    200: z
      .custom<AsyncIterable<string>>()
      .meta({ description: 'Per event: `id: …`, `data: {Event}` and an empty line.' }),
  },
  handle: async ({ query, services: { events }, by, tokenEndsAt, lastEventId, signal }) => {
    const { after, batchId, memberId, entity } = query
    const { frames, cut } = events.listen({
      selection: { batchId, memberId, entities: entity },
      person: by.id,
      tokenEndsAt,
      after: lastEventId ?? after ?? null,
      signal,
    })
    const headers = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
    return { status: 200, body: frames, headers, cut }
  },
})

export const EVENT_ROUTES = [listRoute, listenRoute]
