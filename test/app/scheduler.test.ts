// `matoolkit scheduler tick` in its own process, with a CSV file and a real server.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { openPostgresBus } from '../../src/bus/postgres/postgres-bus.ts'
import { realClock } from '../../src/clock.ts'
import { setAutomation } from '../../src/engine/automation.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { publishRunbook } from '../../src/engine/publish.ts'
import { RunbookCache } from '../../src/engine/runbook-cache.ts'
import { EXIT } from '../../src/errors.ts'
import { openTestPostgres, type TestDatabase } from '../databases.ts'
import { YAML } from '../scenarios/programme.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

async function run(env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, 'scheduler', 'tick', ...args], {
    env: { ...process.env, MATOOLKIT_OUTPUT: 'table', ...env },
  })
  const [out, err, [exit]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ])
  return { out, err, exit }
}

it('ticks by hand, prints the result, and fails with the source', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-cli-'))
  const test = await openTestPostgres()
  const env = { DATABASE_URL: test.url!, MATOOLKIT_SOURCE_FOLDER: folder }
  try {
    await publish(test)
    const failed = await run(env)
    assert.equal(failed.exit, EXIT.failed, failed.err)
    assert.match(failed.out, /wave +failed +The csv source "x.csv"/)
    const rows = 'UserPrincipalName,When\nuser1@contoso.example,2100-01-01T00:00:00Z\n'
    writeFileSync(join(folder, 'x.csv'), rows)
    const good = await run(env, '--runbook', 'wave', '--output', 'json')
    assert.deepEqual([good.exit, good.err], [EXIT.ok, ''])
    assert.deepEqual(JSON.parse(good.out), [
      { runbookName: 'wave', outcome: 'good', counts: { batches: 1, joined: 1 }, error: null },
    ])
    assert.match((await run(env)).out, /wave +good +nothing changed/)
    const csv = 'RUNBOOK,TICK,WHAT IT DID\r\nwave,good,nothing changed\r\n'
    assert.equal((await run(env, '--output', 'csv')).out, csv)
    assert.match((await run(env, '-o', 'yaml')).out, /^- runbookName: wave\n {2}outcome: good\n/)
    const piped = await run({ ...env, MATOOLKIT_OUTPUT: '' })
    assert.equal((JSON.parse(piped.out) as object[]).length, 1)
    assert.equal((await run(env, '--runbook', 'wavy')).exit, EXIT.notFound)
  } finally {
    await test.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

/** The ticking process uses the real time, so the setup does too. */
async function publish({ db }: TestDatabase): Promise<void> {
  const clock = realClock()
  const engine: Engine = {
    ...{ db, clock, runbooks: new RunbookCache(), random: () => 0.5 },
    ...{
      maxOutstanding: 1000,
      queueLimitSec: 21_600,
      bus: openPostgresBus({ db, clock, newToken: randomUUID }),
    },
  }
  await publishRunbook(engine, { yaml: YAML, publishedBy: 'author' })
  await setAutomation(engine, { runbookName: 'wave', isEnabled: true, actor: 'operator' })
}
