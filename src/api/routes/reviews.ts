// Reviews: source changes that wait for a person (removals, moves, latecomers). A decision names the reviews as they were listed;
// if one of them is no longer open, nothing is done.
import { z } from 'zod'
import { countReviews, listReviews, type ReviewRow } from '../../db/sources/reviews.ts'
import type { OverduePhase } from '../../domain/decide/lifecycle.ts'
import { withLostApprovals } from '../../engine/needs/lost-approvals.ts'
import { withStarts } from '../../engine/needs/starts-at-once.ts'
import {
  batchesOfReviews,
  groupReviews,
  overdueAfterMove,
  type ReviewGroup,
} from '../../engine/orders/review-effect.ts'
import {
  approveReviews,
  dismissReviews,
  type ReviewDecision,
  type ReviewOutcome,
} from '../../engine/orders/reviews.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { change, read } from '../route.ts'
import { approvalsLost } from '../shapes/lost-approvals-shape.ts'
import {
  booleanText,
  dateTime,
  id,
  instant,
  json,
  nameText,
  nullableDateTime,
  nullableText,
  pagingQuery,
  reason,
  wholeCount,
} from '../shapes/shapes.ts'
import { overduePhases, shownStarts, startsAtOnce } from '../shapes/starts-shape.ts'

const SORT = 'id'
const IDS_MAX = 5_000
const REFUSED_LISTED_MAX = 100
const KINDS = ['removal', 'move', 'join'] as const

/** Reviews that wait for a person, by kind. */
export const openReviews = z.strictObject({
  removal: wholeCount,
  move: wholeCount,
  join: wholeCount,
})

const review = z
  .strictObject({
    id: z.int(),
    runbookName: z.string(),
    kind: z.enum(KINDS).meta({
      description:
        'removal: a member is gone from the source. move: it stands at another time. join: it comes too late for its batch.',
    }),
    cause: z.string(),
    reason: z.string(),
    batchId: z.int().nullable(),
    memberId: z.int().nullable(),
    memberKey: z.string(),
    fromTime: nullableDateTime.meta({ description: 'When the member’s batch starts.' }),
    toTime: nullableDateTime.meta({ description: 'The time the source has now.' }),
    data: z.record(z.string(), json).nullable().meta({ description: 'Data of a latecomer.' }),
    since: dateTime,
    dismissedAt: nullableDateTime,
    dismissedBy: nullableText,
  })
  .meta({ id: 'Review' })

const shownReview = ({ key, ...row }: ReviewRow): z.input<typeof review> => ({
  ...row,
  memberKey: key,
})

const listRoute = read({
  method: 'GET',
  path: '/api/reviews',
  operation: 'listReviews',
  tag: 'reviews',
  summary: 'List source changes that wait for a person',
  rule: 'reader',
  isPersonal: true,
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    runbook: nameText.optional(),
    batchId: id.optional(),
    kind: z.enum(KINDS).optional(),
    toTime: instant.optional().meta({ description: 'Only to this time of the source.' }),
    withDismissed: booleanText.default(false),
  }),
  answers: {
    200: z
      .strictObject({
        reviews: z.array(review),
        open: openReviews.meta({ description: 'Open reviews of the runbook or batch, by kind.' }),
        next: z.string().nullable(),
      })
      .meta({ id: 'Reviews' }),
  },
  handle: async ({ engine: { db }, query }) => {
    const { limit, cursor, runbook, batchId, kind, toTime, withDismissed } = query
    const scope = {
      ...(runbook !== undefined && { runbookName: runbook }),
      ...(batchId !== undefined && { batchId }),
    }
    const after = readCursor(SORT, cursor)?.id ?? 0
    const narrow = { ...(kind !== undefined && { kind }), ...(toTime !== undefined && { toTime }) }
    const filter = { ...scope, ...narrow, withDismissed, after }
    const found = await listReviews(db, { ...filter, limit: limit + 1 })
    const { rows, next } = pageFrom(found, limit, SORT, (row) => ({ value: null, id: row.id }))
    const open = await countReviews(db, scope)
    return { status: 200, body: { reviews: rows.map(shownReview), open, next } }
  },
})

const decisionBody = z.strictObject({
  decision: z.enum(['approve', 'dismiss']),
  reviewIds: z.array(z.int().min(1).max(Number.MAX_SAFE_INTEGER)).min(1).max(IDS_MAX),
  kind: z.enum(KINDS).optional().meta({ description: 'Refuse reviews of any other kind.' }),
  choice: z.enum(['reschedule', 'move']).optional().meta({ description: 'Only to approve moves.' }),
  allowOverdue: z.boolean().default(false).meta({ description: 'Only to approve moves.' }),
  reason,
  dryRun: z.boolean().default(false),
})

