// A worker that sleeps while it has no jobs, on Service Bus: a scaler that follows KEDA's rules starts and ends its replicas, and the
// worker's first hello comes after its first job.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { configureWorkers } from '../../../src/db/state/workers.ts'
import { loadStuck } from '../../../src/engine/needs/stuck-batches.ts'
import type { Broker } from '../../kit/broker/broker.ts'
import { batchOf, runbook } from '../../stories/looking.ts'
import { overServiceBus } from '../../stories/wire.ts'
import { story, type World } from '../../stories/world.ts'

const SLEEPER = 'sleeper'
const step = (name: string) =>
  `{ name: ${name}, worker_id: ${SLEEPER}, function: ${name}, params: { UserId: "{{UserPrincipalName}}" } }`
const YAML = runbook('wave', { 'prepare T-15m': [step('create')], 'cutover T-0': [step('switch')] })

/** As in infra/automation/modules/worker-app.bicep. */
const POLLING_SEC = 30
const COOLDOWN_SEC = 300
const REPLICAS_MAX = 2
const MESSAGES_PER_REPLICA = 1

/**
 * KEDA's rules: a new deployment has its least replicas. Messages of the subscription count, locked ones too. More than none: at least
 * one replica, then as many as the messages ask for. None for the whole cool-down: no replica.
 */
class Scaler {
  replicas = 0
  #activeAtSec = Number.NEGATIVE_INFINITY
  readonly #broker: Broker

  constructor(broker: Broker) {
    this.#broker = broker
  }

  look(nowSec: number): void {
    const { queue } = this.#broker.namespace.subscription('worker-jobs', `worker-${SLEEPER}`)!
    if (queue.size > 0) {
      this.#activeAtSec = nowSec
      const wanted = Math.ceil(queue.size / MESSAGES_PER_REPLICA)
      this.replicas = Math.min(Math.max(1, wanted), REPLICAS_MAX)
    } else if (nowSec - this.#activeAtSec > COOLDOWN_SEC) this.replicas = 0
  }
}

async function announce(world: World): Promise<void> {
  await world.wire.workers.publish([
    {
      topic: 'worker-results',
      messageId: `hello-${+world.clock.now()}`,
      type: 'worker-hello',
      body: { workerId: SLEEPER, version: '1', slots: 4, functions: [] },
    },
  ])
}

/** Half a minute of the platform: the scaler looks, and a replica that it starts says hello. Returns the replicas. */
async function halfMinute(world: World, scaler: Scaler): Promise<number> {
  const before = scaler.replicas
  scaler.look(+world.clock.now() / 1_000)
  world.workers = scaler.replicas > 0 ? [SLEEPER] : []
  if (before === 0 && scaler.replicas > 0) await announce(world)
  await world.settle()
  await world.pass(POLLING_SEC)
  return scaler.replicas
}

const minutes = async (world: World, scaler: Scaler, count: number): Promise<number[]> => {
  const replicas: number[] = []
  for (let half = 0; half < count * 2; half += 1) replicas.push(await halfMinute(world, scaler))
  return replicas.filter((one, at) => one !== replicas[at - 1])
}

const stuckOf = async ({ db, engine }: World, batchId: number) =>
  (await loadStuck(db, engine.pace, batchId, engine.clock.now()))!.stuck.map(({ kind }) => kind)

const withScaler = (declared: string[], tell: (world: World, scaler: Scaler) => Promise<void>) =>
  story({ wire: overServiceBus([SLEEPER]) }, async (world) => {
    world.workers = []
    await configureWorkers(world.db, declared)
    await world.publish(YAML)
    await tell(world, new Scaler(world.wire.broker!))
  })

describe('a worker that sleeps without jobs', () => {
  it('is woken by its first job, before its first hello, sleeps again, and is woken for the next phase', () =>
    withScaler([SLEEPER], async (world, scaler) => {
      assert.deepEqual(await minutes(world, scaler, 1), [0], 'a new deployment, and no jobs')
      const batchId = await world.batch('wave', 3, { startsInMin: 15 })
      await world.orchestrate()
      assert.deepEqual(
        await stuckOf(world, batchId),
        [],
        'nobody is called for a worker that sleeps',
      )
      assert.deepEqual(await minutes(world, scaler, 7), [2, 0], 'awake, then asleep')
      assert.equal(world.jobs.length, 3)
      assert.deepEqual(await stuckOf(world, batchId), [])
      assert.deepEqual(await minutes(world, scaler, 15), [0, 2, 0], 'woken by the cut-over')
      assert.equal((await batchOf(world, batchId)).status, 'completed')
    }))

  it('is missed five minutes after its first job when nothing wakes it', () =>
    withScaler([SLEEPER], async (world) => {
      const batchId = await world.batch('wave', 3, { startsInMin: 15 })
      await world.orchestrate()
      await world.pass(299)
      assert.deepEqual(await stuckOf(world, batchId), [])
      await world.pass(60)
      assert.deepEqual(await stuckOf(world, batchId), ['worker_silent'])
    }))

  it('is never woken when nobody declared it, and is reported as never seen', () =>
    withScaler([], async (world, scaler) => {
      const batchId = await world.batch('wave', 3, { startsInMin: 15 })
      assert.deepEqual(await minutes(world, scaler, 2), [0])
      assert.deepEqual(await stuckOf(world, batchId), ['worker_unknown'])
    }))
})
