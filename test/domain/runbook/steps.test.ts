// The steps of a runbook: which list a step is in, and all of a kind in the order in which they run.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import {
  inOrder,
  phaseNamed,
  stepListOf,
  stepLists,
  stepsOf,
} from '../../../src/domain/runbook/steps.ts'

const STEP = (name: string) => `{ name: ${name}, worker_id: w, function: F, on_failure: Undo-It }`
const PLAIN = (name: string) => `{ name: ${name}, worker_id: w, function: F }`

const YAML = `
name: order
data_source: { type: csv, path: a.csv, primary_key: Key, batch_time_column: At }
init: [${STEP('begin')}]
phases:
  - { name: cutover, offset: T-0, steps: [${STEP('move')}] }
  - { name: Prepare, offset: T-5d, steps: [${STEP('look')}, ${STEP('fill')}] }
on_member_removed: [${PLAIN('clean')}]
rollbacks: { Undo-It: [${PLAIN('restore')}] }
`

const { runbook } = readRunbook(YAML)

const namesOf = (steps: readonly { readonly name: string }[] | undefined) =>
  steps?.map(({ name }) => name)

describe('The steps of a runbook', () => {
  it('come list by list, phases in the order in which they are due', () => {
    assert.deepEqual(
      stepLists(runbook!).map(({ kind, name, steps }) => [kind, name, namesOf(steps)]),
      [
        ['init', null, ['begin']],
        ['phase', 'Prepare', ['look', 'fill']],
        ['phase', 'cutover', ['move']],
        ['removal', null, ['clean']],
        ['rollback', 'undo-it', ['restore']],
      ],
    )
    assert.deepEqual(namesOf(inOrder(runbook!.phases)), ['Prepare', 'cutover'])
  })

  it('are all of them, or those of some kinds', () => {
    assert.deepEqual(namesOf(stepsOf(runbook!)), [
      'begin',
      'look',
      'fill',
      'move',
      'clean',
      'restore',
    ])
    assert.deepEqual(namesOf(stepsOf(runbook!, 'removal', 'rollback')), ['clean', 'restore'])
  })

  it('are in the list that their kind and the name of their phase or rollback say, in any case', () => {
    assert.deepEqual(namesOf(stepListOf(runbook!, 'phase', 'PREPARE')), ['look', 'fill'])
    assert.deepEqual(namesOf(stepListOf(runbook!, 'rollback', 'UNDO-it')), ['restore'])
    assert.deepEqual(namesOf(stepListOf(runbook!, 'removal', null)), ['clean'])
    assert.equal(stepListOf(runbook!, 'undo', null), undefined)
    assert.equal(stepListOf(runbook!, 'phase', 'other'), undefined)
    assert.equal(phaseNamed(undefined, 'cutover'), undefined)
  })
})
