// Everything twice, in any order, and once more after the bus has forgotten it: the end is the same, and every job ran once.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  ORCHESTRATOR_EVENTS,
  type ReceivedMessage,
  WORKER_RESULTS,
  workerJobs,
} from '../../src/bus/bus.ts'
import { addMembers } from '../../src/engine/orders/create.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { handleChunk } from '../../src/orchestrator/orchestrator.ts'
import { runTimers } from '../../src/orchestrator/timers.ts'
import { seeded } from '../kit/seeded.ts'
import { memberId, order, runbook, step } from './looking.ts'
import { type Answer, type Job, people, story, type World } from './world.ts'

const YAML = runbook(
  'wave',
  {
    'prepare T-1h': [
      step('create', 'on_failure: undo, output_params: { ThingId: id }'),
      step('sync', 'poll: { interval: 60s, timeout: 1h }'),
    ],
    'cutover T-0': [step('switch', 'retry: { max_retries: 2, interval: 60s }')],
  },
  [
    'init: [{ name: setup, worker_id: w1, function: setup, params: { Upn: all } }]',
    `rollbacks: { undo: [${step('uncreate')}] }`,
    `on_member_removed: [${step('revoke')}]`,
  ].join('\n'),
)

/** User 3 cannot be created, syncing takes two polls, and each member's first switch fails. */
function answer({ functionName, parameters, jobId }: Job): Answer {
  if (functionName === 'create' && parameters.Upn === 'user3@contoso.example')
    return { fail: 'no licence' }
  if (functionName === 'sync') return { ok: { complete: jobId.endsWith('poll-2') } }
  if (functionName === 'switch' && !jobId.includes('retry')) return { fail: 'busy' }
  return { ok: functionName === 'create' ? { id: `T-${String(parameters.Upn)}` } : true }
}

type Settle = (world: World) => Promise<void>

/** The wave with a joiner and a leaver, minute by minute. */
async function tell(world: World, settle: Settle): Promise<void> {
  world.answer = answer
  await world.publish(YAML)
  const batchId = await world.batch('wave', 5, { startsInMin: 60 })
  for (let minute = 0; minute < 75; minute++) {
    await settle(world)
    if (minute === 2) await addMembers(world.engine, batchId, people(6), 'operator')
    if (minute === 5) {
      const memberIds = [await memberId(world, batchId, 5)]
      await removeMembers(world.engine, { ...order(batchId), memberIds })
    }
    await world.clock.advance(60_000)
  }
}

/** The final state, without the ids that depend on the order of events. */
async function endOf({ db }: World): Promise<unknown> {
  const batches = await db.query(
    'select status, members_active, members_failed, members_removed from batches',
  )
  const phases = await db.query(
    `select phase_name, status, members_total, members_passed, members_failed, members_stopped, members_removed
       from phase_executions order by id`,
  )
  const steps = await db.query(
    `select m.key_folded, s.kind, s.step_name, s.status, s.attempt, s.retry_count, s.poll_count
       from step_executions s left join batch_members m on m.id = s.batch_member_id
      order by 1 nulls first, 2, 3`,
  )
  const outputs = await db.query(
    'select key_folded, status, worker_data_json from batch_members order by 1',
  )
  const attempts = await db.query(
    `select m.key_folded, s.step_name, a.attempt, a.poll, a.outcome
       from attempts a join step_executions s on s.id = a.step_id
       left join batch_members m on m.id = s.batch_member_id order by 1 nulls first, 2, 3, 4`,
  )
  return { batches, phases, steps, outputs, attempts }
}

function shuffled<T>(items: readonly T[], random: (limit: number) => number): T[] {
  const rest = [...items]
  return items.map(() => rest.splice(random(rest.length), 1)[0]!)
}

/** Everything ever received, to be sent again much later. */
interface Noise {
  readonly random: (limit: number) => number
  readonly heard: ReceivedMessage[]
}

/** Every chunk twice and shuffled, every timer twice, every job answered twice. */
async function settleWithNoise(world: World, { random, heard }: Noise): Promise<void> {
  for (let quiet = false; !quiet; ) {
    quiet = (await runTimers(world.engine)) === 0
    await runTimers(world.engine)
    for (const subscription of [ORCHESTRATOR_EVENTS, WORKER_RESULTS]) {
      const received = await world.bus.receive(subscription, 7)
      if (received.length === 0) continue
      quiet = false
      heard.push(...received)
      const twice = shuffled([...received, ...received], random)
      for (const outcome of await handleChunk(world.engine, twice)) assert.equal(outcome, 'ack')
      await handleChunk(world.engine, shuffled(received, random))
      await world.bus.ack(received)
    }
    const jobs = shuffled(await world.bus.receive(workerJobs('w1'), 5), random)
    for (const message of jobs) await answerTwice(world, message)
    if (jobs.length > 0) quiet = false
    await world.bus.ack(jobs)
  }
}

async function answerTwice(world: World, message: ReceivedMessage): Promise<void> {
  const job = JSON.parse(message.body) as Job
  world.jobs.push(job)
  const result = answer(job)
  if (result === 'silent' || 'refuse' in result) return
  await world.result(job, result)
  await world.result(job, result)
}

async function sayAllAgain(world: World, { heard, random }: Noise): Promise<void> {
  await world.clock.advance(11 * 60_000)
  const again = shuffled(heard, random)
  for (let start = 0; start < again.length; start += 50)
    await handleChunk(world.engine, again.slice(start, start + 50))
}

let expected: unknown

it('without noise', () =>
  story({}, async (world) => {
    await tell(world, (quiet) => quiet.settle())
    expected = await endOf(world)
    const [batch] = await world.db.query('select status from batches')
    assert.deepEqual(batch, { status: 'completed' })
  }))

for (const seed of [1, 2]) {
  it(`with every message twice and shuffled, seed ${seed}`, () =>
    story({}, async (world) => {
      const noise: Noise = { random: seeded(seed), heard: [] }
      await tell(world, (noisy) => settleWithNoise(noisy, noise))
      assert.deepEqual(await endOf(world), expected)
      const ran = world.jobs.map(({ jobId }) => jobId)
      assert.equal(new Set(ran).size, ran.length, 'each job ran once')
      await sayAllAgain(world, noise)
      await settleWithNoise(world, noise)
      assert.deepEqual(await endOf(world), expected)
      assert.equal(world.jobs.length, ran.length)
    }))
}
