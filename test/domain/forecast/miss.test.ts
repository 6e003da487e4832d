// When a phase is forecast to miss its time, since when, and why it no longer is.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ForecastFacts, forecastBatch } from '../../../src/domain/forecast/forecast.ts'
import { clearedText } from '../../../src/domain/forecast/miss.ts'
import type { Phase } from '../../../src/domain/state/facts.ts'
import { ago, batch, coming, ended, facts, inMin, NOW, pace, REHEARSED, running } from './facts.ts'

describe('a miss', () => {
  /** T-0 is in an hour; a and b come before it, c after. */
  const T0 = inMin(60)
  const own = { ...batch, batchStartTime: T0 }
  const at = (open: number, more: Partial<Phase> = {}) =>
    running('a', open, 600, { offsetMinutes: 120, ...more })
  const next = coming('b', 60)
  const knownFor = (deadline: Date) => new Map([[1, { phaseId: 1, deadline, since: ago(7) }]])
  const text = (more: Partial<ForecastFacts>) =>
    forecastBatch(facts({ batch: own, ...more })).phases.map(
      ({ miss }) => miss && [miss.bySec, miss.since, miss.text],
    )[0]
  const T0_TEXT = 'T-0 (2026-03-02T21:00:00.000Z)'
  const REST = (steps: string) =>
    `${steps} steps left at 10 steps a minute, the pace of the last 12m`

  it('begins when the p50 is late by more than a minute, with the time that it is late', () => {
    assert.equal(text({ phases: [at(600), next] }), null)
    assert.equal(text({ phases: [at(610), next] }), null)
    assert.deepEqual(text({ phases: [at(1_000), next] }), [
      2_400,
      null,
      `phase a will miss ${T0_TEXT} by 40m: ${REST('1,000')}`,
    ])
  })
  it('lasts until the p90 is in time', () => {
    const misses = knownFor(T0)
    assert.deepEqual(text({ phases: [at(590), next], misses }), [
      0,
      ago(7),
      `phase a may still miss ${T0_TEXT}; 90 % sure by 2026-03-02T21:04:54.000Z: ${REST('590')}`,
    ])
    assert.equal(text({ phases: [at(545), next], misses }), null)
  })
  it('lasts while nobody can tell the end, and grows when its time is over', () => {
    const held = { ...own, heldAt: ago(5) }
    const standing = 'held since 2026-03-02T19:55:00.000Z'
    const misses = knownFor(T0)
    assert.deepEqual(text({ phases: [at(500), next], misses, batch: held }), [
      0,
      ago(7),
      `phase a was forecast to miss ${T0_TEXT}; now it is unknown: ${standing}`,
    ])
    const past = ago(30)
    assert.deepEqual(
      text({
        phases: [at(500), next],
        misses: knownFor(past),
        batch: { ...held, batchStartTime: past },
      })?.slice(0, 2),
      [1_800, ago(7)],
    )
  })
  it('does not begin with a hold, and begins without a forecast once its time is over', () => {
    const past = { ...own, batchStartTime: ago(30) }
    assert.equal(text({ phases: [at(500), next], batch: { ...past, heldAt: ago(5) } }), null)
    assert.deepEqual(text({ phases: [at(500), next], batch: past, pace: pace(0) }), [
      1_800,
      null,
      'phase a misses T-0 (2026-03-02T19:30:00.000Z) by at least 30m: no step passed lately and 500 steps are open',
    ])
    assert.equal(
      text({ phases: [at(5), next], batch: past }),
      null,
      'the last few steps hold nobody up',
    )
  })
  it('begins when a closed window opens too late', () => {
    const closed = { ...own, windowClosedAt: ago(5), windowOpensAt: inMin(90) }
    assert.deepEqual(text({ phases: [at(5_000), next], batch: closed })?.[0], 1_800)
  })
  it('is judged again for another date', () => {
    const [, since] = text({ phases: [at(1_000), next], misses: knownFor(ago(-30)) })!
    assert.equal(since, null)
  })
  it('is T-0 for every phase before it, and the next phase from T-0 on', () => {
    const miss = (more: Partial<ForecastFacts>) =>
      forecastBatch(facts({ batch: own, ...more })).phases.map(
        (one) => one.miss?.deadlineOf ?? null,
      )
    const [first, second] = [at(800), running('b', 100, 100, { offsetMinutes: 60 })]
    assert.deepEqual(miss({ phases: [first, second, coming('c', 60)] }), ['T-0', 'T-0', null])
    const cutover = running('a', 1_000, 500)
    const check = coming('c', 30, { offsetMinutes: -90 })
    assert.deepEqual(miss({ phases: [cutover, check] }), ['phase c', null])
    assert.deepEqual(miss({ phases: [cutover, { ...check, status: 'cancelled' }] }), [null])
    assert.deepEqual(miss({ phases: [first, next], batch: { ...own, isManual: true } }), [
      null,
      null,
    ])
    assert.deepEqual(miss({ phases: [first], batch: { ...own, batchStartTime: null } }), [null])
  })
  it('of a phase to come is told from a rehearsal, a day before, and never from the pace of others', () => {
    const large = { ...own, membersActive: 400, batchStartTime: inMin(65) }
    const before = coming('a', 5, { offsetMinutes: 60 })
    const rehearsed = REHEARSED
    assert.equal(text({ phases: [before], batch: large, rehearsed })?.[0], 1_800)
    assert.equal(text({ phases: [before], batch: large }), null)
    const later = { ...before, dueAt: inMin(25 * 60) }
    assert.equal(
      text({ phases: [later], batch: { ...large, batchStartTime: inMin(26 * 60) }, rehearsed }),
      null,
    )
  })
  it('ends with a sentence that says why', () => {
    const miss = { phaseId: 1, deadline: T0, since: ago(7), deadlineOf: 'T-0' }
    const deadline = { at: T0, of: 'T-0' }
    const over = ended('a', 20, 0, 5)
    assert.equal(
      clearedText(at(5), miss, deadline, inMin(50)),
      `phase a is forecast to end in time for ${T0_TEXT}, 90 % sure by 2026-03-02T20:50:00.000Z`,
    )
    assert.equal(clearedText(over, miss, deadline, null), `phase a ended in time for ${T0_TEXT}`)
    assert.equal(
      clearedText({ ...over, completedAt: inMin(72) }, miss, deadline, null),
      `phase a ended 12m after ${T0_TEXT}`,
    )
    assert.equal(
      clearedText({ ...over, status: 'cancelled' }, miss, deadline, null),
      'phase a was cancelled',
    )
    assert.equal(
      clearedText(at(5), miss, { ...deadline, at: NOW }, null),
      `phase a has another time than ${T0_TEXT} now`,
    )
  })
})
