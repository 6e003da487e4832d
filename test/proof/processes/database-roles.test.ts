// Database roles on a real server: an application and workers that have exactly what they need, and cannot do more.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { z } from 'zod'
import { setUpRole, whyUnfit } from '../../../src/app/upkeep/database-roles.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { WORKER_RESULTS, workerJobs } from '../../../src/bus/bus.ts'
import { openPostgresBus, type PostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { reportRole } from '../../../src/bus/role-rights.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { insertAudit } from '../../../src/db/orders/audit.ts'
import { verifyAudit } from '../../../src/db/orders/audit-chain.ts'
import { pruneAudit } from '../../../src/db/orders/audit-pruning.ts'
import { sealAudit } from '../../../src/db/orders/audit-sealing.ts'
import { applicationTables, type DatabaseRole } from '../../../src/db/schema/database-roles.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { defineFunction } from '../../../src/worker/functions/catalogue.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { drain, job } from '../../bus/under-test.ts'
import { openRole, type TestRole } from '../../kit/database-roles.ts'
import { openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { start } from '../../kit/processes.ts'
import { batchOf, runbook, step } from '../../stories/looking.ts'
import { START, story } from '../../stories/world.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-roles-'))
after(() => rmSync(folder, { recursive: true }))

interface Roles {
  readonly test: TestDatabase
  readonly app: TestRole
  readonly w1: TestRole
  readonly w2: TestRole
  close(): Promise<void>
}

/** A database with the schema, and three roles that are set up. */
async function openRoles(): Promise<Roles> {
  const test = await openTestPostgres()
  const [app, w1, w2] = [
    await openRole(test, 'app'),
    await openRole(test, 'w1'),
    await openRole(test, 'w2'),
  ]
  for (const role of recorded({ app, w1, w2 })) await setUpRole(test.db, role, START)
  return {
    test,
    app,
    w1,
    w2,
    close: async () => {
      for (const role of [app, w1, w2]) await role[Symbol.asyncDispose]()
      await test.close()
    },
  }
}

const recorded = ({ app, w1, w2 }: Pick<Roles, 'app' | 'w1' | 'w2'>): DatabaseRole[] => [
  { name: app.name, workerIds: [] },
  { name: w1.name, workerIds: ['w1'] },
  { name: w2.name, workerIds: ['w2'] },
]

const busOn = (db: Db): PostgresBus =>
  openPostgresBus({ db, clock: { now: () => START }, newToken: randomUUID })

const REFUSED = { code: '42501' }

