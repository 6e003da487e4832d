import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type WhereFacts, whereOf } from '../../../src/domain/state/where.ts'

const at = new Date('2030-03-01T22:00:00Z')
const AT = at.toISOString()

const stands = (more: Partial<WhereFacts> = {}): WhereFacts => ({
  state: 'preparing',
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
    [{ state: 'done', batch: { ...stands().batch, endedAt: at } }, `finished ${AT}`],
    [{ state: 'done' }, 'finished'],
    [{ state: 'failed', failure }, 'failed in prepare / create'],
    [{ state: 'rolled_back', failure }, 'failed in prepare / create, rolled back'],
    [{ state: 'cut_over' }, `waits for phase cutover at ${AT}`],
    [
      { state: 'cut_over', batch: { ...stands().batch, status: 'cancelled', endedAt: at } },
      'the batch was cancelled',
    ],
    [
      { state: 'failed', failure, step: step('job', 'rollback') },
      `failed in prepare / create; rollback step create running on worker w1, attempt 1, since ${AT}`,
    ],
    [{ state: 'removed', removedBy: 'root' }, 'removed by root'],
    [{ state: 'removed', removedBy: 'source' }, 'left the data source'],
    [{ state: 'removed', removedBy: 'root', movedToBatchId: 5 }, 'moved to batch 5'],
    [
      { state: 'stopped', batch: { ...stands().batch, status: 'cancelled' } },
      'the batch was cancelled',
    ],
  ]
  for (const [more, text] of CASES) it(text, () => assert.equal(whereOf(stands(more)).where, text))

  it('tells apart how it ended and what is being done', () => {
    const repaired = { state: 'failed', failure, step: step('job', 'rollback') } as const
    const running = `rollback step create running on worker w1, attempt 1, since ${AT}`
    assert.equal(whereOf(stands(repaired)).doing, running)
    assert.equal(whereOf(stands({ state: 'failed', failure })).doing, null)
    assert.equal(whereOf(stands()).doing, `waits for phase cutover at ${AT}`)
    assert.equal(whereOf(stands({ state: 'done', step: step('slot') })).doing, null)
    assert.deepEqual(
      [{ hold }, { hold, step: step('slot') }, { hold, step: step('job') }, {}].map(
        (more) => whereOf(stands(more)).isHeld,
      ),
      [true, true, false, false],
    )
  })
})
