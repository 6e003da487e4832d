// A worker's limit: never exceeded, shared fairly; and no jobs at all for an unknown worker.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { attemptsOf, batchOf, because, phasesOf, runbook, step, waitsOf } from './looking.ts'
import { people, START, story, type World } from './world.ts'

const YAML = runbook('wave', { 'prepare T-1h': [step('create', 'timeout: 10m')] })

/** Unsettled jobs, by batch. */
const outstanding = async ({ db }: World): Promise<number[]> =>
  (
    await db.query<{ jobs: number }>(
      `select count(*) filter (where w.kind = 'job') as jobs
         from batches b left join waits w on w.batch_id = b.id group by b.id order by b.id`,
    )
  ).map(({ jobs }) => jobs)

/** Answers the oldest unsettled job. */
async function answerOne(world: World): Promise<void> {
  const [oldest] = await world.db.query<{ jobId: string }>(
    `select job_id from waits where kind = 'job' order by since, step_id limit 1`,
  )
  await world.result(oldest!, { ok: true })
  await world.pass(1)
}

const queued = async ({ db }: World): Promise<number> =>
  (await db.query(`select distinct batch_id from waits where kind = 'slot'`)).length

it('is never exceeded, and the queue limit counts from the sending', () =>
  story({ maxOutstanding: 2 }, async (world) => {
    world.answer = () => 'silent'
    await world.publish(YAML)
    const batchId = await world.batch('wave', 5, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(await outstanding(world), [2])
    assert.deepEqual(await waitsOf(world), [
      'create job 720',
      'create job 720',
      'create slot',
      'create slot',
      'create slot',
    ])
    for (let round = 1; round <= 3; round++) {
      await world.pass(540)
      const out = world.jobs.slice(2 * (round - 1))
      const due = new Date(+START + (round - 1) * 540_000 + 22_200_000).toISOString()
      assert.deepEqual([...new Set(out.map(({ notAfter }) => notAfter))], [due])
      for (const job of out) await world.result(job, { ok: true })
      await world.settle()
    }
    assert.deepEqual(await phasesOf(world, batchId), ['prepare completed 5: 5 passed'])
    assert.equal((await attemptsOf(world)).length, 5)
  }))

it("is the worker's own where it has one", () =>
  story({ maxOutstanding: 1000 }, async (world) => {
    world.answer = () => 'silent'
    await world.db.query(`update workers set max_outstanding = 3`)
    await world.publish(YAML)
    await world.batch('wave', 5, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(await outstanding(world), [3])
  }))

it('is shared by two batches, regardless of which came first', () =>
  story({ maxOutstanding: 4 }, async (world) => {
    world.answer = () => 'silent'
    await world.publish(YAML)
    await world.batch('wave', 8, { startsInMin: 60 })
    await world.settle()
    await world.batch('wave', people(16).slice(8), { startsInMin: 59 })
    await world.settle()
    assert.deepEqual(await outstanding(world), [4, 0])
    await answerOne(world)
    assert.deepEqual(await outstanding(world), [3, 1])
    await answerOne(world)
    assert.deepEqual(await outstanding(world), [2, 2])
    for (let answered = 2; answered < 16; answered++) {
      await answerOne(world)
      const [first = 0, second = 0] = await outstanding(world)
      assert.equal(first + second, Math.min(4, 16 - answered - 1))
      if ((await queued(world)) === 2)
        assert.ok(Math.abs(first - second) <= 1, `${first} and ${second} are level`)
    }
    const ends = await world.db.query('select status from batches')
    assert.deepEqual(ends, [{ status: 'completed' }, { status: 'completed' }])
  }))

it('is shared by three batches; a held batch leaves its share to the others', () =>
  story({ maxOutstanding: 6 }, async (world) => {
    world.answer = () => 'silent'
    await world.publish(YAML)
    for (const wave of [0, 1, 2])
      await world.batch('wave', people(30).slice(wave * 10, wave * 10 + 10), {
        startsInMin: 60 - wave,
      })
    await world.settle()
    assert.deepEqual(await outstanding(world), [2, 2, 2])
    await world.db.query(
      `update batches set held_at = $1, held_by = 'x', held_reason = 'x' where id = 3`,
      [START],
    )
    for (let answered = 0; answered < 6; answered++) await answerOne(world)
    assert.deepEqual(await outstanding(world), [3, 3, 0])
    await world.db.query(
      `update batches set held_at = null, held_by = null, held_reason = null where id = 3`,
    )
    for (let answered = 0; answered < 4; answered++) await answerOne(world)
    assert.deepEqual(await outstanding(world), [2, 2, 2])
  }))

it('sends nothing to an unknown worker, and everything after its hello', () =>
  story({}, async (world) => {
    world.workers = ['w1', 'w2']
    await world.publish(YAML.replaceAll('worker_id: w1', 'worker_id: w2'))
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    await world.pass(3600)
    assert.deepEqual(world.jobs, [])
    assert.deepEqual(await waitsOf(world), ['create slot', 'create slot'])
    const hello = (version: string, at: number) =>
      world.bus.publish([
        {
          topic: 'worker-results',
          messageId: `hello-w2-${at}`,
          type: 'worker-hello',
          body: {
            workerId: 'w2',
            version,
            slots: 4,
            functions: [{ name: 'create', description: null, parameters: {}, result: null }],
          },
        },
      ])
    await hello('1.0', 1)
    await world.settle()
    assert.equal(world.jobs.length, 2)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    const seen = world.clock.now()
    await world.clock.advance(60_000)
    await hello('1.1', 2)
    await world.settle()
    const workers = await world.db.query(
      `select worker_id, version, slots, functions_json -> 0 ->> 'name' as knows, first_seen_at, last_seen_at
         from workers where worker_id = 'w2'`,
    )
    assert.deepEqual(workers, [
      {
        workerId: 'w2',
        version: '1.1',
        slots: 4,
        knows: 'create',
        firstSeenAt: seen,
        lastSeenAt: world.clock.now(),
      },
    ])
    assert.deepEqual(await because(world, 'first_seen'), [
      'worker w2 announced itself with 1 functions',
    ])
  }))
