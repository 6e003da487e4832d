// The gate of a phase: it starts only with its approvals and its readiness, whatever starts it; decisions are void when what they were
// made about changes.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import {
  advanceBatch,
  rescheduleBatch,
  resumeBatch,
} from '../../src/engine/orders/batch-actions.ts'
import { addMembers } from '../../src/engine/orders/create.ts'
import {
  approveGate,
  readGates,
  waiveReadiness,
  withdrawDecision,
} from '../../src/engine/orders/gates.ts'
import {
  readmitMembers,
  redoMembers,
  removeMembers,
  retryMembers,
} from '../../src/engine/orders/member-actions.ts'
import { batchOf, because, calls, memberId, order, phasesOf, runbook, step } from './looking.ts'
import { people, story, type World } from './world.ts'

const wave = (gate: string, more = '') =>
  runbook(
    'wave',
    { 'prepare T-1h': [step('create')], [`cutover T-0 gate: ${gate}`]: [step('switch')] },
    more,
  )

async function begin(world: World, gate = '{ approvals: 2 }', members = 4): Promise<number> {
  await world.publish(wave(gate))
  const batchId = await world.batch('wave', members, { startsInMin: 120 })
  await world.settle()
  return batchId
}

const by = (batchId: number, actor: string) => ({
  batchId,
  actor,
  reason: 'looks good',
  phaseName: 'Cutover',
})
const approve = (world: World, batchId: number, ...people: string[]) =>
  Promise.all(people.map((actor) => approveGate(world.engine, by(batchId, actor))))
const switched = (world: World) => calls(world).filter((call) => call.startsWith('switch')).length
const missing = async (world: World, batchId: number) =>
  (await readGates(world.engine, batchId)).gates.map((gate) => gate.missing)

it('starts at its time with two approvals of people who did not publish', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await approve(world, batchId, 'ben')
    await assert.rejects(approve(world, batchId, 'ben'), /ben has already approved phase cutover/)
    await assert.rejects(approve(world, batchId, 'author'), /author published version 1 of wave/)
    assert.deepEqual(await missing(world, batchId), [['1 of 2 approvals']])
    await approve(world, batchId, 'cleo')
    await world.pass(7_199)
    assert.equal(switched(world), 0)
    await world.pass(1)
    assert.equal(switched(world), 4)
    assert.deepEqual(await because(world, 'gate_passed'), ['approved by ben, cleo'])
    await assert.rejects(approve(world, batchId, 'dora'), /wave|completed/)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('holds the batch at its time without approvals, once; a resume leaves the phase waiting', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await approve(world, batchId, 'ben')
    await world.pass(7_200)
    const why = 'phase cutover waits at its gate: 1 of 2 approvals'
    assert.equal((await batchOf(world, batchId)).held, why)
    assert.deepEqual(await world.db.query('select held_by from batches'), [{ heldBy: 'gate' }])
    await approve(world, batchId, 'cleo')
    await world.pass(600)
    assert.equal(switched(world), 0, 'approvals alone do not resume')
    await withdrawDecision(world.engine, { ...by(batchId, 'cleo'), kind: 'approval' })
    await resumeBatch(world.engine, order(batchId))
    await world.pass(600)
    assert.equal(switched(world), 0, 'a resume alone opens no gate')
    assert.equal((await batchOf(world, batchId)).held, null, 'the batch works on')
    await approve(world, batchId, 'cleo')
    await world.settle()
    assert.equal(switched(world), 4)
    assert.deepEqual(await because(world, 'held'), [why])
  }))

it('is void when a member joins between approval and start, also in the same second', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await approve(world, batchId, 'ben', 'cleo')
    await world.clock.advance(7_200_000)
    await addMembers(world.engine, batchId, people(5).slice(4), 'operator')
    await world.settle()
    assert.equal(switched(world), 0)
    assert.equal(
      (await because(world, 'approval_void'))[0],
      'the approval of ben is void: the members changed',
    )
    assert.equal(
      (await batchOf(world, batchId)).held,
      'phase cutover waits at its gate: 0 of 2 approvals',
    )
    await approve(world, batchId, 'ben', 'cleo')
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.equal(switched(world), 5)
  }))

it('is void when one leaves and another returns, although as many are there', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    const [first, second] = [await memberId(world, batchId, 1), await memberId(world, batchId, 2)]
    await removeMembers(world.engine, { ...order(batchId), memberIds: [first] })
    await world.settle()
    await approve(world, batchId, 'ben', 'cleo')
    await removeMembers(world.engine, { ...order(batchId), memberIds: [second] })
    await readmitMembers(world.engine, { ...order(batchId), memberIds: [first], event: 'readd' })
    await world.pass(7_200)
    assert.equal(switched(world), 0)
    assert.match((await batchOf(world, batchId)).held!, /0 of 2 approvals/)
  }))

