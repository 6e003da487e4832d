// What must be true at the end: everything acknowledged is stored, every job's effect happened, in order, and twice only after a
// death, a freeze or a lost lease. Each check returns findings as sentences.
import type { Db } from '../../../src/db/connection/db.ts'
import { CLOCKS_DIFFER_MAX_MS } from '../../../src/db/connection/time.ts'
import type { Happened } from './fleet.ts'
import { type Acknowledged, type Effect, type Noticed, readJournals } from './journal.ts'
import { OPERATOR } from './operators.ts'
import { LARGE, LARGE_STEPS } from './runbooks.ts'

const SHOWN_MAX = 10

/** Every answered action and result is in the database. */
export async function missingAcknowledged(db: Db, folder: string): Promise<string[]> {
  const orders = readJournals(folder, 'acknowledged')
  const events = await db.query<{ actor: string; batchId: number }>(
    `select distinct actor, batch_id from events where actor like '${OPERATOR}%'`,
  )
  const keyOf = ({ actor, batchId }: Pick<Acknowledged, 'actor' | 'batchId'>) =>
    `${actor} ${batchId}`
  const there = new Set(events.map(keyOf))
  const lost = orders
    .filter((order) => !there.has(keyOf(order)))
    .map(({ actor, what, batchId }) => `${actor}: "${what}" of batch ${batchId} was answered`)
  return [
    ...lost.map((line) => `${line} and is not there`),
    ...(await missingResults(db, folder)),
  ].slice(0, SHOWN_MAX)
}

/** Every result that the bus acknowledged is in the database. After a restore: of the jobs of that epoch. */
export async function missingResults(db: Db, folder: string, epoch = ''): Promise<string[]> {
  const answered = new Set(
    readJournals(folder, 'effects').flatMap(({ what, jobId }) =>
      what === 'answered' && jobId.endsWith(epoch) ? [jobId] : [],
    ),
  )
  const settled = await db.query<{ jobId: string }>(
    `select job_id from attempts
     union all select substr(message_id, length('result-') + 1) from messages where topic = 'worker-results'`,
  )
  for (const { jobId } of settled) answered.delete(jobId)
  return [...answered]
    .slice(0, SHOWN_MAX)
    .map((jobId) => `the result of ${jobId} was acknowledged and is not there`)
}

/** A member's effects follow the order of its steps: none begins before the previous one succeeded. */
export function outOfOrder(effects: readonly Effect[]): string[] {
  const passedAt = new Map<string, number>()
  const found: string[] = []
  for (const { what, key, step, at, passes, jobId } of effects) {
    if (what === 'end' && passes && !passedAt.has(`${key} ${step}`)) {
      passedAt.set(`${key} ${step}`, at)
    }
    const place = LARGE_STEPS.indexOf(step as (typeof LARGE_STEPS)[number])
    if (what !== 'begin' || place < 1) continue
    const former = LARGE_STEPS[place - 1]!
    if (!passedAt.has(`${key} ${former}`)) {
      found.push(`${jobId} began ${step} of ${key} at ${at}, before ${former} had ended`)
    }
  }
  return found.slice(0, SHOWN_MAX)
}

/** Every step that passed in the database has an effect in the journal. */
export async function missingEffects(db: Db, effects: readonly Effect[]): Promise<string[]> {
  const ended = new Set(effects.flatMap((one) => (one.what === 'end' ? [one.jobId] : [])))
  const rows = await db.query<{ jobId: string }>(
    `select job_id from attempts where outcome = 'succeeded'`,
  )
  return rows
    .filter(({ jobId }) => !ended.has(jobId))
    .map(({ jobId }) => `${jobId} succeeded and nobody did it`)
    .slice(0, SHOWN_MAX)
}

export interface Repeated {
  /** Job ids that ran more than once. */
  readonly jobs: number
  readonly found: string[]
}

interface Rerun {
  readonly first: Effect
  readonly second: Effect
}

function rerunsOf(effects: readonly Effect[]): Rerun[] {
  const begun = effects.filter(({ what }) => what === 'begin')
  return [...Map.groupBy(begun, ({ jobId }) => jobId).values()].flatMap((runs) =>
    runs.slice(1).map((second, index) => ({ first: runs[index]!, second })),
  )
}

