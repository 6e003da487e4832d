// The headline of a person's page, for each situation in which somebody calls the help desk.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CELLS } from '../../../dashboard/src/screens/batch/members/cells.ts'
import {
  addressesOf,
  chaptersOf,
  headlineOf,
  type Person,
} from '../../../dashboard/src/screens/person/story.ts'
import { changeWords } from '../../../dashboard/src/undo/change-words.ts'
import { CELL_OF } from '../../../src/domain/needs/grid.ts'

const AT = '2026-03-02T10:00:00.000Z'
const HELD = { at: AT, by: 'ada', reason: 'on leave' }

const step = (more: object) => ({
  id: 1,
  kind: 'phase',
  phaseName: 'prepare',
  phaseExecutionId: 1,
  stepName: 'move',
  status: 'dispatched',
  waitsFor: null,
  errorMessage: null,
  pollSaid: null,
  ...more,
})
const person = (more: object): Person =>
  ({
    member: { memberKey: 'ada@contoso.example', data: {}, outputs: {}, failedAt: null },
    state: 'preparing',
    where: 'somewhere',
    doing: null,
    isHeld: false,
    held: null,
    next: [],
    steps: [],
    ...more,
  }) as unknown as Person
const told = (more: object) => {
  const { status, where, why, next } = headlineOf(person(more))
  return [status, where, why, next]
}

