import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Phase } from '../../../src/domain/state/facts.ts'
import {
  activeCounts,
  FACTS,
  type Fact,
  isUnderWay,
  noStates,
  PERSON_STATES,
  type PersonState,
  RULES,
  statesText,
  stateWord,
  waveOf,
} from '../../../src/domain/state/person-state.ts'
import type { BatchStatus } from '../../../src/domain/state/transitions.ts'

const AT = new Date('2030-03-01T22:00:00Z')

type WavePhase = Parameters<typeof waveOf>[1][number]
const phase = (
  id: number,
  offsetMinutes: number,
  status: Phase['status'],
  more: Partial<WavePhase> = {},
): WavePhase => ({
  id,
  name: `phase-${id}`,
  index: id,
  offsetMinutes,
  runbookVersion: 1,
  status,
  skippedBecause: null,
  dispatchedAt: ['pending', 'skipped', 'cancelled'].includes(status) ? null : AT,
  expandedAt: ['pending', 'skipped', 'cancelled'].includes(status) ? null : AT,
  rampThrough: null,
  members: { total: 0, passed: 0, failed: 0, stopped: 0, removed: 0 },
  ...more,
})
const [PREPARE, CUTOVER, AFTERCARE] = [1, 2, 3] as const
type Three = readonly [Phase['status'], Phase['status'], Phase['status']]
const three = ([prepare, cutover, aftercare]: Three): WavePhase[] => [
  phase(PREPARE, 7_200, prepare),
  phase(CUTOVER, 0, cutover),
  phase(AFTERCARE, -1_440, aftercare),
]

it('a wave stands where its phases are', () => {
  const states: readonly (readonly [BatchStatus, Three, PersonState])[] = [
    ['init_dispatched', ['pending', 'pending', 'pending'], 'scheduled'],
    ['active', ['dispatched', 'pending', 'pending'], 'preparing'],
    ['active', ['completed', 'pending', 'pending'], 'preparing'],
    ['active', ['completed', 'dispatched', 'pending'], 'cutting_over'],
    ['active', ['completed', 'completed', 'pending'], 'cut_over'],
    ['active', ['completed', 'completed', 'dispatched'], 'cut_over'],
    ['completed', ['completed', 'completed', 'completed'], 'done'],
    ['cancelled', ['completed', 'cancelled', 'cancelled'], 'stopped'],
    ['failed', ['failed', 'skipped', 'skipped'], 'failed'],
  ]
  for (const [status, phases, state] of states)
    assert.equal(waveOf(status, three(phases)).state, state)
})

it('who left is said to be removed, or where they went', () => {
  assert.equal(stateWord('removed', 9), 'moved to batch 9')
  assert.equal(stateWord('removed'), 'removed')
})

describe('the headline', () => {
  const CASES: readonly (readonly [Partial<Record<PersonState, number>>, string])[] = [
    [{}, 'nobody'],
    [{ scheduled: 201 }, '201 scheduled'],
    [{ preparing: 198, failed: 3 }, '198 preparing, 3 failed'],
    [{ cutting_over: 201 }, '0 of 201 cut over, 201 cutting over'],
    [
      { cutting_over: 10, cut_over: 181, failed: 10 },
      '181 of 201 cut over, 10 cutting over, 10 failed',
    ],
    [{ cut_over: 191, failed: 8, rolled_back: 2 }, '191 of 201 cut over, 8 failed, 2 rolled back'],
    [{ cut_over: 191, failed: 10, removed: 4 }, '191 of 201 cut over, 10 failed, 4 removed'],
    [{ cut_over: 100, done: 91, failed: 10 }, '191 of 201 cut over, 91 of them done, 10 failed'],
    [{ done: 191, failed: 10 }, '191 of 201 done, 10 failed'],
    [{ done: 201 }, '201 done'],
    [{ cut_over: 150, stopped: 51 }, '150 of 201 cut over, 51 stopped'],
    [{ cut_over: 1_999, failed: 1 }, '1,999 of 2,000 cut over, 1 failed'],
  ]
  for (const [some, text] of CASES)
    it(text, () => assert.equal(statesText({ ...noStates(), ...some }), text))
})

