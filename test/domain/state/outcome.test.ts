import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type OutcomeFacts,
  outcomeCounts,
  outcomeText,
  outcomeWord,
  type WhereFacts,
  whereOf,
} from '../../../src/domain/state/outcome.ts'

const facts = (more: Partial<OutcomeFacts> = {}): OutcomeFacts => ({
  status: 'active',
  membersActive: 27,
  membersFailed: 3,
  membersRemoved: 1,
  hasPhaseToCome: false,
  isExpanding: false,
  membersOpen: 7,
  membersThrough: 0,
  ...more,
})

describe('the outcomes of a batch', () => {
  const CASES: readonly (readonly [string, Partial<OutcomeFacts>, string])[] = [
    ['a phase to come', { hasPhaseToCome: true }, '27 in progress, 3 failed, 1 removed'],
    ['in init', { status: 'init_dispatched' }, '27 in progress, 3 failed, 1 removed'],
    ['steps being written', { isExpanding: true }, '27 in progress, 3 failed, 1 removed'],
    ['in the last phase', {}, '20 migrated, 7 in progress, 3 failed, 1 removed'],
    ['completed', { status: 'completed' }, '27 migrated, 3 failed, 1 removed'],
    [
      'cancelled before a phase',
      { status: 'cancelled', hasPhaseToCome: true },
      '3 failed, 27 stopped, 1 removed',
    ],
    [
      'cancelled in the last phase',
      { status: 'cancelled', membersThrough: 20 },
      '20 migrated, 3 failed, 7 stopped, 1 removed',
    ],
    ['nobody', { membersActive: 0, membersFailed: 0, membersRemoved: 0 }, 'no members'],
  ]
  for (const [what, more, text] of CASES) {
    it(`${what}: ${text}`, () => {
      const counts = outcomeCounts(facts(more))
      assert.equal(outcomeText(counts), text)
      const { membersActive, membersFailed, membersRemoved } = facts(more)
      const sum = Object.values(counts).reduce((total, count) => total + count, 0)
      assert.equal(sum, membersActive + membersFailed + membersRemoved)
    })
  }
})

const at = new Date('2030-03-01T22:00:00Z')
const AT = at.toISOString()

const stands = (more: Partial<WhereFacts> = {}): WhereFacts => ({
  outcome: 'in_progress',
  step: null,
  batch: { status: 'active', isManual: false, endedAt: null },
  hold: null,
  nextPhase: { name: 'cutover', dueAt: at },
  removedBy: null,
  movedToBatchId: null,
  failure: null,
  ...more,
})
const step = (
  waitsFor: 'slot' | 'job' | 'retry' | 'poll',
  stepKind: 'phase' | 'rollback' = 'phase',
) =>
  ({
    stepId: 7,
    phaseName: 'prepare',
    stepName: 'create',
    workerId: 'w1',
    attempt: 0,
    stepKind,
    waitsFor,
    since: at,
    wakeAt: at,
  }) as const
const hold = { heldBy: 'root', reason: 'slow' }
const failure = { phaseName: 'prepare', stepName: 'create' }

describe('where a person stands', () => {
  const CASES: readonly (readonly [Partial<WhereFacts>, string])[] = [
    [{ step: step('job') }, `running on worker w1, attempt 1, since ${AT}`],
    [{ step: step('job'), hold }, `running on worker w1, attempt 1, since ${AT}`],
    [{ step: step('slot') }, 'waits for a free slot of worker w1'],
    [{ step: step('slot'), hold }, 'held by root: slow'],
    [{ step: step('retry') }, `attempt 1 at ${AT}`],
    [{ step: step('poll') }, `next poll at ${AT}`],
    [{}, `waits for phase cutover at ${AT}`],
    [{ hold }, 'held by root: slow'],
    [
      { batch: { ...stands().batch, isManual: true }, nextPhase: { name: 'x', dueAt: null } },
      'waits until phase x is advanced',
    ],
    [{ outcome: 'migrated', batch: { ...stands().batch, endedAt: at } }, `finished ${AT}`],
    [{ outcome: 'migrated' }, 'finished'],
    [{ outcome: 'failed', failure }, 'failed in prepare / create'],
    [
      { outcome: 'failed', failure, step: step('job', 'rollback') },
      `failed in prepare / create; rollback step create running on worker w1, attempt 1, since ${AT}`,
    ],
    [{ outcome: 'removed', removedBy: 'root' }, 'removed by root'],
    [{ outcome: 'removed', removedBy: 'source' }, 'left the data source'],
    [{ outcome: 'removed', removedBy: 'root', movedToBatchId: 5 }, 'moved to batch 5'],
    [
      { outcome: 'stopped', batch: { ...stands().batch, status: 'cancelled' } },
      'the batch was cancelled',
    ],
  ]
  for (const [more, text] of CASES) it(text, () => assert.equal(whereOf(stands(more)).where, text))

  it('tells apart how it ended and what is being done', () => {
    const repaired = { outcome: 'failed', failure, step: step('job', 'rollback') } as const
    const running = `rollback step create running on worker w1, attempt 1, since ${AT}`
    assert.equal(whereOf(stands(repaired)).doing, running)
    assert.equal(whereOf(stands({ outcome: 'failed', failure })).doing, null)
    assert.equal(whereOf(stands()).doing, `waits for phase cutover at ${AT}`)
    assert.equal(whereOf(stands({ outcome: 'migrated', step: step('slot') })).doing, null)
    assert.deepEqual(
      [{ hold }, { hold, step: step('slot') }, { hold, step: step('job') }, {}].map(
        (more) => whereOf(stands(more)).isHeld,
      ),
      [true, true, false, false],
    )
  })
})

it('a person who went to another batch has moved, not been removed', () => {
  assert.equal(outcomeWord('removed', 9), 'moved to batch 9')
  assert.equal(outcomeWord('removed'), 'removed')
  assert.equal(outcomeWord('in_progress'), 'in progress')
})
