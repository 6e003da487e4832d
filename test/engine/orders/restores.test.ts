// How a restore is noticed: PostgreSQL shows it, a running process misses what it has seen, or a worker knows a later time. Until a new
// epoch has begun, nothing is decided.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { setUpRole } from '../../../src/app/upkeep/database-roles.ts'
import { isTransient } from '../../../src/base/errors/transient.ts'
import { workerJobs } from '../../../src/bus/bus.ts'
import { openPostgresBus, type PostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import type { LastSeen } from '../../../src/db/state/epochs.ts'
import { findHold } from '../../../src/db/state/holds.ts'
import { SYSTEM } from '../../../src/domain/state/holds.ts'
import { resumeScope } from '../../../src/engine/orders/holds.ts'
import { beginEpoch, makeRestoreWatch, noticeRestore } from '../../../src/engine/orders/restores.ts'
import { expandPhases, fillWorkers, startDuePhases } from '../../../src/orchestrator/timers.ts'
import { openRole } from '../../kit/database-roles.ts'
import { DATABASES, openTestPostgres } from '../../kit/databases.ts'
import { onServer } from '../../kit/postgres-server.ts'
import { variants } from '../../kit/variants.ts'
import { deadLettersOf } from '../../stories/foreign-mail.ts'
import { because, runbook, step, stepsOf, waitsOf } from '../../stories/looking.ts'
import { openWorld, people, START, story, type World } from '../../stories/world.ts'

const YAML = runbook('wave', {
  'cutover T-0': [step('create'), step('sync', 'poll: { interval: 60s, timeout: 10m }')],
})

const epochs = ({ db }: World) =>
  db.query<{ number: number }>('select number from epochs order by number')
const isHeld = async ({ db }: World) => (await findHold(db, SYSTEM)) !== null

/** As if the epoch had begun on another PostgreSQL. */
const moved = ({ db }: World, part: 1 | 2 | 3) =>
  db.query(
    `update epochs set sign = concat_ws('/', ${[1, 2, 3]
      .map((at) => (at === part ? `'other'` : `split_part(sign, '/', ${at})`))
      .join(', ')})`,
  )

describe('a restore that PostgreSQL shows', () => {
  for (const [part, told] of [
    [1, /another PostgreSQL server/],
    [2, /created again on its server/],
    [3, /recovered to a point in time, or a standby took over/],
  ] as const)
    it(`is noticed once at the start: ${told.source}`, async () => {
      await story({ database: await openTestPostgres() }, async (world) => {
        assert.equal(await noticeRestore(world.engine), null)
        assert.equal(await noticeRestore(world.engine), null)
        await world.publish(YAML)
        await world.batch('wave', 2)
        await world.orchestrate()
        await moved(world, part)
        await assert.rejects(world.batch('wave', [], { startsInMin: 5 }), {
          code: 'DATABASE_RESTORED',
        })
        await world.result({ jobId: 'step-1' }, { ok: true })
        await assert.rejects(world.orchestrate(), { code: 'DATABASE_RESTORED' })
        assert.deepEqual((await stepsOf(world, 1))[0], 'create dispatched')
        await world.clock.advance(120_000)
        const both = await Promise.all([noticeRestore(world.engine), noticeRestore(world.engine)])
        assert.equal(both.filter((one) => one !== null).length, 1)
        assert.match(both.find((one) => one !== null)!.hold.reason, told)
        assert.deepEqual((await epochs(world)).length, 2)
        await world.orchestrate()
        assert.equal((await because(world, 'result_before_restore')).length, 1)
        assert.deepEqual((await stepsOf(world, 1))[0], 'create pending')
        assert.ok(await isHeld(world))
        const audit = await world.db.query(`select from audit where action = 'system.restored'`)
        assert.equal(audit.length, 1)
      })
    })

  it('is shown by a copy of the database', async () => {
    const first = await openTestPostgres()
    const world = await openWorld({ database: first })
    await noticeRestore(world.engine)
    const name = new URL(first.url!).pathname.slice(1)
    const server = process.env.TEST_POSTGRES_URL!
    await world.bus.close()
    await first.db.close()
    await onServer(server, `create database ${name}_copy template ${name}`)
    const url = first.url!.replace(name, `${name}_copy`)
    const db = await openPostgres({ url })
    try {
      const restored = await noticeRestore({ ...world.engine, db })
      assert.match(restored!.hold.reason, /created again on its server/)
    } finally {
      await db.close()
      for (const one of [name, `${name}_copy`])
        await onServer(server, `drop database ${one} with (force)`)
    }
  })

  it('is no restore when a standby took over and nobody misses anything for ten seconds', async () => {
    await story({ database: await openTestPostgres() }, async (world) => {
      await noticeRestore(world.engine)
      await world.publish(YAML)
      await world.batch('wave', 1)
      const look = makeRestoreWatch(world.engine)
      const otherLook = makeRestoreWatch({ ...world.engine, seen: { event: null } })
      assert.equal(await look(), null)
      assert.equal(await otherLook(), null)
      await moved(world, 3)
      for (const one of [look, otherLook]) assert.equal(await one(), null)
      await world.clock.advance(9_999)
      for (const one of [look, otherLook]) assert.equal(await one(), null)
      assert.deepEqual(await because(world, 'failed_over'), [], 'it is not known yet')
      await world.clock.advance(1)
      for (const one of [look, otherLook]) assert.equal(await one(), null)
      assert.equal((await because(world, 'failed_over')).length, 1)
      assert.equal(await noticeRestore(world.engine), null)
      assert.equal(await isHeld(world), false)
      await world.settle()
    })
  })
})

describe('a worker process', () => {
  /** Two processes of worker w1. */
  const workers = (world: World) => {
    const { db, clock } = world
    const open = () => openPostgresBus({ db, clock, newToken: randomUUID })
    const [busy, idle] = [open(), open()]
    const take = (bus: PostgresBus) => bus.receive(workerJobs('w1'), 10)
    return { busy, idle, take }
  }

  const wave = (work: (world: World) => Promise<void>) => async () =>
    story({ database: await openTestPostgres() }, async (world) => {
      await noticeRestore(world.engine)
      await world.publish(YAML)
      await work(world)
    })

  it(
    'takes no job of a restored queue before the new epoch has begun, though another process may have run it',
    wave(async (world) => {
      const { busy, idle, take } = workers(world)
      await world.batch('wave', 2)
      await world.orchestrate()
      // The backup: two jobs wait. What happens after it is seen by both processes, and is gone with the restore.
      await world.db.query(
        `insert into events (at, entity, event, actor, because) values ($1, 'system', 'lost', 'ann', 'she did something')`,
        [world.clock.now()],
      )
      for (const bus of [idle, busy]) await bus.receive(workerJobs('w1'), 0)
      await world.db.query(`delete from events where event = 'lost'`)
      for (const bus of [idle, busy]) {
        await assert.rejects(take(bus), { code: 'MT001' })
        await assert.rejects(take(bus), (error) => isTransient(error), 'it waits, and stays alive')
      }
      await world.clock.advance(60_000)
      await beginEpoch(world.engine, { actor: 'ann', because: 'the disk was lost' })
      for (const bus of [idle, busy])
        assert.deepEqual(
          (await take(bus)).filter(({ type }) => type === 'worker-job'),
          [],
          'the jobs of the former epoch are gone',
        )
      await resumeScope(world.engine, { ...SYSTEM, scope: 'system', actor: 'ann', reason: 'ok' })
      await world.settle()
      assert.ok(world.jobs.every(({ jobId }) => jobId.includes('~')))
    }),
  )

  it(
    'takes no job after a failover until it is accepted, even if it has just started',
    wave(async (world) => {
      const { idle, take } = workers(world)
      const look = makeRestoreWatch(world.engine)
      await look()
      await world.batch('wave', 2)
      await world.orchestrate()
      await moved(world, 3)
      await look()
      await assert.rejects(take(idle), { code: 'MT001' })
      await world.clock.advance(10_000)
      await look()
      assert.equal((await take(idle)).length, 2)
    }),
  )
})

describe('a failover that lost commits', () => {
  it('is a restore if one of the processes misses its last commit, though the others miss nothing', async () => {
    await story({ database: await openTestPostgres() }, async (world) => {
      await noticeRestore(world.engine)
      await world.publish(YAML)
      const look = makeRestoreWatch(world.engine)
      const seen: LastSeen = { event: null }
      const other = { ...world.engine, seen }
      const otherLook = makeRestoreWatch(other)
      await look()
      await otherLook()
      // Its own last commit, between two looks.
      await world.batch('wave', 1)
      await world.orchestrate()
      const lost = [seen.event!.id]
      await world.db.query('create table kept as select * from events where id > $1', lost)
      await world.db.query('delete from events where id > $1', lost)
      await moved(world, 3)
      assert.equal(await otherLook(), null)
      assert.deepEqual(await because(world, 'failed_over'), [])
      const restored = await look()
      assert.match(restored!.hold.reason, /event \d+ was in the database and is gone/)
      assert.equal(await otherLook(), null)
      await world.clock.advance(60_000)
      assert.equal(await otherLook(), null)
      assert.equal((await epochs(world)).length, 2)
      assert.deepEqual(await because(world, 'failed_over'), [])
      await world.db.query('insert into events overriding system value select * from kept')
    })
  })
})

for (const database of variants(DATABASES))
  describe(`a restore on ${database.kind} that only its users can tell`, () => {
    const told = (tell: (world: World) => Promise<void>) => async () =>
      story({ database: await database.open() }, async (world) => {
        await noticeRestore(world.engine)
        await world.publish(YAML)
        await world.batch('wave', 2)
        await tell(world)
      })

    it(
      'is noticed by a process that misses what it has seen',
      told(async (world) => {
        await world.orchestrate()
        const look = makeRestoreWatch(world.engine)
        await world.db.query(
          `insert into events (at, entity, event, actor, because) values ($1, 'system', 'lost', 'ann', 'she did something')`,
          [world.clock.now()],
        )
        await look()
        const { seen } = world.engine
        const other = { ...world.engine, seen: { ...seen } }
        const otherLook = makeRestoreWatch(other)
        await otherLook()
        await world.db.query(`delete from events where event = 'lost'`)
        // Not even in the second before somebody looks is anything booked, sent or given up.
        await world.result({ jobId: 'step-1' }, { ok: true })
        await world.result({ jobId: 'step-77' }, { ok: true })
        await assert.rejects(world.orchestrate(), { code: 'DATABASE_RESTORED' })
        assert.deepEqual((await stepsOf(world, 1))[0], 'create dispatched')
        assert.deepEqual(await deadLettersOf(world), [])
        // Something else happened since: the number alone would not tell.
        await world.db.query(
          `insert into events (at, entity, event, actor, because) values ($1, 'system', 'told', 'bob', 'he did something')`,
          [new Date(+world.clock.now() + 1)],
        )
        await world.clock.advance(120_000)
        const restored = await look()
        assert.match(restored!.hold.reason, /event \d+ was in the database and is gone/)
        assert.equal(await look(), null)
        assert.equal(await otherLook(), null, 'the other process sees that it was noticed')
        assert.equal((await epochs(world)).length, 2)
        await world.orchestrate()
        assert.equal((await because(world, 'result_before_restore')).length, 2)
        assert.deepEqual(await deadLettersOf(world), [])
      }),
    )

    it(
      'does not follow from an answer that names an epoch which the database never began',
      told(async (world) => {
        await world.orchestrate()
        await world.result({ jobId: 'step-1~k3f2qz' }, { ok: true })
        await world.result({ jobId: 'step-2' }, { ok: true })
        await world.orchestrate()
        assert.ok(!(await isHeld(world)))
        assert.equal((await epochs(world)).length, 1)
        assert.deepEqual(await deadLettersOf(world), [
          'UnknownEpoch: The worker-result names epoch k3f2qz, which this database never began. If it was restored from a backup, run "matoolkit db restored".',
        ])
        // In a restored database it tells what ran in a life that is gone.
        await beginEpoch(world.engine, { actor: 'ann', because: 'the disk was lost' })
        await world.result({ jobId: 'step-1~aaaaaa' }, { ok: true })
        await world.orchestrate()
        assert.equal((await epochs(world)).length, 2)
        assert.equal((await because(world, 'result_before_restore')).length, 1)
      }),
    )

    it(
      'sends nothing to a member whose earlier job is out, though others are sent first after the resume',
      told(async (world) => {
        await world.orchestrate()
        await beginEpoch(world.engine, { actor: 'ann', because: 'the disk was lost' })
        const late = people(4).slice(2)
        await world.batch('wave', late, { startsInMin: 0.1 })
        await world.clock.advance(10_000)
        // Phases and slots have loops of their own: here they run before the one that gives jobs back.
        const others = async () => {
          await startDuePhases(world.engine)
          await expandPhases(world.engine)
          await fillWorkers(world.engine)
        }
        await others()
        await world.work()
        assert.equal(world.jobs.length, 0, 'nothing is sent on hold')
        await resumeScope(world.engine, { ...SYSTEM, scope: 'system', actor: 'ann', reason: 'ok' })
        await others()
        const sent = await world.db.query<{ key: string; isNew: boolean }>(
          `select m.member_key as key, w.job_id like '%~%' as is_new from waits w join batch_members m on m.id = w.batch_member_id
            where w.kind = 'job' order by 1`,
        )
        assert.deepEqual(
          sent.map(({ isNew }) => isNew),
          [false, false, true, true],
        )
        await world.settle()
        const created = world.jobs.filter(({ functionName }) => functionName === 'create')
        assert.equal(created.length, 4, 'each once, under the new epoch')
        assert.ok(created.every(({ jobId }) => jobId.includes('~')))
        assert.deepEqual(await because(world, 'retry'), [])
      }),
    )

    for (const order of ['given back before the resume', 'given back after it'])
      it(
        `gives polls the time back that was lost, and costs no retry; jobs ${order}`,
        told(async (world) => {
          let polls = 0
          // The first member's poll is out when the database is lost; the second waits for its next.
          world.answer = ({ functionName }) => {
            if (functionName !== 'sync') return { ok: true }
            return ++polls === 3 ? 'silent' : { ok: { complete: false } }
          }
          await world.pass(1)
          await world.pass(60)
          assert.deepEqual(
            (await waitsOf(world)).map((line) => line.split(' ')[1]),
            ['job', 'poll'],
          )
          // Seven hours between the backup and the restore; the poll's ten minutes are long over.
          await world.clock.advance(7 * 3_600_000)
          await beginEpoch(world.engine, { actor: 'ann', because: 'the disk was lost' })
          if (order === 'given back before the resume') await world.pass(3_600)
          const resume = { ...SYSTEM, scope: 'system', actor: 'ann', reason: 'ok' } as const
          await resumeScope(world.engine, resume)
          world.answer = () => ({ ok: true })
          await world.pass(61)
          // Given back only now, the poll waits for its interval again.
          await world.pass(60)
          for (const member of [1, 2])
            assert.deepEqual(await stepsOf(world, member), ['create succeeded', 'sync succeeded'])
          assert.deepEqual(await because(world, 'time_out'), [])
          assert.deepEqual(await because(world, 'retry'), [])
        }),
      )
  })

describe('with separate database roles', () => {
  it('the application begins an epoch, sends again under new numbers, and skips none otherwise', async () => {
    const test = await openTestPostgres()
    const app = await openRole(test, 'app')
    await setUpRole(test.db, { name: app.name, workerIds: [] }, START)
    const close = async () => {
      await app[Symbol.asyncDispose]()
      await test.close()
    }
    await story({ database: { db: app.db, close } }, async (world) => {
      // The owner migrates and may start first: both roles must see the same sign, or every start looks like a restore.
      assert.equal(await noticeRestore({ ...world.engine, db: test.db }), null)
      assert.equal(await noticeRestore(world.engine), null)
      await assert.rejects(app.db.query('select skip_numbers()'), /only when an epoch begins/)
      await assert.rejects(app.db.query(`select setval('batches_id_seq', 1)`), { code: '42501' })
      await world.publish(runbook('wave', { 'cutover T-0': [step('create')] }))
      await world.batch('wave', 2)
      await world.orchestrate()
      const restored = await beginEpoch(world.engine, {
        actor: 'ann',
        because: 'the disk was lost',
      })
      assert.equal(restored!.jobsOut, 2)
      await world.orchestrate()
      assert.deepEqual(
        await app.db.query(`select from bundles where message_type = 'worker-job'`),
        [],
      )
      await resumeScope(world.engine, { ...SYSTEM, scope: 'system', actor: 'ann', reason: 'ok' })
      await world.clock.advance(5_000)
      assert.equal(await world.batch('wave', people(4).slice(2)), 2_001)
      await world.orchestrate()
      const jobs = await app.db.query<{ jobId: string }>(
        `select job_id from waits where kind = 'job' order by batch_id, step_id`,
      )
      assert.equal(jobs.length, 4)
      for (const { jobId } of jobs) assert.ok(jobId.endsWith(`~${restored!.epoch}`), jobId)
      await assert.rejects(app.db.query('select skip_numbers()'), /only when an epoch begins/)
    })
  })
})
