// Jobs that end without a result: lost, dead-lettered, or never started. The clock of a timeout starts with the job, so a job that
// waits for its worker is never given up; one that nobody sees any more is, after its timeout and two minutes.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runTimers, settleLostJobs } from '../../src/orchestrator/timers.ts'
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
import { stepLook } from './timeline.ts'
import { publishResult, START, story, type World } from './world.ts'

const at = (seconds: number) => new Date(+START + seconds * 1000).toISOString()

const UNDO = `rollbacks: { undo: [${step('delete')}] }`

async function begin(
  world: World,
  more: string,
  members = 1,
  rest = '',
  how: 'settled' | 'unstarted' = 'settled',
): Promise<number> {
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create', more)] }, rest))
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  if (how === 'settled') await world.settle()
  return batchId
}

const RETRY = 'timeout: 10m, retry: { max_retries: 1, interval: 60s }'

it('loses a job without a result two minutes after its timeout, and retries', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, RETRY)
    assert.equal(world.jobs[0]?.notAfter, at(6 * 3_600 + 600))
    await world.pass(719)
    assert.deepEqual(await attemptsOf(world), [])
    await world.pass(1)
    assert.deepEqual(await attemptsOf(world), ['step-1 lost'])
    assert.deepEqual(await because(world, 'retry'), ['retry 1 of 1 in 60 s: no result in time'])
    await world.pass(60)
    assert.deepEqual(jobIds(world, 1), ['step-1-retry-1'])
    assert.equal(world.jobs[1]?.notAfter, at(780 + 6 * 3_600 + 600))
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
      '0 of 1 member passed, 1 failed',
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

const LIMIT = 6 * 3_600 + 600

it('sends a job that nobody started within the queue limit again, and uses no retry', () =>
  story({}, async (world) => {
    world.workers = []
    const batchId = await begin(world, 'timeout: 10m, on_failure: undo', 1, UNDO)
    for (let passed = 0; passed < LIMIT - 599; passed += 600) await world.pass(600)
    assert.deepEqual(await attemptsOf(world), ['step-1 undelivered'])
    const why = 'worker w1 did not start the job within 6h 10m; nothing ran and no retry is used'
    assert.deepEqual(await because(world, 'withdraw'), [why])
    assert.deepEqual(await waitsOf(world), ['create job 720'])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'dispatched',
      attempt: 1,
      retries: 0,
      polls: 0,
      error: null,
    })
    world.workers = ['w1']
    await world.settle()
    assert.deepEqual(jobIds(world), ['step-1-retry-1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    for (const event of ['retry', 'fail', 'rollback_skipped'])
      assert.deepEqual(await because(world, event), [])
  }))

it('keeps the reason of a job that was not started while its batch is held', () =>
  story({}, async (world) => {
    world.workers = []
    const batchId = await begin(world, 'timeout: 10m')
    // A transport that cannot withdraw leaves the job in the queue.
    await world.db.query(
      `update batches set held_at = $1, held_by = 'olga', held_reason = 'wait' where id = $2`,
      [START, batchId],
    )
    await world.pass(LIMIT)
    assert.deepEqual(await stepLook(world, 1), {
      status: 'pending',
      attempt: 1,
      retries: 0,
      polls: 0,
      error: 'worker w1 did not start the job within 6h 10m; nothing ran and no retry is used',
    })
    assert.deepEqual(await waitsOf(world), ['create slot'])
    assert.deepEqual(world.jobs, [])
  }))

it('waits for a result that nobody has handled yet, however late the orchestrator looks', () =>
  story({}, async (world) => {
    const batchId = await begin(world, RETRY, 1, '', 'unstarted')
    await world.orchestrate()
    world.answer = () => 'silent'
    await world.work()
    await publishResult(world, 'step-1', { ok: true }, {}, 'result-step-1')
    await world.clock.advance(3 * 3_600_000)
    assert.equal(await runTimers(world.engine), 1)
    assert.deepEqual(await attemptsOf(world), [])
    await world.settle()
    assert.deepEqual(await attemptsOf(world), ['step-1 succeeded'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('leaves the dead letters of an outage to their own reason: none of them is lost', () =>
  story({}, async (world) => {
    world.workers = []
    await begin(world, 'timeout: 10m')
    await world.clock.advance((LIMIT + 3_600) * 1_000)
    await world.bus.sweep()
    await settleLostJobs(world.engine)
    assert.deepEqual(await attemptsOf(world), [])
    await world.orchestrate()
    assert.deepEqual(await attemptsOf(world), ['step-1 undelivered'])
  }))

it('asks a transport that cannot tell only when nobody can start the job any more', () =>
  story({}, async (world) => {
    const unknown = async (_topic: string, ids: readonly string[]) =>
      ids.map(() => ({ is: 'unknown' as const }))
    Object.assign(world.bus, { locate: unknown })
    world.answer = () => 'silent'
    await begin(world, RETRY)
    await world.pass(LIMIT + 719)
    assert.deepEqual(await attemptsOf(world), [])
    await world.pass(1)
    assert.deepEqual(await attemptsOf(world), ['step-1 lost'])
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
    assert.deepEqual(letters, [{ messageId: 'step-1', noticedAt: START }])
  }))

it('settles a dead letter once and closes it: nobody has to decide on it', () =>
  story({}, async (world) => {
    world.answer = () => ({ refuse: 'no such function' })
    const batchId = await begin(world, 'timeout: 10m')
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    const [letter] = (
      await world.bus.deadLetters.list({ topic: 'worker-jobs', name: 'worker-w1' }, 1)
    ).items
    // Its step has failed with the reason: a replay would run a job that no step waits for.
    assert.equal(letter, undefined)
    assert.deepEqual(await world.db.query('select discarded_by from dead_letters'), [
      { discardedBy: 'orchestrator' },
    ])
    assert.deepEqual(jobIds(world), ['step-1'])
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
            timeoutSec: 3_600,
            notAfter: at(9),
            correlationData: { isInitStep: false, runbookName: 'wave', runbookVersion: 1 },
          },
        },
      ])
    }
    world.answer = () => ({ refuse: 'unknown' })
    await world.settle()
    const letters = await world.db.query('select noticed_at from dead_letters')
    assert.deepEqual(letters, [{ noticedAt: START }, { noticedAt: START }])
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
