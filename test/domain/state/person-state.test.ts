import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Phase } from '../../../src/domain/state/facts.ts'
import {
  activeCounts,
  FACTS,
  isUnderWay,
  noStates,
  PERSON_STATES,
  type PersonFacts,
  type PersonRows,
  type PersonState,
  personFacts,
  personState,
  RULES,
  statesText,
  stateWord,
  waveOf,
} from '../../../src/domain/state/person-state.ts'
import type { BatchStatus, StepStatus } from '../../../src/domain/state/transitions.ts'

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

const person = (
  steps: PersonRows['steps'],
  status: PersonRows['status'] = 'active',
  undo: PersonRows['undo'] = [],
): PersonRows => ({
  id: 5,
  status,
  steps,
  undo,
})
const stepsOf = (...steps: readonly (readonly [phaseId: number, status: StepStatus])[]) =>
  steps.map(([phaseId, status]) => ({ phaseId, status }))
const stateOf = (rows: PersonRows, phases: readonly WavePhase[], status: BatchStatus = 'active') =>
  personState(personFacts(rows, waveOf(status, phases)))

describe('where a person stands', () => {
  it('follows a perfect night: scheduled, preparing, cutting over, cut over, done', () => {
    const P = [PREPARE, 'succeeded'] as const
    const C = [CUTOVER, 'succeeded'] as const
    const night: readonly (readonly [PersonState, Three, ...(readonly [number, StepStatus])[]])[] =
      [
        ['scheduled', ['pending', 'pending', 'pending']],
        ['preparing', ['dispatched', 'pending', 'pending'], [PREPARE, 'dispatched']],
        ['preparing', ['completed', 'pending', 'pending'], P],
        ['cutting_over', ['completed', 'dispatched', 'pending'], P, [CUTOVER, 'polling']],
        ['cut_over', ['completed', 'dispatched', 'pending'], P, C],
        ['cut_over', ['completed', 'completed', 'pending'], P, C],
        ['cut_over', ['completed', 'completed', 'dispatched'], P, C, [AFTERCARE, 'pending']],
        ['done', ['completed', 'completed', 'dispatched'], P, C, [AFTERCARE, 'skipped']],
      ]
    for (const [state, phases, ...steps] of night)
      assert.equal(stateOf(person(stepsOf(...steps)), three(phases)), state, `${phases} ${steps}`)
    const all = stepsOf(P, C, [AFTERCARE, 'succeeded'])
    const ended = three(['completed', 'completed', 'completed'])
    assert.equal(stateOf(person(all), ended, 'completed'), 'done')
  })

  it('tells a failure from one that was rolled back', () => {
    const phases = three(['completed', 'pending', 'pending'])
    const failed = (...statuses: StepStatus[]) =>
      stateOf(
        person(
          statuses.map((status) => ({ phaseId: PREPARE, status })),
          'failed',
        ),
        phases,
      )
    assert.equal(failed('succeeded', 'failed'), 'failed')
    assert.equal(failed('succeeded', 'poll_timeout'), 'failed')
    assert.equal(failed('succeeded', 'rolled_back', 'cancelled'), 'rolled_back')
    assert.equal(failed('rolled_back', 'failed'), 'failed')
  })

  it('tells who was taken back on purpose from a failure, unless the undo failed or something fails later', () => {
    const phases = three(['completed', 'completed', 'pending'])
    const after = (undo: readonly StepStatus[], ...statuses: StepStatus[]) =>
      stateOf(
        person(
          statuses.map((status) => ({ phaseId: CUTOVER, status })),
          'failed',
          undo,
        ),
        phases,
      )
    assert.equal(after(['pending'], 'undone', 'succeeded'), 'taken_back')
    assert.equal(after(['succeeded'], 'undone', 'failed'), 'taken_back', 'also after a failure')
    assert.equal(after(['succeeded'], 'cancelled', 'cancelled'), 'taken_back')
    assert.equal(after(['succeeded', 'failed'], 'undone', 'undone'), 'failed')
    assert.equal(after(['succeeded'], 'succeeded', 'failed'), 'failed', 'retried, and failed')
    assert.equal(after(['succeeded'], 'rolled_back'), 'rolled_back')
  })

  it('a cancelled wave stops those who are not cut over, and no one else', () => {
    const phases = [
      phase(PREPARE, 7_200, 'completed'),
      phase(CUTOVER, 0, 'cancelled', { dispatchedAt: AT, expandedAt: AT }),
      phase(AFTERCARE, -1_440, 'cancelled'),
    ]
    const P = [PREPARE, 'succeeded'] as const
    const rows = (status: StepStatus) => person(stepsOf(P, [CUTOVER, status]))
    assert.equal(stateOf(rows('cancelled'), phases, 'cancelled'), 'stopped')
    assert.equal(stateOf(rows('succeeded'), phases, 'cancelled'), 'cut_over')
    assert.equal(stateOf(person([]), three(['pending', 'pending', 'pending']), 'failed'), 'stopped')
  })

  it('who left is removed, wherever they were', () => {
    const phases = three(['completed', 'completed', 'pending'])
    const steps = stepsOf([PREPARE, 'succeeded'], [CUTOVER, 'succeeded'])
    assert.equal(stateOf(person(steps, 'removed'), phases), 'removed')
    assert.equal(stateWord('removed', 9), 'moved to batch 9')
    assert.equal(stateWord('removed'), 'removed')
  })

  it('who failed before the cut-over has not passed it for want of steps there', () => {
    const phases = three(['completed', 'completed', 'pending'])
    const rows = person(stepsOf([PREPARE, 'failed']), 'failed')
    assert.equal(personFacts(rows, waveOf('active', phases)).isCutOver, false)
  })

  it('a late joiner is not cut over because the others are', () => {
    const phases = three(['dispatched', 'dispatched', 'pending'])
    const late = person(stepsOf([PREPARE, 'pending'], [CUTOVER, 'pending']))
    assert.equal(stateOf(late, phases), 'cutting_over')
    assert.notEqual(stateOf(late, phases), 'cut_over')
    const written = three(['completed', 'completed', 'dispatched'])
    assert.equal(stateOf(person([]), written), 'cutting_over', 'without one step yet')
  })

  it('in a ramp only the people of the share are cutting over', () => {
    const phases = [
      phase(PREPARE, 7_200, 'completed'),
      phase(CUTOVER, 0, 'dispatched', { expandedAt: null, rampThrough: 5 }),
    ]
    const begun = person(stepsOf([PREPARE, 'succeeded'], [CUTOVER, 'pending']))
    assert.equal(stateOf(begun, phases), 'cutting_over')
    assert.equal(
      stateOf({ ...begun, id: 6, steps: stepsOf([PREPARE, 'succeeded']) }, phases),
      'preparing',
    )
    // She passed it in the wave that she left, and her share here has not begun.
    const moved = person(stepsOf([PREPARE, 'succeeded'], [CUTOVER, 'succeeded']))
    assert.equal(stateOf({ ...moved, id: 6 }, phases), 'preparing')
  })
})

