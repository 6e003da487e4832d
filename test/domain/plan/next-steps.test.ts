// What comes next for one member.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nextSteps } from '../../../src/domain/plan/next-steps.ts'

const at = (hour: number) => new Date(Date.UTC(2026, 2, 2, hour))
const phases = [
  { id: 1, name: 'prepare', status: 'completed', dueAt: at(1) },
  { id: 2, name: 'sync', status: 'dispatched', dueAt: at(2) },
  { id: 3, name: 'cutover', status: 'pending', dueAt: at(9) },
] as const
const stepsOf = (name: string) => (name === 'sync' ? ['add', 'poll', 'report'] : ['one', 'two'])
const step = { phaseExecutionId: 2, wakeAt: null } as const

describe('what comes next', () => {
  it('starts at the current step and has the times of later phases', () => {
    const steps = [
      { ...step, stepName: 'Add', status: 'succeeded' },
      { ...step, stepName: 'poll', status: 'polling', wakeAt: at(3) },
    ] as const
    const next = nextSteps({ phases, stepsOf, steps }, 100)
    assert.deepEqual(
      next.map(({ phaseName, stepName, at: when }) => [`${phaseName}/${stepName}`, when]),
      [
        ['sync/poll', at(3)],
        ['sync/report', null],
        ['cutover/one', at(9)],
        ['cutover/two', null],
      ],
    )
  })

  it('is limited, and empty when every phase has ended', () => {
    assert.equal(nextSteps({ phases, stepsOf, steps: [] }, 2).length, 2)
    assert.deepEqual(nextSteps({ phases: phases.slice(0, 1), stepsOf, steps: [] }, 2), [])
  })
})
