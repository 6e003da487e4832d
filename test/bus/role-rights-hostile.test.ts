// What a worker's database role may write into the tables that everybody reads, at its worst: each column that it sets, on a real server.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { setUpRole } from '../../src/app/upkeep/database-roles.ts'
import { openPostgresBus } from '../../src/bus/postgres/postgres-bus.ts'
import { openRole, type TestRole } from '../kit/database-roles.ts'
import { openTestPostgres, type TestDatabase } from '../kit/databases.ts'
import { START } from '../stories/world.ts'

let test: TestDatabase
let mallory: TestRole

before(async () => {
  test = await openTestPostgres()
  mallory = await openRole(test, 'mallory')
  await setUpRole(test.db, { name: mallory.name, workerIds: ['mallory'] }, START)
})

after(async () => {
  await mallory[Symbol.asyncDispose]()
  await test.close()
})

type Row = Readonly<Record<string, string | number>>

const insert = (table: string, row: Row): Promise<unknown> => {
  const columns = Object.keys(row)
  const places = columns.map((_, index) => `$${index + 1}`)
  return mallory.db.query(
    `insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  )
}

const NOW = START.toISOString()
const RESULT: Row = {
  topic: 'worker-results',
  subscription: 'orchestrator',
  worker_id: 'mallory',
  message_type: 'worker-result',
  message_ids: 'a\nb',
  bodies: '{}\n{}',
  size: 2,
  enqueued_at: NOW,
  visible_at: NOW,
  expires_at: '2026-03-09',
}
const LETTER: Row = {
  topic: 'worker-jobs',
  subscription: 'worker-mallory',
  worker_id: 'mallory',
  message_type: 'worker-job',
  message_id: 'step-1',
  original_message_id: 'step-1',
  body: '{}',
  delivery_count: 1,
  enqueued_at: NOW,
  expires_at: '2026-03-09',
  dead_lettered_at: NOW,
  reason: 'r',
  description: 'd',
}

const TIMES = ['-infinity', '0044-03-15 BC', '1999-12-31', '3000-01-02', '294276-12-31', 'infinity']

describe('a worker’s database role', () => {
  it('sends results and gives up jobs that are as they should be', async () => {
    await insert('bundles', RESULT)
    await insert('bundles', { ...RESULT, message_ids: 'a', bodies: '{\n}', size: 1 })
    await insert('dead_letters', LETTER)
  })

  for (const [what, row] of [
    ['fewer bodies than messages', { bodies: '{}' }],
    ['more bodies than messages', { bodies: '{}\n{}\n{}' }],
    ['fewer ids than messages', { message_ids: 'a' }],
    ['more ids than messages', { message_ids: 'a\nb\nc' }],
    ['two ids for one message', { size: 1 }],
    [
      'more messages than anybody takes',
      { size: 501, message_ids: 'a\n'.repeat(500), bodies: '\n'.repeat(500) },
    ],
  ] satisfies [string, Row][])
    it(`sends no bundle with ${what}: nobody could take it apart, and the results of all would wait behind it`, async () => {
      await assert.rejects(insert('bundles', { ...RESULT, ...row }), { code: '42501' })
    })

  for (const [what, row] of [
    ['a long description', { description: 'x'.repeat(100_000) }],
    ['a long id', { original_message_id: 'x'.repeat(100_000) }],
    ['a body that is no message', { body: 'x'.repeat(300_000) }],
    ['fewer deliveries than none', { delivery_count: -1 }],
  ] satisfies [string, Row][])
    it(`gives up no job with ${what}: people could not list what others gave up`, async () => {
      await assert.rejects(insert('dead_letters', { ...LETTER, ...row }), { code: '42501' })
    })

  for (const set of [
    "visible_at = '-infinity'",
    "leased_until = '-infinity', lease_token = gen_random_uuid()",
    "leased_until = '294276-12-31', lease_token = gen_random_uuid()",
    'delivery_count = 2147483647',
  ])
    it(`leases no job with ${set}: timers judge the jobs of all workers together`, async () => {
      await test.db.query(
        `insert into bundles (topic, subscription, worker_id, message_type, message_ids, bodies, size, enqueued_at, visible_at, expires_at, delivery_count)
         values ('worker-jobs', 'worker-mallory', 'mallory', 'worker-job', 'step-1', '{}', 1, '-infinity', $1, '2026-03-09', 1)`,
        [NOW],
      )
      const sql = `update bundles set ${set} where topic = 'worker-jobs'`
      await assert.rejects(mallory.db.query(sql), { code: '42501' })
      await mallory.db.query(
        'update bundles set visible_at = $1, leased_until = $1, lease_token = gen_random_uuid()',
        [NOW],
      )
    })

  for (const at of TIMES)
    it(`dates nothing ${at}: orchestrators and people could not read what others sent`, async () => {
      const refused = { code: '42501' }
      await assert.rejects(insert('bundles', { ...RESULT, expires_at: at }), refused)
      for (const column of ['enqueued_at', 'expires_at', 'dead_lettered_at'])
        await assert.rejects(insert('dead_letters', { ...LETTER, [column]: at }), refused)
      const both = { ...RESULT, enqueued_at: at, visible_at: at }
      await assert.rejects(insert('bundles', both), refused)
    })
})

it('the result of another worker is not awaited forever because a row under its id is hidden', async () => {
  const bus = openPostgresBus({ db: test.db, clock: { now: () => START }, newToken: randomUUID })
  const hidden = { message_ids: 'result-step-2\nresult-step-3', visible_at: '2999-01-01' }
  await insert('bundles', { ...RESULT, ...hidden, expires_at: '2999-02-01' })
  await insert('bundles', { ...RESULT, message_ids: 'result-step-4', bodies: '{}', size: 1 })
  const places = await bus.locate('worker-results', ['result-step-2', 'result-step-4'])
  assert.deepEqual(places, [{ is: 'gone' }, { is: 'queued' }])
})
