// Holds of the system, a runbook, a worker or a member: hold, give the reason later, resume. And the list of all holds in force.
// A hold takes effect before its jobs are withdrawn, so it is no single transaction; its audit has a row before and one after.
import { z } from 'zod'
import { findMissingMember } from '../../db/batches.ts'
import type { Queryable } from '../../db/db.ts'
import { countStarts, listHolds } from '../../db/holds.ts'
import { findLastVersion } from '../../db/runbooks.ts'
import { isWorkerKnown } from '../../db/workers.ts'
import { HOLD_SCOPES } from '../../domain/holds.ts'
import { giveReason, type HoldOrder, holdScope, resumeScope } from '../../engine/holds.ts'
import { type ErrorCode, MatoolkitError } from '../../errors.ts'
import { loadBatchLine } from '../batch-state.ts'
import { holdInForce, resumeStarts, shownHold, stoppedJobs } from '../hold-shapes.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { change, type Route, read, type Tag } from '../route.ts'
import { commaSeparated, id, nameText, reason, wholeCount } from '../shapes.ts'

type Target = Pick<HoldOrder, 'scope' | 'target' | 'batchId'>

/** A scope with its paths. `targetOf` refuses what does not exist. */
interface Scope<P> {
  readonly base: string
  readonly name: string
  readonly what: string
  readonly action: string
  readonly tag: Tag
  readonly params: z.ZodType<P>
  readonly errors: readonly ErrorCode[]
  targetOf(db: Queryable, params: P): Promise<Target>
}

const LISTED_MAX = 1_000

const dryRun = z
  .boolean()
  .default(false)
  .meta({ description: 'Return the same answer and change nothing.' })

const heldAnswer = z.strictObject({ hold: holdInForce, ...stoppedJobs }).meta({ id: 'Held' })
const resumedAnswer = z
  .strictObject({ isDryRun: z.boolean(), hold: holdInForce, starts: resumeStarts })
  .meta({ id: 'Resumed' })
const reasonedAnswer = z.strictObject({ hold: holdInForce }).meta({ id: 'HoldReason' })

const subjectOf = ({ scope, target, batchId }: Target): string =>
  scope === 'system' ? 'system' : `${scope} ${target}${batchId ? ` of batch ${batchId}` : ''}`

function holdRoute<P>({
  base,
  name,
  what,
  action,
  tag,
  params,
  errors,
  targetOf,
}: Scope<P>): Route {
  return change({
    tag,
    rule: 'admin',
    takes: 'json',
    params,
    method: 'POST',
    path: `${base}/hold`,
    operation: `hold${name}`,
    summary: `Hold ${what}: no new jobs, and queued jobs are withdrawn`,
    about: 'The reason may follow later: a hold never waits for it.',
    action: `${action}.hold`,
    inChunks: true,
    errors: [...errors, 'REFUSED'],
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

function resumeRoute<P>({
  base,
  name,
  what,
  action,
  tag,
  params,
  errors,
  targetOf,
}: Scope<P>): Route {
  return change({
    tag,
    rule: 'admin',
    takes: 'json',
    params,
    method: 'POST',
    path: `${base}/resume`,
    operation: `resume${name}`,
    summary: `Resume ${what}; time on hold does not count for retries and polls`,
    about: 'What another hold covers stays held.',
    action: `${action}.resume`,
    errors: [...errors, 'REFUSED'],
    body: z.strictObject({ reason, dryRun }),
    answers: { 200: resumedAnswer },
    handle: async ({ engine: outer, params: given, body, by, now }) => {
      const held = await targetOf(outer.db, given as P)
      const order = { ...held, actor: by.name, reason: body.reason }
      const { hold, starts } = await runOrDryRun(outer, body.dryRun, async (engine) => ({
        hold: await resumeScope(engine, order),
        starts: await countStarts(engine.db, held, now),
      }))
      const before = { heldBy: hold.heldBy, heldReason: hold.reason }
      return {
        status: 200,
        body: { isDryRun: body.dryRun, hold: shownHold(hold), starts },
        auditNote: body.dryRun
          ? null
          : { subject: subjectOf(held), reason: body.reason, before, after: { ...starts } },
      }
    },
  })
}

function reasonRoute<P>({
  base,
  name,
  what,
  action,
  tag,
  params,
  errors,
  targetOf,
}: Scope<P>): Route {
  return change({
    tag,
    rule: 'admin',
    takes: 'json',
    params,
    method: 'PUT',
    path: `${base}/hold`,
    operation: `giveReasonOf${name}Hold`,
    summary: `Record the reason for a hold: ${what}`,
    action: `${action}.hold_reason`,
    errors: [...errors, 'REFUSED'],
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

const routesOf = <P>(scope: Scope<P>): Route[] => [
  holdRoute(scope),
  reasonRoute(scope),
  resumeRoute(scope),
]

const listRoute = read({
  method: 'GET',
  path: '/api/holds',
  operation: 'listHolds',
  tag: 'service',
  summary: 'List the holds in force, the widest first',
  about: `At most ${LISTED_MAX}.`,
  rule: 'reader',
  query: z.strictObject({ scope: commaSeparated(HOLD_SCOPES).optional() }),
  answers: {
    200: z
      .strictObject({ holds: z.array(holdInForce), total: wholeCount })
      .meta({ id: 'HoldsInForce' }),
  },
  handle: async ({ engine: { db }, query }) => {
    const { holds, total } = await listHolds(db, query.scope ?? HOLD_SCOPES, LISTED_MAX)
    return { status: 200, body: { holds: holds.map(shownHold), total } }
  },
})

export const HOLD_ROUTES: readonly Route[] = [
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
