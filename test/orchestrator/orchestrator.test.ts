import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type Bus,
  NO_CAPABILITIES,
  type ReceivedMessage,
  type Subscription,
  type Topic,
} from '../../src/bus/bus.ts'
import { handleChunk, makeOrchestrator } from '../../src/orchestrator/orchestrator.ts'
import { START, story, type World } from '../stories/world.ts'

const YAML = `
name: wave
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
phases:
  - name: cut-over
    offset: T-0
    steps: [{ name: switch, worker_id: w1, function: F }]
`

/** Runs an orchestrator on the world's clock. What `over` gives replaces the methods of the world's bus. */
async function orchestrating(
  world: World,
  over: Partial<Bus>,
  work: () => Promise<void>,
): Promise<unknown[]> {
  const errors: unknown[] = []
  const { engine, clock } = world
  const orchestrator = makeOrchestrator({
    engine,
    clock,
    bus: { ...world.bus, ...over },
    chunk: 100,
    onError: (error) => errors.push(error),
  })
  orchestrator.start()
  try {
    await work()
  } finally {
    await orchestrator.stop()
  }
  return errors
}

/** Advances the clock until `isDone`. In small steps: the loops talk to a database, which the virtual clock does not wait for. */
async function advanceUntil({ clock }: World, isDone: () => Promise<boolean>): Promise<void> {
  for (let step = 0; step < 1_000; step += 1) {
    if (await isDone()) return
    await clock.advance(250)
  }
  assert.fail('not done after 250 s')
}

it('sweeps the bus at start and every five seconds', () =>
  story({}, async (world) => {
    const sweptAt: number[] = []
    const sweep = async () => void sweptAt.push(+world.clock.now() - +START)
    const errors = await orchestrating(world, { sweep }, () =>
      advanceUntil(world, async () => {
        await world.db.query('select 1')
        return sweptAt.length === 3
      }),
    )
    const [first, second, third] = sweptAt as [number, number, number]
    assert.equal(first, 0)
    assert.ok(second >= 5_000 && third >= second + 5_000, `swept at ${sweptAt} ms`)
    assert.deepEqual(errors, [])
  }))

it('begins phases when they fall due, not at the next look a second later', () =>
  story({}, async (world) => {
    const names = ['early', 'wave', 'late']
    for (const name of names) await world.publish(YAML.replace('wave', name))
    for (const [place, name] of names.entries()) {
      const id = await world.batch(name, 3, { startsInMin: 1 })
      const dueAt = new Date(+START + [1_350, 1_400, 2_650][place]!)
      await world.db.query('update phase_executions set due_at = $2 where batch_id = $1', [
        id,
        dueAt,
      ])
    }
    const lateMs = () =>
      world.db.query<{ ms: number | null }>(
        'select extract(epoch from dispatched_at - due_at)::float8 * 1000 as ms from phase_executions order by batch_id',
      )
    const errors = await orchestrating(world, {}, async () => {
      for (let ms = 0; (await lateMs()).some((late) => late.ms === null); ms += 10) {
        assert.ok(ms < 10_000, 'some phases did not begin')
        await world.clock.advance(10)
        // The loops' queries run between these.
        for (let turn = 0; turn < 5; turn += 1) await world.db.query('select 1')
      }
    })
    for (const late of await lateMs())
      assert.ok(late.ms! >= 0 && late.ms! < 300, `${late.ms} ms late`)
    assert.deepEqual(errors, [])
  }))

it('works on a transport that gives no hints and stores no jobs', () =>
  story({}, async (world) => {
    const bus: Bus = {
      ...world.bus,
      listen: async () => async () => {},
      locate: async (_topic, ids) => ids.map(() => ({ is: 'unknown' })),
      storedJobs: null,
      capabilities: NO_CAPABILITIES,
    }
    const bare: World = { ...world, engine: { ...world.engine, bus }, bus }
    await world.publish(YAML)
    const batchId = await world.batch('wave', 3)
    const isCompleted = async () => {
      await world.work()
      const sql = `select from batches where id = $1 and status = 'completed'`
      return (await world.db.query(sql, [batchId])).length === 1
    }
    const errors = await orchestrating(bare, {}, () => advanceUntil(world, isCompleted))
    assert.deepEqual(errors, [])
  }))

it('reports a failure to listen and continues by polling', () =>
  story({}, async (world) => {
    const refused: Subscription[] = []
    const listen: Bus['listen'] = async (subscription) => {
      refused.push(subscription)
      throw new Error('no connection')
    }
    await world.publish(YAML)
    await world.batch('wave', 1)
    const errors = await orchestrating(world, { listen }, () =>
      advanceUntil(world, async () => (await world.work()) === 1),
    )
    assert.equal(errors.length, refused.length)
    assert.match(String(errors[0]), /no connection/)
  }))

/** The one job of the wave is with its worker, which has not answered. */
async function sendStep(world: World): Promise<void> {
  await world.publish(YAML)
  await world.batch('wave', 1)
  await world.orchestrate()
  world.answer = () => 'silent'
  await world.work()
}

it('takes messages without a MessageType property: the body or the topic names the type', () =>
  story({}, async (world) => {
    await sendStep(world)
    const received = (topic: Topic, body: object) =>
      ({
        topic,
        type: null,
        properties: {},
        body: JSON.stringify(body),
      }) as unknown as ReceivedMessage
    const outcomes = await handleChunk(world.engine, [
      received('worker-results', { jobId: 'step-1', status: 'Success', result: true }),
      received('worker-results', { messageType: 'worker-hello', workerId: 'w9', functions: [] }),
      received('orchestrator-events', { MessageType: 'batch-init', BatchId: 1 }),
      received('orchestrator-events', { BatchId: 1 }),
    ])
    assert.deepEqual(outcomes.slice(0, 3), ['ack', 'ack', 'ack'])
    assert.match(JSON.stringify(outcomes[3]), /The message type is missing; known: /)
    const rows = await world.db.query<{ status: string }>('select status from step_executions')
    assert.deepEqual(rows, [{ status: 'succeeded' }])
    const seen = await world.db.query(`select worker_id from workers where worker_id = 'w9'`)
    assert.equal(seen.length, 1)
  }))

it('refuses a result whose sender is no worker, and holds nothing', () =>
  story({}, async (world) => {
    await sendStep(world)
    const senders = ['\0', '', 'a worker', 'x'.repeat(64), '\u202ew1']
    const results = senders.map((WorkerId) => ({
      topic: 'worker-results',
      type: 'worker-result',
      properties: { WorkerId },
      body: JSON.stringify({ jobId: 'step-1', status: 'Success', result: true }),
    }))
    const outcomes = await handleChunk(world.engine, results as unknown as ReceivedMessage[])
    for (const outcome of outcomes) {
      assert.ok(typeof outcome === 'object' && 'deadLetter' in outcome)
      assert.equal(outcome.deadLetter, 'WrongSender')
      assert.match(
        outcome.description,
        /^The property WorkerId of a worker-result names no worker: ".*"\.$/,
      )
      assert.doesNotMatch(outcome.description, /\0/)
    }
    const rows = await world.db.query(
      'select s.status, b.held_reason from step_executions s join batches b on b.id = s.batch_id',
    )
    assert.deepEqual(rows, [{ status: 'dispatched', heldReason: null }])
  }))
