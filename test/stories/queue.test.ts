// Queues and timeouts with a real worker: its slots run jobs that take time, and members wait for them. A timeout counts from the
// start of its job, so waiting costs nobody a retry, and nothing is rolled back that was never done.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { z } from 'zod'
import type { Clock } from '../../src/base/run/clock.ts'
import { holdBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../src/worker/functions/catalogue.ts'
import { Worker } from '../../src/worker/jobs/worker.ts'
import { attemptsOf, batchOf, because, order, phasesOf, runbook, step } from './looking.ts'
import { START, story, WORKER, type World } from './world.ts'

interface Shop {
  readonly world: World
  worker: Worker
  /** `3 create user1`: the second of each start. */
  readonly starts: string[]
  /** How long a function runs, in seconds; by default 3. */
  takesSec: (name: string, upn: string, start: number) => number
  /** The most jobs that waited for the worker at the same time. */
  longestQueue: number
}

const secondsOf = ({ clock }: World) => Math.round((+clock.now() - +START) / 1_000)

async function openShop(world: World): Promise<Shop> {
  const shop: Shop = {
    world,
    worker: undefined as never,
    starts: [],
    longestQueue: 0,
    takesSec: () => 3,
  }
  shop.worker = hire(shop)
  await shop.worker.sendHello(world.clock.now())
  return shop
}

/** A worker with 4 slots that knows nothing of the one before it. */
function hire(shop: Shop): Worker {
  const { world, starts } = shop
  const functionNamed = (name: string) =>
    defineFunction({
      ...TOUCHES_NOTHING,
      name,
      description: 'Take a while.',
      parameters: z.strictObject({ Upn: z.string() }),
      run: async ({ params, clock }: { params: { Upn: string }; clock: Clock }) => {
        const who = params.Upn.split('@')[0]!
        const same = starts.filter((one) => one.endsWith(` ${name} ${who}`)).length
        starts.push(`${secondsOf(world)} ${name} ${who}`)
        await clock.wait(shop.takesSec(name, who, same) * 1_000)
        return true
      },
    })
  return new Worker({
    workerId: WORKER,
    version: '1',
    bus: world.bus,
    clock: world.clock,
    maxParallelism: 4,
    functions: ['create', 'delete'].map(functionNamed),
    onError: (error) => assert.fail(String(error)),
  })
}

/** Everybody acts every second: the orchestrator, the broker, and the worker if it lives. */
async function pass(shop: Shop, seconds: number, lives = true): Promise<void> {
  const { world } = shop
  for (let second = 0; second < seconds; second++) {
    // A custom function's job ends some turns later, when the worker has looked for promises that it left behind: short jobs end here.
    await world.clock.advance(20)
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
    await world.clock.advance(980)
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
    await world.bus.sweep()
    if (lives) {
      if (second % 20 === 0) await shop.worker.renewLeases()
      if (second % 60 === 0) await shop.worker.sendHello(world.clock.now())
      await shop.worker.sendResults()
    }
    await world.orchestrate()
    if (lives) await shop.worker.takeJobs()
    const [queue] = await world.db.query<{ jobs: number }>(
      `select count(*)::int as jobs from messages where topic = 'worker-jobs' and lease_token is null`,
    )
    shop.longestQueue = Math.max(shop.longestQueue, queue!.jobs)
  }
}

/** As a program that waits for nothing: somebody acts every 20 ms. */
async function passQuickly({ world, worker }: Shop, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await world.clock.advance(20)
    for (let at = 0; at < 5; at++) await new Promise(setImmediate)
    await worker.sendResults()
    await world.orchestrate()
    await worker.takeJobs()
  }
}

const UNDO = `rollbacks: { undo: [${step('delete')}] }`

async function begin(world: World, members: number, more: string): Promise<number> {
  const create = step('create', `on_failure: undo, ${more}`)
  await world.publish(runbook('wave', { 'cutover T-0': [create] }, UNDO))
  const batchId = await world.batch('wave', members)
  await world.orchestrate()
  return batchId
}

const outcomes = async (world: World) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(await attemptsOf(world), (said) => said.split(' ')[1]!)).map(
      ([outcome, jobs]) => [outcome, jobs!.length],
    ),
  )

it('24 members, 4 slots, jobs of 3 s and a timeout of 10 s: nothing expires and nothing is rolled back', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    const batchId = await begin(world, 24, 'timeout: 10s')
    await pass(shop, 30)
    assert.deepEqual(await phasesOf(world, batchId), ['cutover completed 24: 24 passed'])
    assert.deepEqual(await outcomes(world), { succeeded: 24 })
    assert.equal(shop.starts.length, 24)
    assert.ok(shop.longestQueue <= 8, `${shop.longestQueue} jobs waited for 4 slots`)
    for (const event of ['retry', 'withdraw', 'fail', 'rollback_skipped'])
      assert.deepEqual(await because(world, event), [])
  }))