describe('database roles', () => {
  let roles: Roles
  before(async () => {
    roles = await openRoles()
  })
  after(() => roles.close())

  it('have exactly their rights, also after setting them up again', async () => {
    for (const role of recorded(roles)) {
      const nothing = { missing: [], excess: [] }
      assert.deepEqual(await reportRole(roles.test.db, role), nothing, role.name)
      assert.deepEqual(await setUpRole(roles.test.db, role, START), nothing)
    }
    const tables = await roles.test.db.query<{ name: string }>(
      `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') order by 1`,
    )
    assert.deepEqual(
      Object.keys(applicationTables()).sort(),
      tables.map(({ name }) => name),
    )
  })

  it('are found with more or less than they need', async () => {
    const { test, w2 } = roles
    const role = { name: w2.name, workerIds: ['w2'] }
    await test.db.script(`
      revoke delete on bundles from ${w2.name}; grant select on batch_members to ${w2.name};
      grant update (bodies) on bundles to ${w2.name}; create policy mine on bundles to ${w2.name} using (true)`)
    assert.deepEqual(await reportRole(test.db, role), {
      missing: ['delete on bundles'],
      excess: ['select on batch_members', 'update (bodies) on bundles', 'policy mine on bundles'],
    })
    const { message } = (await whyUnfit(w2.db, w2.name, 'w2'))!
    assert.match(
      message,
      /lacks what this process needs: delete on bundles\. Run "matoolkit db grant --worker w2=w2_/,
    )
    assert.match((await whyUnfit(w2.db, w2.name, 'w1'))!.message, /lacks/)
    assert.deepEqual((await setUpRole(test.db, role, START)).excess, [])
    assert.equal(await whyUnfit(w2.db, w2.name, 'w2'), null)
    assert.match((await whyUnfit(w2.db, w2.name, 'w1'))!.message, /needs: the jobs of worker w1\./)
    assert.match(
      (await whyUnfit(w2.db, w2.name, null))!.message,
      /and \d+ more\. Run "matoolkit db grant --application/,
    )
  })

  for (const [what, sql] of [
    ['create a table', 'create table mine (id bigint)'],
    ['change a table', 'alter table batches add column mine text'],
    ['drop a table', 'drop table holds'],
    ['truncate the audit', 'truncate audit'],
    ['truncate any table', 'truncate events'],
    ['disable a trigger', 'alter table audit disable trigger all'],
    ['disable all triggers', 'set session_replication_role = replica'],
    ['rewrite an event', "update events set actor = 'nobody'"],
    ['delete an attempt', 'delete from attempts'],
    [
      'write a sealed row',
      "insert into audit (at, actor, action, subject, seal_number, previous_hash, hash) values ('2026-03-01', 'a', 'b', 'c', 1, '', '')",
    ],
    ['rewrite an audit row', "update audit set actor = 'nobody'"],
    ['claim a version', "insert into schema_migrations values (99, '', '', 99, '2026-03-01')"],
    ['set up roles', "insert into database_roles values ('mine', null, '2026-03-01')"],
    ['turn off row security', 'alter table bundles disable row level security'],
    ['become the owner', 'set role postgres'],
  ] as const) {
    it(`the application cannot ${what}`, async () => {
      await assert.rejects(roles.app.db.query(sql), REFUSED)
    })
  }

  it('the application seals and prunes the audit, and deletes nothing else from it', async () => {
    const { db } = roles.app
    const nothing = { source: null, clientApp: null, requestId: null, reason: null }
    const day = (number: number) => new Date(Date.UTC(2026, 0, number, 12))
    for (const number of [1, 2, 30]) {
      const who = { actor: 'a', actorName: 'A', action: 'batch.hold', subject: 's' }
      await insertAudit(db, { at: day(number), ...who, ...nothing })
    }
    await sealAudit(db)
    await assert.rejects(db.query('delete from audit'), /never changed or deleted/)
    await assert.rejects(
      db.query('update audit set hash = null, seal_number = null, previous_hash = null'),
      /never changed/,
    )
    assert.equal(await pruneAudit(db, { keptDays: 10, now: day(35) }), 2)
    const verdict = await verifyAudit(db, { keptDays: 10, now: day(35) })
    assert.deepEqual([verdict.broken, verdict.pruned?.through], [null, 2])
  })

  describe('a worker', () => {
    before(() =>
      busOn(roles.test.db).publish([job('w2', 'of-w2'), job('w2', 'too'), job('w1', 'of-w1')]),
    )

    for (const table of [
      'batch_members',
      'batches',
      'runbooks',
      'audit',
      'events',
      'dead_letters',
      'messages',
      'database_roles',
      'idempotency_keys',
    ]) {
      it(`cannot read ${table}`, async () => {
        await assert.rejects(roles.w1.db.query(`select from ${table}`), REFUSED)
      })
    }

    const forged = (columns: string, values: string, overriding = '') =>
      `insert into bundles (message_ids, bodies, enqueued_at, visible_at, expires_at, size, topic, subscription, worker_id, message_type${columns}) ${overriding}
       values ('m', '{}', '2026-03-02', '2026-03-02', '2026-03-09', 1, ${values})`
    for (const [what, sql] of [
      [
        'send an event to the orchestrator',
        forged('', "'orchestrator-events', 'orchestrator', 'w1', 'batch-init'"),
      ],
      [
        'send an event as a result',
        forged('', "'worker-results', 'orchestrator', 'w1', 'batch-init'"),
      ],
      [
        'send a result of another worker',
        forged('', "'worker-results', 'orchestrator', 'w2', 'worker-result'"),
      ],
      [
        'send a result of nobody',
        forged('', "'worker-results', 'orchestrator', null, 'worker-result'"),
      ],
      [
        'send a job to another worker',
        forged('', "'worker-jobs', 'worker-w2', 'w2', 'worker-job'"),
      ],
      ['send a job to itself', forged('', "'worker-jobs', 'worker-w1', 'w1', 'worker-job'")],
      [
        'take the number of a future row',
        forged(
          ', id',
          "'worker-results', 'orchestrator', 'w1', 'worker-result', 1048576",
          'overriding system value',
        ),
      ],
      ['change a job', "update bundles set bodies = '{}'"],
      [
        'use up message ids of others',
        "insert into message_ids values ('worker-results', 'result-1', '2026-03-02'), ('worker-results/w2', 'result-1', '2026-03-02')",
      ],
      ['forget message ids', 'delete from message_ids'],
      [
        'give up a job of another worker',
        `insert into dead_letters (topic, subscription, message_id, original_message_id, message_type, worker_id, body, enqueued_at, expires_at,
          delivery_count, reason, description, dead_lettered_at) values ('worker-jobs', 'worker-w2', 'of-w2', 'of-w2', 'worker-job', 'w2', '{}', '2026-03-02', '2026-03-09', 1, 'r', 'd', '2026-03-02')`,
      ],
      [
        'split a bundle of another worker',
        "select split_bundles(array(select 1024 * n from generate_series(1, 50) n), 'unleased', null, null)",
      ],
      ['create a table', 'create table mine (id bigint)'],
      ['claim a version', "update schema_migrations set hash = ''"],
    ] as const) {
      it(`cannot ${what}`, async () => {
        await assert.rejects(roles.w1.db.query(sql), REFUSED)
      })
    }

    it('is not fooled into rights by a temporary table', async () => {
      const { db, name } = roles.w1
      await db.transaction(async (tx) => {
        await tx.script(
          `create temp table database_roles (role_name text, worker_id text); insert into database_roles values ('${name}', null)`,
        )
        const [row] = await tx.query<{ may: boolean }>("select may_serve('w2') as may")
        assert.equal(row!.may, false)
      })
    })

    it('neither sees, takes nor removes jobs of another', async () => {
      const { test, w1 } = roles
      const seen = await w1.db.query<{ id: string }>('select message_ids as id from bundles')
      assert.deepEqual(seen, [{ id: 'of-w1' }])
      assert.deepEqual(await busOn(w1.db).receive(workerJobs('w2'), 10), [])
      assert.deepEqual(await busOn(w1.db).receive(WORKER_RESULTS, 10), [])
      await w1.db.query(
        "update bundles set leased_until = '2026-04-01', lease_token = $1, delivery_count = 9 where subscription = 'worker-w2'",
        [randomUUID()],
      )
      await w1.db.query("delete from bundles where subscription = 'worker-w2'")
      const left = await test.db.query("select delivery_count from messages where worker_id = 'w2'")
      assert.deepEqual(left, [{ deliveryCount: 0 }, { deliveryCount: 0 }])
    })

    it('does not migrate', async () => {
      await assert.rejects(migrate(roles.w1.db, START), REFUSED)
    })
  })
})

