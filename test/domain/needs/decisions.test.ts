// What people say about a need: who takes care of it, and that it is accepted as it is.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sourceNeed } from '../../../src/domain/needs/from-sources.ts'
import { failedNeed, gateNeed, stuckNeeds } from '../../../src/domain/needs/from-work.ts'
import { decideNeed, type Need, verdictOf, withDecision } from '../../../src/domain/needs/needs.ts'

const NOW = new Date('2026-03-02T22:00:00Z')
const BATCH = {
  id: 2,
  runbookName: 'wave',
  membersFailed: 3,
  failedInInit: false,
  since: NOW,
  failureRevision: 8,
  endedAt: null,
}
const failed = (more: Partial<typeof BATCH> | { endedAt: Date } = {}) =>
  failedNeed({ ...BATCH, ...more }, NOW)
const IDLE = { running: 0, next: null }
const order = { owner: undefined, isAccepted: undefined, actor: 'ann', reason: 'agreed', now: NOW }
const decided = (
  need: Need,
  more: Partial<typeof order> | { owner: string } | { isAccepted: boolean },
) => {
  const answer = decideNeed(need, { ...order, ...more })
  assert.ok('decision' in answer, JSON.stringify(answer))
  return answer.decision
}

describe('a decision about a need', () => {
  it('names who takes care of it, and leaves it needed', () => {
    const owned = withDecision(failed(), decided(failed(), { owner: 'ben' }))
    const { headline, isActionNeeded } = verdictOf([owned], IDLE)
    assert.equal(headline, 'Action needed: 3 people of batch 2 failed; ben takes care of it.')
    assert.equal(isActionNeeded, true)
  })

  it('accepts it as it is: no one is needed until there is more to it', () => {
    const decision = decided(failed(), { isAccepted: true })
    const same = verdictOf([withDecision(failed(), decision)], IDLE)
    assert.equal(same.isActionNeeded, false)
    assert.match(same.headline, /3 people of batch 2 failed, accepted by ann/)
    const another = withDecision(failed({ failureRevision: 9 }), decision)
    assert.equal(verdictOf([another], IDLE).isActionNeeded, true, 'another failure')
  })

  it('keeps the owner when it is accepted later, and the other way round', () => {
    const owned = withDecision(failed(), decided(failed(), { owner: 'ben' }))
    const accepted = decided(owned, { isAccepted: true })
    assert.equal(accepted.owner, 'ben')
    assert.equal(decided(withDecision(failed(), accepted), { owner: 'eve' }).acceptedMark, '8')
  })

  it('accepts two left-out rows, and asks again for a third', () => {
    const rows = (count: number) =>
      sourceNeed(
        {
          kind: 'rows_left_out',
          runbookName: 'wave',
          batchId: null,
          count,
          membersActive: null,
          since: NOW,
          fromTime: null,
          toTime: null,
          isWholeWave: false,
          hasOtherTimes: false,
          error: null,
        },
        NOW,
      )
    const decision = decided(rows(2), { isAccepted: true })
    assert.equal(withDecision(rows(2), decision).severity, 'planned')
    assert.equal(withDecision(rows(3), decision).severity, 'later')
  })

  it('does not accept what ends with its cause', () => {
    const [silent] = stuckNeeds(
      [
        {
          batchId: 2,
          runbookName: 'wave',
          stuck: [
            {
              kind: 'worker_silent',
              because: 'worker w1 was last seen',
              aboutWorker: 'worker w1 was last seen',
              count: 1,
              isCountExact: true,
              since: NOW,
              workerId: 'w1',
              stepId: 1,
              actions: [],
            },
          ],
        },
      ],
      NOW,
    )
    const answer = decideNeed(silent!, { ...order, isAccepted: true })
    assert.match('refusal' in answer ? answer.refusal : '', /cannot be accepted/)
  })

  it('does not let a failure vanish with its wave: a day later it is no alarm, and still a need', () => {
    const hours = (count: number) => new Date(+NOW - count * 3_600_000)
    assert.equal(failed({ endedAt: hours(23) }).severity, 'urgent')
    const old = failed({ endedAt: hours(33) })
    assert.equal(old.severity, 'later')
    assert.equal(verdictOf([old], IDLE).isActionNeeded, true)
  })
})

describe('a gate that lacks ready people', () => {
  const gate = {
    phaseId: 3,
    phaseName: 'cutover',
    batchId: 2,
    runbookName: 'wave',
    dueAt: new Date(+NOW + 3 * 60_000),
    needed: 1,
    given: 1,
    readyPercent: 95,
    active: 8,
    present: 10,
    since: NOW,
  }
  it('says how many can be ready at most, red in the last hour', () => {
    const need = gateNeed(gate, NOW)
    assert.equal(need.severity, 'urgent')
    assert.equal(
      need.text,
      'Phase cutover of batch 2 has at most 8 of 10 people ready (95 % needed) for the start at 2026-03-02T22:03:00.000Z; without them the batch is held then',
    )
  })
  it('says both when approvals are missing too', () => {
    assert.match(
      gateNeed({ ...gate, given: 0 }, NOW).text,
      /has 0 of 1 approvals and at most 8 of 10 people ready \(95 % needed\) for the start/,
    )
  })
})