describe('the cut-over phase', () => {
  const P = [1, 'succeeded'] as const
  it('is the last one at T-0', () => {
    const phases = [phase(1, 0, 'completed'), phase(2, 0, 'dispatched'), phase(3, -60, 'pending')]
    assert.equal(stateOf(person(stepsOf(P, [2, 'pending'])), phases), 'cutting_over')
    assert.equal(stateOf(person(stepsOf(P, [2, 'succeeded'])), phases), 'cut_over')
    assert.equal(waveOf('active', phases).state, 'cutting_over')
  })
  it('without one at T-0 is the last before it, or else the first after it', () => {
    const before = [phase(1, 60, 'completed'), phase(2, -60, 'pending')]
    assert.equal(stateOf(person(stepsOf(P)), before), 'cut_over')
    const later = [phase(1, -60, 'completed'), phase(2, -120, 'pending')]
    assert.equal(stateOf(person(stepsOf(P)), later), 'cut_over')
  })
  it('is no phase that was skipped as overdue, and of several versions the newest', () => {
    const overdue = { skippedBecause: 'overdue' } as const
    const phases = [phase(1, 0, 'skipped', overdue), phase(2, -60, 'dispatched')]
    assert.equal(stateOf(person(stepsOf([2, 'pending'])), phases), 'cutting_over')
    const again = [
      phase(1, 0, 'completed', { name: 'Cutover' }),
      phase(2, 0, 'pending', { name: 'cutover', runbookVersion: 2 }),
    ]
    assert.equal(stateOf(person(stepsOf(P)), again), 'scheduled')
  })
})

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
  const all: PersonFacts[] = [...Array(2 ** FACTS.length).keys()].map(
    (bits) =>
      Object.fromEntries(
        FACTS.map((fact, at) => [fact, (bits & (1 << at)) > 0]),
      ) as unknown as PersonFacts,
  )
  it('everybody has exactly one state, and each state is somebody’s', () => {
    const seen = new Set(all.map(personState))
    assert.deepEqual([...seen].sort(), [...PERSON_STATES].sort())
    assert.deepEqual(RULES.map(([state]) => state).sort(), [...PERSON_STATES].sort())
  })
  it('who was removed or has failed is never counted as cut over or done', () => {
    for (const facts of all.filter(({ isRemoved, hasFailed }) => isRemoved || hasFailed))
      assert.ok(['removed', 'failed', 'rolled_back', 'taken_back'].includes(personState(facts)))
  })
  it('nobody is cut over before the last step of the cut-over phase', () => {
    for (const facts of all.filter(({ isCutOver, isThrough }) => !isCutOver && !isThrough))
      assert.ok(!['cut_over', 'done'].includes(personState(facts)))
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
      assert.equal(personState(personFacts(person([]), wave)), state)
      const counts = { ...noStates(), ...activeCounts(status, overdue, { active: 4, removed: 0 }) }
      assert.deepEqual(counts, { ...noStates(), [state]: 4 })
    })
  }
})
