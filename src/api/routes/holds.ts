// Holds of the system, a runbook, a worker, a batch or a member, named as the list of holds names them: hold, give the reason later,
// resume. A hold takes effect before its jobs are withdrawn, so it is no single transaction; its audit has a row before and one after.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { countStarts, type HoldPlace, listHolds, placeOfHold } from '../../db/state/holds.ts'
import { findMissingMember } from '../../db/state/members.ts'
import { findLastVersion } from '../../db/state/runbooks.ts'
import { isWorkerKnown } from '../../db/state/workers.ts'
import { HOLD_SCOPES } from '../../domain/state/holds.ts'
import { startsOfResume } from '../../engine/needs/starts-at-once.ts'
import { giveReason, type HoldOrder, holdScope, resumeScope } from '../../engine/orders/holds.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { change, read } from '../route.ts'
import { rowId } from '../services/bulk-change.ts'
import { loadBatchLine, loadBatchState, lockBatchState } from '../shapes/batch-state.ts'
import { holdInForce, resumeStarts, shownHold, stoppedJobs } from '../shapes/hold-shapes.ts'
import { commaSeparated, id, instant, pageOf, pagingQuery, reason } from '../shapes/shapes.ts'
import { shownStarts, startsAtOnce } from '../shapes/starts-shape.ts'

const held = {
  scope: z.enum(HOLD_SCOPES),
  target: z.string().max(200).default('').meta({
    description:
      'Of a runbook its name, else the id; empty for the system. As the list of holds shows it.',
  }),
  batchId: rowId.optional().meta({ description: 'The batch of a member.' }),
}
type Target = z.output<z.ZodObject<typeof held>>

const dryRun = z
  .boolean()
  .default(false)
  .meta({ description: 'Return the same answer and change nothing.' })

const heldAnswer = z.strictObject({ hold: holdInForce, ...stoppedJobs }).meta({ id: 'Held' })
const resumedAnswer = z
  .strictObject({
    isDryRun: z.boolean(),
    hold: holdInForce,
    starts: resumeStarts,
    startsAtOnce,
  })
  .meta({ id: 'Resumed' })
const reasonedAnswer = z.strictObject({ hold: holdInForce }).meta({ id: 'HoldReason' })

const subjectOf = ({ scope, target, batchId }: HoldOrder): string =>
  scope === 'system' ? 'system' : `${scope} ${target}${batchId ? ` of batch ${batchId}` : ''}`

const shared = {
  tag: 'service',
  rule: 'admin',
  takes: 'json',
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND', 'REFUSED', 'RUNBOOK_UNKNOWN', 'WORKER_NOT_FOUND'],
} as const

/** Refuses what does not exist. */
async function orderOf(
  db: Queryable,
  { scope, target, batchId }: Target,
  actor: string,
): Promise<HoldOrder> {
  switch (scope) {
    case 'system':
      return { scope, target: '', actor }
    case 'runbook':
      if ((await findLastVersion(db, target)) === 0)
        throw new MatoolkitError('RUNBOOK_UNKNOWN', { name: target })
      return { scope, target: target.toLowerCase(), actor }
    case 'worker':
      if (!(await isWorkerKnown(db, target)))
        throw new MatoolkitError('WORKER_NOT_FOUND', { workerId: target })
      return { scope, target, actor }
    case 'batch':
      return { scope, target: `${await knownBatch(db, target)}`, actor }
    case 'member': {
      const of = await knownBatch(db, batchId ?? '')
      const memberId = rowIdIn(target)
      if (memberId === null || (await findMissingMember(db, of, [memberId])) !== null)
        throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId: of, memberId: target })
      return { scope, target: `${memberId}`, batchId: of, actor }
    }
  }
}

const rowIdIn = (text: string | number): number | null => rowId.safeParse(Number(text)).data ?? null

async function knownBatch(db: Queryable, typed: string | number): Promise<number> {
  const batchId = rowIdIn(typed)
  if (batchId === null) throw new MatoolkitError('BATCH_NOT_FOUND', { batchId: typed })
  return (await loadBatchLine(db, batchId)).id
}

/** Of a batch, `If-Match` is compared; the others have no ETag. */
async function compare(engine: Engine, { scope, target }: HoldOrder, ifMatch: string | null) {
  if (scope === 'batch') await lockBatchState(engine, Number(target), ifMatch)
}
const etagAfter = async ({ db }: Engine, { scope, target }: HoldOrder) =>
  scope === 'batch' ? { etag: (await loadBatchState(db, Number(target))).etag } : {}

