// A database restored from a backup while the tenant kept changing: nothing of the lost time is booked, everything is on hold, and after the
// resume every member ends with what the tenant really holds.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { Db } from '../../src/db/connection/db.ts'
import { countRanAfterBackup, listRanAfterBackup } from '../../src/db/views/restores.ts'
import { SYSTEM } from '../../src/domain/state/holds.ts'
import { resumeScope } from '../../src/engine/orders/holds.ts'
import { beginEpoch } from '../../src/engine/orders/restores.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../src/worker/functions/catalogue.ts'
import { Worker } from '../../src/worker/jobs/worker.ts'
import { DATABASES } from '../kit/databases.ts'
import { seeded } from '../kit/seeded.ts'
import { variants } from '../kit/variants.ts'
import { batchOf, because, runbook, step } from './looking.ts'
import { people, story, WORKER, type World } from './world.ts'

const YAML = runbook(
  'wave',
  {
    'prepare T-0': [
      step('create', 'on_failure: undo, output_params: { AccountId: id }'),
      step('license', 'on_failure: undo, retry: { max_retries: 1, interval: 60s }'),
      step('sync', 'poll: { interval: 60s, timeout: 10m }'),
    ],
  },
  `rollbacks: { undo: [${step('uncreate')}] }`,
)

/** A tenant that keeps what was done, whatever happens to the database. */
class Tenant {
  /** Account ids by person. */
  readonly accounts = new Map<string, string>()
  readonly licensed = new Set<string>()
  /** Everything that was created, also what is gone again. */
  readonly created: string[] = []
  refusesLicence: string | null = null
  /** How many ended. */
  jobs = 0

  create(upn: string): string {
    const known = this.accounts.get(upn)
    if (known) return known
    const id = `A${this.created.push(upn)}`
    this.accounts.set(upn, id)
    return id
  }
}

const upnOnly = z.looseObject({ Upn: z.string() })

function functionsOf(tenant: Tenant) {
  const define = (name: string, run: (upn: string) => unknown) =>
    defineFunction({
      ...TOUCHES_NOTHING,
      name,
      description: `Does ${name}.`,
      parameters: upnOnly,
      run: async ({ params }) => run(params.Upn) as never,
    })
  return [
    define('create', (upn) => ({ id: tenant.create(upn) })),
    define('license', (upn) => {
      if (!tenant.accounts.has(upn)) throw new Error(`there is no account ${upn}`)
      if (tenant.refusesLicence === upn) throw new Error('no licence is left')
      tenant.licensed.add(upn)
      return true
    }),
    define('sync', (upn) => ({ complete: tenant.licensed.has(upn) })),
    define('uncreate', (upn) => tenant.accounts.delete(upn)),
  ]
}

function workerOf({ bus, clock }: World, tenant: Tenant, slots = 1_000): Worker {
  const onError = (error: unknown) => {
    throw error
  }
  return new Worker({
    workerId: WORKER,
    version: '1',
    bus,
    clock,
    functions: functionsOf(tenant),
    maxParallelism: slots,
    onError,
    onResult: () => void tenant.jobs++,
  })
}

/** Everything that can be done now. */
async function goOn(world: World, worker: Worker): Promise<void> {
  for (;;) {
    await world.orchestrate()
    const taken = await worker.takeJobs()
    await worker.idle()
    await worker.sendResults()
    if (taken === 0) return
  }
}

const tablesOf = (db: Db, schema: string) =>
  db.query<{ name: string; columns: string; hasNumbers: boolean }>(
    `select t.tablename as name,
            exists (select from information_schema.columns c where c.table_schema = 'public' and c.table_name = t.tablename
                       and c.column_name = 'id' and c.is_identity = 'YES') as has_numbers,
            (select string_agg(quote_ident(column_name), ',') from information_schema.columns c
        where c.table_schema = 'public' and c.table_name = t.tablename) as columns
       from pg_tables t where schemaname = $1 and tablename <> 'schema_migrations' order by 1`,
    [schema],
  )

/** A logical backup of all rows, in a schema of its own. */
async function backUp({ db }: World): Promise<void> {
  await db.script('create schema backup')
  for (const { name } of await tablesOf(db, 'public'))
    await db.script(`create table backup.${name} as table public.${name}`)
}

/** Puts the rows of the backup back, and the sequences: all ids that were given out since are given out again. */
async function restore({ db }: World): Promise<void> {
  const tables = await tablesOf(db, 'public')
  await db.transaction(async (tx) => {
    await tx.script('set local session_replication_role = replica')
    for (const { name, columns, hasNumbers } of tables) {
      await tx.query(`delete from ${name}`)
      await tx.query(
        `insert into ${name} (${columns}) overriding system value select ${columns} from backup.${name}`,
      )
      if (hasNumbers)
        await tx.query(
          `select setval(pg_get_serial_sequence('${name}', 'id'), coalesce(max(id), 0) + 1024) from ${name}`,
        )
    }
  })
}

const restored = (world: World) =>
  beginEpoch(world.engine, { actor: 'ann', because: 'the disk was lost' })

/** Members with the account that the database believes in, and the tenant's. */
async function accountsOf({ db }: World, tenant: Tenant) {
  const rows = await db.query<{ key: string; account: string | null; status: string }>(
    `select member_key as key, worker_data_json->>'AccountId' as account, status from batch_members order by id`,
  )
  return rows.map((row) => ({ ...row, real: tenant.accounts.get(row.key) ?? null }))
}

