// One member's whole story on one page: its data and outputs, every step with its attempts, every event. And the events of a
// batch or of a member, page by page.
import { z } from 'zod'
import { countEvents, type EventLine, listEvents } from '../../db/views/events.ts'
import { findMemberDetail } from '../../db/views/members.ts'
import { listAttempts, listStepsOfMember } from '../../db/views/steps.ts'
import { MEMBER_STATUSES } from '../../domain/transitions.ts'
import { MatoolkitError } from '../../errors.ts'
import { step } from '../batch-shapes.ts'
import { loadBatchLine } from '../batch-state.ts'
import { pageFrom, readCursor } from '../cursor.ts'
import { ENTITIES, event } from '../event-shape.ts'
import { type Route, read } from '../route.ts'
import {
  commaSeparated,
  dateTime,
  id,
  json,
  nullableDateTime,
  nullableText,
  pageOf,
  paging,
} from '../shapes.ts'
import { attempt } from './step-actions.ts'

const COUNT_MAX = 1_000
const STEPS_MAX = 1_000
const ATTEMPTS_MAX = 1_000
const EVENTS_MAX = 500

const story = z
  .strictObject({
    member: z.strictObject({
      id: z.int(),
      batchId: z.int(),
      memberKey: z.string(),
      status: z.enum(MEMBER_STATUSES),
      data: z.record(z.string(), json).meta({ description: 'As the source has it.' }),
      outputs: z.record(z.string(), json).meta({ description: 'What its steps put out.' }),
      joinedAt: dateTime,
      failedAt: nullableDateTime,
      leftAt: nullableDateTime,
      removedBy: nullableText,
      movedToBatchId: z.int().nullable(),
    }),
    steps: z.array(step),
    attempts: z.array(attempt).meta({ description: `The newest ${ATTEMPTS_MAX}, newest first.` }),
    events: z.array(event).meta({ description: `The newest ${EVENTS_MAX}, newest first.` }),
  })
  .meta({ id: 'MemberStory' })

const storyRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/members/{memberId}',
  operation: 'getMember',
  tag: 'members',
  summary: 'One member’s whole story: data, outputs, steps, attempts, events',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND'],
  params: z.strictObject({ batchId: id, memberId: id }),
  answers: { 200: story },
  handle: async ({ engine: { db }, params: { batchId, memberId } }) => {
    await loadBatchLine(db, batchId)
    const member = await findMemberDetail(db, batchId, memberId)
    if (!member) throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
    const steps = await listStepsOfMember(db, batchId, memberId, STEPS_MAX)
    const stepIds = steps.map((one) => one.id)
    const attempts = await listAttempts(db, stepIds, ATTEMPTS_MAX)
    const events = await listEvents(db, { memberId }, 'newest', EVENTS_MAX)
    return { status: 200, body: { member, steps, attempts, events } }
  },
})

const eventsRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/events',
  operation: 'listEvents',
  tag: 'batches',
  summary: 'What happened in a batch or to one of its members, and why; newest first',
  about: '`thing=batch,phase` gives the course of the batch without its members’ steps.',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'CURSOR_INVALID'],
  params: z.strictObject({ batchId: id }),
  query: z.strictObject({
    ...paging,
    memberId: id.optional(),
    thing: commaSeparated(ENTITIES).optional(),
    sort: z.enum(['newest', 'oldest']).default('newest'),
  }),
  answers: { 200: pageOf('events', event) },
  handle: async ({ engine: { db }, params: { batchId }, query }) => {
    const { limit, cursor, sort, memberId, thing } = query
    await loadBatchLine(db, batchId)
    const filter = { batchId, memberId, entities: thing }
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

export const STORY_ROUTES: readonly Route[] = [storyRoute, eventsRoute]
