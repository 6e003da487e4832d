// Races on a real server with two connections: PGlite has one. Each pair runs in both orders with the first one stopped just before
// its commit, and then many times at once. Every outcome must be an allowed one.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, it } from 'node:test'
import { workerJobs } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { type Message, readMessage } from '../../../src/domain/messages/messages.ts'
import {
  advanceBatch,
  cancelBatch,
  holdBatch,
  resumeBatch,
} from '../../../src/engine/orders/batch-actions.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import { removeMembers } from '../../../src/engine/orders/member-actions.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { handleMessages } from '../../../src/orchestrator/messages.ts'
import {
  expandPhases,
  fillWorkers,
  settleDeadJobs,
  startDuePhases,
  wakeWaits,
} from '../../../src/orchestrator/timers.ts'
import { openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { batchOf, moveMember, order, phasesOf, runbook, step } from '../../stories/looking.ts'
import { openWorld, people, START, type World } from '../../stories/world.ts'

const ROUNDS = 20
const YAML = runbook('wave', {
  'prepare T-1h': [step('create', 'timeout: 10m, retry: { max_retries: 1, interval: 60s }')],
})

let database: TestDatabase
let second: Db
let world: World
let other: Engine

before(async () => {
  database = await openTestPostgres()
  second = await openPostgres({ url: database.url! })
  world = await openWorld({ database, maxOutstanding: 1000 })
  world.answer = () => 'silent'
  other = { ...world.engine, db: second }
  await world.publish(YAML)
})

after(async () => {
  await second.close()
  await world.close()
})

let made = 0

/** A wave of new members, each with an unsettled job. */
async function wave(members: number, options: { manual?: boolean; startsInMin?: number } = {}) {
  const batch = await freshBatch(members, options)
  await world.settle()
  return batch
}

async function freshBatch(
  members: number,
  { manual = false, startsInMin = 60 }: { manual?: boolean; startsInMin?: number } = {},
): Promise<number> {
  // No two batches of a runbook start in the same second, however far the clock was turned.
  const startsAtMs = +START + startsInMin * 60_000 - ++made * 1000
  const inMinutes = (startsAtMs - +world.clock.now()) / 60_000
  const first = made * 100
  const list = people(first + members).slice(first)
  return world.batch('wave', list, { manual, startsInMin: inMinutes })
}

const memberOf = async (batchId: number, place: number): Promise<number> => {
  const rows = await world.db.query<{ id: number }>(
    'select id from batch_members where batch_id = $1 order by id offset $2 limit 1',
    [batchId, place],
  )
  return rows[0]!.id
}

async function jobsOf(batchId: number): Promise<string[]> {
  const rows = await world.db.query<{ id: string }>(
    `select job_id as id from waits where batch_id = $1 and kind = 'job' order by step_id`,
    [batchId],
  )
  return rows.map(({ id }) => id)
}

function resultOf(jobId: string, status: 'Success' | 'Failure' = 'Success'): Message {
  const read = readMessage('worker-result', JSON.stringify({ jobId, status, result: true }))
  assert.ok(read.ok)
  return read.message
}

type Act = (engine: Engine) => Promise<unknown>
const answers =
  (jobId: string): Act =>
  (engine) =>
    handleMessages(engine, [resultOf(jobId)])

/** Null when the act succeeded, else the refusal. Any other error fails the test. */
async function outcomeOf(act: Promise<unknown>): Promise<string | null> {
  try {
    await act
    return null
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'REFUSED', String(error))
    return (error as Error).message
  }
}

/** An engine whose first transaction stops just before it commits. */
function stopping(engine: Engine) {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isFirst = true
  const db: Db = {
    ...engine.db,
    transaction: (work) =>
      engine.db.transaction(async (tx) => {
        const stops = isFirst
        isFirst = false
        const result = await work(tx)
        if (stops) {
          reached.resolve()
          await released.promise
        }
        return result
      }),
  }
  return { engine: { ...engine, db }, reached: reached.promise, release: released.resolve }
}

const LOOKS_MAX = 5_000

/** Until a connection waits for another's lock. Polls; never sleeps. */
async function untilBlocked(isDone: () => boolean): Promise<void> {
  for (let look = 0; look < LOOKS_MAX && !isDone(); look++) {
    const rows = await world.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
  }
}

/** The first act does everything but commit; then the second starts; when it is blocked, the first commits. */
async function overlap(first: Act, then: Act): Promise<[string | null, string | null]> {
  const { engine, reached, release } = stopping(world.engine)
  const one = outcomeOf(first(engine))
  await Promise.race([reached, one])
  let isDone = false
  const two = outcomeOf(then(other)).finally(() => {
    isDone = true
  })
  await untilBlocked(() => isDone)
  release()
  return Promise.all([one, two])
}

const atOnce = (first: Act, then: Act): Promise<[string | null, string | null]> =>
  Promise.all([outcomeOf(first(world.engine)), outcomeOf(then(other))])

