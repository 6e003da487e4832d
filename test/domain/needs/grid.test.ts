// The packed cells of a grid.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CELL_OF, packCells, packOverview } from '../../../src/domain/needs/grid.ts'
import { STEP_STATUSES } from '../../../src/domain/state/transitions.ts'

const columns = [
  { phaseName: 'prepare', stepName: 'create' },
  { phaseName: 'cutover', stepName: 'switch' },
]
const create = { phaseName: 'Prepare', stepName: 'CREATE' }

describe('a grid', () => {
  it('has a letter of its own for each status', () => {
    const letters = STEP_STATUSES.map((status) => CELL_OF[status])
    assert.equal(new Set([...letters, '.']).size, STEP_STATUSES.length + 1)
  })

  it('finds columns by name without case, and takes the newer step of a place', () => {
    const cells = packCells(
      columns,
      [1, 2],
      [
        { memberId: 1, ...create, status: 'failed' },
        { memberId: 1, ...create, status: 'succeeded' },
        { memberId: 3, ...create, status: 'failed' },
        { memberId: 2, phaseName: 'prepare', stepName: 'gone', status: 'failed' },
      ],
    )
    assert.deepEqual(
      [...cells],
      [
        [1, 's.'],
        [2, '..'],
      ],
    )
  })

  it('counts neighbours by class, and drops buckets that came later', () => {
    const rows = packOverview(columns, 1, [
      { bucket: 0, ...create, status: 'dispatched', count: 4 },
      { bucket: 0, ...create, status: 'polling', count: 3 },
      { bucket: 0, phaseName: 'cutover', stepName: 'switch', status: 'rolled_back', count: 1 },
      { bucket: 1, ...create, status: 'failed', count: 9 },
    ])
    assert.deepEqual(rows, [
      [
        [0, 7, 0, 0, 0],
        [0, 0, 0, 0, 1],
      ],
    ])
  })
})