it('is void after a new version and after another date, and the event says why', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await approve(world, batchId, 'ben')
    await world.publish(wave('{ approvals: 1 }'))
    await world.settle()
    await approve(world, batchId, 'ben')
    const startTime = new Date(+world.clock.now() + 3 * 3_600_000)
    await rescheduleBatch(world.engine, { ...order(batchId), startTime, allowOverdue: false })
    await world.settle()
    assert.deepEqual(await because(world, 'approval_void'), [
      'the approval of ben is void: version 2 replaced version 1',
      'the approval of ben is void: the phase moved from 2026-03-02T10:00:00.000Z to 2026-03-02T11:00:00.000Z',
    ])
    await world.pass(3 * 3_600)
    assert.equal(switched(world), 0)
  }))

it('survives as many joiners and leavers as the gate says, and not one more', () =>
  story({}, async (world) => {
    const batchId = await begin(world, '{ approvals: 2, approval_survives: 2 }')
    await approve(world, batchId, 'ben', 'cleo')
    const memberIds = [await memberId(world, batchId, 1)]
    await removeMembers(world.engine, { ...order(batchId), memberIds })
    await addMembers(world.engine, batchId, people(5).slice(4), 'operator')
    await world.settle()
    assert.deepEqual(await missing(world, batchId), [[]], 'one left and one joined')
    await addMembers(world.engine, batchId, people(6).slice(5), 'operator')
    await world.settle()
    assert.deepEqual(await missing(world, batchId), [['0 of 2 approvals']])
    const why = 'is void: 3 people joined or left, and it survives 2'
    assert.deepEqual(await because(world, 'approval_void'), [
      `the approval of ben ${why}`,
      `the approval of cleo ${why}`,
    ])
    await approve(world, batchId, 'ben', 'cleo')
    await removeMembers(world.engine, {
      ...order(batchId),
      memberIds: [await memberId(world, batchId, 2)],
    })
    await world.pass(7_200)
    assert.equal(switched(world), 4, 'five people approved, four are left, and the night begins')
    assert.deepEqual(await because(world, 'gate_passed'), ['approved by ben, cleo'])
  }))

it('asks for readiness, which a waiver with an end may replace', () =>
  story({}, async (world) => {
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user1@') ? { fail: 'no licence' } : { ok: true }
    const batchId = await begin(world, '{ approvals: 0, ready: 90% }')
    await world.pass(3_600)
    await world.pass(3_600)
    const why = 'phase cutover waits at its gate: 3 of 4 members ready (75 %), 90 % needed'
    assert.equal((await batchOf(world, batchId)).held, why)
    const waive = (minutes: number) =>
      waiveReadiness(world.engine, {
        ...by(batchId, 'ben'),
        endsAt: new Date(+world.clock.now() + minutes * 60_000),
      })
    await assert.rejects(waive(-1), /would be over already/)
    await waive(10)
    await assert.rejects(waive(10), /already waived/)
    await world.pass(601)
    assert.deepEqual(await because(world, 'waiver_void'), [
      'the waiver of ben is void: it ended at 2026-03-02T10:10:00.000Z',
    ])
    await resumeBatch(world.engine, order(batchId))
    await world.pass(60)
    assert.equal(switched(world), 0)
    await waive(10)
    await world.settle()
    assert.equal(switched(world), 3)
    assert.deepEqual(await because(world, 'gate_passed'), [
      'no approval needed; 3 of 4 members ready, readiness waived by ben',
    ])
  }))

it('starts by itself once the repaired members are ready', () =>
  story({}, async (world) => {
    world.answer = () => ({ fail: 'no licence' })
    const batchId = await begin(world, '{ approvals: 0, ready: 100% }', 1)
    await world.pass(3_600)
    world.answer = () => ({ ok: true })
    await retryMembers(world.engine, {
      ...order(batchId),
      memberIds: [await memberId(world, batchId, 1)],
    })
    await world.settle()
    await world.pass(3_600)
    assert.equal(switched(world), 1)
  }))

it('stops an advance by hand, and an immediate batch', () =>
  story({}, async (world) => {
    await world.publish(wave('{ approvals: 1 }'))
    const manual = await world.batch('wave', 2, { manual: true })
    const advance = (expectedPhase: string) =>
      advanceBatch(world.engine, {
        batchId: manual,
        actor: 'operator',
        expectedPhase,
        allowStragglers: false,
      })
    await advance('prepare')
    await world.settle()
    await assert.rejects(advance('cutover'), /phase cutover waits at its gate: 0 of 1 approvals/)
    await approve(world, manual, 'ben')
    await advance('cutover')
    await world.settle()
    assert.equal(switched(world), 2)
    const now = await world.batch(
      'wave',
      people(3).map((one) => ({ ...one, key: `b-${one.key}` })),
    )
    await world.settle()
    assert.equal(switched(world), 2)
    assert.match((await batchOf(world, now)).held!, /waits at its gate/)
  }))