const stepsOut = async ({ db }: World) =>
  (await db.query<{ jobId: string }>(`select job_id from waits where kind = 'job'`)).map(
    ({ jobId }) => jobId,
  )

const statuses = ({ db }: World) =>
  db.query(`select id, status, result_json, attempt from step_executions order by id`)

const other = (count: number) =>
  people(count).map(({ key, data }) => {
    const renamed = key.replace('user', 'late')
    return { key: renamed, data: { ...data, UserPrincipalName: renamed } }
  })

/** Until the backup: 12 people; some have accounts, and some jobs are out. Then everything ends, and others come. */
async function lose(world: World, tenant: Tenant): Promise<Worker> {
  const worker = workerOf(world, tenant, 5)
  await world.publish(YAML)
  await world.batch('wave', 12)
  await world.orchestrate()
  for (let round = 0; round < 3; round++) {
    await worker.takeJobs()
    await worker.idle()
    await worker.sendResults()
    await world.orchestrate()
  }
  // Taken by the worker, and not answered before the backup.
  await worker.takeJobs()
  await worker.idle()
  await backUp(world)
  tenant.refusesLicence = 'user8@contoso.example'
  await world.clock.advance(5_000)
  await world.batch('wave', other(6))
  await worker.sendResults()
  for (let minute = 0; minute < 5; minute++) {
    await goOn(world, worker)
    await world.clock.advance(60_000)
  }
  tenant.refusesLicence = null
  return worker
}

/** The worker was asked, and told everything that it remembers: the jobs that were out, and all that were sent later. */
async function listsWhatRan({ db }: World, out: readonly string[]): Promise<void> {
  const ran = await listRanAfterBackup(db, 0, 1_000)
  assert.equal(ran.length, await countRanAfterBackup(db))
  const told = new Set(ran.map(({ jobId }) => jobId))
  assert.equal(told.size, ran.length, 'each once')
  for (const jobId of out) assert.ok(told.has(jobId), jobId)
  const functionOf = (name: string) => ran.filter(({ functionName }) => functionName === name)
  // Of the twelve, five were done; of the six others the backup knows nobody.
  assert.equal(functionOf('create').length, 7 + 6)
  const unknown = ran.filter(({ stepName }) => stepName === null)
  assert.equal(unknown.filter(({ functionName }) => functionName === 'create').length, 6)
  assert.deepEqual(
    functionOf('uncreate').map(({ status, memberKey }) => [status, memberKey]),
    [['Success', null]],
  )
}

for (const database of variants(DATABASES)) {
  describe(`after a restore on ${database.kind}`, () => {
    const random = seeded(16)
    const told = (tell: (world: World, tenant: Tenant) => Promise<void>) => async () =>
      story(
        {
          database: await database.open(),
          random: () => random(1_000) / 1_000,
          maxOutstanding: 5,
          slots: 5,
        },
        (world) => tell(world, new Tenant()),
      )

    it(
      'books no result of the lost time, holds everything, and ends with what the tenant holds',
      told(async (world, tenant) => {
        const worker = await lose(world, tenant)
        const lostAccounts = tenant.created.filter((upn) => upn.startsWith('late'))
        assert.equal(lostAccounts.length, 6)
        assert.equal(tenant.accounts.has('user8@contoso.example'), false, 'it was rolled back')
        await restore(world)
        const before = await statuses(world)
        const out = await stepsOut(world)
        assert.ok(out.length > 0)

        const act = await restored(world)
        assert.equal(act!.jobsOut, out.length)
        // The same worker, with its memory: it answers late, and answers nothing from memory.
        for (const jobId of out)
          await world.result({ jobId }, { ok: { id: 'A-wrong' } }, { functionName: 'create' })
        const ran = tenant.jobs
        await goOn(world, worker)
        assert.equal(tenant.jobs, ran, 'nothing is sent on hold')
        assert.deepEqual(await stepsOut(world), [])
        const heard = await because(world, 'result_before_restore')
        assert.match(heard[0]!, /^job step-\d+ was sent before the database was restored/)
        await listsWhatRan(world, out)
        const after = await statuses(world)
        const succeeded = (rows: typeof before) =>
          rows.filter(({ status }) => status === 'succeeded')
        assert.deepEqual(succeeded(after), succeeded(before), 'no result was booked')
        assert.equal((await because(world, 'rollback')).length, 0)

        await resumeScope(world.engine, { ...SYSTEM, scope: 'system', actor: 'ann', reason: 'ok' })
        const lateBatch = await world.batch('wave', other(6))
        assert.ok(lateBatch > 1_000, `batch ${lateBatch} has a number that the lost time used`)
        for (let minute = 0; minute < 5; minute++) {
          await goOn(world, worker)
          await world.clock.advance(60_000)
        }
        for (const { key, account, real, status } of await accountsOf(world, tenant)) {
          assert.equal(status, 'active', key)
          assert.ok(real, `${key} has an account`)
          assert.equal(account, real, `${key} has the account of its own`)
        }
        assert.equal((await batchOf(world, 1)).status, 'completed')
        assert.equal((await batchOf(world, lateBatch)).status, 'completed')
        assert.equal(new Set(tenant.created).size, 18)
        // user8 was rolled back in the lost time: the only account that is created twice.
        assert.equal(tenant.created.length, 19)
        const letters = await world.db.query('select 1 from dead_letters')
        assert.deepEqual(letters, [])
      }),
    )
  })
}
