// What must hold at the commit that lets a phase, a share or a job go: seen from outside, after every commit of a process, before
// anything else can happen. Approvals are compared with what their people saw, kept here and not read from the program's decisions;
// windows are worked out from the numbers of the pattern.

import type { Db } from '../../../src/db/connection/db.ts'
import { EFFECTIVE } from '../../../src/db/invariants/order.ts'
import type { Check } from './checks.ts'
import { type Night, openUntil, patternOf } from './night.ts'

/** What the tables show of ramps and undos. */
export const NIGHT_PROMISES: readonly Check[] = [
  {
    id: 'Ramp',
    sentence:
      'No step is written for a member before its share, except those it has passed elsewhere',
    sql: `
      select p.batch_id, format('step %s of member %s is %s, phase %s has started up to member %s', s.id, s.batch_member_id, s.status,
                                p.id, p.ramp_through) as found
        from phase_executions p join step_executions s on s.phase_execution_id = p.id and s.kind = 'phase'
       where s.batch_member_id > p.ramp_through and s.status not in ('succeeded', 'skipped')`,
  },
  {
    id: 'Undo',
    sentence: 'A change is undone once',
    sql: `
      select u.batch_id, format('attempt %s of step %s was undone %s times', u.origin_attempt, u.origin_step_id, count(*)) as found
        from attempts a join step_executions u on u.id = a.step_id and u.kind = 'undo'
       where a.outcome = 'succeeded'
       group by u.batch_id, u.origin_step_id, u.origin_attempt having count(*) > 1`,
  },
  {
    id: 'Undo',
    sentence: 'Only what a job has changed is undone, by the call that it told',
    sql: `
      select u.batch_id, format('undo step %s calls %s for attempt %s of step %s', u.id, u.function_name, u.origin_attempt,
                                u.origin_step_id) as found
        from step_executions u
       where u.kind = 'undo'
         and not exists (select from attempts a
                          where a.step_id = u.origin_step_id and a.attempt = u.origin_attempt
                            and a.effect_json -> 'undo' ->> 'functionName' = u.function_name
                            and a.effect_json -> 'undo' -> 'parameters' = u.params_json)`,
  },
  {
    id: 'Undo',
    sentence: 'The last change is undone first, and each before the next',
    sql: `
      select u.batch_id, format('undo step %s is %s, undo step %s before it is %s', u.id, u.status, f.id, f.status) as found
        from step_executions u join step_executions f
          on f.kind = 'undo' and f.batch_id = u.batch_id and f.batch_member_id is not distinct from u.batch_member_id
       where u.kind = 'undo' and u.status in ('dispatched', 'polling') and f.step_index < u.step_index
         and f.status in ('pending', 'dispatched', 'polling')
      union all
      select u.batch_id, format('undo step %s of an earlier change comes before undo step %s', u.id, f.id)
        from step_executions u join step_executions f
          on f.kind = 'undo' and f.batch_id = u.batch_id and f.batch_member_id is not distinct from u.batch_member_id
         and u.status in ('pending', 'dispatched', 'polling') and f.status in ('pending', 'dispatched', 'polling')
        join attempts ua on ua.step_id = u.origin_step_id and ua.attempt = u.origin_attempt and ua.effect_json -> 'undo' is not null
        join attempts fa on fa.step_id = f.origin_step_id and fa.attempt = f.origin_attempt and fa.effect_json -> 'undo' is not null
       where u.kind = 'undo' and u.step_index < f.step_index and ua.settled_at < fa.settled_at
         and ua.poll = 0 and fa.poll = 0`,
  },
]

/** A decision at a gate, with what it was made about. */
interface Seen {
  readonly kind: 'approval' | 'waiver'
  readonly by: string
  readonly subject: string
  /** Of a waiver. */
  readonly endsAt: number | null
}

interface Fact {
  readonly id: number
  readonly at: Date
  readonly batchId: number
  readonly phaseId: number
  readonly event: string
  readonly actor: string
  readonly because: string
}

interface Watch {
  readonly db: Db
  readonly night: Night
  readonly found: string[]
  /** By batch and phase name. */
  readonly decisions: Map<string, Seen[]>
  readonly jobs: Set<string>
  lastEvent: number
}

