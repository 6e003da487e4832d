// A database in mid-flight: two batches under way with steps in every status and every kind of wait, messages in the queue, a result
// nobody has read and a dead letter. Each release keeps one as a fixture, so that later migrations meet real rows.
import assert from 'node:assert/strict'
import { removeMembers, skip } from '../../../src/engine/orders/member-actions.ts'
import { undoMembers } from '../../../src/engine/orders/undo.ts'
import { WORKER, type World } from '../world.ts'

const STEP = `worker_id: ${WORKER}, params: { Who: "{{Name}}" }`
const YAML = `
name: wave
data_source: { type: csv, path: wave.csv, primary_key: Name, batch_time_column: When }
init:
  - { name: open, worker_id: ${WORKER}, function: Open }
on_member_removed:
  - { name: tidy, ${STEP}, function: Tidy }
rollbacks:
  undo:
    - { name: undo, ${STEP}, function: Undo }
phases:
  - name: prepare
    offset: T-1h
    steps:
      - { name: create, ${STEP}, function: Create, on_failure: undo, retry: { max_retries: 1, interval: 10m } }
      - { name: await, ${STEP}, function: Await, poll: { interval: 10m, timeout: 40m }, retry: { max_retries: 1, interval: 20m } }
  - name: cutover
    offset: T-0
    steps:
      - { name: switch, ${STEP}, function: Switch }
`

const CREATED = {
  changed: true,
  target: 'joe',
  before: { exists: false },
  undo: { functionName: 'Uncreate', parameters: { Who: 'joe' } },
}
const TEN_MINUTES = 600
const named = (...names: string[]) => names.map((name) => ({ key: name, data: { Name: name } }))

async function stepOf({ db }: World, member: string, step: string): Promise<number> {
  const [row] = await db.query<{ id: number }>(
    `select s.id from step_executions s join batch_members m on m.id = s.batch_member_id
      where m.member_key = $1 and s.step_name = $2`,
    [member, step],
  )
  return row!.id
}

/**
 * After 40 minutes: ann passed, bob's job is out, cat waits for a retry, dan polls, eve is rolled back, fay failed and her rollback too,
 * gus polled too long, hal was removed while polling, ida's first step was skipped, joe was taken back. Of the second batch the jobs of kim and lou are one bundle
 * in the queue and max waits for a slot.
 */
export async function reachMidFlight(world: World): Promise<void> {
  let minutes = 0
  world.answer = ({ functionName, parameters }) => {
    const call = `${functionName} ${String(parameters.Who)}`
    if (['Create bob', 'Await ida', 'Tidy hal'].includes(call)) return 'silent'
    if (['Create eve', 'Create fay', 'Create ida', 'Undo fay'].includes(call)) return { fail: 'no' }
    if (call === 'Create joe') return { ok: true, effect: CREATED }
    if (call === 'Create dan' && minutes === 0) return { refuse: 'not for me' }
    if (call === 'Await cat' && minutes === 30) return { fail: 'connection lost' }
    if (/^Await (cat|dan|gus|hal)$/.test(call)) return { ok: { complete: false } }
    return { ok: true }
  }
  await world.publish(YAML)
  const members = named('ann', 'bob', 'cat', 'dan', 'eve', 'fay', 'gus', 'hal', 'ida', 'joe')
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.settle()
  const order = { actor: 'operator', reason: 'as agreed' }
  await skip(world.engine, { ...order, stepId: await stepOf(world, 'ida', 'create') })
  for (minutes = 10; minutes <= 40; minutes += 10) {
    await world.pass(TEN_MINUTES)
    if (minutes === 20) {
      const [hal] = await world.db.query<{ id: number }>(
        `select id from batch_members where member_key = 'hal'`,
      )
      const [joe] = await world.db.query<{ id: number }>(
        `select id from batch_members where member_key = 'joe'`,
      )
      const { refused } = await undoMembers(world.engine, {
        ...order,
        batchId,
        memberIds: [joe!.id],
      })
      assert.deepEqual(refused, [])
      await removeMembers(world.engine, { ...order, batchId, memberIds: [hal!.id] })
      await world.settle()
    }
  }
  await world.db.query('update workers set max_outstanding = 5')
  await world.batch('wave', named('kim', 'lou', 'max'), { startsInMin: 60 })
  await world.orchestrate()
  await world.work()
  await world.orchestrate()
  await world.result({ jobId: `step-${await stepOf(world, 'ida', 'await')}` }, { ok: true })
}
