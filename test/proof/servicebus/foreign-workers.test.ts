// Workers of the earlier system, named by MATOOLKIT_DECLARED_WORKERS, at work for our orchestrator over Service Bus, and our worker for an
// orchestrator that writes as they do.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { realClock } from '../../../src/base/run/clock.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { configureWorkers } from '../../../src/db/state/workers.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { openNamespace } from '../../kit/namespace.ts'
import { attemptsOf, batchOf, because, runbook } from '../../stories/looking.ts'
import { overServiceBus } from '../../stories/wire.ts'
import { story, type World } from '../../stories/world.ts'
import { type ForeignPeer, openForeignPeer, type Taken } from './foreign-peer.ts'

const LEGACY = 'legacy'

/** What the worker says of a job; without an `Error` it succeeded. */
type Said = { readonly Result: Json } | { readonly Error: JsonObject }

/** Answers all jobs that wait, as the PowerShell worker writes it. Returns their functions. */
async function answerAll(peer: ForeignPeer, say: (job: Taken['body']) => Said): Promise<string[]> {
  const jobs = await peer.take('worker-jobs', `worker-${LEGACY}`)
  for (const { body, properties, messageId } of jobs) {
    assert.equal(properties.WorkerId, LEGACY)
    assert.equal(messageId, body.jobid, 'the message id of a job is its job id')
    const said = say(body)
    const isOk = 'Result' in said
    const answer = {
      JobId: body.jobid!,
      BatchId: body.batchid!,
      WorkerId: LEGACY,
      FunctionName: body.functionname!,
      Status: isOk ? 'success' : 'failure',
      ResultType: isOk && said.Result === true ? 'Boolean' : 'Object',
      Result: isOk ? said.Result : null,
      Error: isOk ? null : said.Error,
      DurationMs: 12.5,
      Timestamp: '2026-03-02T08:00:00.0000000Z',
      CorrelationData: body.correlationdata!,
    }
    const named = { WorkerId: LEGACY, JobId: String(body.jobid), Status: answer.Status }
    await peer.send('worker-results', answer, named)
  }
  return jobs.map(({ body }) => String(body.functionname))
}

/** Orchestrator and foreign worker in turns until neither has anything to do. */
async function settle(world: World, peer: ForeignPeer, say: (job: Taken['body']) => Said) {
  const done: string[] = []
  for (;;) {
    await world.orchestrate()
    const answered = await answerAll(peer, say)
    if (answered.length === 0) return done
    done.push(...answered)
  }
}

const legacyStep = (name: string, more = '') =>
  `{ name: ${name}, worker_id: ${LEGACY}, function: ${name}, params: { UserId: "{{UserPrincipalName}}" }${more} }`

const YAML = runbook('wave', {
  'prepare T-1h': [
    legacyStep('New-Account', ', output_params: { AccountId: Id }'),
    legacyStep('Test-Sync', ', poll: { interval: 60s, timeout: 10m }'),
  ],
  'cutover T-0': [legacyStep('Set-Mail', ', retry: { max_retries: 1, interval: 30s }')],
})

async function withForeignWorker(
  tell: (world: World, peer: ForeignPeer) => Promise<void>,
): Promise<void> {
  const read = readConfig({ MATOOLKIT_DECLARED_WORKERS: LEGACY })
  assert.ok('config' in read)
  await story({ wire: overServiceBus([LEGACY, 'w1']) }, async (world) => {
    const peer = await openForeignPeer(world.wire.connectionString!)
    world.workers = []
    try {
      await configureWorkers(world.db, read.config.declaredWorkers)
      await world.publish(YAML)
      await tell(world, peer)
    } finally {
      await peer.close()
    }
  })
}