const functions = ['create', 'confirm'].map((name) =>
  defineFunction({
    name,
    description: 'Returns the name.',
    parameters: z.strictObject({ Upn: z.string() }),
    result: z.string(),
    permissions: {},
    isIdempotent: true,
    undo: null,
    run: async ({ params }) => params.Upn,
  }),
)

describe('a whole batch', () => {
  it('completes with an application and a worker that have no more than their rights', async () => {
    const roles = await openRoles()
    const { app, w1, test } = roles
    const database = { db: app.db, close: () => roles.close() }
    await story({ database, slots: 7 }, async (world) => {
      world.workers = []
      const bus = openPostgresBus({ db: w1.db, clock: world.clock, newToken: randomUUID })
      const errors: unknown[] = []
      const options = { workerId: 'w1', version: '1', bus, clock: world.clock, functions }
      const worker = new Worker({
        ...options,
        maxParallelism: 7,
        onError: (error: unknown) => errors.push(error),
      })
      await worker.sendHello(world.clock.now())
      await world.publish(runbook('wave', { 'move T-0': [step('create'), step('confirm')] }))
      const batchId = await world.batch('wave', 40)
      await world.orchestrate()
      while ((await worker.takeJobs()) > 0) {
        await worker.idle()
        await worker.renewLeases()
        await worker.sendResults()
        await world.orchestrate()
      }
      assert.deepEqual(errors, [])
      assert.equal((await batchOf(world, batchId)).status, 'completed')
      const steps = await test.db.query(
        'select step_name, status, count(*) from step_executions group by 1, 2 order by 1, 2',
      )
      assert.deepEqual(steps, [
        { stepName: 'confirm', status: 'succeeded', count: 40 },
        { stepName: 'create', status: 'succeeded', count: 40 },
      ])
      const left = await test.db.query('select from bundles')
      assert.equal(left.length, 0)
    })
  })

  it('a worker gives up its own job, and cannot settle that of another', async () => {
    const roles = await openRoles()
    const { app, w1, w2 } = roles
    const database = { db: app.db, close: () => roles.close() }
    await story({ database }, async (world) => {
      world.workers = []
      await world.publish(runbook('wave', { 'move T-0': [step('create')] }))
      await world.batch('wave', 2)
      await world.orchestrate()
      const own = openPostgresBus({ db: w1.db, clock: world.clock, newToken: randomUUID })
      const [first, second] = await own.receive(workerJobs('w1'), 2)
      const statuses = async () =>
        (
          await app.db.query<{ status: string }>('select status from step_executions order by id')
        ).map(({ status }) => status)
      // Worker w2 claims to have had the first job, in its own name.
      const other = openPostgresBus({ db: w2.db, clock: world.clock, newToken: randomUUID })
      const body = {
        jobId: first!.messageId,
        batchId: 1,
        workerId: 'w1',
        functionName: 'create',
        status: 'Success',
        resultType: 'Object',
        result: {},
        error: null,
        durationMs: 1,
        timestamp: START.toISOString(),
        correlationData: null,
      } as const
      const result = { topic: 'worker-results', type: 'worker-result' } as const
      await other.publish([
        { ...result, workerId: 'w2', messageId: 'a', body },
        { ...result, workerId: 'w2', messageId: 'b', body: { ...body, workerId: 'w2' } },
      ])
      await w2.db.query(
        `insert into dead_letters (topic, subscription, message_id, original_message_id, message_type, worker_id, body, enqueued_at, expires_at,
           delivery_count, reason, description, dead_lettered_at)
         values ('worker-jobs', 'worker-w2', $1, $1, 'worker-job', 'w2', '{}', $2, $2, 1, 'r', 'd', $2)`,
        [second!.messageId, START],
      )
      await world.orchestrate()
      assert.deepEqual(await statuses(), ['dispatched', 'dispatched'])
      const letters = await app.db.query('select reason from dead_letters order by id')
      assert.deepEqual(letters, [{ reason: 'r' }, { reason: 'WrongSender' }])
      await own.deadLetter([second!], 'Unanswerable', 'too large')
      await world.orchestrate()
      assert.deepEqual(await statuses(), ['dispatched', 'failed'])
    })
  })
})