it('a slow worker gets a job per slot and few to follow, a fast one as many as it finishes before more can come', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    const outstanding = async () => {
      const rows = await world.db.query(`select from waits where kind = 'job'`)
      return rows.length
    }
    await begin(world, 400, 'timeout: 1m')
    assert.equal(await outstanding(), 7, 'before the first result a job is taken to last a second')
    await pass(shop, 31)
    assert.equal(await outstanding(), 8)
    shop.takesSec = () => 0.01
    await passQuickly(shop, 190)
    assert.ok((await outstanding()) > 10, `${await outstanding()} jobs are out`)
    await passQuickly(shop, 80)
    assert.deepEqual(await outcomes(world), { succeeded: 400 })
  }))

it('two batches share a slow worker, and neither waits for the end of the other', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    await begin(world, 40, 'timeout: 10s')
    await pass(shop, 9)
    const people = Array.from({ length: 8 }, (_, i) => ({
      key: `late${i}@contoso.example`,
      data: { UserPrincipalName: `late${i}@contoso.example` },
    }))
    const second = await world.batch('wave', people)
    await pass(shop, 21)
    assert.deepEqual(await phasesOf(world, second), ['cutover completed 8: 8 passed'])
    assert.ok(shop.starts.length < 48, 'the first one still has members to come')
    await pass(shop, 30)
    assert.deepEqual(await outcomes(world), { succeeded: 48 })
  }))

it('jobs that run nearly as long as their timeout finish, however long their queue', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    shop.takesSec = () => 59
    const batchId = await begin(world, 20, 'timeout: 1m')
    await pass(shop, 310)
    assert.deepEqual(await phasesOf(world, batchId), ['cutover completed 20: 20 passed'])
    assert.deepEqual(await outcomes(world), { succeeded: 20 })
    assert.equal(shop.starts.length, 20)
  }))

it('a job that is too slow is stopped by its worker, retried, and only then rolled back', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    shop.takesSec = (name, who) => (name === 'create' && who === 'user2' ? 11 : 3)
    const batchId = await begin(world, 3, 'timeout: 10s, retry: { max_retries: 1, interval: 5s }')
    await pass(shop, 16)
    assert.deepEqual(await because(world, 'retry'), [
      'retry 1 of 1 in 5 s: stopped after its timeout of 10s (TimedOut)',
    ])
    assert.ok(!shop.starts.some((start) => start.includes('delete')))
    await pass(shop, 20)
    assert.deepEqual(
      shop.starts.filter((start) => start.endsWith('user2')).map((start) => start.split(' ')[1]),
      ['create', 'create', 'delete'],
    )
    assert.deepEqual(await phasesOf(world, batchId), ['cutover completed 3: 2 passed, 1 failed'])
    assert.deepEqual(await outcomes(world), { succeeded: 3, failed: 2 })
  }))

it('a worker killed during a job: the next one takes it over, and its timeout starts again', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    shop.takesSec = () => 50
    const batchId = await begin(world, 1, 'timeout: 1m')
    await pass(shop, 40)
    await pass(shop, 120, false)
    assert.deepEqual(await attemptsOf(world), [], 'it is not given up while it can be taken over')
    shop.worker = hire(shop)
    await pass(shop, 60)
    assert.deepEqual(await attemptsOf(world), ['step-1 succeeded'])
    assert.equal(shop.starts.length, 2)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await because(world, 'retry'), [])
  }))

it('a worker killed during a job that never comes back: lost, and the lost job never runs as well as its retry', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    shop.takesSec = () => 50
    const batchId = await begin(world, 1, 'timeout: 1m, retry: { max_retries: 1, interval: 5s }')
    await pass(shop, 10)
    await pass(shop, 300, false)
    assert.deepEqual(await attemptsOf(world), ['step-1 lost'])
    assert.deepEqual(await because(world, 'retry'), ['retry 1 of 1 in 5 s: no result in time'])
    shop.worker = hire(shop)
    await pass(shop, 60)
    assert.deepEqual(await attemptsOf(world), ['step-1 lost', 'step-1-retry-1 succeeded'])
    assert.equal(shop.starts.length, 2)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('a hold takes what waits out of the queue; what runs ends, and the rest starts at resume', () =>
  story({}, async (world) => {
    const shop = await openShop(world)
    const batchId = await begin(world, 12, 'timeout: 10s')
    await pass(shop, 4)
    await holdBatch(world.engine, order(batchId))
    const running = shop.starts.length
    await pass(shop, 60)
    assert.equal(shop.starts.length, running)
    const done = await outcomes(world)
    assert.equal(done.succeeded, running)
    await resumeBatch(world.engine, order(batchId))
    await pass(shop, 12)
    assert.deepEqual(await phasesOf(world, batchId), ['cutover completed 12: 12 passed'])
    assert.equal(shop.starts.length, 12)
    assert.deepEqual(await because(world, 'retry'), [])
  }))