describe('a worker of the earlier system on Service Bus', () => {
  it('takes a batch from the first step to the last: outputs, polls, a throttled failure and its retry', () =>
    withForeignWorker(async (world, peer) => {
      let [looks, tries] = [0, 0]
      const say = ({ functionname, parameters }: Taken['body']): Said => {
        const { UserId } = parameters as JsonObject
        if (functionname === 'New-Account') return { Result: { Id: `id of ${UserId}` } }
        if (functionname === 'Test-Sync')
          return { Result: ++looks === 1 ? { complete: false } : { complete: true, data: {} } }
        if (++tries === 1)
          return {
            Error: { Message: '429', Type: 'Throttled', IsThrottled: true, Attempts: 5 },
          }
        return { Result: true }
      }
      const batchId = await world.batch('wave', 1, { startsInMin: 60 })
      assert.deepEqual(await settle(world, peer, say), ['New-Account', 'Test-Sync'])
      await world.pass(60)
      assert.deepEqual(await settle(world, peer, say), ['Test-Sync'])
      await world.pass(3_540)
      assert.deepEqual(await settle(world, peer, say), ['Set-Mail'])
      await world.pass(30)
      assert.deepEqual(await settle(world, peer, say), ['Set-Mail'])
      const ended = (await attemptsOf(world)).filter((line) => !line.endsWith('incomplete'))
      assert.deepEqual(ended, [
        'step-1 succeeded',
        'step-2-poll-1 succeeded',
        'step-3 failed',
        'step-3-retry-1 succeeded',
      ])
      const { status, active, failed } = await batchOf(world, batchId)
      assert.deepEqual({ status, active, failed }, { status: 'completed', active: 1, failed: 0 })
      const [member] = await world.db.query<{ id: string }>(
        `select worker_data_json ->> 'AccountId' as id from batch_members`,
      )
      assert.equal(member!.id, 'id of user1@contoso.example')
      assert.deepEqual(await because(world, 'unexpected_result'), [])
      assert.deepEqual((await world.bus.depth()).deadLetters, [], 'nothing was refused')
    }))

  it('that answers a job twice, without a message id, changes nothing by the second answer', () =>
    withForeignWorker(async (world, peer) => {
      await world.batch('wave', 1, { startsInMin: 60 })
      await world.orchestrate()
      const [job] = await peer.take('worker-jobs', `worker-${LEGACY}`)
      const answer = { JobId: job!.body.jobid!, Status: 'success', Result: { Id: 'x' } }
      for (let n = 0; n < 2; n += 1) await peer.send('worker-results', answer, { WorkerId: LEGACY })
      await world.orchestrate()
      assert.deepEqual(await attemptsOf(world), ['step-1 succeeded'])
      assert.equal((await because(world, 'unexpected_result')).length, 1)
    }))

  it('whose property names no worker is refused: the letter is kept, and the batch continues', () =>
    withForeignWorker(async (world, peer) => {
      const batchId = await world.batch('wave', 1, { startsInMin: 60 })
      await world.orchestrate()
      const [job] = await peer.take('worker-jobs', `worker-${LEGACY}`)
      const answer = { JobId: job!.body.jobid!, Status: 'success', Result: { Id: 'x' } }
      await peer.send('worker-results', answer, { WorkerId: '\0' })
      await world.orchestrate()
      await world.bus.sweep()
      const letters = await world.db.query(
        'select worker_id, reason, description from dead_letters',
      )
      const description = 'The property WorkerId of a worker-result names no worker: "\ufffd".'
      assert.deepEqual(letters, [{ workerId: '\ufffd', reason: 'WrongSender', description }])
      assert.deepEqual(await attemptsOf(world), [], 'it still waits for its result')
      await peer.send('worker-results', answer, { WorkerId: LEGACY })
      await world.orchestrate()
      assert.deepEqual((await attemptsOf(world))[0], 'step-1 succeeded')
      const held = await world.db.query('select held_reason from batches where id = $1', [batchId])
      assert.deepEqual(held, [{ heldReason: null }])
    }))

  it('gets no job while the configuration does not name it', () =>
    withForeignWorker(async (world, peer) => {
      await configureWorkers(world.db, [])
      await world.batch('wave', 1, { startsInMin: 60 })
      await world.orchestrate()
      assert.deepEqual(await peer.take('worker-jobs', `worker-${LEGACY}`), [])
      assert.deepEqual(await attemptsOf(world), [])
    }))
})

it('our worker takes the job of an orchestrator of the earlier system, and answers so that it can read it', async () => {
  const clock = realClock()
  const namespace = await openNamespace(clock, ['w1'])
  const bus = await openServiceBus({
    db: null,
    clock,
    newToken: randomUUID,
    access: namespace,
  })
  const peer = await openForeignPeer(namespace.connectionString)
  const errors: unknown[] = []
  const worker = new Worker({
    workerId: 'w1',
    version: '1',
    bus,
    clock,
    maxParallelism: 2,
    functions: [
      defineFunction({
        ...TOUCHES_NOTHING,
        name: 'Set-Mail',
        description: 'Says who.',
        parameters: z.looseObject({}),
        run: async ({ params }) => ({ who: params.UserId as string }),
      }),
    ],
    onError: (error) => void errors.push(error),
  })
  worker.start()
  try {
    const job = {
      JobId: 'step-9',
      BatchId: 4,
      WorkerId: 'w1',
      FunctionName: 'Set-Mail',
      Parameters: { UserId: 'ann@contoso.example' },
      CorrelationData: {
        StepExecutionId: 9,
        IsInitStep: false,
        RunbookName: 'wave',
        RunbookVersion: 1,
      },
    }
    await peer.send('worker-jobs', job, { WorkerId: 'w1', FunctionName: 'Set-Mail' })
    const got: Taken[] = []
    while (!got.some(({ body }) => body.jobid)) {
      got.push(...(await peer.take('worker-results', 'orchestrator')))
      await clock.wait(20)
    }
    const { body, properties } = got.find((one) => one.body.jobid)!
    assert.deepEqual(
      [body.jobid, body.batchid, body.workerid, String(body.status).toLowerCase()],
      ['step-9', 4, 'w1', 'success'],
    )
    assert.deepEqual(body.result, { who: 'ann@contoso.example' })
    const echoed = body.correlationdata as JsonObject
    assert.equal(echoed.stepExecutionId ?? echoed.StepExecutionId, 9)
    assert.equal(properties.WorkerId, 'w1')
    assert.deepEqual(errors, [])
  } finally {
    await worker.stop()
    await bus.close()
    await peer.close()
    await namespace.broker.close()
  }
})
