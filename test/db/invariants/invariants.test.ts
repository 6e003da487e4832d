// Every invariant is proven by a violation: planted in a healthy world, found, and rolled back.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Tx } from '../../../src/db/connection/db.ts'
import { findBroken, INVARIANTS, TESTED_ELSEWHERE } from '../../../src/db/invariants/invariants.ts'
import { removeMembers } from '../../../src/engine/orders/member-actions.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { openWorld, START, type World } from '../../stories/world.ts'
import { VIOLATIONS, type Violation } from './violations.ts'

const STEP = 'worker_id: w1, params: { Who: "{{Name}}" }'
const YAML = `
name: rich
data_source: { type: csv, path: x.csv, primary_key: Name, batch_time_column: When }
init:
  - { name: open, worker_id: w1, function: Open }
  - { name: light, worker_id: w1, function: Light }
on_member_removed:
  - { name: tidy, ${STEP}, function: Tidy }
  - { name: sweep, ${STEP}, function: Sweep }
rollbacks:
  undo:
    - { name: undo-a, ${STEP}, function: Undo-A }
    - { name: undo-b, ${STEP}, function: Undo-B }
phases:
  - name: prepare
    offset: T-1h
    steps:
      - { name: create, ${STEP}, function: Create, on_failure: undo, retry: { max_retries: 1, interval: 10m } }
      - { name: await, ${STEP}, function: Await, poll: { interval: 10m, timeout: 1h } }
  - name: cutover
    offset: T-0
    steps:
      - { name: switch, ${STEP}, function: Switch }
`

const named = (...names: string[]) => names.map((name) => ({ key: name, data: { Name: name } }))

/** Batch 1 has ended after everything that can happen; batch 2 is in progress. */
async function tellRichStory(world: World): Promise<void> {
  await world.publish(YAML)
  world.answer = ({ functionName, parameters }) =>
    functionName === 'Create' && parameters.Who === 'bob' ? { fail: 'no licence' } : { ok: true }
  await world.batch('rich', named('ann', 'bob', 'cid', 'dot'), { startsInMin: 60 })
  await world.settle()
  const order = { batchId: 1, actor: 'operator', reason: 'has left' }
  await removeMembers(world.engine, { ...order, memberIds: [3] })
  await world.pass(600)
  await world.pass(3000)
  world.answer = ({ functionName, parameters }) => {
    if (parameters.Who === 'eve' && functionName === 'Create') return 'silent'
    if (parameters.Who === 'flo' && functionName === 'Create') return { fail: 'busy' }
    return { ok: functionName === 'Await' ? { complete: false } : true }
  }
  await world.batch('rich', named('eve', 'flo', 'gus'), { startsInMin: 30 })
  await world.settle()
}

class TakeBack extends Error {}

/** Runs the work in a transaction that is always rolled back. */
async function tentatively<T>({ db }: World, work: (tx: Tx) => Promise<T>): Promise<T> {
  let result: T | undefined
  try {
    await db.transaction(async (tx) => {
      result = await work(tx)
      throw new TakeBack()
    })
  } catch (error) {
    if (!(error instanceof TakeBack)) throw error
  }
  return result!
}

async function lift(tx: Tx, prevention: NonNullable<Violation['preventedBy']>): Promise<void> {
  if ('index' in prevention) return tx.script(`drop index ${prevention.index}`)
  const [found] = await tx.query<{ name: string }>(
    `select quote_ident(conname) as name from pg_constraint
      where conrelid = $1::regclass and strpos(pg_get_constraintdef(oid), $2) > 0`,
    [prevention.table, prevention.check],
  )
  await tx.script(`alter table ${prevention.table} drop constraint ${found!.name}`)
}

describe('invariants', () => {
  let world: World
  before(async () => {
    world = await openWorld()
    await tellRichStory(world)
  })
  after(() => world.close())

  it('find nothing in a healthy world with one ended and one active batch', async () => {
    const { db, clock } = world
    const batches = await db.query('select status from batches order by id')
    assert.deepEqual(batches, [{ status: 'completed' }, { status: 'active' }])
    const waits = await db.query('select kind from waits order by kind')
    assert.deepEqual(waits, [{ kind: 'job' }, { kind: 'poll' }, { kind: 'retry' }])
    assert.deepEqual(await findBroken(db, clock.now(), null, 0), [])
  })

  it('are I1 to I39, each a query or tested elsewhere, and each query has a violation here', () => {
    const all = [...INVARIANTS, ...TESTED_ELSEWHERE].map(({ id }) => id)
    const wanted = Array.from({ length: 39 }, (_, i) => `I${i + 1}`)
    assert.deepEqual(new Set(all), new Set(wanted))
    assert.equal(all.length, wanted.length)
    const planted = new Set(VIOLATIONS.map(({ id }) => id))
    assert.deepEqual([...planted], [...new Set(INVARIANTS.map(({ id }) => id))])
  })

  for (const { id, what, sql, preventedBy } of VIOLATIONS) {
    it(`${id} finds ${what}${preventedBy ? ', which the database prevents' : ''}`, async () => {
      if (preventedBy) {
        const refused = tentatively(world, (tx) => tx.script(sql))
        await assert.rejects(refused, { code: 'index' in preventedBy ? '23505' : '23514' })
      }
      const broken = await tentatively(world, async (tx) => {
        if (preventedBy) await lift(tx, preventedBy)
        await tx.script(sql)
        return findBroken(tx, world.clock.now(), null, 0)
      })
      const ids = broken.map((one) => one.id)
      assert.ok(ids.includes(id), `found only ${JSON.stringify(broken)}`)
    })
  }

  it('check a single batch', async () => {
    const now = world.clock.now()
    const found = await tentatively(world, async (tx) => {
      await tx.script('update batches set members_active = 9 where id = 1')
      return Promise.all([null, 1, 2].map((batchId) => findBroken(tx, now, batchId, 0)))
    })
    assert.deepEqual(
      found.map((broken) => broken.map(({ id, batchId }) => `${id} in batch ${batchId}`)),
      [['I14 in batch 1'], ['I14 in batch 1'], []],
    )
  })

  it('describe findings with ids and without data', async () => {
    const found = await tentatively(world, async (tx) => {
      await tx.script('update batches set members_active = 9 where id = 1')
      return findBroken(tx, world.clock.now(), null, 0)
    })
    assert.deepEqual(found, [
      {
        id: 'I14',
        sentence: 'Stored counters equal the counted rows',
        batchId: 1,
        found: 'stored for the batch: {9,1,1,0,0,0,0}; counted: {2,1,1,0,0,0,0}',
      },
    ])
  })

  it('allow for two processes whose clocks differ, and for no more', async () => {
    const settledEarly = (by: string) =>
      tentatively(world, async (tx) => {
        await tx.script(`update attempts set sent_at = settled_at + interval '${by}'
          where job_id = (select min(job_id) from attempts where settled_at is not null)`)
        const now = world.clock.now()
        return [await findBroken(tx, now), await findBroken(tx, now, null, 0)]
      })
    const ids = (found: Awaited<ReturnType<typeof settledEarly>>) =>
      found.map((broken) => [...new Set(broken.map(({ id }) => id))])
    assert.deepEqual(ids(await settledEarly('4 ms')), [[], ['I23']])
    assert.deepEqual(ids(await settledEarly('2 s')), [['I23'], ['I23']])
  })

  it('run on a server too', async () => {
    const test = await openTestPostgres()
    try {
      assert.deepEqual(await findBroken(test.db, START), [])
    } finally {
      await test.close()
    }
  })
})
