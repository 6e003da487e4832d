// Gates and ramps as pure decisions: what is missing, what makes a decision void, which members start.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type GateFacts,
  missingAtGate,
  readyFromCounts,
  voidedBecause,
  whyNotApprove,
  whyNotWaive,
} from '../../../src/domain/decide/gate.ts'
import { shareAfter } from '../../../src/domain/decide/ramp.ts'
import { guardTexts } from '../../../src/domain/plan/guard-text.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const later = (minutes: number) => new Date(+NOW + minutes * 60_000)
const GATE = { approvals: 2, survives: 0, readyPercent: 95 }
const facts = (change: Partial<GateFacts> = {}): GateFacts => ({
  approvedBy: ['ben', 'cleo'],
  waiver: null,
  ready: 95,
  members: 100,
  supplies: [],
  ...change,
})

it('a gate needs its approvals and its share, to the last member', () => {
  assert.deepEqual(missingAtGate(GATE, facts(), NOW), [])
  assert.deepEqual(missingAtGate(GATE, facts({ approvedBy: ['ben'] }), NOW), ['1 of 2 approvals'])
  const few = facts({ ready: 949, members: 1_000 })
  assert.deepEqual(missingAtGate(GATE, few, NOW), ['949 of 1000 members ready (94 %), 95 % needed'])
  assert.deepEqual(missingAtGate({ ...GATE, readyPercent: null }, few, NOW), [])
})

it('the publisher of the version may not approve, anybody else may', () => {
  const version = { runbookName: 'wave', runbookVersion: 3, publishedBy: 'ada' }
  assert.equal(whyNotApprove('ben', 'cut-over', version), null)
  assert.equal(
    whyNotApprove('ada', 'cut-over', version),
    'ada published version 3 of wave, so another person must approve phase cut-over',
  )
  assert.equal(whyNotApprove('ada', 'cut-over', { ...version, publishedBy: null }), null)
})

it('a waiver needs a readiness that is asked for, by share or licences, and an end to come', () => {
  const asked = { name: 'cut-over', gate: GATE, countsSupply: false }
  const unasked = { ...asked, gate: { ...GATE, readyPercent: null } }
  assert.equal(whyNotWaive(asked, later(1), NOW), null)
  assert.equal(whyNotWaive({ ...unasked, countsSupply: true }, later(1), NOW), null)
  assert.match(whyNotWaive(unasked, later(1), NOW)!, /asks for no readiness/)
  assert.match(whyNotWaive(asked, NOW, NOW)!, /would be over already/)
})

it('a gate needs a licence for everybody who has none, unless a person waives it', () => {
  const countedAt = NOW
  const few = { noun: 'licences', name: 'SPE_E3', free: 60, needed: 100, countedAt }
  const enough = { noun: 'licences', name: 'EMS', free: 100, needed: 100, countedAt }
  const missing = ['licences SPE_E3: 60 free, 100 needed']
  const asked = facts({ supplies: [few, enough] })
  assert.deepEqual(missingAtGate(GATE, asked, NOW), missing)
  assert.deepEqual(missingAtGate({ ...GATE, readyPercent: null }, asked, NOW), missing)
  const waiver = { by: 'ben', endsAt: later(1) }
  assert.deepEqual(missingAtGate(GATE, { ...asked, waiver }, NOW), [])
  assert.deepEqual(missingAtGate(GATE, { ...asked, waiver }, later(1)), missing)
})

it('a waiver replaces the readiness until its end, and no approval', () => {
  const waived = (minutes: number) =>
    facts({ ready: 0, approvedBy: [], waiver: { by: 'dora', endsAt: later(minutes) } })
  assert.deepEqual(missingAtGate(GATE, waived(1), NOW), ['0 of 2 approvals'])
  assert.equal(missingAtGate(GATE, waived(0), NOW).length, 2)
})

it('a decision is void after another version, time or set of members, and only then', () => {
  const decided = {
    runbookVersion: 1,
    membersHash: 'a',
    membersPresent: 3,
    membersRemoved: 0,
    dueAt: NOW,
  }
  const because = (change: object) => voidedBecause(decided, { ...decided, ...change })
  assert.equal(because({}), null)
  assert.equal(because({ dueAt: new Date(+NOW) }), null)
  assert.equal(because({ runbookVersion: 2 }), 'version 2 replaced version 1')
  assert.match(because({ dueAt: later(1) })!, /^the phase moved from 2026-03-02T08:00:00.000Z to /)
  assert.match(because({ dueAt: null })!, /to no time$/)
  for (const change of [{ membersHash: 'b' }, { membersPresent: 4 }, { membersRemoved: 1 }])
    assert.equal(because(change), 'the members changed')
})

it('an approval survives as many people as its gate says, and no other time', () => {
  const decided = {
    runbookVersion: 1,
    membersHash: 'a',
    membersPresent: 3,
    membersRemoved: 0,
    dueAt: NOW,
  }
  const after = (changed: number, change: object = { membersHash: 'b' }) =>
    voidedBecause(decided, { ...decided, ...change }, { changed, survives: 5 })
  assert.equal(after(5), null)
  assert.equal(after(6), '6 people joined or left, and it survives 5')
  assert.match(after(0, { dueAt: later(1) })!, /^the phase moved/)
})

it('shares are rounded up, add somebody, and end with everybody', () => {
  const shares = (percents: number[], members: number) => {
    const found = []
    let share: number | null = null
    do {
      const next = shareAfter(percents, share, members)
      found.push(next.members ?? 'all')
      share = next.share
    } while (share < percents.length - 1)
    return found
  }
  assert.deepEqual(shares([5, 25, 100], 1_000), [50, 250, 'all'])
  assert.deepEqual(shares([5, 25, 100], 3), [1, 'all'])
  assert.deepEqual(shares([5, 25, 100], 1), ['all'])
  assert.deepEqual(shares([1, 99, 100], 100_000), [1_000, 99_000, 'all'])
  assert.deepEqual(shares([1, 99, 100], 50), [1, 'all'], '99 % of 50 is everybody')
})

it('a plan says both in words', () => {
  const ramp = { percents: [5, 100], soakSec: 1_800, maxFailedPercent: 2 }
  assert.deepEqual(guardTexts({ gate: GATE, ramp }), [
    'gate: 2 approvals, 95 % ready',
    'ramp: 5 %, 100 %; soak 30m; at most 2 % failed',
  ])
  assert.deepEqual(guardTexts({ gate: { ...GATE, survives: 5 }, ramp: null }), [
    'gate: 2 approvals good for up to 5 people who join or leave, 95 % ready',
  ])
  assert.deepEqual(guardTexts({ gate: null, ramp: null }), [])
})

it('who is ready follows from the counters of phases unless two of them lack people', () => {
  assert.equal(readyFromCounts(100, [100, 100]), 100)
  assert.equal(readyFromCounts(100, [100, 93]), 93)
  assert.equal(readyFromCounts(100, [0]), 0)
  assert.equal(readyFromCounts(100, [93, 93]), null)
  assert.equal(readyFromCounts(0, []), 0)
})