/** A pair in every way: each one first, and many times at once. `begin` creates a fresh pair, `check` checks the end. */
async function race(
  begin: () => Promise<{
    acts: readonly [Act, Act]
    check: (outcomes: readonly (string | null)[]) => Promise<void>
  }>,
): Promise<void> {
  const ways: ((a: Act, b: Act) => Promise<(string | null)[]>)[] = [
    overlap,
    async (a, b) => (await overlap(b, a)).reverse(),
    ...Array.from({ length: ROUNDS }, () => atOnce),
  ]
  for (const way of ways) {
    const { acts, check } = await begin()
    await check(await way(...acts))
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
  }
}

it('the last two results of a phase: one of them closes it', () =>
  race(async () => {
    const batchId = await wave(2)
    const [one, two] = await jobsOf(batchId)
    return {
      acts: [answers(one!), answers(two!)],
      check: async () => {
        assert.deepEqual(await phasesOf(world, batchId), ['prepare completed 2: 2 passed'])
        assert.equal((await batchOf(world, batchId)).status, 'completed')
      },
    }
  }))

it('a result against cancel: cancelled either way, the result counts only if it was first', () =>
  race(async () => {
    const batchId = await wave(2)
    const [one] = await jobsOf(batchId)
    return {
      acts: [answers(one!), (engine) => cancelBatch(engine, order(batchId))],
      check: async () => {
        assert.equal((await batchOf(world, batchId)).status, 'cancelled')
        const steps = await world.db.query<{ status: string; late: boolean }>(
          `select status, late_result_json is not null as late from step_executions where job_id = $1`,
          [one],
        )
        assert.equal(steps[0]!.late, steps[0]!.status === 'cancelled')
        const attempts = await world.db.query('select outcome from attempts where job_id = $1', [
          one,
        ])
        assert.deepEqual(attempts, [{ outcome: 'succeeded' }])
      },
    }
  }))

it('a timer against cancel: nothing is sent after the cancel', () =>
  race(async () => {
    const batchId = await wave(2)
    const [one] = await jobsOf(batchId)
    await handleMessages(world.engine, [resultOf(one!, 'Failure')])
    await world.clock.advance(60_000)
    return {
      acts: [
        async (engine) => {
          await wakeWaits(engine)
          await fillWorkers(engine)
        },
        (engine) => cancelBatch(engine, order(batchId)),
      ],
      check: async () => {
        assert.equal((await batchOf(world, batchId)).status, 'cancelled')
        const open = await world.db.query(
          `select from step_executions where batch_id = $1 and status in ('pending', 'dispatched', 'polling')`,
          [batchId],
        )
        assert.equal(open.length, 0)
        const waiting = await world.db.query(
          `select from waits where batch_id = $1 and kind <> 'job'`,
          [batchId],
        )
        assert.equal(waiting.length, 0)
      },
    }
  }))

it('a due phase against a removal: the removed member has no open step', () =>
  race(async () => {
    const batchId = await freshBatch(2)
    const leaver = await memberOf(batchId, 0)
    return {
      acts: [
        async (engine) => {
          await startDuePhases(engine)
          await expandPhases(engine)
        },
        (engine) => removeMembers(engine, { ...order(batchId), memberIds: [leaver] }),
      ],
      check: async () => {
        await world.settle()
        const open = await world.db.query(
          `select from step_executions where batch_member_id = $1 and status in ('pending', 'dispatched', 'polling')`,
          [leaver],
        )
        assert.equal(open.length, 0)
        const { active, removed } = await batchOf(world, batchId)
        assert.deepEqual([active, removed], [1, 1])
        assert.equal((await jobsOf(batchId)).length, 1)
      },
    }
  }))

it('two advances: one succeeds, the other is refused', () =>
  race(async () => {
    const batchId = await freshBatch(1, { manual: true })
    const advance: Act = (engine) =>
      advanceBatch(engine, {
        batchId,
        actor: 'operator',
        expectedPhase: 'prepare',
        allowStragglers: false,
      })
    return {
      acts: [advance, advance],
      check: async (outcomes) => {
        assert.equal(outcomes.filter((outcome) => outcome === null).length, 1)
        await world.settle()
        assert.equal((await jobsOf(batchId)).length, 1)
      },
    }
  }))

it('a withdrawal against a worker: the job is withdrawn or taken, never both and never neither', () =>
  race(async () => {
    const batchId = await freshBatch(6)
    await world.orchestrate()
    const out = await jobsOf(batchId)
    assert.equal(out.length, 6)
    const taken: string[] = []
    return {
      acts: [
        ({ db, clock }) =>
          db.transaction(async (tx) => {
            const bus = openPostgresBus({
              db: { ...db, query: tx.query },
              clock,
              newToken: randomUUID,
            })
            const received = await bus.receive(workerJobs('w1'), 3)
            taken.push(...received.map(({ messageId }) => messageId))
          }),
        (engine) => holdBatch(engine, order(batchId)),
      ],
      check: async () => {
        const attempts = await world.db.query<{ id: string }>(
          `select job_id as id from attempts where batch_id = $1 and outcome = 'withdrawn'`,
          [batchId],
        )
        const withdrawn = attempts.map(({ id }) => id)
        assert.deepEqual([...withdrawn, ...taken].sort(), out.sort())
        assert.deepEqual(await jobsOf(batchId), taken.sort())
        await handleMessages(
          world.engine,
          taken.map((jobId) => resultOf(jobId)),
        )
        await world.db.query(`delete from bundles where topic = 'worker-jobs'`)
      },
    }
  }))

