// More load than docs/operating.md advises: waves that ask for two and four times the advised rate. It shall only get slower. Nothing is
// lost or run twice, memory stays, people can still look and hold, and the backlog drains when the waves stop.
import { realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { findBroken } from '../src/db/invariants/invariants.ts'
import { type Bench, perSec, round, timeMs } from './bench.ts'
import { type Cluster, openCluster } from './cluster-processes.ts'
import { type RunningApi, startApi } from './running-api.ts'
import { startDue, untilCompleted } from './scale.ts'
import { dueIn, STEPS, startWaves, WAVE_MEMBERS } from './waves.ts'

/** The advice: plan for half of the rate that was measured. */
const ADVISED = 0.5
const TIMES_ADVISED = [2, 4]
const WARM_MEMBERS = 2_000
const MEASURED_MEMBERS = 10_000
const WAVES_SEC = 40
const LOOK_MS = 5_000
const HELD_MEMBERS = 5_000
/** SPEC: after a hold no job starts later than this. */
const HOLD_MS = 2_000
const P95 = 0.95
const clock = realClock()

type Say = (line: string) => void

export const overloadBench: Bench = {
  name: 'overload',
  about: `waves at ${TIMES_ADVISED.join(' and ')} times the advised rate: what is lost, how people can still act`,
  run: async (say) => {
    const cluster = await openCluster('postgres', { orchestrators: 2, workers: 2 })
    const api = await startApi(cluster.url)
    try {
      const rate = await measureRate(cluster.db)
      say(`alone: ${rate} steps/s`)
      const figures: Record<string, unknown> = { stepsPerSec: rate }
      for (const times of TIMES_ADVISED)
        figures[`times${times}`] = await overload(cluster, api, times, rate * ADVISED, say)
      return figures
    } finally {
      await api.close()
      await cluster.close()
    }
  },
}

async function measureRate(db: Db): Promise<number> {
  const timed = async (name: string, members: number) => {
    const ids = await dueIn(db, name, [members])
    await startDue(db)
    return timeMs(() => untilCompleted(db, ids))
  }
  await timed('warm', WARM_MEMBERS)
  return perSec(MEASURED_MEMBERS * STEPS, await timed('rate', MEASURED_MEMBERS))
}

async function overload(
  cluster: Cluster,
  api: RunningApi,
  times: number,
  advised: number,
  say: Say,
) {
  const { db } = cluster
  const held = await dueIn(db, `held-${times}`, [HELD_MEMBERS])
  const ids = await startWaves(db, `overload-${times}`, advised * times, WAVES_SEC)
  const startedMs = +clock.now()
  await db.query('update phase_executions set due_at = $1 where batch_id = any($2::bigint[])', [
    clock.now(),
    held,
  ])
  await cluster.look()
  const answersMs: number[] = []
  let backlogMax = 0
  const hold = await holdInTheMiddle(db, api, held[0]!)
  while (+clock.now() - startedMs < WAVES_SEC * 1_000) {
    answersMs.push(await timeMs(() => ask(api, 'GET', '/api/now')))
    backlogMax = Math.max(backlogMax, await countWaits(db))
    await clock.wait(LOOK_MS)
  }
  const drainSec = Math.round((await timeMs(() => untilCompleted(db, ids))) / 1_000)
  await ask(api, 'POST', '/api/holds/resume', heldBatch(held[0]!))
  await untilCompleted(db, held)
  const { latencies, orchestratorsMb } = await cluster.look()
  const measured = {
    askedStepsPerSec: Math.round(advised * times),
    doneStepsPerSec: perSec(ids.length * WAVE_MEMBERS * STEPS, +clock.now() - startedMs),
    backlogMax,
    drainSec,
    orchestratorsMb,
    p95Ms: percentile(latencies, P95),
    slowestAnswerMs: Math.round(Math.max(...answersMs)),
    ...hold,
    ...(await lossesOf(db, [...ids, ...held])),
  }
  say(`${times} times the advice: ${JSON.stringify(measured)}`)
  return { ...measured, isGraceful: isGraceful(measured) }
}

interface Verdict {
  readonly holdMs: number
  readonly jobsOut: number
  readonly sentSince: number
  readonly attemptsPerStep: number
  readonly deadLetters: number
  readonly broken: readonly string[]
}

function isGraceful(verdict: Verdict): boolean {
  const { holdMs, jobsOut, sentSince, attemptsPerStep, deadLetters, broken } = verdict
  const isHoldObeyed = holdMs <= HOLD_MS && jobsOut === 0 && sentSince === 0
  return isHoldObeyed && attemptsPerStep === 1 && deadLetters === 0 && broken.length === 0
}

/** Holds the batch while it runs. Two seconds later none of its jobs may be under way, and none may have been sent since. */
async function holdInTheMiddle(db: Db, api: RunningApi, batchId: number) {
  while ((await countRuns(db, [batchId])) === 0) await clock.wait(LOOK_MS / 50)
  const holdMs = Math.round(await timeMs(() => ask(api, 'POST', '/api/holds', heldBatch(batchId))))
  const heldAt = clock.now()
  await clock.wait(HOLD_MS)
  const jobsOut = await countOf(
    db,
    "select count(*)::int as count from waits w join step_executions s on s.id = w.step_id where s.batch_id = $1 and w.kind = 'job'",
    [batchId],
  )
  const sentSince = await countOf(
    db,
    'select count(*)::int as count from attempts where batch_id = $1 and sent_at > $2',
    [batchId, heldAt],
  )
  return { holdMs, jobsOut, sentSince, ranBeforeHold: await countRuns(db, [batchId]) }
}

const heldBatch = (batchId: number) => ({
  scope: 'batch',
  target: `${batchId}`,
  reason: 'overload',
})

async function ask(
  { url, token }: RunningApi,
  method: 'GET' | 'POST',
  path: string,
  body: object = { reason: 'bench' },
): Promise<void> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
}

async function lossesOf(db: Db, ids: readonly number[]) {
  const [found] = await db.query<{ steps: number; dead: number }>(
    `select (select count(*) from step_executions where batch_id = any($1::bigint[]))::int as steps,
            (select count(*) from dead_letters)::int as dead`,
    [ids],
  )
  const broken = await findBroken(db, clock.now())
  return {
    steps: found!.steps,
    attemptsPerStep: round((await countRuns(db, ids)) / found!.steps),
    deadLetters: found!.dead,
    broken: broken.map(({ id, sentence }) => `${id} ${sentence}`),
  }
}

/** Attempts that reached a worker. A job that a hold withdrew did not. */
const countRuns = (db: Db, ids: readonly number[]): Promise<number> =>
  countOf(
    db,
    "select count(*)::int as count from attempts where batch_id = any($1::bigint[]) and outcome <> 'withdrawn'",
    [ids],
  )

const countWaits = (db: Db): Promise<number> =>
  countOf(db, 'select count(*)::int as count from waits', [])

async function countOf(db: Db, sql: string, params: unknown[]): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql, params)
  return row!.count
}

const percentile = (values: readonly number[], share: number): number =>
  Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN)