it('asks again when a phase without members at its time gets some', () =>
  story({}, async (world) => {
    const batchId = await begin(world, '{ approvals: 1 }', 1)
    await removeMembers(world.engine, {
      ...order(batchId),
      memberIds: [await memberId(world, batchId, 1)],
    })
    await world.pass(7_200)
    assert.deepEqual(await phasesOf(world, batchId), ['prepare skipped 0', 'cutover skipped 0'])
    await addMembers(world.engine, batchId, people(2).slice(1), 'operator')
    await world.pass(10)
    assert.deepEqual(calls(world), [])
    assert.match((await batchOf(world, batchId)).held!, /waits at its gate: 0 of 1 approvals/)
    await approve(world, batchId, 'ben')
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(calls(world), ['create user2', 'switch user2'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

const COUNTED = `
name: wave
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
phases:
  - name: check
    offset: T-1h
    steps:
      - { name: count, worker_id: w1, function: Get-EntraLicenseCount, params: { UserId: "{{UserPrincipalName}}", SkuId: SPE_E3 } }
  - name: cutover
    offset: T-0
    gate: { approvals: 1 }
    steps: [{ name: switch, worker_id: w1, function: switch }]
`

it('compares the licences that people need with those that are free, and waits for more', () =>
  story({}, async (world) => {
    let free = 60
    world.answer = ({ functionName }) => {
      const sku = { SkuId: 'aaaa', SkuPartNumber: 'SPE_E3', IsHeld: false, Free: free }
      return { ok: functionName === 'switch' ? true : { UserId: 'x', Licenses: [sku] } }
    }
    await world.publish(COUNTED)
    const batchId = await world.batch('wave', 100, { startsInMin: 120 })
    await world.pass(3_600)
    const short = 'licences SPE_E3: 60 free, 100 needed'
    assert.deepEqual(await missing(world, batchId), [['0 of 1 approvals', short]])
    await approve(world, batchId, 'ben')
    await world.pass(3_600)
    assert.equal(switched(world), 0)
    const why = `phase cutover waits at its gate: ${short}`
    assert.equal((await batchOf(world, batchId)).held, why)
    assert.deepEqual(await because(world, 'held'), [why], 'people are told once')
    // Licences are bought, and nobody has asked the tenant since.
    free = 100
    await resumeBatch(world.engine, order(batchId))
    await world.pass(60)
    assert.equal(switched(world), 0)
    const memberIds = [await memberId(world, batchId, 7)]
    await redoMembers(world.engine, { ...order(batchId), memberIds, fromStepName: 'count' })
    await world.pass(60)
    assert.equal(switched(world), 0, 'somebody without an answer needs one, too')
    await world.pass(60)
    assert.equal(switched(world), 100)
    assert.deepEqual(await because(world, 'gate_passed'), [
      'approved by ben; licences SPE_E3: 100 free, 100 needed',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('does not count people who left or have the licence, and counts one whose answer is none', () =>
  story({}, async (world) => {
    const answers: Record<string, Json> = {
      'user1@contoso.example': [{ SkuId: 'A', SkuPartNumber: 'E3', IsHeld: true, Free: 1 }],
      'user2@contoso.example': [{ SkuId: 'a', SkuPartNumber: 'E3', IsHeld: false, Free: 1 }],
      'user3@contoso.example': 'nonsense',
      'user4@contoso.example': [{ SkuId: 'a', SkuPartNumber: 'E3', IsHeld: false, Free: 'many' }],
    }
    world.answer = ({ parameters }) => ({
      ok: { UserId: 'x', Licenses: answers[String(parameters.UserId)] ?? null },
    })
    await world.publish(COUNTED)
    const batchId = await world.batch('wave', 4, { startsInMin: 120 })
    await world.pass(3_600)
    const memberIds = [await memberId(world, batchId, 4)]
    await removeMembers(world.engine, { ...order(batchId), memberIds })
    const { gates } = await readGates(world.engine, batchId)
    assert.deepEqual(
      gates[0]!.facts.supplies.map(({ name, needed, free }) => [name, needed, free]),
      [['E3', 2, 1]],
      'one with an answer, one whose answer is none',
    )
    assert.deepEqual(gates[0]!.missing, ['0 of 1 approvals', 'licences E3: 1 free, 2 needed'])
  }))
