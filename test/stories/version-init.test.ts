// Init when a version is published: not begun, running, done, rerun, and failed.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { holdBatch, restartBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { batchOf, because, calls, jobIds, order, rowsOf, runbook, step } from './looking.ts'
import { story, type World } from './world.ts'

const PHASES = { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }
const open = (name: string, more = '') =>
  `{ name: ${name}, worker_id: w1, function: ${name}, params: { Upn: batch }${more && `, ${more}`} }`
const withInit = (...init: string[]) => runbook('wave', PHASES, `init: [${init.join(', ')}]`)

async function initRows({ db }: World): Promise<string[]> {
  const rows = await db.query<{ said: string }>(
    `select step_name || ' ' || runbook_version || ' ' || status as said from init_executions order by id`,
  )
  return rows.map(({ said }) => said)
}

const begin = async (world: World, yaml: string): Promise<number> => {
  await world.publish(yaml)
  return world.batch('wave', 1, { startsInMin: 120 })
}

it("not begun: runs the new version's init", () =>
  story({}, async (world) => {
    const batchId = await begin(world, withInit(open('unlock')))
    await world.publish(withInit(open('unbolt'), open('light')))
    await world.settle()
    assert.deepEqual(calls(world), ['unbolt batch', 'light batch'])
    assert.equal((await batchOf(world, batchId)).status, 'active')
  }))

it('not begun, and the new version has none: the batch starts without init', () =>
  story({}, async (world) => {
    const batchId = await begin(world, withInit(open('unlock')))
    await world.publish(runbook('wave', PHASES))
    await world.settle()
    assert.deepEqual(world.jobs, [])
    assert.equal((await batchOf(world, batchId)).status, 'active')
  }))

it('running: finishes the old init; the phases are the new ones', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, withInit(open('unlock'), open('light')))
    await world.settle()
    await world.publish(withInit(open('other')).replace('function: create', 'function: Create-2'))
    await world.settle()
    world.answer = () => ({ ok: true })
    await world.result(world.jobs[0]!, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world), ['unlock batch', 'light batch'])
    await world.pass(3600)
    assert.deepEqual(calls(world, 2), ['Create-2 user1'])
    assert.equal((await batchOf(world, batchId)).status, 'active')
  }))

it('running, with rerun: the new init follows, before any phase', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, withInit(open('unlock')))
    await world.settle()
    await world.publish(withInit(open('unlock'), open('light')), { rerunInit: true })
    await world.settle()
    world.answer = ({ functionName }) =>
      functionName === 'light' ? { fail: 'no power' } : { ok: true }
    await world.result(world.jobs[0]!, { ok: true })
    await world.settle()
    assert.deepEqual(await initRows(world), [
      'unlock 1 succeeded',
      'unlock 2 succeeded',
      'light 2 failed',
    ])
    assert.deepEqual((await batchOf(world, batchId)).status, 'failed')
    await restartBatch(world.engine, order(batchId))
    world.answer = () => ({ ok: true })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'active')
  }))

it('running, with rerun, and failing before the upgrade: the new init is cancelled with it', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, withInit(open('unlock')))
    await world.settle()
    await world.result(world.jobs[0]!, { fail: 'stuck' })
    await world.publish(withInit(open('unlock'), open('light')), { rerunInit: true })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    assert.deepEqual(await initRows(world), [
      'unlock 1 failed',
      'unlock 2 cancelled',
      'light 2 cancelled',
    ])
    world.answer = () => ({ ok: true })
    await restartBatch(world.engine, order(batchId))
    await world.pass(2 * 3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await initRows(world), [
      'unlock 1 skipped',
      'unlock 2 succeeded',
      'light 2 succeeded',
    ])
  }))

it('rerun on an active batch: its outputs count, and its failure is noted and fails nothing', () =>
  story({}, async (world) => {
    const room = open('unlock', 'output_params: { Room: room }')
    const batchId = await begin(world, withInit(room))
    world.answer = () => ({ ok: { room: 'old' } })
    await world.settle()
    world.answer = () => ({ ok: { room: 'new' } })
    await world.publish(withInit(room, open('light')), { rerunInit: true })
    await world.settle()
    assert.deepEqual(jobIds(world), ['init-1', 'init-2', 'init-3'])
    const [outputs] = await world.db.query('select outputs_json as o from batches')
    assert.deepEqual(outputs, { o: { Room: 'new' } })
    world.answer = ({ functionName }) =>
      functionName === 'unlock' ? { fail: 'stuck' } : { ok: true }
    await world.publish(withInit(room), { rerunInit: true })
    await world.settle()
    assert.deepEqual(await because(world, 'init_failed'), [
      'init step unlock failed; the batch continues',
    ])
    await world.pass(2 * 3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('rerun on a held batch: sent at resume', () =>
  story({}, async (world) => {
    const batchId = await begin(world, runbook('wave', PHASES))
    await world.settle()
    await holdBatch(world.engine, order(batchId))
    await world.publish(withInit(open('unlock')), { rerunInit: true })
    await world.settle()
    assert.deepEqual(world.jobs, [])
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(calls(world), ['unlock batch'])
  }))

it('failed: a restart uses the fixed version, passed steps stay passed, nothing is overdue', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'light' ? { fail: 'no power' } : { ok: true }
    const batchId = await begin(world, withInit(open('unlock'), open('light'), open('heat')))
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    await world.pass(90 * 60)
    const mended = withInit(
      open('unlock'),
      open('LIGHT').replace('function: LIGHT', 'function: lamp'),
      open('air'),
    )
    const { impact } = await world.publish(mended)
    assert.equal(impact.batches, 0)
    await restartBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(calls(world, 2), ['lamp batch', 'air batch', 'create user1'])
    assert.deepEqual(await initRows(world), [
      'unlock 1 succeeded',
      'LIGHT 2 succeeded',
      'heat 1 skipped',
      'air 2 succeeded',
    ])
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 superseded',
      'cutover 1 superseded',
      'prepare 2 completed',
      'cutover 2 pending',
    ])
    await world.pass(3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))
