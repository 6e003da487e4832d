// What is large on Service Bus: the largest job and the largest result go through as they are, so that any worker can read them; larger
// parameters fail their step before anything is sent, and a larger result is cut by its worker.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { z } from 'zod'
import { realClock } from '../../../src/base/run/clock.ts'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { RESULT_BYTES_MAX } from '../../../src/worker/jobs/fit-result.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { openNamespace } from '../../kit/namespace.ts'
import { openForeignPeer } from '../../proof/servicebus/foreign-peer.ts'
import { batchOf, because, runbook } from '../../stories/looking.ts'
import { overServiceBus } from '../../stories/wire.ts'
import { story } from '../../stories/world.ts'
import { job } from '../under-test.ts'

/** Does not compress to much less. */
const noise = (bytes: number): string => randomBytes(bytes).toString('base64').slice(0, bytes)
const fail = (error: unknown): never => assert.fail(error as Error)
const USE = '{ name: use, worker_id: w1, function: Use, params: { T: "{{Text}}" } }'
const YAML = runbook('wave', { 'cutover T-0': [USE] })

it('carries the largest job and the largest result, readable for any worker', () =>
  story({ wire: overServiceBus(['w1']) }, async (world) => {
    const text = noise(199_990)
    await world.publish(YAML)
    const data = { UserPrincipalName: 'big', Text: text }
    const batchId = await world.batch('wave', [{ key: 'big', data }])
    await world.orchestrate()
    const peer = await openForeignPeer(world.wire.connectionString!)
    const [taken] = await peer.take('worker-jobs', 'worker-w1')
    await peer.close()
    assert.deepEqual(taken!.body.parameters, { T: text })
    await world.result({ jobId: String(taken!.body.jobid) }, { ok: noise(RESULT_BYTES_MAX - 2) })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('sends nothing of a job that is too large, and names the parameter', () =>
  story({ wire: overServiceBus(['w1']) }, async (world) => {
    await world.publish(YAML)
    const data = { UserPrincipalName: 'big', Text: 'ü'.repeat(130_000) }
    const batchId = await world.batch('wave', [{ key: 'big', data }])
    await world.settle()
    assert.deepEqual(world.jobs, [])
    assert.deepEqual(await because(world, 'unresolved'), [
      'the parameters have 260008 bytes, and a message takes 200000: shorten "T", which has 260002',
    ])
    assert.equal((await batchOf(world, batchId)).held, null)
    const { messages, deadLetters } = await world.bus.depth()
    assert.deepEqual([messages, deadLetters], [[], []])
  }))

it('carries a success whose result a worker had to cut, with its outputs', async () => {
  const clock = realClock()
  const namespace = await openNamespace(clock, ['w1'])
  const open = () => openServiceBus({ db: null, clock, newToken: randomUUID, access: namespace })
  const [bus, orchestrator] = [await open(), await open()]
  const worker = new Worker({
    workerId: 'w1',
    version: '1',
    bus,
    clock,
    maxParallelism: 1,
    onError: fail,
    functions: [
      defineFunction({
        ...TOUCHES_NOTHING,
        name: 'Get-Mailbox',
        description: 'Says much.',
        parameters: z.looseObject({}),
        run: async () => ({ Id: 'a-1', Log: noise(400_000) }),
      }),
    ],
  })
  worker.start()
  try {
    const sent = job('w1')
    const notAfter = new Date(+clock.now() + 60_000).toISOString()
    await orchestrator.publish([{ ...sent, body: { ...sent.body, notAfter } } as typeof sent])
    for (let isAnswered = false; !isAnswered; await clock.wait(20))
      for (const { type, body } of await orchestrator.receive(WORKER_RESULTS, 10)) {
        if (type !== 'worker-result') continue
        isAnswered = true
        const { status, result } = JSON.parse(body)
        assert.deepEqual([status, result], ['Success', { Id: 'a-1', _cut: 'Log (400009 bytes)' }])
      }
  } finally {
    await worker.stop()
    await Promise.all([bus.close(), orchestrator.close()])
    await namespace.broker.close()
  }
})