it('two orchestrators settle one dead job once', () =>
  race(async () => {
    world.answer = () => ({ refuse: 'broken' })
    const batchId = await freshBatch(1)
    await world.orchestrate()
    await world.work()
    world.answer = () => 'silent'
    return {
      acts: [settleDeadJobs, settleDeadJobs],
      check: async () => {
        const attempts = await world.db.query('select outcome from attempts where batch_id = $1', [
          batchId,
        ])
        assert.deepEqual(attempts, [{ outcome: 'dead_lettered' }])
        await cancelBatch(world.engine, order(batchId))
      },
    }
  }))

it('two batches created at once with the same member: one is refused', () =>
  race(async () => {
    const members = people(++made * 100).slice(-1)
    const make =
      (minute: number): Act =>
      async (engine) => {
        const sourceTime = new Date(+world.clock.now() + (minute * 100_000 + made) * 1000)
        try {
          await createBatch(engine, {
            runbookName: 'wave',
            sourceTime,
            members,
            createdBy: 'tester',
          })
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'MEMBER_ELSEWHERE')
        }
      }
    return {
      acts: [make(1), make(2)],
      check: async () => {
        const rows = await world.db.query('select from batch_members where member_key = $1', [
          members[0]!.key,
        ])
        assert.equal(rows.length, 1)
      },
    }
  }))

it('two crossing moves do not deadlock', () =>
  race(async () => {
    const [one, two] = [await wave(2), await wave(2)]
    for (const batchId of [one, two])
      await handleMessages(
        world.engine,
        (await jobsOf(batchId)).slice(0, 1).map((jobId) => resultOf(jobId)),
      )
    const move =
      (batchId: number, toBatchId: number, member: number): Act =>
      (engine) =>
        moveMember(engine, { ...order(batchId), memberId: member, toBatchId })
    return {
      acts: [move(one, two, await memberOf(one, 0)), move(two, one, await memberOf(two, 0))],
      check: async (outcomes) => {
        assert.deepEqual(outcomes, [null, null])
        for (const batchId of [one, two]) {
          const { active, removed } = await batchOf(world, batchId)
          assert.deepEqual([active, removed], [2, 1])
        }
      },
    }
  }))

const LIMIT = 5

/** Two waves that wait for a worker with few slots; all earlier ones are held and take none. */
async function twoNarrowWaves(members: number): Promise<[number, number]> {
  await world.db.query(`delete from bundles`)
  await world.db.query(
    `update batches set held_at = detected_at, held_by = 'x', held_reason = 'x'
      where status in ('active', 'detected') and held_at is null`,
  )
  await world.db.query(
    `insert into workers (worker_id, is_configured, max_outstanding) values ('narrow', true, $1)
     on conflict do nothing`,
    [LIMIT],
  )
  await world.publish(YAML.replaceAll('worker_id: w1', 'worker_id: narrow'))
  const batches: [number, number] = [await freshBatch(members), await freshBatch(members)]
  await startDuePhases(world.engine)
  await expandPhases(world.engine)
  return batches
}

async function narrowJobs(): Promise<number> {
  const [row] = await second.query<{ jobs: number }>(
    `select count(*) as jobs from waits where worker_id = 'narrow' and kind = 'job'`,
  )
  return row!.jobs
}

it('one orchestrator does not use slots that another is filling', async () => {
  const [early, late] = await twoNarrowWaves(10)
  await holdBatch(world.engine, order(early))
  await overlap(
    (engine) => fillWorkers(engine),
    async (engine) => {
      await resumeBatch(engine, order(early))
      await fillWorkers(engine)
    },
  )
  assert.equal((await jobsOf(late)).length, LIMIT)
  assert.equal(await narrowJobs(), LIMIT)
  for (const batchId of [early, late]) await cancelBatch(world.engine, order(batchId))
  assert.equal(await narrowJobs(), 0)
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
})

it("two orchestrators and the results of two batches never exceed a worker's limit", async () => {
  const batches = await twoNarrowWaves(30)
  const outNow = async () => (await Promise.all(batches.map(jobsOf))).flat()
  let most = 0
  const watch = async () => {
    most = Math.max(most, await narrowJobs())
  }
  for (let round = 0; round < 60; round++) {
    const results = (await outNow()).map((jobId) => resultOf(jobId))
    await Promise.all([
      fillWorkers(world.engine),
      fillWorkers(other),
      handleMessages(world.engine, results.slice(0, 2)),
      handleMessages(other, results.slice(2, 3)),
      ...Array.from({ length: 5 }, watch),
    ])
    await watch()
  }
  assert.equal(most, LIMIT)
  assert.deepEqual(await outNow(), [])
  const ends = await Promise.all(batches.map(async (id) => (await batchOf(world, id)).status))
  assert.deepEqual(ends, ['completed', 'completed'])
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
})
