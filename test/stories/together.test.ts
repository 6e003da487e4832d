// A function that acts on many, with the real engine, bus and worker: the job limit lets a wave through to one call, a hold takes back what no
// worker has, and a worker that dies between the call and the answers leaves everything done once.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { LEASE_MS } from '../../src/bus/bus.ts'
import { holdBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../src/worker/functions/catalogue.ts'
import { Worker } from '../../src/worker/jobs/worker.ts'
import { batchOf, order, runbook, step } from './looking.ts'
import { story, WORKER, type World } from './world.ts'

const MEMBERS = 150
const SLOTS = 2
const CALL_MS = 1_500
const YAML = runbook('wave', { 'copy T-0': [step('join', 'timeout: 5m')] })

/** Who joined, how often, and in which calls. */
class Room {
  readonly calls: string[][] = []
  readonly joined = new Map<string, number>()

  /** Joining twice changes nothing. */
  join(people: readonly string[]): void {
    this.calls.push([...people])
    for (const one of people) if (!this.joined.has(one)) this.joined.set(one, this.calls.length)
  }
}

const joinFunction = (room: Room) =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name: 'join',
    description: 'Joins the room.',
    parameters: z.looseObject({ Upn: z.string() }),
    run: async ({ params, clock, signal }) => {
      room.join([params.Upn])
      await clock.wait(CALL_MS, signal)
      return true
    },
    together: {
      key: () => 'room',
      limit: 1_000,
      waitMs: 1_000,
      run: async (calls, onBehalfOf) => {
        room.join(calls.map(({ params }) => params.Upn))
        const { clock, signal } = onBehalfOf(calls)
        await clock.wait(CALL_MS, signal)
        return calls.map(() => true)
      },
    },
  })

const workerOf = ({ bus, clock }: World, room: Room): Worker =>
  new Worker({
    workerId: WORKER,
    version: '1',
    bus,
    clock,
    functions: [joinFunction(room)],
    maxParallelism: SLOTS,
    onError: (error) => {
      throw error
    },
  })

/** Half a second of everybody's work. */
async function turn(world: World, worker: Worker): Promise<void> {
  await world.orchestrate()
  while ((await worker.takeJobs()) > 0);
  await world.clock.advance(500)
  await worker.sendResults()
}

const attempts = async ({ db }: World) =>
  db.query<{ outcome: string; count: number }>(
    'select outcome, count(*)::int as count from attempts group by 1 order by 1',
  )

const jobsOut = async ({ db }: World) =>
  (await db.query(`select from waits where kind = 'job'`)).length

async function finish(world: World, worker: Worker, batchId: number): Promise<void> {
  for (let half = 0; half < 200; half++) {
    if ((await batchOf(world, batchId)).status !== 'active') return
    await turn(world, worker)
  }
}

async function begin(world: World): Promise<number> {
  await world.publish(YAML)
  return world.batch('wave', MEMBERS)
}

describe('a wave that is done together', () => {
  it('reaches the worker in a few calls although its job limit was low', () =>
    story({ slots: SLOTS }, async (world) => {
      const room = new Room()
      const batchId = await begin(world)
      await turn(world, workerOf(world, new Room()))
      assert.ok((await jobsOut(world)) < 10, 'before the first result the job limit is low')
      await world.clock.advance(2 * LEASE_MS)
      await finish(world, workerOf(world, room), batchId)
      assert.equal((await batchOf(world, batchId)).status, 'completed')
      assert.equal(room.joined.size, MEMBERS)
      assert.ok(room.calls.length <= 4, `${room.calls.map(({ length }) => length)}`)
      assert.deepEqual(await attempts(world), [{ outcome: 'succeeded', count: MEMBERS }])
    }))

  it('is held where no worker has it: what is collected runs, the rest stays', () =>
    story({ slots: SLOTS }, async (world) => {
      const room = new Room()
      const worker = workerOf(world, room)
      const batchId = await begin(world)
      await turn(world, worker)
      const { withdrawn, running } = await holdBatch(world.engine, order(batchId))
      assert.ok(running > 0 && running < 10, `${running} running, ${withdrawn} withdrawn`)
      for (let half = 0; half < 10; half++) await turn(world, worker)
      assert.equal(room.joined.size, running)
      assert.equal(await jobsOut(world), 0)
      await resumeBatch(world.engine, order(batchId))
      await finish(world, worker, batchId)
      assert.equal((await batchOf(world, batchId)).status, 'completed')
      assert.equal(room.calls.flat().length, MEMBERS, 'nobody twice')
    }))

  it('is withdrawn by a hold once the worker that collected it has stopped', () =>
    story({ slots: SLOTS }, async (world) => {
      const room = new Room()
      const worker = workerOf(world, room)
      const batchId = await begin(world)
      await turn(world, worker)
      const out = await jobsOut(world)
      await worker.stop()
      const { withdrawn, running } = await holdBatch(world.engine, order(batchId))
      assert.deepEqual([withdrawn, running], [out, 0])
      assert.deepEqual(room.calls, [])
    }))

  it('is done once, and answered once, when the worker dies between the call and the answers', () =>
    story({ slots: SLOTS }, async (world) => {
      const room = new Room()
      const batchId = await begin(world)
      const mortal = workerOf(world, room)
      await turn(world, mortal)
      // Its call ends, and nothing of it is ever sent.
      await world.clock.advance(1_000 + CALL_MS)
      const before = room.joined.size
      assert.ok(before > 0)
      await world.clock.advance(2 * LEASE_MS)
      await finish(world, workerOf(world, room), batchId)
      assert.equal((await batchOf(world, batchId)).status, 'completed')
      assert.equal(room.joined.size, MEMBERS)
      assert.equal(room.calls.flat().length, MEMBERS + before, 'run again, only those')
      assert.deepEqual(await attempts(world), [{ outcome: 'succeeded', count: MEMBERS }])
    }))
})
