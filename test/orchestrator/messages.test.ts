// A poison message harms only itself and holds only its batch; an unavailable database changes nothing.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { WORKER_RESULTS } from '../../src/bus/bus.ts'
import { makeConsumer } from '../../src/bus/consumer.ts'
import type { Db } from '../../src/db/connection/db.ts'
import { resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import type { Engine } from '../../src/engine/transactions/engine.ts'
import { RunbookCache } from '../../src/engine/transactions/runbook-cache.ts'
import { handleChunk } from '../../src/orchestrator/orchestrator.ts'
import { runTimers } from '../../src/orchestrator/timers.ts'
import { attemptsOf, batchOf, because, memberId, order, runbook, step } from '../stories/looking.ts'
import { people, story, type World } from '../stories/world.ts'

const YAML = runbook('wave', {
  'prepare T-1h': [step('create', 'timeout: 10m, retry: { max_retries: 1, interval: 60s }')],
})

/** Three members with unsettled jobs. */
async function begin(world: World): Promise<number> {
  world.answer = () => 'silent'
  await world.publish(YAML)
  const batchId = await world.batch('wave', 3, { startsInMin: 60 })
  await world.settle()
  return batchId
}

const setVersion = async (world: World, member: number, version: number) => {
  await world.db.query(
    'update step_executions set runbook_version = $2 where batch_member_id = $1',
    [member, version],
  )
}

const letters = ({ db }: World) =>
  db.query<{ id: number; reason: string; description: string }>(
    'select id, reason, description from dead_letters where replayed_at is null order by id',
  )

it('dead-letters only the poison message, applies its group and holds the batch', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    const broken = await memberId(world, batchId, 2)
    await setVersion(world, broken, 99)
    for (const job of world.jobs) await world.result(job, { ok: true })
    await world.orchestrate()
    assert.deepEqual(await attemptsOf(world), ['step-1 succeeded', 'step-3 succeeded'])
    const [letter, ...others] = await letters(world)
    assert.equal(others.length, 0)
    assert.equal(letter!.reason, 'HandlerFailed')
    assert.equal(letter!.description, 'version 99 of runbook wave is not in the database')
    const reason = 'a change failed: version 99 of runbook wave is not in the database'
    assert.equal((await batchOf(world, batchId)).held, reason)
    assert.deepEqual(await because(world, 'held'), [reason])

    await setVersion(world, broken, 1)
    await world.bus.deadLetters.replay(String(letter!.id), 'operator')
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.equal((await attemptsOf(world)).at(-1), 'step-2 succeeded')
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('holds a batch whose runbook can no longer be read; another batch in the chunk continues', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.publish(YAML.replace('name: wave', 'name: other'))
    const other = await world.batch('other', 1, { startsInMin: 60 })
    await world.settle()
    const [kept] = await world.db.query<{ yaml: string }>(
      `update runbooks r set yaml_content = 'nonsense' from runbooks o where o.id = r.id and r.name = 'wave'
       returning o.yaml_content as yaml`,
    )
    for (const job of world.jobs) await world.result(job, { ok: true })
    const received = await world.bus.receive(WORKER_RESULTS, 10)
    const outcomes = await handleChunk({ ...world.engine, runbooks: new RunbookCache() }, received)
    assert.deepEqual(
      outcomes.map((outcome) => (outcome === 'ack' ? outcome : 'dead letter')),
      ['dead letter', 'dead letter', 'dead letter', 'ack'],
    )
    assert.match(
      (await batchOf(world, batchId)).held!,
      /^a change failed: version 1 of runbook wave can no longer be read/,
    )
    const { status, held } = await batchOf(world, other)
    assert.deepEqual([status, held], ['completed', null])

    await world.db.query(`update runbooks set yaml_content = $1 where name = 'wave'`, [kept!.yaml])
    await resumeBatch(world.engine, order(batchId))
    await handleChunk(world.engine, received)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('holds the batch of a failing timer and runs the others', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    const other = await world.batch('wave', people(4).slice(3), { startsInMin: 59 })
    await world.settle()
    const broken = await memberId(world, batchId, 2)
    await setVersion(world, broken, 99)
    await world.clock.advance(720_000)
    await world.orchestrate()
    assert.match((await batchOf(world, batchId)).held!, /version 99 of runbook wave is not in/)
    assert.equal((await batchOf(world, other)).held, null)
    assert.deepEqual(await attemptsOf(world), ['step-4 lost'])
    await setVersion(world, broken, 1)
    await world.orchestrate()
    assert.equal((await attemptsOf(world)).length, 4)
    await resumeBatch(world.engine, order(batchId))
    world.answer = () => ({ ok: true })
    await world.pass(60)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

/** Every statement in a transaction after the first `statements` fails, as when the server goes away. */
function failingAfter(db: Db, statements: number): Db {
  return {
    ...db,
    transaction: (work) =>
      db.transaction((tx) => {
        let left = statements
        const unlessGone = async <T>(run: () => Promise<T>): Promise<T> => {
          if (left-- > 0) return run()
          const gone = new Error('terminating connection due to administrator command')
          throw Object.assign(gone, { code: '57P01' })
        }
        return work({
          ...tx,
          query: (sql, values) => unlessGone(() => tx.query(sql, values)),
          change: (sql, values) => unlessGone(() => tx.change(sql, values)),
        })
      }),
  }
}

for (const statements of [0, 2, 5, 9]) {
  it(`delivers all messages again and changes nothing when the database goes away after ${statements} statements`, () =>
    story({}, async (world) => {
      const batchId = await begin(world)
      for (const job of world.jobs) await world.result(job, { ok: true })
      const before = await world.db.query('select * from step_executions order by id')
      const engine: Engine = { ...world.engine, db: failingAfter(world.db, statements) }
      const errors: unknown[] = []
      const consumer = makeConsumer({
        name: 'results',
        bus: world.bus,
        subscription: WORKER_RESULTS,
        handle: (messages) => handleChunk(engine, messages),
        clock: world.clock,
        chunk: 10,
        onError: (error) => errors.push(error),
      })
      assert.equal(await consumer.runOnce(), 3)
      assert.deepEqual(
        errors.map((error) => (error as { code: string }).code),
        ['57P01'],
      )
      assert.deepEqual(await world.db.query('select * from step_executions order by id'), before)
      assert.deepEqual(await attemptsOf(world), [])
      assert.deepEqual(await letters(world), [])
      await assert.rejects(
        runTimersAfter(world, engine),
        { code: '57P01' },
        'timers say so too, and hold nothing',
      )
      assert.equal((await batchOf(world, batchId)).held, null)
      await world.pass(1)
      assert.equal((await batchOf(world, batchId)).status, 'completed')
    }))
}

/** The jobs' deadlines have passed on this engine's clock, so its timers have work. */
const runTimersAfter = (world: World, engine: Engine) =>
  runTimers({ ...engine, clock: { now: () => new Date(+world.clock.now() + 720_000) } })