const holdRoute = change({
  ...shared,
  method: 'POST',
  path: '/api/holds',
  operation: 'holdWork',
  summary: 'Hold the system, a runbook, a worker, a batch or a member',
  about:
    'Nothing new is sent, and jobs that no worker has taken are withdrawn. The reason may follow later: a hold never waits for it.',
  action: 'hold.set',
  inChunks: true,
  isHold: true,
  body: z.strictObject({ ...held, reason: reason.optional() }),
  answers: { 200: heldAnswer },
  handle: async ({ engine, body, by }) => {
    const order = await orderOf(engine.db, body, by.name)
    const stopped = await holdScope(engine, { ...order, reason: body.reason })
    const { hold, withdrawn: withdrawnJobs, running: runningJobs } = stopped
    return {
      status: 200,
      body: { hold: shownHold(hold), withdrawnJobs, runningJobs },
      auditNote: {
        subject: subjectOf(order),
        reason: body.reason ?? null,
        after: { withdrawnJobs, runningJobs },
      },
    }
  },
})

const resumeRoute = change({
  ...shared,
  method: 'POST',
  path: '/api/holds/resume',
  operation: 'resumeWork',
  summary: 'End a hold; time on hold does not count for retries and polls',
  about:
    'What another hold covers stays held. `starts` counts all; `startsAtOnce` lists the first.',
  action: 'hold.end',
  comparesState: true,
  body: z.strictObject({ ...held, reason, dryRun }),
  answers: { 200: resumedAnswer },
  handle: async ({ engine: outer, body, by, now, ifMatch }) => {
    const order = { ...(await orderOf(outer.db, body, by.name)), reason: body.reason }
    await compare(outer, order, ifMatch)
    const { hold, starts, first } = await runOrDryRun(outer, body.dryRun, async (engine) => ({
      hold: await resumeScope(engine, order),
      starts: await countStarts(engine.db, order, now),
      first: await startsOfResume(engine, order),
    }))
    const before = { heldBy: hold.heldBy, heldReason: hold.reason }
    const after = { ...starts }
    return {
      status: 200,
      body: {
        isDryRun: body.dryRun,
        hold: shownHold(hold),
        starts,
        startsAtOnce: shownStarts(first),
      },
      ...(await etagAfter(outer, order)),
      auditNote: body.dryRun
        ? null
        : { subject: subjectOf(order), reason: body.reason, before, after },
    }
  },
})

const reasonRoute = change({
  ...shared,
  method: 'PUT',
  path: '/api/holds',
  operation: 'giveReasonOfHold',
  summary: 'Record the reason for a hold',
  action: 'hold.reason',
  body: z.strictObject({ ...held, reason }),
  answers: { 200: reasonedAnswer },
  handle: async ({ engine, body, by }) => {
    const order = await orderOf(engine.db, body, by.name)
    const before = await giveReason(engine, { ...order, reason: body.reason })
    return {
      status: 200,
      body: { hold: shownHold({ ...before, reason: body.reason }) },
      auditNote: {
        subject: subjectOf(order),
        reason: body.reason,
        before: { heldReason: before.reason },
        after: { heldReason: body.reason },
      },
    }
  },
})

const SORT = 'widest'

/** The time and the target of the last hold; its scope is the number of the cursor. */
const PLACE = /^(\S+) (.*)$/s

const listRoute = read({
  method: 'GET',
  path: '/api/holds',
  operation: 'listHolds',
  tag: 'service',
  summary: 'List the holds in force, the widest first',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    scope: commaSeparated(HOLD_SCOPES).optional(),
    batchId: id.optional().meta({ description: 'Only of this batch and its members.' }),
  }),
  answers: { 200: pageOf('holds', holdInForce) },
  handle: async ({ engine: { db }, query: { limit, cursor, ...filter } }) => {
    const found = await listHolds(db, filter, placeIn(cursor), limit + 1)
    const { rows, next } = pageFrom(found.holds, limit, SORT, (hold) => {
      const { rank, heldAt, target } = placeOfHold(hold)
      return { value: `${heldAt.toISOString()} ${target}`, id: rank }
    })
    const { total } = found
    return { status: 200, body: { holds: rows.map(shownHold), total, isTotalExact: true, next } }
  },
})

function placeIn(cursor: string | undefined): HoldPlace | null {
  const isPlace = (value: string) => instant.safeParse(PLACE.exec(value)?.[1]).success
  const found = readCursor(SORT, cursor, isPlace)
  if (found === null) return null
  const [, at, target] = PLACE.exec(found.value ?? '') ?? []
  if (at === undefined || target === undefined)
    throw new MatoolkitError('CURSOR_INVALID', { cursor: String(cursor).slice(0, 60) })
  return { rank: found.id, heldAt: new Date(at), target }
}

export const HOLD_ROUTES = [listRoute, holdRoute, reasonRoute, resumeRoute]
