// What happens to jobs of a worker that comes through the API when the API dies, restarts, or refuses its credential: nothing is lost, nothing
// is answered twice, and no two processes run a job at a time.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { z } from 'zod'
import { type Clock, realClock } from '../../../src/base/run/clock.ts'
import { type Bus, type ReceivedMessage, WORKER_RESULTS, workerJobs } from '../../../src/bus/bus.ts'
import { openHttpsBus } from '../../../src/bus/https/https-bus.ts'
import { revokeWorkerCredential } from '../../../src/db/orders/worker-credentials.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { openWorld, type World } from '../../stories/world.ts'
import { job } from '../under-test.ts'
import { type OpenedApi, openPlainApi, tokenFor } from './under-test.ts'

const LEASE_MS = 60_000

describe('a worker that comes through the API', () => {
  let world: World
  let clock: Clock
  let api: OpenedApi
  const runs: string[] = []
  const errors: unknown[] = []
  before(async () => {
    world = await openWorld()
    clock = { ...world.clock, wait: realClock().wait }
    api = await openPlainApi(world.engine, world.bus, clock)
  })
  after(async () => {
    await api.close()
    await world.close()
  })

  const newBus = (token: string): Bus =>
    openHttpsBus({
      workerId: 'w1',
      clock: world.clock,
      access: {
        // The API may have moved.
        get apiUrl() {
          return api.url
        },
        token: async () => token,
      },
    })
  const newWorker = (token: string) => {
    const get = defineFunction({
      ...TOUCHES_NOTHING,
      name: 'Get-Mailbox',
      description: 'Gets it.',
      parameters: z.looseObject({}),
      run: async ({ jobId }) => runs.push(jobId),
    })
    const bus = newBus(token)
    return new Worker({
      workerId: 'w1',
      version: '1',
      bus,
      clock: world.clock,
      functions: [get],
      maxParallelism: 4,
      onError: (error: unknown) => void errors.push(error),
    })
  }
  /** Sent to w1, and not too late to start. */
  async function send(): Promise<string> {
    const sent = job('w1')
    const notAfter = new Date(+world.clock.now() + 3_600_000).toISOString()
    await world.bus.publish([{ ...sent, body: { ...sent.body, notAfter } } as typeof sent])
    return sent.messageId
  }
  async function resultsOf(jobId: string): Promise<ReceivedMessage[]> {
    const found = await world.bus.receive(WORKER_RESULTS, 100)
    await world.bus.ack(found)
    return found.filter(({ body }) => JSON.parse(body).jobId === jobId)
  }

  it('gets a job again that an API leased and never handed out', async () => {
    const jobId = await send()
    const worker = newWorker((await tokenFor(world.engine, 'w1')).token)
    const [lost] = await world.bus.capabilities.gateway!.take('w1', 1)
    assert.equal(lost!.messageId, jobId)
    assert.equal(await worker.takeJobs(), 0, 'it is leased')
    await world.clock.advance(LEASE_MS)
    assert.equal(await worker.takeJobs(), 1)
    await worker.idle()
    await worker.sendResults()
    assert.deepEqual(runs.splice(0), [jobId], 'it ran once')
    assert.equal((await resultsOf(jobId)).length, 1)
    assert.deepEqual(await world.bus.receive(workerJobs('w1'), 10), [], 'it is acknowledged')
  })

  it('keeps its result while the API is away, and sends it once', async () => {
    const jobId = await send()
    const worker = newWorker((await tokenFor(world.engine, 'w1')).token)
    assert.equal(await worker.takeJobs(), 1)
    await worker.idle()
    await api.close()
    await assert.rejects(worker.sendResults(), { code: 'WORKER_API_UNREACHABLE' })
    await assert.rejects(worker.sendHello(world.clock.now()), { code: 'WORKER_API_UNREACHABLE' })
    api = await openPlainApi(world.engine, world.bus, clock)
    await worker.sendResults()
    await worker.sendResults()
    assert.deepEqual(runs.splice(0), [jobId])
    assert.equal((await resultsOf(jobId)).length, 1)
  })

  it('posts the same result twice when its answer was lost: one is stored', async () => {
    const { token } = await tokenFor(world.engine, 'w1')
    const body = { jobId: 'step-99', workerId: 'w1', status: 'Success' }
    const messages = [
      { messageId: 'result-step-99', type: 'worker-result', body: JSON.stringify(body) },
    ]
    for (let time = 0; time < 2; time += 1) {
      const answer = await fetch(`${api.url}/api/worker/results`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ messages }),
      })
      assert.equal(answer.status, 200)
    }
    assert.equal((await resultsOf('step-99')).length, 1)
  })

  it('whose credential is revoked in a job answers nothing; another process runs the job after its lease', async () => {
    const jobId = await send()
    const { id, token } = await tokenFor(world.engine, 'w1')
    const worker = newWorker(token)
    const other = newWorker((await tokenFor(world.engine, 'w1')).token)
    assert.equal(await worker.takeJobs(), 1)
    await worker.idle()
    await world.db.transaction((tx) => revokeWorkerCredential(tx, id, world.clock.now(), 'ada'))
    await assert.rejects(worker.sendResults(), { code: 'WORKER_CREDENTIAL_REFUSED' })
    await assert.rejects(worker.renewLeases(), { code: 'WORKER_CREDENTIAL_REFUSED' })
    assert.equal(await other.takeJobs(), 0, 'while the lease lasts nobody else runs it')
    assert.deepEqual(await resultsOf(jobId), [])
    await world.clock.advance(LEASE_MS)
    assert.equal(await other.takeJobs(), 1)
    await other.idle()
    await other.sendResults()
    assert.deepEqual(runs.splice(0), [jobId, jobId])
    assert.equal((await resultsOf(jobId)).length, 1)
    assert.deepEqual(errors, [])
  })

  it('takes no job with the credential of another worker', async () => {
    const jobId = await send()
    const { token } = await tokenFor(world.engine, 'w2')
    await assert.rejects(newBus(token).receive(workerJobs('w1'), 1), {
      code: 'WORKER_CREDENTIAL_REFUSED',
    })
    const [untouched] = await world.bus.receive(workerJobs('w1'), 1)
    assert.deepEqual([untouched!.messageId, untouched!.deliveryCount], [jobId, 1])
    await world.bus.ack([untouched!])
  })
})
