import assert from 'node:assert/strict'
import { it } from 'node:test'
import { vacuumEmbedded } from '../../../src/db/schema/vacuum.ts'
import { openTestPglite } from '../../kit/databases.ts'

it('vacuums the embedded database only when enough rows are dead', async () => {
  const { db, close } = await openTestPglite()
  await db.script('create table busy (v int); create table quiet (v int)')
  await db.query('insert into busy select generate_series(1, 30000)')
  await db.query('insert into quiet select generate_series(1, 100)')
  await db.script('delete from busy; delete from quiet')
  await db.query('select pg_stat_force_next_flush()')
  await db.query('select 1')
  assert.deepEqual(await vacuumEmbedded(db), ['busy'])
  const [size] = await db.query<{ bytes: number }>("select pg_relation_size('busy') as bytes")
  assert.equal(size!.bytes, 0)
  await close()
})

it('counts dead rows of the TOAST table', async () => {
  const { db, close } = await openTestPglite()
  await db.script('create table long (v text); alter table long alter v set storage external')
  await db.query(`insert into long select repeat('x', 100000) from generate_series(1, 500)`)
  await db.script('delete from long')
  await db.query('select pg_stat_force_next_flush()')
  await db.query('select 1')
  assert.deepEqual(await vacuumEmbedded(db), ['long'])
  await close()
})
