// A worker's job limit follows its pace: what it does a second, not only what its slots could do.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AttemptRecord } from '../../../src/domain/decide/draft.ts'
import {
  isJustFull,
  jobLimitOf,
  jobsShownBy,
  leastOf,
  meanAfter,
  onWayMsOf,
  type Pace,
  paceAfter,
} from '../../../src/domain/decide/pace.ts'
import { seeded } from '../../kit/seeded.ts'

const AHEAD_MS = 150
const MOST = 1_000

describe('the job limit', () => {
  const known = { perSec: null, onWayMs: 50, count: null }
  const LIMITS: readonly [string, number | null, number | null, Pace | null, number][] = [
    ['4 slots, jobs of 3 s', 4, 3_000, known, 7],
    ['4 slots, jobs of an hour', 4, 3_600_000, known, 7],
    ['4 slots, jobs of 20 ms', 4, 20, known, 15],
    ['4 slots that do what they can', 4, 20, { ...known, perSec: 200 }, 44],
    ['4 slots, jobs of no time', 4, 0, { ...known, perSec: 10_000 }, 804],
    ['before the first result a job is taken to last a second', 4, null, null, 7],
    ['a worker that never announced itself', null, null, null, 27],
    ['more slots than the limit', 5_000, null, null, 1_000],
    ['a pace below what the slots could do', 32, 20, { ...known, perSec: 137 }, 32],
    ['no pace above what the slots could do', 4, 3_000, { ...known, perSec: 137 }, 7],
    ['a slot each, however slow', 4, 20, { ...known, perSec: 0.001 }, 4],
  ]
  for (const [name, slots, jobMs, pace, limit] of LIMITS) {
    it(`is ${limit}: ${name}`, () => {
      assert.equal(jobLimitOf({ slots, jobMs, pace }, MOST, AHEAD_MS), limit)
    })
  }

  it('follows the mean of about the last hundred jobs, whatever chunks they come in', () => {
    assert.equal(meanAfter(null, 7, 300), 300)
    let oneByOne = 5
    for (let job = 0; job < 100; job++) oneByOne = meanAfter(oneByOne, 1, 3_000)
    assert.ok(Math.abs(oneByOne - meanAfter(5, 100, 3_000)) < 1e-6)
    assert.ok(oneByOne > 2_800, `${oneByOne} ms`)
    assert.ok(meanAfter(5, 1, 3_000) < 100, 'one slow job says little')
  })

  it('is wide after one result of a call for a thousand, and narrow again after a few slow jobs', () => {
    const attempt = { durationMs: 1_500, togetherMax: 1_000 } as AttemptRecord
    const jobs = jobsShownBy(attempt)
    const seen = { jobs, onWayMs: null, isFull: false, isJoint: true }
    const joint = paceAfter({ slots: 4, jobMs: 1_500, pace: known }, seen, 16, 0)
    const fast = meanAfter(1_500, jobs, attempt.durationMs! / jobs)
    const limit = (jobMs: number) => jobLimitOf({ slots: 4, jobMs, pace: joint }, MOST, AHEAD_MS)
    assert.ok(limit(fast) > 500)
    assert.ok(limit(meanAfter(fast, 4, 3_000)) < 10)
    assert.equal(jobsShownBy({} as AttemptRecord), 1)
    assert.equal(jobsShownBy({ togetherMax: 2 ** 53 } as AttemptRecord), 10_000)
  })

  it('counts nothing with too few jobs, and nothing over a gap', () => {
    const worker = { slots: 4, jobMs: 20 }
    const seen = { jobs: 100, onWayMs: 10, isFull: true, isJoint: false }
    const step = (pace: Pace | null, more: object, nowMs: number) =>
      paceAfter({ ...worker, pace }, { ...seen, ...more }, 40, nowMs)
    const begun = step(null, {}, 0)
    assert.equal(begun.perSec, null)
    assert.equal(step(begun, {}, 1_000).perSec, 100)
    assert.equal(step(begun, { isFull: false }, 1_000).perSec, null)
    assert.equal(step(step(begun, { isFull: false }, 1_000), {}, 2_000).perSec, 100)
    assert.equal(step(begun, { jobs: 10 }, 1_000).perSec, null)
    assert.equal(step(begun, {}, 3_000).perSec, null)
  })
})

/** A worker whose machine starts at most so many jobs a second, with all the work in the world. */
interface Model {
  readonly slots: number
  readonly runMs: number
  readonly wayMs: number
  /** Few ways are that long, most are short. */
  readonly wayMaxMs?: number
  readonly perSecMax: number
}

