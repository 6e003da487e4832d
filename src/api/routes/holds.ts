// Holds of the system, a runbook, a worker or a member: hold, give the reason later, resume. And the list of all holds in force.
// A hold takes effect before its jobs are withdrawn, so it is no single transaction; its audit has a row before and one after.
import { z } from 'zod'
import { type ErrorCode, MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { countStarts, type HoldPlace, listHolds, placeOfHold } from '../../db/state/holds.ts'
import { findMissingMember } from '../../db/state/members.ts'
import { findLastVersion } from '../../db/state/runbooks.ts'
import { isWorkerKnown } from '../../db/state/workers.ts'
import { HOLD_SCOPES } from '../../domain/state/holds.ts'
import { startsOfResume } from '../../engine/needs/starts-at-once.ts'
import { giveReason, type HoldOrder, holdScope, resumeScope } from '../../engine/orders/holds.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { change, read, type Tag } from '../route.ts'
import { loadBatchLine } from '../shapes/batch-state.ts'
import { holdInForce, resumeStarts, shownHold, stoppedJobs } from '../shapes/hold-shapes.ts'
import {
  commaSeparated,
  id,
  instant,
  nameText,
  pageOf,
  pagingQuery,
  reason,
} from '../shapes/shapes.ts'
import { shownStarts, startsAtOnce } from '../shapes/starts-shape.ts'

type Target = Pick<HoldOrder, 'scope' | 'target' | 'batchId'>

/** A scope with its paths. `targetOf` refuses what does not exist. */
interface Scope<P, U extends string> {
  readonly base: U
  readonly name: string
  readonly what: string
  readonly action: string
  readonly tag: Tag
  readonly params: z.ZodType<P>
  readonly errors: readonly ErrorCode[]
  targetOf(db: Queryable, params: P): Promise<Target>
}

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

const subjectOf = ({ scope, target, batchId }: Target): string =>
  scope === 'system' ? 'system' : `${scope} ${target}${batchId ? ` of batch ${batchId}` : ''}`

const sharedBy = <P>({ tag, params, errors }: Scope<P, string>) =>
  ({ tag, params, rule: 'admin', takes: 'json', errors: [...errors, 'REFUSED'] }) as const

function holdRoute<P, U extends string>(scope: Scope<P, U>) {
  const { base, name, what, action, targetOf } = scope
  return change({
    ...sharedBy(scope),
    method: 'POST',
    path: `${base}/hold` as const,
    operation: `hold${name}`,
    summary: `Hold ${what}: no new jobs, and queued jobs are withdrawn`,
    about: 'The reason may follow later: a hold never waits for it.',
    action: `${action}.hold`,
    inChunks: true,
    isHold: true,
    body: z.strictObject({ reason: reason.optional() }),
    answers: { 200: heldAnswer },
    handle: async ({ engine, params: given, body, by }) => {
      const held = await targetOf(engine.db, given as P)
      const stopped = await holdScope(engine, { ...held, actor: by.name, reason: body.reason })
      const { hold, withdrawn: withdrawnJobs, running: runningJobs } = stopped
      return {
        status: 200,
        body: { hold: shownHold(hold), withdrawnJobs, runningJobs },
        auditNote: {
          subject: subjectOf(held),
          reason: body.reason ?? null,
          after: { withdrawnJobs, runningJobs },
        },
      }
    },
  })
}

function resumeRoute<P, U extends string>(scope: Scope<P, U>) {
  const { base, name, what, action, targetOf } = scope
  return change({
    ...sharedBy(scope),
    method: 'POST',
    path: `${base}/resume` as const,
    operation: `resume${name}`,
    summary: `Resume ${what}; time on hold does not count for retries and polls`,
    about:
      'What another hold covers stays held. `starts` counts all; `startsAtOnce` lists the first.',
    action: `${action}.resume`,
    body: z.strictObject({ reason, dryRun }),
    answers: { 200: resumedAnswer },
    handle: async ({ engine: outer, params: given, body, by, now }) => {
      const held = await targetOf(outer.db, given as P)
      const order = { ...held, actor: by.name, reason: body.reason }
      const { hold, starts, first } = await runOrDryRun(outer, body.dryRun, async (engine) => ({
        hold: await resumeScope(engine, order),
        starts: await countStarts(engine.db, held, now),
        first: await startsOfResume(engine, held),
      }))
      const before = { heldBy: hold.heldBy, heldReason: hold.reason }
      return {
        status: 200,
        body: {
          isDryRun: body.dryRun,
          hold: shownHold(hold),
          starts,
          startsAtOnce: shownStarts(first),
        },
        auditNote: body.dryRun
          ? null
          : { subject: subjectOf(held), reason: body.reason, before, after: { ...starts } },
      }
    },
  })
}

function reasonRoute<P, U extends string>(scope: Scope<P, U>) {
  const { base, name, what, action, targetOf } = scope
  return change({
    ...sharedBy(scope),
    method: 'PUT',
    path: `${base}/hold` as const,
    operation: `giveReasonOf${name}Hold`,
    summary: `Record the reason for a hold: ${what}`,
    action: `${action}.hold_reason`,
    body: z.strictObject({ reason }),
    answers: { 200: reasonedAnswer },
    handle: async ({ engine, params: given, body, by }) => {
      const held = await targetOf(engine.db, given as P)
      const before = await giveReason(engine, { ...held, actor: by.name, reason: body.reason })
      return {
        status: 200,
        body: { hold: shownHold({ ...before, reason: body.reason }) },
        auditNote: {
          subject: subjectOf(held),
          reason: body.reason,
          before: { heldReason: before.reason },
          after: { heldReason: body.reason },
        },
      }
    },
  })
}

const routesOf = <P, const U extends string>(scope: Scope<P, U>) => [
  holdRoute(scope),
  reasonRoute(scope),
  resumeRoute(scope),
]

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

export const HOLD_ROUTES = [
  listRoute,
  ...routesOf({
    base: '/api',
    name: 'System',
    what: 'the whole system',
    action: 'system',
    tag: 'service',
    params: z.strictObject({}),
    errors: [],
    targetOf: async () => ({ scope: 'system', target: '' }),
  }),
  ...routesOf({
    base: '/api/runbooks/{name}',
    name: 'Runbook',
    what: 'all batches of a runbook',
    action: 'runbook',
    tag: 'runbooks',
    params: z.strictObject({ name: nameText }),
    errors: ['RUNBOOK_UNKNOWN'],
    targetOf: async (db, { name }) => {
      if ((await findLastVersion(db, name)) === 0)
        throw new MatoolkitError('RUNBOOK_UNKNOWN', { name })
      return { scope: 'runbook', target: name.toLowerCase() }
    },
  }),
  ...routesOf({
    base: '/api/workers/{workerId}',
    name: 'Worker',
    what: 'everything for a worker',
    action: 'worker',
    tag: 'service',
    params: z.strictObject({ workerId: z.string().min(1).max(200) }),
    errors: ['WORKER_NOT_FOUND'],
    targetOf: async (db, { workerId }) => {
      if (!(await isWorkerKnown(db, workerId)))
        throw new MatoolkitError('WORKER_NOT_FOUND', { workerId })
      return { scope: 'worker', target: workerId }
    },
  }),
  ...routesOf({
    base: '/api/batches/{batchId}/members/{memberId}',
    name: 'Member',
    what: 'a member',
    action: 'member',
    tag: 'members',
    params: z.strictObject({ batchId: id, memberId: id }),
    errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND'],
    targetOf: async (db, { batchId, memberId }) => {
      await loadBatchLine(db, batchId)
      if ((await findMissingMember(db, batchId, [memberId])) !== null)
        throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
      return { scope: 'member', target: `${memberId}`, batchId }
    },
  }),
]
