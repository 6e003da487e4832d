// `matoolkit worker …`: the list, and one worker with its throttled services.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { recordWorker } from '../../src/db/workers.ts'
import { EXIT } from '../../src/errors.ts'
import { type Cli, openCli } from './against-api.ts'

describe('workers', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
  })
  after(() => cli.close())

  it('lists workers', async () => {
    assert.match((await cli.cli('worker', 'list')).out, /^WORKER[^\n]*\nw1 +ok +1 +1000/)
  })

  it('shows a worker with its throttled services, and which gate is closed', async () => {
    assert.doesNotMatch((await cli.cli('worker', 'show', 'w1')).out, /SERVICE/)
    const { db, clock } = cli.api.world.engine
    const closedUntil = new Date(+clock.now() + 60_000).toISOString()
    const counts = { concurrency: 4, calls: 0, queued: 9, throttled: 2, throttledSec: 120 }
    const throttles = [{ name: 'Exchange Online', closedUntil, ...counts }]
    const hello = { workerId: 'w1', version: '1', slots: 1000, functions: [], throttles }
    await db.transaction((tx) => recordWorker(tx, hello, clock.now()))
    const { out } = await cli.cli('worker', 'show', 'w1')
    assert.match(out, /^worker +w1\n/)
    assert.match(out, /\n\nSERVICE[^\n]*\nExchange Online +\S.* 4 +0 +9 +2 +2m/)
    assert.match((await cli.cli('worker', 'list')).out, /Exchange Online until/)
    const unknown = await cli.cli('worker', 'show', 'nobody')
    assert.equal(unknown.exit, EXIT.notFound)
    assert.match(unknown.err, /no worker "nobody"\. List the workers with "matoolkit worker list"/)
  })
})