/** What it does in the last third of a minute: results a second, and how long a job is out. */
function lastOf({ slots, runMs, wayMs, wayMaxMs = wayMs, perSecMax }: Model) {
  const chance = seeded(7)
  const nextWayMs = () => wayMs + (wayMaxMs - wayMs) * (chance(1_000) / 1_000) ** 3
  const out: { sentMs: number; resultMs: number }[] = []
  const slotFreeMs = new Array<number>(slots).fill(0)
  let [jobMs, pace, startedMs, results, outMs]: [
    number | null,
    Pace | null,
    number,
    number,
    number,
  ] = [null, null, 0, 0, 0]
  let isFull = false
  let gathered = { jobs: 0, onWayMs: null as number | null }
  const limit = () => jobLimitOf({ slots, jobMs, pace }, MOST, AHEAD_MS)
  for (let nowMs = 0; nowMs < 60_000; nowMs += 10) {
    out.sort((one, other) => one.resultMs - other.resultMs)
    while (out.length > 0 && out[0]!.resultMs <= nowMs) {
      const { sentMs } = out.shift()!
      gathered = {
        jobs: gathered.jobs + 1,
        onWayMs: leastOf(gathered.onWayMs, nowMs - sentMs - runMs),
      }
      if (nowMs < 40_000) continue
      results += 1
      outMs += nowMs - sentMs
    }
    if (nowMs % 250 === 0 && gathered.jobs > 0) {
      pace = paceAfter(
        { slots, jobMs, pace },
        { ...gathered, isFull, isJoint: false },
        limit(),
        nowMs,
      )
      jobMs = meanAfter(jobMs, gathered.jobs, runMs)
      gathered = { jobs: 0, onWayMs: null }
    }
    while (out.length < limit()) {
      const slot = slotFreeMs.indexOf(Math.min(...slotFreeMs))
      const halfMs = nextWayMs() / 2
      const startMs = Math.max(nowMs + halfMs, slotFreeMs[slot]!, startedMs + 1_000 / perSecMax)
      startedMs = startMs
      slotFreeMs[slot] = startMs + runMs
      out.push({ sentMs: nowMs, resultMs: startMs + runMs + halfMs })
    }
    isFull = isJustFull(out.length, limit())
  }
  return { perSec: results / 20, outMs: outMs / results, limit: limit() }
}

describe('a worker with all the work in the world', () => {
  const MODELS: readonly [string, Model][] = [
    ['fast jobs, a machine that does a tenth', { slots: 32, runMs: 20, wayMs: 80, perSecMax: 137 }],
    ['fast jobs, as fast as its slots', { slots: 32, runMs: 20, wayMs: 80, perSecMax: 1e6 }],
    ['fast jobs over a long way', { slots: 32, runMs: 20, wayMs: 400, perSecMax: 1e6 }],
    ['jobs of half a second', { slots: 16, runMs: 500, wayMs: 100, perSecMax: 1e6 }],
    ['slow jobs', { slots: 4, runMs: 3_000, wayMs: 100, perSecMax: 1e6 }],
    ['many slow jobs', { slots: 64, runMs: 3_000, wayMs: 200, perSecMax: 1e6 }],
    [
      'jobs of half a second, on ways of 80 to 800 ms',
      { slots: 16, runMs: 500, wayMs: 80, wayMaxMs: 800, perSecMax: 1e6 },
    ],
    [
      'jobs of a fifth of a second, on ways of 80 to 400 ms',
      { slots: 16, runMs: 200, wayMs: 80, wayMaxMs: 400, perSecMax: 1e6 },
    ],
    ['a machine that hardly moves', { slots: 32, runMs: 20, wayMs: 80, perSecMax: 20 }],
  ]
  for (const [name, model] of MODELS)
    it(`is used in full, and a job does not wait long: ${name}`, () => {
      const { slots, runMs, wayMs, wayMaxMs = wayMs, perSecMax } = model
      const { perSec, outMs, limit } = lastOf(model)
      const best = Math.min(perSecMax, (slots * 1_000) / runMs, (MOST * 1_000) / (runMs + wayMs))
      assert.ok(perSec + slots / 20 > 0.95 * best, `${perSec} of ${best} a second, ${limit} jobs`)
      const alone = runMs + wayMs + (wayMaxMs - wayMs) / 4
      const slot = Math.max(1_000 / perSecMax, runMs / slots)
      assert.ok(outMs < 2 * alone + AHEAD_MS + 1.5 * slots * slot, `${outMs} ms, alone ${alone} ms`)
    })
})

describe('the way of a job', () => {
  it('is the time that it was out besides its run, when its worker says how long it ran', () => {
    const now = new Date(1_000)
    const attempt = { outcome: 'succeeded', durationMs: 300, sentAt: new Date(500) }
    assert.equal(onWayMsOf(attempt as AttemptRecord, now), 200)
    assert.equal(onWayMsOf({ ...attempt, durationMs: 600 } as AttemptRecord, now), 0)
    assert.equal(onWayMsOf({ ...attempt, durationMs: null } as AttemptRecord, now), null)
    assert.equal(onWayMsOf({ ...attempt, outcome: 'lost' } as AttemptRecord, now), null)
  })
})