describe('a claim under row security', () => {
  it('uses the index of the queue, for worker and application', async () => {
    const roles = await openRoles()
    const bus = busOn(roles.test.db)
    for (const id of ['w1', 'w2', 'w3']) {
      for (let sent = 0; sent < 300; sent += 1) await bus.publish([job(id)])
    }
    await roles.test.db.query('vacuum analyze bundles')
    for (const { db } of [roles.w1, roles.app]) {
      const plan = await db.query<{ 'QUERY PLAN': string }>(
        `explain select p.id, p.ctid from bundles p
          where p.topic = 'worker-jobs' and p.subscription = 'worker-w1' and p.visible_at >= '-infinity' and p.visible_at <= '2026-03-09'
            and (p.leased_until is null or p.leased_until <= '2026-03-09')
          order by p.visible_at, p.id limit 10 for update skip locked`,
      )
      const text = plan.map((line) => line['QUERY PLAN']).join('\n')
      assert.match(text, /Index Scan using bundles_queue/)
      assert.match(text, /Index Cond: .*topic.*subscription.*visible_at/)
      assert.doesNotMatch(text, /Seq Scan|Sort/)
    }
    assert.equal((await drain(busOn(roles.w1.db), workerJobs('w1'))).length, 300)
    await bus.close()
    await roles.close()
  })
})

