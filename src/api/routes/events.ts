// Live events as a stream of server-sent events.
import { z } from 'zod'
import { ENTITIES } from '../event-shape.ts'
import { type Route, read } from '../route.ts'
import { commaSeparated, id } from '../shapes.ts'

const listenRoute = read({
  method: 'GET',
  path: '/api/events',
  operation: 'listenEvents',
  tag: 'service',
  summary: 'Events as they happen (server-sent events)',
  about:
    'Each message is an event with its id. Whoever comes back with `Last-Event-ID` (or `after`) is told everything since, in order and once. A message `end` says why the stream ends: come back then.',
  rule: 'reader',
  isPersonal: true,
  gives: 'text/event-stream; charset=utf-8',
  errors: ['LISTENERS_FULL'],
  query: z.strictObject({
    after: id.optional().meta({ description: 'The last event that you had.' }),
    batchId: id.optional(),
    memberId: id.optional(),
    thing: commaSeparated(ENTITIES).optional(),
  }),
  answers: {
    200: z
      .custom<AsyncIterable<string>>()
      .meta({ description: '`id: …`, `data: {Event}` and an empty line, again and again.' }),
  },
  handle: async ({ query, services: { events }, lastEventId, signal }) => {
    const { after, batchId, memberId, thing } = query
    const { frames, cut } = events.listen({
      wanted: { batchId, memberId, entities: thing },
      after: lastEventId ?? after ?? null,
      signal,
    })
    const headers = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
    return { status: 200, body: frames, headers, cut }
  },
})

export const EVENT_ROUTES: readonly Route[] = [listenRoute]
