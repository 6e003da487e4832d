// What a forecast rests on: the pace of a batch and how it varies, and the times of a rehearsal.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type BatchPace,
  paceOfEnded,
  spreadOf,
  throughputOf,
} from '../../../src/domain/forecast/pace.ts'
import { rehearsedMs, rehearsedTimes } from '../../../src/domain/forecast/rehearsed.ts'
import type { Phase } from '../../../src/domain/state/facts.ts'
import { ago, ended, NOW, REHEARSED, running } from './facts.ts'

describe('the times of a rehearsal', () => {
  const line = { phase: 'Prepare', members: 100, worstSec: 1_800, tenTimesSec: 12_600 }
  it('are read from its report, of the largest wave', () => {
    const report = {
      slots: 10,
      faults: [],
      timeline: [{ ...line, members: 3 }, line, { ...line, worstSec: null }],
    }
    assert.deepEqual(rehearsedTimes(report), {
      slots: 10,
      phases: [{ name: 'prepare', members: 100, worstSec: 1_800, slotSec: 1_200 }],
    })
  })
  it('leave out waits for change windows, which a forecast counts itself', () => {
    const waited = { ...line, worstSec: 30_600, tenTimesSec: 41_400, windowWaitSec: 28_800 }
    assert.deepEqual(rehearsedTimes({ slots: 10, faults: [], timeline: [waited] })!.phases, [
      { name: 'prepare', members: 100, worstSec: 1_800, slotSec: 1_200 },
    ])
  })
  it('are not those of faults, of a rehearsal that was not ready, of another shape or of nobody', () => {
    for (const report of [
      null,
      'x',
      [],
      {},
      { slots: 0, timeline: [line] },
      { slots: 9, timeline: [] },
      { slots: 9, timeline: [null, 7, { ...line, members: 0 }] },
      { slots: 9, faults: ['throttling'], timeline: [line] },
      { slots: 9, faults: [], verdict: 'not ready', timeline: [line] },
    ])
      assert.equal(rehearsedTimes(report), null, JSON.stringify(report))
  })
  it('grow with members and with fewer slots, but not the waiting', () => {
    assert.equal(rehearsedMs(REHEARSED, 'A', 100, null), 1_800_000)
    assert.equal(rehearsedMs(REHEARSED, 'a', 50, 10), 1_200_000)
    assert.equal(rehearsedMs(REHEARSED, 'a', 100, 5), 3_000_000)
    assert.equal(rehearsedMs(REHEARSED, 'a', 0, 10), 600_000)
    assert.equal(rehearsedMs(REHEARSED, 'b', 100, 10), null)
    assert.equal(rehearsedMs(null, 'a', 100, 10), null)
  })
})

describe('the pace of a batch', () => {
  const ran = (from: number, to: number | null): Phase =>
    to === null ? running('a', 9, 0, { dispatchedAt: ago(from) }) : ended('b', from, to, 30)
  const read: BatchPace = {
    passed: 30,
    parts: Array(15).fill(2),
    restartedAt: null,
    readSince: null,
  }
  const CASES: readonly (readonly [
    about: string,
    more: Partial<BatchPace>,
    phases: readonly Phase[],
    stepsPerMin: number,
    overSec: number,
  ])[] = [
    ['counts at least a minute', {}, [], 30, 60],
    ['counts the time a phase runs', {}, [ran(10, null)], 3, 600],
    ['leaves out the time after a phase', {}, [ran(12, 9)], 10, 180],
    ['leaves out the time between phases', {}, [ran(14, 13), ran(2, null)], 10, 180],
    ['counts phases that run together once', {}, [ran(10, null), ran(8, 6)], 3, 600],
    [
      'leaves out what was before the last hold ended',
      { restartedAt: ago(2) },
      [ran(60, null)],
      15,
      120,
    ],
    ['counts what was read of many events', { readSince: ago(0.5) }, [ran(60, null)], 60, 30],
    ['counts fifteen minutes at most', {}, [ran(60, null)], 2, 900],
    ['is zero when nothing passed', { passed: 0 }, [ran(60, null)], 0, 900],
  ]
  for (const [about, more, phases, stepsPerMin, overSec] of CASES)
    it(about, () =>
      assert.deepEqual(throughputOf({ ...read, ...more }, phases, NOW), { stepsPerMin, overSec }),
    )

  it('varies by the parts in which a phase ran', () => {
    const spread = (parts: number[], from = 60, more: Partial<BatchPace> = {}) => {
      const { variation, samples, sampleMs } = spreadOf(
        { ...read, parts, ...more },
        [ran(from, null)],
        NOW,
      )
      return [Math.round(variation * 100) / 100, samples, sampleMs]
    }
    const even = Array<number>(15).fill(2)
    assert.deepEqual(spread(even), [0, 15, 60_000])
    assert.deepEqual(spread([...even.slice(1), 10]), [0.82, 15, 60_000])
    assert.deepEqual(spread([...Array<number>(11).fill(0), 2, 2, 2, 2], 4), [0, 4, 60_000])
    assert.deepEqual(spread(even, 2), [1, 2, 60_000], 'two samples say nothing')
    assert.deepEqual(spread(Array(15).fill(0)), [1, 15, 60_000])
    assert.deepEqual(spread(even, 60, { readSince: ago(0.5) }), [0, 15, 2_000])
  })
  it('of ended phases is their steps over the time that they ran', () => {
    assert.equal(paceOfEnded([ended('a', 130, 30, 1_000), running('b', 5, 5)], NOW), 10)
    assert.equal(paceOfEnded([running('b', 5, 5)], NOW), 0)
  })
})