describe('whatever the facts', () => {
  type Facts = Readonly<Record<Fact, boolean>>
  const stateOf = (facts: Facts): PersonState =>
    RULES.find(([, asked]) => asked.every((fact) => facts[fact]))![0]
  const all: Facts[] = [...Array(2 ** FACTS.length).keys()].map(
    (bits) =>
      Object.fromEntries(
        FACTS.map((fact, at) => [fact, (bits & (1 << at)) > 0]),
      ) as unknown as Facts,
  )
  it('everybody has exactly one state, and each state is somebody’s', () => {
    const seen = new Set(all.map(stateOf))
    assert.deepEqual([...seen].sort(), [...PERSON_STATES].sort())
    assert.deepEqual(RULES.map(([state]) => state).sort(), [...PERSON_STATES].sort())
  })
  it('who was removed or has failed is never counted as cut over or done', () => {
    for (const facts of all.filter(({ isRemoved, hasFailed }) => isRemoved || hasFailed))
      assert.ok(['removed', 'failed', 'rolled_back', 'taken_back'].includes(stateOf(facts)))
  })
  it('nobody is cut over before the last step of the cut-over phase', () => {
    for (const facts of all.filter(({ isCutOver, isThrough }) => !isCutOver && !isThrough))
      assert.ok(!['cut_over', 'done'].includes(stateOf(facts)))
  })
  it('something is to come for those before the end, and for nobody else', () => {
    const underWay = PERSON_STATES.filter(isUnderWay)
    assert.deepEqual(underWay, ['scheduled', 'preparing', 'cutting_over', 'cut_over'])
  })
})

describe('counts of people', () => {
  const counted = (passed: number, open: number): Partial<WavePhase> => ({
    members: { total: passed + open, passed, failed: 0, stopped: 0, removed: 0 },
  })
  it('come from counters where these tell', () => {
    const phases = [
      phase(PREPARE, 7_200, 'completed', counted(27, 0)),
      phase(CUTOVER, 0, 'dispatched', counted(20, 7)),
      phase(AFTERCARE, -1_440, 'pending'),
    ]
    assert.partialDeepStrictEqual(activeCounts('active', phases, { active: 27, removed: 0 }), {
      cut_over: 20,
      cutting_over: 7,
      preparing: 0,
      done: 0,
    })
  })
  it('are read from people where counters would guess', () => {
    const half = { expandedAt: null, rampThrough: 5 }
    const ramp = [phase(CUTOVER, 0, 'dispatched', { ...counted(3, 2), ...half })]
    assert.equal(activeCounts('active', ramp, { active: 27, removed: 0 }), null)
    const two = [
      phase(PREPARE, 60, 'dispatched', counted(20, 7)),
      phase(CUTOVER, 0, 'dispatched', counted(15, 12)),
    ]
    assert.equal(activeCounts('active', two, { active: 27, removed: 0 }), null)
    assert.deepEqual(activeCounts('active', two, { active: 0, removed: 0 })?.done, 0)
  })
  it('do not take somebody who joined during the cut-over, or took the place of another, for cut over', () => {
    const phases = [
      phase(CUTOVER, 0, 'dispatched', counted(20, 5)),
      phase(AFTERCARE, -1_440, 'pending'),
    ]
    assert.equal(activeCounts('active', phases, { active: 25, removed: 0 })?.cut_over, 20)
    assert.equal(activeCounts('active', phases, { active: 26, removed: 0 }), null, 'one joined')
    assert.equal(
      activeCounts('active', phases, { active: 25, removed: 1 }),
      null,
      'one for another',
    )
  })
  it('do not take somebody who joined in the last phase for done', () => {
    const phases = [
      phase(PREPARE, 60, 'completed', counted(25, 0)),
      phase(CUTOVER, 0, 'dispatched', counted(20, 5)),
    ]
    assert.equal(activeCounts('active', phases, { active: 25, removed: 0 })?.done, 20)
    assert.equal(activeCounts('active', phases, { active: 26, removed: 0 }), null, 'one joined')
  })
})

describe('a wave whose phases were all overdue', () => {
  const overdue = [phase(CUTOVER, 0, 'skipped', { skippedBecause: 'overdue' })]
  const CASES: readonly (readonly [BatchStatus, PersonState])[] = [
    ['active', 'scheduled'],
    ['completed', 'stopped'],
    ['cancelled', 'stopped'],
  ]
  for (const [status, state] of CASES) {
    it(`has nobody done while it is ${status}: they are ${state}`, () => {
      const wave = waveOf(status, overdue)
      assert.equal(wave.state, state)
      const counts = { ...noStates(), ...activeCounts(status, overdue, { active: 4, removed: 0 }) }
      assert.deepEqual(counts, { ...noStates(), [state]: 4 })
    })
  }
})
