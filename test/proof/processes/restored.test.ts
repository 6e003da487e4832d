// `serve --restored`: a dump was loaded into the same database while everything was stopped, and the tenant had gone ahead. PostgreSQL shows
// nothing, so a person says it. What the docs promise (docs/operating.md, "After a restore"), with a real process.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { insertFirstEpoch } from '../../../src/db/state/epochs.ts'
import { listRanAfterBackup } from '../../../src/db/views/restores.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { start } from '../../kit/processes.ts'
import { attemptsOf, runbook, step } from '../../stories/looking.ts'
import { openWorld, publishResult, START } from '../../stories/world.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-restored-'))
after(() => rmSync(folder, { recursive: true }))

const LOOKS_MAX = 400

it('holds everything, gives jobs back once, and records what ran after the backup', async () => {
  const database = await openTestPostgres()
  const world = await openWorld({ database })
  await using _ = { [Symbol.asyncDispose]: () => world.close() }
  const { db } = world
  await insertFirstEpoch(db, START)
  await world.publish(runbook('wave', { 'cutover T-0': [step('create'), step('after')] }))
  await world.batch('wave', 1)
  // The backup: job step-1 is out. After it, the worker ran it; the database does not know.
  await world.orchestrate()
  const roles = ['--roles', 'orchestrator', '--restored']
  const settings = {
    DATABASE_URL: database.url!,
    MATOOLKIT_HOME: folder,
    MATOOLKIT_HEALTH_PORT: '0',
  }
  await using first = start(['serve', ...roles], settings)
  const told =
    /Everything is on hold: restored from a backup \(started with --restored\); its newest record is .* old/
  await first.saying(told)
  // The process works on the real time: a result of March has expired in the queue.
  const bus = openPostgresBus({ db, clock: realClock(), newToken: randomUUID })
  await publishResult(
    { ...world, wire: { ...world.wire, workers: bus } },
    'step-1',
    { ok: true },
    {},
  )
  let ran = await listRanAfterBackup(db, 0, 10)
  for (let look = 0; ran.length === 0 && look < LOOKS_MAX; look += 1) {
    // Without a timer of ours: the server waits.
    await db.query('select pg_sleep(0.05)')
    ran = await listRanAfterBackup(db, 0, 10)
  }
  await bus.close()
  first.kill('SIGTERM')
  assert.equal((await first.ended).code, EXIT.ok)
  assert.partialDeepStrictEqual(ran, [{ jobId: 'step-1', status: 'Success', stepName: 'create' }])
  const state = `select s.status, s.attempt, s.retry_count as retries, w.kind,
      (select array_agg(epoch = '' order by number) from epochs) as epochs,
      (select held_by from holds where scope = 'system') as held_by
    from step_executions s left join waits w on w.step_id = s.id where s.id = 1`
  const given = {
    status: 'pending',
    attempt: 1,
    retries: 0,
    kind: 'slot',
    epochs: [true, false],
    heldBy: 'system',
  }
  assert.deepEqual(
    await db.query(state),
    [given],
    'its answer counts for nothing, and no retry is used',
  )
  assert.deepEqual(await attemptsOf(world), ['step-1 lost'])

  await using second = start(['serve', '--roles', 'orchestrator'], settings)
  await second.saying(/"msg":"Started"/)
  second.kill('SIGTERM')
  assert.equal((await second.ended).code, EXIT.ok)
  assert.deepEqual(await db.query(state), [given], 'started without it, no other epoch begins')
})
