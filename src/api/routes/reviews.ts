// What ticks found and must not do without a person: removals, moves, latecomers. A decision names the changes as they were
// listed; when one of them is no longer held as it was seen, nothing is done.
import { z } from 'zod'
import { countReviews, listReviews, type ReviewRow } from '../../db/reviews.ts'
import type { Engine } from '../../engine/engine.ts'
import {
  admitLatecomers,
  confirmRemovals,
  decideMoves,
  dismissReviews,
  type ReviewDecision,
} from '../../engine/reviews.ts'
import { pageFrom, readCursor } from '../cursor.ts'
import { runOrDryRun } from '../dry-run.ts'
import { change, type Route, type RouteRequest, read } from '../route.ts'
import {
  dateTime,
  id,
  json,
  nameText,
  nullableDateTime,
  nullableText,
  paging,
  reason,
  wholeCount,
  yesOrNo,
} from '../shapes.ts'

const SORT = 'id'
const IDS_MAX = 5_000
const REFUSED_LISTED_MAX = 100
const KINDS = ['removal', 'move', 'join'] as const

const held = z
  .strictObject({
    id: z.int(),
    runbookName: z.string(),
    kind: z.enum(KINDS),
    cause: z.string(),
    reason: z.string(),
    batchId: z.int().nullable(),
    memberId: z.int().nullable(),
    memberKey: z.string(),
    toTime: nullableDateTime.meta({ description: 'Where the source has it now.' }),
    data: z
      .record(z.string(), json)
      .nullable()
      .meta({ description: 'What a latecomer would bring.' }),
    since: dateTime,
    dismissedAt: nullableDateTime,
    dismissedBy: nullableText,
  })
  .meta({ id: 'HeldChange' })

const shown = ({ key, ...item }: ReviewRow): z.input<typeof held> => ({ ...item, memberKey: key })

const listRoute = read({
  method: 'GET',
  path: '/api/held',
  operation: 'listHeld',
  tag: 'members',
  summary: 'Removals, moves and latecomers that wait for a person',
  rule: 'reader',
  isPersonal: true,
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...paging,
    runbook: nameText.optional(),
    batchId: id.optional(),
    kind: z.enum(KINDS).optional(),
    withDismissed: yesOrNo.default(false),
  }),
  answers: {
    200: z
      .strictObject({
        held: z.array(held),
        undecided: z.strictObject({ removal: wholeCount, move: wholeCount, join: wholeCount }),
        next: z.string().nullable(),
      })
      .meta({ id: 'HeldChanges' }),
  },
  handle: async ({ engine: { db }, query }) => {
    const { limit, cursor, runbook, batchId, kind, withDismissed } = query
    const whose = {
      ...(runbook !== undefined && { runbookName: runbook }),
      ...(batchId !== undefined && { batchId }),
    }
    const after = readCursor(SORT, cursor)?.id ?? 0
    const filter = { ...whose, ...(kind !== undefined && { kind }), withDismissed, after }
    const found = await listReviews(db, { ...filter, limit: limit + 1 })
    const { rows, next } = pageFrom(found, limit, SORT, (item) => ({ value: null, id: item.id }))
    const undecided = await countReviews(db, whose)
    return { status: 200, body: { held: rows.map(shown), undecided, next } }
  },
})

const common = {
  reviewIds: z.array(z.int().min(1).max(Number.MAX_SAFE_INTEGER)).min(1).max(IDS_MAX),
  reason,
  dryRun: z.boolean().default(false),
}
type Common = z.output<z.ZodObject<typeof common>>

const decided = z
  .strictObject({
    isDryRun: z.boolean(),
    doneCount: wholeCount,
    refusedCount: wholeCount,
    refused: z
      .array(z.strictObject({ memberId: z.int(), reason: z.string() }))
      .meta({ description: `The first ${REFUSED_LISTED_MAX}.` }),
  })
  .meta({ id: 'DecidedHeld' })

const described = {
  method: 'POST',
  tag: 'members',
  rule: 'admin',
  takes: 'json',
  errors: ['HELD_CHANGED', 'REFUSED'],
  answers: { 200: decided },
} as const

interface Done {
  readonly done: number
  readonly refused?: readonly { readonly memberId: number; readonly reason: string }[]
}

async function decide<Body>(
  { engine: outer, body, by }: RouteRequest<unknown, unknown, Common & Body>,
  run: (engine: Engine, order: ReviewDecision) => Promise<Done>,
) {
  const { reviewIds, reason: why, dryRun } = body
  const { done, refused = [] } = await runOrDryRun(outer, dryRun, (engine) =>
    run(engine, { reviewIds, actor: by.name, reason: why }),
  )
  const counts = { doneCount: done, refusedCount: refused.length }
  const noted = {
    subject: `held changes ${reviewIds.slice(0, 20).join(', ')}`,
    reason: why,
    after: { ...counts, reviewIds: [...reviewIds] },
  }
  return {
    status: 200 as const,
    body: { isDryRun: dryRun, ...counts, refused: refused.slice(0, REFUSED_LISTED_MAX) },
    noted: dryRun ? null : noted,
  }
}

const confirmRoute = change({
  ...described,
  path: '/api/held/confirm-removals',
  operation: 'confirmRemovals',
  summary: 'They leave their batches, as the source wants it',
  action: 'held.confirm-removals',
  body: z.strictObject(common),
  handle: (ask) =>
    decide(ask, async (engine, order) => {
      const { done, refused } = await confirmRemovals(engine, order)
      return { done: done.length, refused }
    }),
})

const dismissRoute = change({
  ...described,
  path: '/api/held/dismiss',
  operation: 'dismissHeld',
  summary: 'Removals and latecomers: everything stays as it is',
  action: 'held.dismiss',
  body: z.strictObject(common),
  handle: (ask) =>
    decide(ask, async (engine, order) => {
      await dismissReviews(engine, order)
      return { done: new Set(order.reviewIds).size }
    }),
})

const admitRoute = change({
  ...described,
  path: '/api/held/admit',
  operation: 'admitLatecomers',
  summary: 'Latecomers join after all; a batch that has ended opens again',
  action: 'held.admit',
  errors: ['HELD_CHANGED', 'REFUSED', 'MEMBER_ELSEWHERE'],
  body: z.strictObject(common),
  handle: (ask) =>
    decide(ask, async (engine, order) => ({ done: (await admitLatecomers(engine, order)).joined })),
})

const movesRoute = change({
  ...described,
  path: '/api/held/decide-moves',
  operation: 'decideMoves',
  summary: 'Members who stand in another wave: reschedule the whole batch, move them, or keep them',
  about: 'All from one batch to one time. The batches that were held over it go on.',
  action: 'held.decide-moves',
  body: z.strictObject({ ...common, choice: z.enum(['reschedule', 'move', 'keep']) }),
  handle: (ask) =>
    decide(ask, async (engine, order) => {
      const { done, refused } = await decideMoves(engine, { ...order, choice: ask.body.choice })
      return { done: done.length, refused }
    }),
})

export const HELD_ROUTES: readonly Route[] = [
  listRoute,
  confirmRoute,
  dismissRoute,
  admitRoute,
  movesRoute,
]
