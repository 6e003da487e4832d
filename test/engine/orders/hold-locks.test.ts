// A hold waits for no lock that a worker's database role can take: advisory locks are open to every role, and the tables of the bus to a
// worker's.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setUpRole } from '../../../src/app/upkeep/database-roles.ts'
import { finishHolds, holdScope } from '../../../src/engine/orders/holds.ts'
import { openRole } from '../../kit/database-roles.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { runbook, step } from '../../stories/looking.ts'
import { START, story } from '../../stories/world.ts'

const LOCKS: readonly [what: string, sql: string][] = [
  [
    'every advisory lock that holds, batches and migrations ever used',
    'select pg_advisory_xact_lock(key) from unnest(array[7015015, 7263401, -1, -2]::bigint[]) k (key)',
  ],
  ['the table of jobs', 'lock table bundles in access exclusive mode'],
  ['its own jobs', 'select from bundles for update'],
]

for (const [what, sql] of LOCKS)
  it(`is set while a worker keeps locked: ${what}`, async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await using worker = await openRole(test, 'w1')
    await setUpRole(test.db, { name: worker.name, workerIds: ['w1'] }, START)
    await story({ database: { ...test, close: async () => {} } }, async (world) => {
      await world.publish(runbook('wave', { 'move T-0': [step('create')] }))
      await world.batch('wave', 3)
      await world.orchestrate()
      const order = { scope: 'system', target: '', actor: 'ann', reason: 'stop' } as const
      await worker.db.transaction(async (tx) => {
        await tx.query(sql)
        const { hold } = await holdScope(world.engine, order)
        assert.equal(hold.reason, 'stop')
      })
      // What it left is withdrawn once that is possible.
      await finishHolds(world.engine)
      const left = await world.db.query("select from waits where kind = 'job'")
      assert.equal(left.length, 0)
    })
  })

it('is not kept waiting by a table that a worker may lock', async () => {
  const test = await openTestPostgres()
  await using _ = { [Symbol.asyncDispose]: () => test.close() }
  await using worker = await openRole(test, 'w1')
  await setUpRole(test.db, { name: worker.name, workerIds: ['w1'] }, START)
  const tables = await test.db.query<{ name: string }>(
    `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
       and has_table_privilege($1::name, oid, 'update, delete, truncate') order by 1`,
    [worker.name],
  )
  // It deletes the jobs that it has done. Holds that withdraw wait for half a second and leave the rest to the timers.
  assert.deepEqual(tables, [{ name: 'bundles' }])
})
