// What a change says it starts is what starts, and nothing else: publishing, resume, reschedule.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countStarts } from '../../src/db/state/holds.ts'
import type { StartsAtOnce } from '../../src/domain/plan/starts-at-once.ts'
import { startsOfResume, withStarts } from '../../src/engine/needs/starts-at-once.ts'
import { holdBatch, rescheduleBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { approveGate } from '../../src/engine/orders/gates.ts'
import { resumeScope } from '../../src/engine/orders/holds.ts'
import { calls, order, runbook, step } from './looking.ts'
import { story, type World } from './world.ts'

const PHASES = { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }
const ONE = runbook('wave', PHASES)
const TWO = ONE.replace('function: create', 'function: Create-2')

/** `1 prepare overdue for 2: create`, `1 step create for 2` */
const lines = ({ phases, steps }: StartsAtOnce): string[] => [
  ...phases.map(({ batchId, phaseName, isOverdue, people, stepNames, waitsFor }) =>
    [
      `${batchId} ${phaseName}${isOverdue ? ' overdue' : ''} for ${people}: ${stepNames.join()}`,
      ...(waitsFor ? [`after ${waitsFor}`] : []),
    ].join(' '),
  ),
  ...steps.map(({ batchId, stepName, people }) => `${batchId} step ${stepName} for ${people}`),
]

async function begin(world: World, startsInMin: number): Promise<number> {
  await world.publish(ONE)
  const batchId = await world.batch('wave', 2, { startsInMin })
  await world.settle()
  return batchId
}

const starts = async (world: World, batchId: number, change: () => Promise<unknown>) =>
  lines((await withStarts(world.engine, async () => [batchId], change)).startsAtOnce)

it('publishing with rerun: the phases whose time has passed', () =>
  story({}, async (world) => {
    await begin(world, 60)
    assert.equal(calls(world).length, 2)
    const dry = await world.publish(TWO, { overdueBehavior: 'rerun', dryRun: true })
    assert.deepEqual(lines(dry.impact.startsAtOnce), ['1 prepare for 2: create'])
    await world.settle()
    assert.equal(calls(world).length, 2)
    const { impact } = await world.publish(TWO, { overdueBehavior: 'rerun' })
    assert.deepEqual(impact.startsAtOnce, dry.impact.startsAtOnce)
    await world.pass(1)
    assert.deepEqual(calls(world, 2), ['Create-2 user1', 'Create-2 user2'])
  }))

it('publishing without rerun, or for a held batch: nothing before the resume', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 60)
    const ignored = await world.publish(TWO, { dryRun: true })
    assert.deepEqual(lines(ignored.impact.startsAtOnce), [])
    await holdBatch(world.engine, order(batchId))
    await world.pass(600)
    const { impact } = await world.publish(TWO, { overdueBehavior: 'rerun' })
    assert.deepEqual(lines(impact.startsAtOnce), ['1 prepare overdue for 2: create after resume'])
    assert.equal(impact.startsAtOnce.phaseCount, 1)
    await world.pass(60)
    assert.equal(calls(world).length, 2)
  }))

it('publishing with a new init: init', () =>
  story({}, async (world) => {
    await begin(world, 600)
    const init = `init: [${step('group').replace('{{UserPrincipalName}}', 'x')}]`
    const { impact } = await world.publish(runbook('wave', PHASES, init), { rerunInit: true })
    assert.deepEqual(lines(impact.startsAtOnce), ['1 init for 2: group'])
    await world.pass(1)
    assert.deepEqual(
      world.jobs.map(({ functionName }) => functionName),
      ['group'],
    )
  }))

it('resume: phases that fell due and steps that waited', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, 60)
    assert.equal(world.jobs.length, 2)
    await holdBatch(world.engine, order(batchId))
    for (const job of world.jobs) await world.result(job, { ok: true })
    await world.pass(4_000)
    assert.equal(world.jobs.length, 2)
    const resume = () => resumeBatch(world.engine, order(batchId))
    assert.deepEqual(await starts(world, batchId, resume), ['1 cutover overdue for 2: switch'])
    await world.settle()
    assert.deepEqual(calls(world, 2), ['switch user1', 'switch user2'])
  }))

it('resume: withdrawn jobs go out again, for the people who have them', () =>
  story({}, async (world) => {
    await world.publish(ONE)
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.orchestrate()
    await holdBatch(world.engine, order(batchId))
    const resume = () => resumeBatch(world.engine, order(batchId))
    assert.deepEqual(await starts(world, batchId, resume), ['1 step create for 2'])
    await world.settle()
    assert.deepEqual(calls(world), ['create user1', 'create user2'])
  }))

it('reschedule: phases of a held batch wait for its resume', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 600)
    await holdBatch(world.engine, order(batchId))
    const startTime = new Date(+world.clock.now() - 60_000)
    const change = () =>
      rescheduleBatch(world.engine, { ...order(batchId), startTime, allowOverdue: true })
    assert.deepEqual(await starts(world, batchId, change), [
      '1 prepare overdue for 2: create after resume',
      '1 cutover overdue for 2: switch after resume',
    ])
    await world.pass(600)
    assert.deepEqual(calls(world), [])
  }))

it('resuming a batch that its gate holds: nothing before it is approved', () =>
  story({}, async (world) => {
    const gated = { 'cutover T-0 gate: { approvals: 1 }': [step('switch')] }
    await world.publish(runbook('wave', gated))
    const batchId = await world.batch('wave', 2, { startsInMin: 10 })
    await world.settle()
    await world.pass(11 * 60)
    const scope = { scope: 'batch', target: `${batchId}` } as const
    const resumes = async () => {
      await resumeScope(world.engine, { ...scope, actor: 'ada', reason: 'try' })
      const { phases } = await countStarts(world.db, scope, world.clock.now())
      return [phases, ...lines(await startsOfResume(world.engine, scope))]
    }
    assert.deepEqual(await resumes(), [0])
    await world.pass(1)
    assert.deepEqual(calls(world), [], 'it waits at its gate')
    await holdBatch(world.engine, order(batchId))
    await approveGate(world.engine, { ...order(batchId), actor: 'ben', phaseName: 'cutover' })
    assert.deepEqual(await resumes(), [1, '1 cutover overdue for 2: switch'])
    await world.pass(1)
    assert.deepEqual(calls(world), ['switch user1', 'switch user2'])
  }))
