// Deadlines: no job is awaited longer than its timeout and two minutes; a dead-lettered job not even that long.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  attemptsOf,
  batchOf,
  because,
  jobIds,
  memberId,
  runbook,
  step,
  stepsOf,
  waitsOf,
} from './looking.ts'
import { START, story, type World } from './world.ts'

const at = (seconds: number) => new Date(+START + seconds * 1000).toISOString()

async function begin(world: World, more: string, members = 1): Promise<number> {
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create', more)] }))
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.settle()
  return batchId
}

const RETRY = 'timeout: 10m, retry: { max_retries: 1, interval: 60s }'

it('loses a silent job two minutes after its deadline, and retries', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, RETRY)
    assert.equal(world.jobs[0]?.notAfter, at(600))
    await world.pass(719)
    assert.deepEqual(await attemptsOf(world), [])
    await world.pass(1)
    assert.deepEqual(await attemptsOf(world), ['step-1 lost'])
    assert.deepEqual(await because(world, 'retry'), ['retry 1 of 1 in 60 s: no result in time'])
    await world.pass(60)
    assert.deepEqual(jobIds(world, 1), ['step-1-retry-1'])
    assert.equal(world.jobs[1]?.notAfter, at(780 + 600))
    await world.result(world.jobs[0]!, { ok: 'too late' })
    await world.settle()
    assert.equal((await stepsOf(world, await memberId(world, batchId, 1)))[0], 'create dispatched')
    assert.deepEqual(await because(world, 'unexpected_result'), [
      "late or foreign: job step-1 is not the step's job (step-1-retry-1)",
    ])
    await world.pass(720)
    assert.deepEqual(await because(world, 'fail'), [
      'no result in time',
      'step create of phase prepare failed',
      '0 of 1 members passed, 1 failed',
      'every phase ended: 0 members completed, 1 failed, 0 removed',
    ])
  }))

it('counts a result within the two minutes', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, RETRY)
    await world.pass(700)
    await world.result(world.jobs[0]!, { ok: true })
    await world.pass(20)
    assert.deepEqual(await attemptsOf(world), ['step-1 succeeded'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('dead-letters a job that nobody took by its deadline, and retries its step with that reason', () =>
  story({}, async (world) => {
    world.workers = []
    await begin(world, RETRY)
    await world.pass(599)
    assert.deepEqual(await waitsOf(world), ['create job 121'])
    await world.pass(1)
    assert.deepEqual(await attemptsOf(world), ['step-1 undelivered'])
    assert.deepEqual(await because(world, 'retry'), [
      'retry 1 of 1 in 60 s: the job could not be delivered: TTLExpiredException: Nobody took the message before its time to live ended.',
    ])
    world.workers = ['w1']
    await world.pass(60)
    assert.deepEqual(jobIds(world), ['step-1-retry-1'])
  }))

it("retries a job that a worker dead-letters, with the worker's reason", () =>
  story({}, async (world) => {
    world.answer = ({ jobId }) =>
      jobId === 'step-1' ? { refuse: 'the body is not JSON' } : { ok: true }
    const batchId = await begin(world, RETRY, 2)
    assert.deepEqual(await because(world, 'retry'), [
      'retry 1 of 1 in 60 s: the job could not be delivered: Refused: the body is not JSON',
    ])
    assert.deepEqual(await attemptsOf(world), ['step-2 succeeded', 'step-1 dead_lettered'])
    await world.pass(60)
    assert.deepEqual(jobIds(world, 2), ['step-1-retry-1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    const letters = await world.db.query(
      'select message_id, noticed_at from dead_letters order by id',
    )
    assert.deepEqual(letters, [{ message_id: 'step-1', noticed_at: START }])
  }))

it('settles a dead letter once, whatever happens to it later', () =>
  story({}, async (world) => {
    world.answer = () => ({ refuse: 'no such function' })
    const batchId = await begin(world, 'timeout: 10m')
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    const [letter] = (
      await world.bus.deadLetters.list({ topic: 'worker-jobs', name: 'worker-w1' }, 1)
    ).items
    await world.bus.deadLetters.replay(letter!.id, 'operator')
    await world.settle()
    assert.deepEqual(jobIds(world), ['step-1', 'step-1'])
    assert.deepEqual(await attemptsOf(world), ['step-1 dead_lettered'])
    const unnoticed = await world.db.query('select from dead_letters where noticed_at is null')
    assert.equal(unnoticed.length, 0)
  }))

it('notices dead letters of unknown jobs and leaves them to people', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 'timeout: 10m')
    for (const jobId of ['step-999', 'not-a-job']) {
      await world.bus.publish([
        {
          topic: 'worker-jobs',
          messageId: jobId,
          type: 'worker-job',
          workerId: 'w1',
          body: {
            jobId,
            batchId,
            workerId: 'w1',
            functionName: 'F',
            parameters: {},
            notAfter: at(9),
            correlationData: { isInitStep: false, runbookName: 'wave', runbookVersion: 1 },
          },
        },
      ])
    }
    world.answer = () => ({ refuse: 'unknown' })
    await world.settle()
    const letters = await world.db.query('select noticed_at from dead_letters')
    assert.deepEqual(letters, [{ noticed_at: START }, { noticed_at: START }])
  }))

it('repeats a lost or dead re-poll at the next interval, without using an attempt', () =>
  story({}, async (world) => {
    world.answer = ({ jobId }) => {
      if (jobId.endsWith('poll-1')) return 'silent'
      if (jobId.endsWith('poll-2')) return { refuse: 'no slot' }
      return jobId.endsWith('poll-3') ? { ok: { complete: true } } : { ok: { complete: false } }
    }
    const batchId = await begin(world, 'timeout: 5m, poll: { interval: 60s, timeout: 1h }')
    await world.pass(60)
    await world.pass(420)
    await world.pass(60)
    await world.pass(60)
    assert.deepEqual(await attemptsOf(world), [
      'step-1 incomplete',
      'step-1-poll-1 lost',
      'step-1-poll-2 dead_lettered',
      'step-1-poll-3 succeeded',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))