/** The database of every process of a world with guards: every commit is checked. */
export function watchCommits(db: Db, night: Night, found: string[]): Db {
  const { gateAt, rampAt, windows } = night
  if (gateAt === null && rampAt === null && windows.every((one) => one === null)) return db
  const watch: Watch = { db, night, found, decisions: new Map(), jobs: new Set(), lastEvent: 0 }
  return {
    ...db,
    transaction: async (work) => {
      const result = await db.transaction(work)
      await lookAtCommit(watch)
      return result
    },
  }
}

const TOLD = ['gate_approved', 'gate_waived', 'approval_withdrawn', 'waiver_withdrawn']

async function lookAtCommit(watch: Watch): Promise<void> {
  const facts = await watch.db.query<Fact>(
    `select id, at, batch_id, phase_id, event, actor, because from events
      where id > $1 and event = any($2) order by id`,
    [watch.lastEvent, [...TOLD, 'gate_passed', 'share_started']],
  )
  for (const fact of facts) {
    watch.lastEvent = fact.id
    if (fact.event === 'gate_passed') await lookAtGate(watch, fact)
    else if (fact.event === 'share_started') await lookAtShare(watch, fact)
    else await keep(watch, fact)
  }
  await lookAtJobs(watch)
}

interface Gate {
  readonly key: string
  /** Version, members and time. */
  readonly subject: string
  readonly publisher: string
  readonly approvals: number
  readonly readyPercent: number | null
  readonly present: number
  readonly ready: number
}

async function gateOf({ db }: Watch, phaseId: number): Promise<Gate> {
  const [gate] = await db.query<Gate>(
    `select format('%s/%s', p.batch_id, lower(p.phase_name)) as key, r.published_by as publisher,
            concat_ws(' ', b.runbook_version, p.due_at, m.ids) as subject, p.gate_approvals as approvals,
            p.gate_ready_percent as ready_percent, m.present, m.ready
       from phase_executions p join batches b on b.id = p.batch_id
       join runbooks r on lower(r.name) = b.runbook_name and r.version = b.runbook_version
      cross join lateral (
        select string_agg(one.id::text, ',' order by one.id) as ids, count(*)::int as present,
               (count(*) filter (where one.status = 'active' and not exists (
                 select from ${EFFECTIVE} as e
                  where e.batch_id = b.id and e.status <> 'skipped'
                    and (-e.offset_minutes, e.phase_index, e.id) < (-p.offset_minutes, p.phase_index, p.id)
                    and not exists (select from step_executions s where s.phase_execution_id = e.id and s.batch_member_id = one.id
                                    having count(*) > 0 and bool_and(s.status in ('succeeded', 'skipped'))))))::int as ready
          from batch_members one where one.batch_id = b.id and one.status <> 'removed') as m
      where p.id = $1`,
    [phaseId],
  )
  return gate!
}

async function keep(watch: Watch, { phaseId, event, actor, because }: Fact): Promise<void> {
  const { key, subject } = await gateOf(watch, phaseId)
  const kind = event === 'gate_waived' || event === 'waiver_withdrawn' ? 'waiver' : 'approval'
  const others = (watch.decisions.get(key) ?? []).filter(
    (one) => one.kind !== kind || (kind === 'approval' && one.by !== actor),
  )
  const ends = /until (\S+)$/.exec(because)
  const endsAt = ends && kind === 'waiver' ? Date.parse(ends[1]!) : null
  const isGiven = event === 'gate_approved' || event === 'gate_waived'
  watch.decisions.set(key, isGiven ? [...others, { kind, by: actor, subject, endsAt }] : others)
}

async function lookAtGate(watch: Watch, { phaseId, at }: Fact): Promise<void> {
  const gate = await gateOf(watch, phaseId)
  const counting = (watch.decisions.get(gate.key) ?? []).filter(
    ({ subject, endsAt }) => subject === gate.subject && (endsAt === null || endsAt > +at),
  )
  const approved = counting.filter(({ kind, by }) => kind === 'approval' && by !== gate.publisher)
  if (approved.length < gate.approvals)
    watch.found.push(
      `Gate: phase ${phaseId} started with ${approved.length} valid approvals of ${gate.approvals}; it is about ${gate.subject}`,
    )
  const isWaived = counting.some(({ kind }) => kind === 'waiver')
  const percent = gate.readyPercent ?? 0
  if (!isWaived && gate.ready * 100 < percent * gate.present)
    watch.found.push(
      `Gate: phase ${phaseId} started with ${gate.ready} of ${gate.present} members ready, ${percent} % needed`,
    )
}

