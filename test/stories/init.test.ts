// Init: steps of the batch itself, before any member's; their failure fails the batch, and a restart runs them again.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { holdBatch, restartBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { batchOf, because, jobIds, order, phasesOf, runbook, step } from './looking.ts'
import { keepTimes, passUntil, stepLook } from './timeline.ts'
import { story, type World } from './world.ts'

const opening = (name: string, more = '') =>
  `{ name: ${name}, worker_id: w1, function: ${name}, params: { Batch: "{{_batch_id}}" }${more && `, ${more}`} }`
const PHASES = { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }

async function begin(world: World, init: string[], more = ''): Promise<number> {
  await world.publish(runbook('wave', PHASES, `init: [${init.join(', ')}]\n${more}`))
  const batchId = await world.batch('wave', 2, { startsInMin: 60 })
  await world.settle()
  return batchId
}

it('runs once for the batch, in order, before the first phase, even when that is due', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => (functionName === 'light' ? 'silent' : { ok: true })
    const batchId = await begin(world, [opening('unlock'), opening('light')])
    await world.pass(60)
    assert.deepEqual(jobIds(world), ['init-1', 'init-2'])
    assert.deepEqual(world.jobs[0]!.parameters, { Batch: batchId })
    assert.equal((await batchOf(world, batchId)).status, 'init_dispatched')
    assert.deepEqual(await phasesOf(world, batchId), ['prepare pending 0', 'cutover pending 0'])
    await world.result({ jobId: 'init-2' }, { ok: true })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'active')
    assert.deepEqual(jobIds(world, 2), ['step-3', 'step-4'])
    assert.deepEqual(await because(world, 'activate'), ['every init step passed'])
    assert.deepEqual(
      await world.db.query('select step_name as name, status from init_executions order by id'),
      [
        { name: 'unlock', status: 'succeeded' },
        { name: 'light', status: 'succeeded' },
      ],
    )
  }))

it('polls and retries like any other step', () =>
  story({}, async (world) => {
    const times = keepTimes(world, ({ jobId }) => {
      if (jobId === 'init-1') return { fail: 'busy' }
      return { ok: jobId === 'init-1-retry-1' ? { complete: false } : { complete: true } }
    })
    const poll = 'poll: { interval: 60s, timeout: 10m }, retry: { max_retries: 1, interval: 30s }'
    const batchId = await begin(world, [opening('unlock', poll)])
    await passUntil(world, 30)
    await passUntil(world, 90)
    assert.deepEqual(times.slice(0, 3), [
      '0 init-1',
      '30 init-1-retry-1',
      '90 init-1-retry-1-poll-1',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'active')
  }))

const UNDO = `rollbacks: { close: [${opening('close', '')}, ${opening('report', '')}] }`

it('fails the batch, cancels the phases, and rolls back when it fails', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'light' ? { fail: 'no power' } : { ok: { Key: 'K1' } }
    const init = [
      opening('unlock', 'output_params: { Key: Key }'),
      opening('light', 'on_failure: close'),
      opening('third'),
    ]
    const close = `{ name: close, worker_id: w1, function: close, params: { Key: "{{Key}}" } }`
    const batchId = await begin(
      world,
      init,
      `rollbacks: { close: [${close}, ${opening('report')}] }`,
    )
    assert.deepEqual(jobIds(world), ['init-1', 'init-2', 'rollback-4', 'rollback-5'])
    assert.deepEqual(world.jobs[2]!.parameters, { Key: 'K1' })
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'failed',
      active: 2,
      failed: 0,
      removed: 0,
      held: null,
    })
    assert.deepEqual(await phasesOf(world, batchId), ['prepare cancelled 0', 'cutover cancelled 0'])
    assert.deepEqual(
      await world.db.query('select status from init_executions order by id'),
      ['succeeded', 'rolled_back', 'cancelled'].map((status) => ({ status })),
    )
    await world.pass(7200)
    assert.equal(world.jobs.length, 4)
  }))

it('restarts the failed step under a new id and continues with the phases', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'light' ? { fail: 'no power' } : { ok: true }
    const batchId = await begin(
      world,
      [opening('unlock'), opening('light', 'on_failure: close')],
      UNDO,
    )
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    world.answer = () => ({ ok: true })
    await restartBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(jobIds(world, 4).slice(0, 1), ['init-2-retry-1'])
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.pass(3600)
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'completed',
      active: 2,
      failed: 0,
      removed: 0,
      held: null,
    })
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
  }))

it('rolls a second failure back again, and a restart waits for the rollback', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => {
      if (functionName === 'report') return 'silent'
      return functionName === 'light' ? { fail: 'no power' } : { ok: true }
    }
    const batchId = await begin(world, [opening('light', 'on_failure: close')], UNDO)
    await assert.rejects(restartBatch(world.engine, order(batchId)), {
      code: 'REFUSED',
      message: /the rollback of init in batch 1 has not ended/,
    })
    await world.result({ jobId: 'rollback-3' }, { ok: true })
    await world.settle()
    world.answer = ({ functionName }) =>
      functionName === 'light' ? { fail: 'still none' } : { ok: true }
    await restartBatch(world.engine, order(batchId))
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    assert.deepEqual(await because(world, 'rollback_begun'), [
      'rollback close: 2 steps',
      'rollback close: 2 steps',
    ])
    assert.equal((await stepLook(world, 1)).status, 'rolled_back')
  }))

it('restarts only a batch that failed in init', () =>
  story({}, async (world) => {
    const batchId = await begin(world, [opening('unlock')])
    await assert.rejects(restartBatch(world.engine, order(batchId)), {
      message: /batch 1 is active; only a batch that failed in init can be restarted/,
    })
  }))

it('waits for resume in a held batch', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', PHASES, `init: [${opening('unlock')}]`))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await holdBatch(world.engine, order(batchId))
    await world.pass(600)
    assert.deepEqual(world.jobs, [])
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(jobIds(world), ['init-1', 'step-2'])
  }))

it('an unresolved init step fails the batch with the name, and nothing is sent', () =>
  story({}, async (world) => {
    const lost = `{ name: lost, worker_id: w1, function: F, params: { X: "{{Room}}" }, on_failure: close }`
    const unlock = opening('unlock', 'output_params: { Room: room }')
    const batchId = await begin(world, [unlock, lost], UNDO)
    assert.deepEqual(jobIds(world), ['init-1'])
    assert.deepEqual(await because(world, 'outputs_missing'), [
      'the result is not an object and lacks room',
    ])
    assert.deepEqual(await because(world, 'unresolved'), ['unresolved: {{Room}}'])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))
