// The comparison of statements with the types of their rows, which runs in every test that has a database (test/kit/typed-rows.ts).
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { findHold } from '../../src/db/state/holds.ts'
import { openTestPglite, type TestDatabase } from '../kit/databases.ts'
import { misfitOf, placesCompared, readSource, shapeOf } from '../kit/typed-rows.ts'
import { projectFiles } from './tidy/source.ts'

const SAMPLE = `
import type { Far } from './far.ts'
interface Base { readonly id: number }
interface Row extends Base { readonly dueAt: Date; readonly note?: string }
type Both = Row & Pick<Base & { name: string }, 'name'>
async function read(db: any) {
  db.query<Row>('a'); db.query<Both>('b'); db.query<Omit<Row, 'dueAt'> & { count: number }>('c')
  db.query<Far[]>('d')
}
`

function shapes(): (string[] | null)[] {
  const source = readSource(join(import.meta.dirname, 'sample.ts'), SAMPLE)
  return [...source.calls.values()].map((type) => {
    const shape = shapeOf(type, source)
    return shape && [...shape.required, ...[...shape.optional].map((name) => `${name}?`)].sort()
  })
}

describe('the types of rows', () => {
  let test: TestDatabase
  before(async () => {
    test = await openTestPglite()
  })
  after(() => test.close())

  it('are read from literals, interfaces, aliases and choices, and what only the compiler knows is left out', () => {
    assert.deepEqual(shapes(), [
      ['dueAt', 'id', 'note?'],
      ['dueAt', 'id', 'name', 'note?'],
      ['count', 'id', 'note?'],
      null,
    ])
  })

  it('are compared in both directions, and an optional property may be missing', () => {
    const shape = { required: new Set(['id', 'dueAt']), optional: new Set(['note']) }
    assert.equal(misfitOf(['id', 'dueAt'], shape), null)
    assert.equal(misfitOf(['id', 'dueAt', 'note'], shape), null)
    assert.equal(
      misfitOf(['id', 'due_at'], shape),
      'selects due_at, which the type of its rows lacks and does not select dueAt, which the type of its rows has',
    )
  })

  it('are named by SQL in snake case: no statement gives a column a second name in camel case', () => {
    const files = projectFiles(join(import.meta.dirname, '../..')).filter(({ path }) =>
      /^src\/.*\.ts$/.test(path),
    )
    const twice = files.filter(({ text }) => / as "[a-z]+[A-Z]/.test(text)).map(({ path }) => path)
    assert.deepEqual(twice, [])
  })

  it('are compared where a test reads rows', async () => {
    assert.equal(await findHold(test.db, { scope: 'system', target: '' }), null)
    const sql = `insert into holds (scope, target, held_at, held_by, held_reason) values ('system', '', $1, 'op', 'why')`
    await test.db.transaction((tx) => tx.change(sql, [new Date(0)]))
    assert.equal((await findHold(test.db, { scope: 'system', target: '' }))?.heldBy, 'op')
    assert.ok(placesCompared().some((place) => place.includes('src/db/state/holds.ts')))
  })
})
