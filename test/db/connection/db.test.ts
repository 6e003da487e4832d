import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'

for (const database of DATABASES) {
  describe(`Db on ${database.kind}`, () => {
    let test: TestDatabase
    before(async () => {
      test = await database.open()
      await test.db.script(
        'create table t (id bigint generated always as identity, v text); create table u (v int)',
      )
    })
    after(() => test.close())

    it('gives the same JavaScript values on both databases', async () => {
      const [row] = await test.db.query(
        `select 9007199254740991::bigint as big, $1::timestamptz as at, '{"a":[1,null]}'::jsonb as doc, null as nothing, true as yes,
                count(*) as n, array[1,2]::bigint[] as ids, 1.5::numeric as part from t`,
        [new Date('2026-03-01T10:00:00.125Z')],
      )
      assert.deepEqual(row, {
        big: 9007199254740991,
        at: new Date('2026-03-01T10:00:00.125Z'),
        doc: { a: [1, null] },
        nothing: null,
        yes: true,
        n: 0,
        ids: [1, 2],
        part: 1.5,
      })
    })

    it('commits what returns and rolls back what throws', async () => {
      const { db } = test
      await db.transaction((tx) => tx.query('insert into u values (1)'))
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.query('insert into u values (2)')
          throw new Error('no')
        }),
        /^Error: no$/,
      )
      await assert.rejects(
        db.transaction((tx) => tx.query('select 1/0')),
        /division by zero/,
      )
      assert.deepEqual(await db.query('select v from u'), [{ v: 1 }])
    })

    it('counts the rows a statement inserted, updated or deleted', async () => {
      const counts = await test.db.transaction(async (tx) => {
        await tx.script('create table counted (n int)')
        return [
          await tx.change('insert into counted select generate_series(1, $1::int)', [5]),
          await tx.change('update counted set n = n + 1 where n > $1', [2]),
          await tx.change('update counted set n = 0 where n > $1', [100]),
          await tx.change('delete from counted where n > $1', [1]),
        ]
      })
      assert.deepEqual(counts, [5, 3, 0, 4])
    })

    it('runs concurrent statements in order and none after a failed one', async () => {
      const { db } = test
      const numbers = Array.from({ length: 20 }, (_, i) => i)
      await db.transaction((tx) =>
        Promise.all(numbers.map((n) => tx.query('insert into t (v) values ($1)', [`${n}`]))),
      )
      const written = await db.query<{ v: string }>('select v from t order by id')
      assert.deepEqual(
        written.map(({ v }) => Number(v)),
        numbers,
      )
      // The connection meets the last statement for the first time where the server refuses everything; it must know it afterwards.
      const insert = (value: number) => ['insert into u values ($1::int)', [value]] as const
      await assert.rejects(
        db.transaction((tx) =>
          Promise.all([tx.query('delete from u'), tx.query('select 1/0'), tx.query(...insert(3))]),
        ),
        /division by zero/,
      )
      await db.transaction((tx) => tx.query(...insert(4)))
      assert.deepEqual(await db.query('select v from u order by v'), [{ v: 1 }, { v: 4 }])
    })

    it('hears notifications', async () => {
      const { db } = test
      const first = Promise.withResolvers<string>()
      const stop = await db.listen('chan', (payload) => payload && first.resolve(payload))
      await db.query("select pg_notify('chan', 'hello')")
      assert.equal(await first.promise, 'hello')
      await stop()
    })
  })
}
