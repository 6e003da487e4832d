// `matoolkit worker …`: the list, and one worker with its throttled services.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { recordWorker } from '../../../src/db/state/workers.ts'
import { runbook, step } from '../../stories/looking.ts'
import { type Cli, openCli } from '../against-api.ts'

describe('workers', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
  })
  after(() => cli.close())

  it('lists workers', async () => {
    assert.match((await cli.cli('worker', 'list')).out, /^WORKER[^\n]*\nw1 +ok +1 +1000/)
  })

  it('drains a worker: nothing new, what it has is finished; resume sends it jobs again', async () => {
    const { world } = cli.api
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    await world.batch('wave', 3, { startsInMin: 60 })
    await world.orchestrate()
    const stateOf = async () => {
      const { workers } = await cli.json<{ workers: { state: string; outstanding: number }[] }>(
        'worker',
        'list',
      )
      return [workers[0]!.state, workers[0]!.outstanding]
    }
    // One job was taken, and its result is on its way; nobody has taken the others.
    await world.work(1)
    assert.deepEqual(await stateOf(), ['ok', 3])
    const drained = await cli.cli('hold', '--worker', 'w1', '--reason', 'patches')
    assert.match(drained.out, /2 jobs were withdrawn, 1 job is running and finishes/)
    assert.deepEqual(await stateOf(), ['draining', 1])
    await world.orchestrate()
    assert.deepEqual(await stateOf(), ['drained', 0])
    await world.settle()
    assert.equal(world.jobs.length, 1)
    const resumed = await cli.cli('resume', '--worker', 'w1', '--reason', 'patched')
    assert.match(resumed.out, /At once start: 2 steps in 1 batch\./)
    await world.settle()
    assert.deepEqual([world.jobs.length, ...(await stateOf())], [3, 'ok', 0])
    const again = await cli.cli('resume', '--worker', 'w1', '--reason', 'patched')
    assert.match(again.err, /worker w1 is not held/)
  })

  it('shows a worker with its throttled services, and which gate is closed', async () => {
    assert.doesNotMatch((await cli.cli('worker', 'list', 'w1')).out, /SERVICE/)
    const { db, clock } = cli.api.world.engine
    const closedUntil = new Date(+clock.now() + 60_000).toISOString()
    const counts = { concurrency: 4, calls: 0, queued: 9, throttled: 2, throttledSec: 120 }
    const throttles = [{ name: 'Exchange Online', closedUntil, ...counts }]
    const hello = { workerId: 'w1', version: '1', slots: 1000, functions: [], throttles }
    await db.transaction((tx) => recordWorker(tx, hello, clock.now()))
    const { out } = await cli.cli('worker', 'list', 'w1')
    assert.match(out, /^worker +w1\n/)
    assert.match(out, /\n\nSERVICE[^\n]*\nExchange Online +\S.* 4 +0 +9 +2 +2m/)
    assert.match((await cli.cli('worker', 'list')).out, /Exchange Online until/)
    const unknown = await cli.cli('worker', 'list', 'nobody')
    assert.equal(unknown.exit, EXIT.notFound)
    assert.match(unknown.err, /no worker "nobody"\. List the workers with "matoolkit worker list"/)
  })
})
