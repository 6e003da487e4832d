// Collecting rows: usable and unusable keys.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FoundRow } from '../../../src/domain/sources/compare.ts'
import { ISSUES_MAX, IssueList, RowCollector } from '../../../src/domain/sources/row-collector.ts'
import { rowOf } from './facts.ts'

describe('the row collector', () => {
  const take = (...rows: (FoundRow | string)[]) => {
    const collector = new RowCollector<FoundRow>()
    for (const row of rows) {
      if (typeof row === 'string')
        collector.takeProblem({ key: row || null, column: 'c', reason: 'it is odd' })
      else collector.take(row)
    }
    const { rows: used, unusable, groups } = collector.found
    return {
      used: [...used.keys()],
      unusable: [...unusable],
      groups: groups.size,
      said: collector.issues.first.map(({ kind, key }) => `${kind} ${key}`),
      count: collector.rowCount,
    }
  }

  const TAKEN: [
    what: string,
    rows: (FoundRow | string)[],
    taken: Partial<ReturnType<typeof take>>,
  ][] = [
    [
      'equal rows count once',
      [rowOf('a@1'), rowOf('A@1')],
      { used: ['a'], unusable: [], said: [], count: 2 },
    ],
    [
      'different data',
      [rowOf('a@1'), rowOf('a@1!'), rowOf('a@1')],
      { used: [], unusable: ['a'], said: ['duplicate a'] },
    ],
    [
      'different times',
      [rowOf('a@1'), rowOf('a@2'), rowOf('b@1')],
      { used: ['b'], unusable: ['a'], groups: 1 },
    ],
    [
      'a good row and a bad one',
      [rowOf('a@1'), 'A'],
      { used: [], unusable: ['a'], said: ['unusable A'] },
    ],
    ['a bad row and a good one', ['a', rowOf('a@1')], { used: [], unusable: ['a'] }],
    ['no key', ['', rowOf('a@1')], { used: ['a'], unusable: [], said: ['no_key null'] }],
  ]
  for (const [what, rows, expected] of TAKEN) {
    it(what, () => {
      const taken = take(...rows)
      assert.deepEqual({ ...taken, ...expected }, taken)
    })
  }

  it('keeps a thousand issues and counts all', () => {
    const list = new IssueList()
    const issue = { kind: 'no_key', key: null, column: null, batchId: null, reason: 'x' } as const
    for (let n = 0; n < 2 * ISSUES_MAX; n += 1) list.add(issue)
    assert.deepEqual(
      [list.first.length, list.total, list.counts],
      [ISSUES_MAX, 2 * ISSUES_MAX, { no_key: 2 * ISSUES_MAX }],
    )
  })
})