const decidedReviews = z
  .strictObject({
    isDryRun: z.boolean(),
    doneCount: wholeCount,
    refusedCount: wholeCount,
    refused: z
      .array(z.strictObject({ memberId: z.int(), reason: z.string() }))
      .meta({ description: `The first ${REFUSED_LISTED_MAX}.` }),
    groups: z
      .array(
        z.strictObject({
          kind: z.enum(KINDS),
          runbookName: z.string(),
          batchId: z.int().nullable(),
          fromTime: nullableDateTime,
          toTime: nullableDateTime,
          people: wholeCount,
          memberKeys: z.array(z.string()).meta({ description: 'The first five.' }),
        }),
      )
      .meta({ description: 'The reviews by kind, batch and new time.' }),
    overdue: overduePhases,
    startsAtOnce,
    approvalsLost,
  })
  .meta({ id: 'DecidedReviews' })

/** Returns what became of them. A dry run shows what the change would be refused for. */
async function decide(
  engine: Engine,
  { decision, kind, choice, allowOverdue, dryRun }: z.output<typeof decisionBody>,
  reviews: ReviewDecision,
): Promise<Pick<ReviewOutcome, 'doneCount' | 'refused'>> {
  if (decision === 'dismiss') {
    await dismissReviews(engine, reviews)
    return { doneCount: new Set(reviews.reviewIds).size, refused: [] }
  }
  const meant = {
    ...(kind !== undefined && { kind }),
    ...(choice !== undefined && { choice }),
    allowOverdue: allowOverdue || dryRun,
  }
  return approveReviews(engine, { ...reviews, ...meant })
}

const overdueInMoves = async (
  engine: Engine,
  groups: readonly ReviewGroup[],
): Promise<OverduePhase[]> => {
  const moves = groups.filter(({ kind }) => kind === 'move')
  return (await Promise.all(moves.map((move) => overdueAfterMove(engine, move)))).flat()
}

const decideRoute = change({
  method: 'POST',
  path: '/api/reviews',
  operation: 'decideReviews',
  tag: 'reviews',
  summary: 'Make the changes that the source asks for, or keep everything as it is',
  about:
    'Approved reviews are of one kind. removal: the members leave their batches. join: the latecomers join, and an ended batch opens again. move: all lead from one batch to one time; `choice` says whether the whole batch is rescheduled or its members move, and is required when the whole wave has a new date. Phases whose new time has passed start at once: a move is refused with their names unless `allowOverdue` is true. Dismissed: leavers stay, latecomers stay out, movers stay in their batch. Batches on hold for moves resume.',
  rule: 'admin',
  takes: 'json',
  action: 'review.decide',
  errors: ['REVIEW_CHANGED', 'REFUSED', 'MEMBER_ELSEWHERE', 'WOULD_BE_OVERDUE'],
  body: decisionBody,
  answers: { 200: decidedReviews },
  handle: async ({ engine: outer, body, by }) => {
    const { decision, reviewIds, reason: why, dryRun } = body
    const done = await runOrDryRun(outer, dryRun, async (engine) => {
      const groups = await groupReviews(engine.db, reviewIds)
      const overdue = decision === 'approve' ? await overdueInMoves(engine, groups) : []
      const concerned = () => batchesOfReviews(engine.db, groups)
      const { result, approvalsLost } = await withLostApprovals(engine, await concerned(), () =>
        withStarts(engine, concerned, () =>
          decide(engine, body, { reviewIds, actor: by.name, reason: why }),
        ),
      )
      return { ...result, approvalsLost, groups, overdue }
    })
    const { doneCount, refused } = done.result
    const counts = { doneCount, refusedCount: refused.length }
    const auditNote = {
      action: `review.${decision}`,
      subject: `reviews ${reviewIds.slice(0, 20).join(', ')}`,
      reason: why,
      after: { ...counts, reviewIds: [...reviewIds] },
    }
    return {
      status: 200,
      body: {
        isDryRun: dryRun,
        ...counts,
        refused: refused.slice(0, REFUSED_LISTED_MAX),
        groups: done.groups.map((group) => ({ ...group, memberKeys: [...group.memberKeys] })),
        overdue: done.overdue,
        startsAtOnce: shownStarts(done.startsAtOnce),
        approvalsLost: done.approvalsLost,
      },
      auditNote: dryRun ? null : auditNote,
    }
  },
})

export const REVIEW_ROUTES = [listRoute, decideRoute]