/** When the claim of this run's job was sent. */
function claimedAt(effects: readonly Effect[], run: Effect): number {
  const taken = effects.findLast(
    ({ what, jobId, pid, at }) =>
      what === 'taken' && jobId === run.jobId && pid === run.pid && at <= run.at,
  )
  return taken?.askedAt ?? run.at
}

/** Records that can explain a second run. */
export interface Records {
  readonly effects: readonly Effect[]
  readonly happened: readonly Happened[]
  readonly noticed: readonly Noticed[]
}

/**
 * A job runs again only after its worker was killed, frozen or asked to stop, could not reach the database, or learned that its
 * lease had ended; and, unless it was abandoned or a process was frozen, not before the lease can have ended.
 */
export function repeatedJobs({ effects, happened, noticed }: Records, leaseMs: number): Repeated {
  const lost = new Set(
    noticed.flatMap(({ what, message }) => (what === 'lease-lost' ? message.split(' ') : [])),
  )
  const givenBack = new Set(
    effects.flatMap(({ what, jobId, pid }) => (what === 'given-back' ? [`${jobId} ${pid}`] : [])),
  )
  const reruns = rerunsOf(effects)
  const found = reruns.flatMap(({ first, second }) => {
    const between = (one: Happened) =>
      one.at <= second.at && (one.until ?? one.at) >= first.at - leaseMs
    const excuses = happened.filter(
      (one) => between(one) && (one.pid === undefined || [first.pid, second.pid].includes(one.pid)),
    )
    const wasGivenBack = givenBack.has(`${first.jobId} ${first.pid}`)
    const wasFrozen = excuses.some(({ what }) => what.startsWith('frozen'))
    const gapMs = second.at - first.at
    if (excuses.length === 0 && !wasGivenBack && !lost.has(first.jobId)) {
      return [`${first.jobId} ran again ${gapMs} ms later and nothing had happened to its worker`]
    }
    // From the claim on: its answer may reach a busy worker seconds later, while the lease runs.
    const leaseEndsAt = claimedAt(effects, first) + leaseMs - CLOCKS_DIFFER_MAX_MS
    const isTooSoon = second.at < leaseEndsAt && !wasGivenBack && !wasFrozen
    return isTooSoon ? [`${first.jobId} ran again after ${gapMs} ms, within its lease`] : []
  })
  return {
    jobs: new Set(reruns.map(({ first }) => first.jobId)).size,
    found: found.slice(0, SHOWN_MAX),
  }
}

/** Batches held by the engine, failed members of the large batches, and dead letters. */
export async function unhealthy(db: Db): Promise<string[]> {
  const held = await db.query<{ id: number; by: string; reason: string }>(
    `select id, held_by as by, held_reason as reason from batches where held_by not like '${OPERATOR}%'`,
  )
  const letters = await db.query<{ topic: string; messageId: string; reason: string }>(
    `select topic, message_id, reason from dead_letters order by id limit ${SHOWN_MAX}`,
  )
  const failed = await db.query<{ id: number; failed: number }>(
    `select id, members_failed as failed from batches where runbook_name = '${LARGE}' and members_failed > 0`,
  )
  return [
    ...held.map(({ id, by, reason }) => `batch ${id} is held by ${by}: ${reason}`),
    ...letters.map(
      ({ topic, messageId, reason }) => `dead letter on ${topic}: ${messageId}, ${reason}`,
    ),
    ...failed.map(({ id, failed: count }) => `batch ${id} has ${count} failed members`),
  ]
}

interface Slowness {
  readonly ms: number
  readonly baselineMs: number
  readonly ratio: number
  readonly findings: readonly string[]
}

/** Compares the best times of two kinds of runs, which take turns: what a time has above the best is what the machine did besides. */
export function tooSlow(
  what: string,
  times: readonly number[],
  than: string,
  baseline: readonly number[],
  ratioMax: number,
): Slowness {
  const ms = Math.min(...times)
  const baselineMs = Math.min(...baseline)
  const ratio = Math.round((ms / baselineMs) * 100) / 100
  const said = `${what} took ${ratio} times as long as ${than} (${times.join(', ')} ms; ${baseline.join(', ')} ms), ${ratioMax} is the limit`
  return { ms, baselineMs, ratio, findings: ratio <= ratioMax ? [] : [said] }
}

export const tooLate = (what: string, lateMs: number, mostMs: number): string[] =>
  lateMs <= mostMs ? [] : [`${what} started ${lateMs} ms late, ${mostMs} ms is the limit`]