interface Share {
  readonly share: number
  readonly through: number | null
  readonly present: number
  readonly within: number
  readonly failed: number
  readonly total: number
  readonly open: number
  /** What happened last: the start of the phase before the first share, the end of the former one before any other. */
  readonly former: string
  readonly formerAt: Date
}

async function lookAtShare({ db, night, found }: Watch, { id, phaseId, at }: Fact): Promise<void> {
  const [one] = await db.query<Share>(
    `select p.ramp_share as share, p.ramp_through as through, p.members_failed - p.fuse_acknowledged as failed, p.members_total as total,
            (select count(*)::int from step_executions s where s.phase_execution_id = p.id
                and s.status in ('pending', 'dispatched', 'polling')) as open,
            (select count(*)::int from batch_members m where m.batch_id = p.batch_id and m.status <> 'removed') as present,
            (select count(*)::int from batch_members m
              where m.batch_id = p.batch_id and m.status <> 'removed' and m.id <= p.ramp_through) as within,
            former.event as former, former.at as former_at
       from phase_executions p
      cross join lateral (select e.event, e.at from events e
                           where e.phase_id = p.id and e.id < $2 and e.event in ('start', 'share_ended', 'share_reopened', 'share_started')
                           order by e.id desc limit 1) as former
      where p.id = $1`,
    [phaseId, id],
  )
  const { share, through, present, within, failed, total, open, former, formerAt } = one!
  const { percents, soakMin, maxFailedPercent } = night.ramp
  const say = (what: string) => found.push(`Ramp: share ${share + 1} of phase ${phaseId} ${what}`)
  const most = Math.ceil((present * percents[share]!) / 100)
  if (through !== null && within > most)
    say(`takes ${within} of ${present} members, more than ${most}`)
  if (through === null && share < percents.length - 1) say('takes everybody')
  if (former === 'start') return
  if (former !== 'share_ended' || +at < +formerAt + soakMin * 60_000)
    say(`started at ${at.toISOString()} after ${former} at ${formerAt.toISOString()}`)
  if (open > 0) say(`started with ${open} open steps`)
  if (failed * 100 > maxFailedPercent * total) say(`started though ${failed} of ${total} failed`)
}

interface SentJob {
  readonly jobId: string
  readonly sentAt: Date
  readonly latestStart: Date
  readonly version: number
  readonly overrideUntil: Date | null
}

/** Every function of this world may change a tenant. */
async function lookAtJobs({ db, night, found, jobs }: Watch): Promise<void> {
  if (night.windows.every((pattern) => pattern === null)) return
  const out = await db.query<SentJob>(
    `select w.job_id, w.since as sent_at, s.deadline_at as latest_start, b.runbook_version as version,
            b.window_override_until as override_until
       from waits w join step_executions s on s.id = w.step_id join batches b on b.id = w.batch_id where w.kind = 'job'`,
  )
  for (const { jobId, sentAt, latestStart, version, overrideUntil } of out) {
    if (jobs.has(jobId)) continue
    jobs.add(jobId)
    const patterns = [patternOf(night, version), night.systemWindows]
    const closesAt = closingOf((at) => openUntil(patterns, at), overrideUntil, +sentAt)
    if (closesAt === null)
      found.push(`Window: job ${jobId} was sent at ${sentAt.toISOString()}, outside every window`)
    else if (+latestStart > closesAt)
      found.push(
        `Window: job ${jobId} may start until ${latestStart.toISOString()}, its window closes at ${new Date(closesAt).toISOString()}`,
      )
  }
}

/** Windows and an override that follow each other without a gap are one. */
function closingOf(
  openUntil: (at: number) => number | null,
  overrideUntil: Date | null,
  sentAt: number,
): number | null {
  let until: number | null = null
  for (let at = sentAt; ; at = until) {
    const own = openUntil(at)
    const byOverride = overrideUntil && +overrideUntil > at ? +overrideUntil : null
    const next: number = Math.max(own ?? 0, byOverride ?? 0)
    if (next <= at) return until
    until = next
    if (until === Infinity) return until
  }
}
