// A gate that too many failures have closed for certain is said a day before its time, and no longer once it is waived or repaired.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadVerdict } from '../../src/engine/needs/find-needs.ts'
import { waiveReadiness } from '../../src/engine/orders/gates.ts'
import { order, runbook, step } from './looking.ts'
import { people, story } from './world.ts'

it('is a need before T-0, on the batch that it concerns alone, and ends with a waiver', () =>
  story({}, async (world) => {
    world.answer = ({ parameters }) =>
      /^user[12]@/.test(String(parameters.Upn)) ? { fail: 'mailbox on hold' } : { ok: true }
    await world.publish(
      runbook('wave', {
        'prepare T-1h': [step('create')],
        'cutover T-0 gate: { approvals: 0, ready: 95% }': [step('switch')],
      }),
    )
    const batchId = await world.batch('wave', 10, { startsInMin: 90 })
    const other = await world.batch('wave', people(13).slice(10), { startsInMin: 3_000 })
    const gates = async (id: number) =>
      (await loadVerdict(world.engine, world.clock.now(), { batchId: id })).needs.flatMap((need) =>
        need.kind === 'gate_waiting' ? [`${need.severity} ${need.text}`] : [],
      )
    assert.deepEqual(await gates(batchId), [], 'nobody has failed yet')
    await world.pass(40 * 60)
    const [said] = await gates(batchId)
    assert.match(
      said!,
      /^urgent Phase cutover of batch \d+ has at most 8 of 10 people ready \(95 % needed\)/,
    )
    assert.deepEqual(await gates(other), [])
    await waiveReadiness(world.engine, {
      ...order(batchId),
      phaseName: 'cutover',
      endsAt: new Date(+world.clock.now() + 2 * 3_600_000),
    })
    assert.deepEqual(await gates(batchId), [])
  }))