describe('matoolkit db grant', () => {
  it('sets up roles that processes then run with, renews them, and takes them away', async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await using app = await openRole(test, 'app')
    await using w1 = await openRole(test, 'w1')
    const db = (...words: string[]) => start(['db', ...words], { DATABASE_URL: test.url! }).ended
    const flags = ['--application', app.name, '--worker', `w1=${w1.name}`]
    const planned = await db('grant', ...flags, '--dry-run')
    assert.match(planned.out, new RegExp(`grant select, insert on events to "${app.name}";\n`))
    assert.equal((await test.db.query('select from database_roles')).length, 0)
    const waiting = start(['serve', '--roles', 'worker'], workerEnv(w1.url))
    await using _worker = { [Symbol.asyncDispose]: async () => waiting.kill('SIGKILL') }
    await waiting.saying(/RIGHTS_MISSING[^\n]*matoolkit db grant --worker w1=w1_/)
    const granted = await db('grant', ...flags)
    assert.equal(granted.code, EXIT.ok, granted.err)
    assert.match(
      granted.out,
      /^app_\w+ \(application\): granted \d+ rights\nw1_\w+ \(worker w1\): granted \d+ rights\n$/,
    )
    await waiting.saying(/"msg":"Started"/)
    const served = start(['serve', '--roles', 'api,orchestrator,scheduler'], {
      DATABASE_URL: app.url,
      MATOOLKIT_API_PORT: '0',
      MATOOLKIT_API_TOKEN_FILE: join(folder, 'api-token'),
    })
    await using _served = { [Symbol.asyncDispose]: async () => served.kill('SIGKILL') }
    const [, url] = await served.saying(/"url":"(http:[^"]+)"/)
    const doctor = (api: string) =>
      start(['doctor'], {
        MATOOLKIT_API_URL: api,
        MATOOLKIT_TOKEN: readFileSync(join(folder, 'api-token'), 'utf8'),
        MATOOLKIT_OUTPUT: 'table',
      }).ended
    assert.match((await doctor(url!)).out, /database roles +ok +2 roles have exactly their rights/)
    await test.db.script(`grant select on batch_members to ${w1.name}`)
    const found = await doctor(url!)
    assert.match(found.out, /database role w1_\w+ +warning/)
    assert.match(
      found.err + found.out,
      /has more than it needs: select on batch_members\n +Run "matoolkit db grant"/,
    )
    const again = await db('grant')
    assert.equal(
      again.out,
      `${app.name} (application): has its rights\n${w1.name} (worker w1): has its rights\n`,
    )
    for (const process of [waiting, served]) {
      process.kill('SIGTERM')
      const { code, out } = await process.ended
      assert.equal(code, EXIT.ok, out)
      assert.doesNotMatch(out, /permission denied|row-level security/)
    }
    const asData = JSON.parse((await db('grant', '--output', 'json')).out) as { roles: object[] }
    assert.deepEqual(asData.roles, [
      { name: app.name, workerIds: [], sql: [], granted: [], excess: [] },
      { name: w1.name, workerIds: ['w1'], sql: [], granted: [], excess: [] },
    ])
    const revoked = await db('grant', '--revoke', w1.name)
    assert.equal(revoked.out, `${w1.name} has no more rights.\n`)
    await assert.rejects(w1.db.query('select from bundles'), REFUSED)
  })

  it('refuses roles that are unknown, too powerful, or of both kinds', async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await using app = await openRole(test, 'app')
    const db = (...words: string[]) => start(['db', ...words], { DATABASE_URL: test.url! }).ended
    for (const [words, code] of [
      [['grant'], 'USAGE'],
      [['grant', '--application', 'nobody'], 'DATABASE_ROLE_UNKNOWN'],
      [['grant', '--application', 'postgres'], 'DATABASE_ROLE_TOO_POWERFUL'],
      [['grant', '--worker', app.name], 'USAGE'],
      [['grant', '--application', app.name, '--worker', `w1=${app.name}`], 'USAGE'],
      [['grant', '--revoke', 'nobody'], 'DATABASE_ROLE_UNKNOWN'],
    ] as const) {
      const { err, out } = await db(...words)
      assert.match(err, new RegExp(`\\(${code}\\)`), words.join(' '))
      assert.equal(out, '')
    }
    assert.equal((await test.db.query('select from database_roles')).length, 0)
  })
})

const workerEnv = (url: string) => ({
  DATABASE_URL: url,
  MATOOLKIT_WORKER_ID: 'w1',
  MATOOLKIT_HEALTH_PORT: '0',
  MATOOLKIT_SECRETS_FOLDER: join(folder, 'secrets'),
})