describe('the headline of a person', () => {
  it('names the step under way, what it said last, and what follows', () => {
    const polling = step({ status: 'polling', waitsFor: 'poll', pollSaid: 'syncing, 80 %' })
    const next = [
      { phaseName: 'prepare', stepName: 'move', at: AT },
      { phaseName: 'prepare', stepName: 'check', at: null },
    ]
    assert.deepEqual(told({ steps: [polling], next, where: `next poll at ${AT}` }), [
      'preparing',
      `phase prepare, step move: next poll at ${AT}`,
      'The last answer was: syncing, 80 %',
      'Step check follows at once.',
    ])
  })

  it('says why a step is tried again, and that it is the last', () => {
    const waiting = step({ status: 'pending', waitsFor: 'retry', errorMessage: 'busy\n  at f' })
    const next = [{ phaseName: 'prepare', stepName: 'move', at: AT }]
    assert.deepEqual(told({ steps: [waiting], next, where: `attempt 2 at ${AT}` }), [
      'preparing',
      `phase prepare, step move: attempt 2 at ${AT}`,
      'The attempt before failed: busy',
      'This is the last step.',
    ])
  })

  it('says that a hold stops everything, also one of the batch', () => {
    const queued = step({ status: 'pending', waitsFor: 'slot' })
    const where = 'held by ada: on leave'
    const stops = 'Nothing new starts until the hold ends.'
    assert.deepEqual(told({ steps: [queued], held: HELD, isHeld: true, where }), [
      'held',
      'on hold before phase prepare, step move: held by ada: on leave',
      `On hold since ${AT}.`,
      stops,
    ])
    assert.deepEqual(told({ where, isHeld: true }), ['held', `on hold: ${where}`, null, stops])
    const running = {
      steps: [step({ waitsFor: 'job' })],
      held: HELD,
      where: 'running on worker w1',
    }
    assert.deepEqual(told(running), [
      'held',
      'phase prepare, step move: running on worker w1',
      `Held by ada since ${AT}: on leave`,
      `The job that runs now finishes. ${stops}`,
    ])
  })

  it('promises nothing to people who are out', () => {
    const endings = ['done', 'removed', 'stopped', 'failed', 'rolled_back'] as const
    for (const state of endings) {
      const [status, , , next] = told({ state })
      assert.equal(status, state)
      assert.match(next!, /^Nothing (is left|more happens)/)
    }
  })

  it('tells a failure by its own step, not by the step that cleans up', () => {
    const failed = step({ status: 'failed', errorMessage: 'no licence' })
    const cleaning = step({ id: 2, kind: 'rollback', phaseName: null, status: 'succeeded' })
    const facts = {
      state: 'failed',
      where: 'failed in prepare / move',
      steps: [failed, cleaning],
    }
    assert.equal(told(facts)[2], 'The error: no licence')
    assert.deepEqual(
      chaptersOf(person(facts)).map(({ title, steps }) => [title, steps.length]),
      [
        ['Phase prepare', 1],
        ['Rollback', 1],
      ],
    )
  })

  it('tells a failure that was rolled back by the error of the step, not by those that were taken back with it', () => {
    const taken = step({ id: 1, status: 'rolled_back' })
    const failed = step({ id: 2, status: 'rolled_back', errorMessage: 'is on litigation hold' })
    const cleaning = step({ id: 3, kind: 'rollback', phaseName: null, status: 'succeeded' })
    const facts = { state: 'rolled_back', where: 'rolled back', steps: [taken, failed, cleaning] }
    assert.deepEqual(told(facts), [
      'rolled_back',
      'rolled back',
      'The error: is on litigation hold',
      'Nothing more happens for this person until the migration team acts.',
    ])
  })

  it('tells an undo that is under way, has stopped or has ended, until something fails after it', () => {
    const undo = (more: object) => step({ kind: 'undo', phaseName: null, completedAt: AT, ...more })
    const failed = step({ status: 'failed', errorMessage: 'undone by hand', completedAt: AT })
    const done = undo({ status: 'succeeded' })
    const of = (...steps: object[]) =>
      told({
        state: 'failed',
        where: 'failed; undo step move runs',
        doing: 'undo step move runs',
        steps,
      })
    const [word, where, why] = of(failed, done, undo({ status: 'dispatched', waitsFor: 'job' }))
    assert.deepEqual(
      [word, where, why],
      ['undoing', 'the undo is under way: 1 of 2 changes are taken back', 'undo step move runs'],
    )
    const stopped = of(
      failed,
      done,
      undo({ status: 'failed', errorMessage: 'changed since\nat f' }),
    )
    assert.equal(stopped[1], 'the undo stopped at step move: 1 of 2 changes are taken back')
    assert.equal(stopped[2], 'The error: changed since')
    assert.equal(of(failed, done)[0], 'taken_back')
    const later = step({ status: 'failed', errorMessage: 'no', completedAt: '2026-03-03T10:00Z' })
    assert.equal(of(later, done)[2], 'The error: no')
  })

  it('says what a change was before and after, as far as the ledger knows', () => {
    const words = (before: object | null, after: object | null) =>
      changeWords({ before, after } as never)
    assert.deepEqual(words({ exists: false }, null), ['was created'])
    assert.deepEqual(words({ exists: true }, null), ['was removed'])
    assert.deepEqual(words({ department: null }, { Value: 'IT' }), [
      'department changed from empty to IT',
    ])
    assert.deepEqual(words({ a: true, b: ['x', 'y'] }, { a: false }), [
      'a changed from yes to no',
      'b was x, y',
    ])
    assert.deepEqual([...words(null, null), ...words({}, { a: 1 })], [])
  })

  it('calls addresses new that the source names for the target beforehand', () => {
    const member = {
      memberKey: 'ada@contoso.example',
      data: { TargetUpn: 'ada@fabrikam.example', Mail: 'ada.imhof@contoso.example' },
      outputs: {},
    }
    assert.deepEqual(addressesOf(person({ member })), {
      old: [
        { address: 'ada@contoso.example', names: ['key'] },
        { address: 'ada.imhof@contoso.example', names: ['Mail'] },
      ],
      new: [{ address: 'ada@fabrikam.example', names: ['TargetUpn'] }],
    })
  })

  it('calls addresses of the source old, and those that steps returned new', () => {
    const member = {
      memberKey: 'ada@contoso.example',
      data: { Mail: 'Ada@contoso.example' },
      outputs: { Old: 'ada@contoso.example', NewMail: 'smtp:ada@fabrikam.example' },
    }
    assert.deepEqual(addressesOf(person({ member })), {
      old: [{ address: 'ada@contoso.example', names: ['key', 'Mail'] }],
      new: [{ address: 'ada@fabrikam.example', names: ['NewMail'] }],
    })
  })
})

it('every status of a step has its own cell in the heat map', () => {
  const names = Object.values(CELL_OF).map((letter) => CELLS[letter]?.name)
  assert.deepEqual(
    names.filter((name, at) => name === undefined || names.indexOf(name) !== at),
    [],
  )
})
