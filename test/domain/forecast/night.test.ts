// When tonight ends: never by the aftercare a week later, and from the first minute.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forecastBatch } from '../../../src/domain/forecast/forecast.ts'
import { ago, batch, coming, ended, facts, NOW, pace, phase, running } from './facts.ts'

const minutes = (at: Date | null | undefined) => at && (+at - +NOW) / 60_000
const night = (more: Parameters<typeof facts>[0]) => forecastBatch(facts(more)).night
const hundred = { ...batch, membersActive: 100 }
const WEEK = 7 * 24 * 60

describe('the end of tonight', () => {
  it('is the end of the cut-over, not of the aftercare a week later', () => {
    const found = night({ batch: hundred, phases: [running('a', 50, 50), coming('b', WEEK)] })
    assert.deepEqual([found?.phaseName, minutes(found?.endsAt), minutes(found?.p90)], ['a', 5, 5.5])
  })

  it('is the end of the last phase that follows without a long pause', () => {
    const phases = [running('a', 50, 50), coming('b', 60), coming('c', WEEK)]
    const found = night({ batch: hundred, phases })
    assert.equal(found?.phaseName, 'b')
    assert.ok(minutes(found?.endsAt)! > 60 && minutes(found?.endsAt)! < 24 * 60)
    assert.ok(found!.p90! >= found!.endsAt!)
  })

  it('has a time and a latest bound in the first minute, by the pace of the phases before', () => {
    const begun = phase('b', 'dispatched', {
      dispatchedAt: ago(0.5),
      expandedAt: ago(0.4),
      steps: { ...phase('b', 'pending').steps, pending: 100 },
      members: { total: 100, passed: 0, failed: 0, stopped: 0, removed: 0 },
    })
    const phases = [ended('a', 60, 50, 100), begun]
    const found = night({ batch: hundred, phases, pace: pace(0) })
    assert.deepEqual([found?.phaseName, minutes(found?.endsAt), minutes(found?.p90)], ['b', 10, 30])
    assert.match(
      found!.because,
      /100 steps left at 10 steps a minute, the pace of the phases before/,
    )
  })

  it('says why there is none while a hold stops it, and is over with the batch', () => {
    const held = night({
      batch: { ...hundred, heldAt: ago(5), heldBy: 'ann', heldReason: 'wait' },
      phases: [running('a', 50, 50)],
    })
    assert.equal(held?.endsAt, null)
    assert.match(held!.because, /held/)
    assert.equal(night({ batch: { ...hundred, endedAt: NOW }, phases: [] }), null)
  })
})
