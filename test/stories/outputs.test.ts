// Outputs: from a step to later steps, from init to every member, and results without any.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { batchOf, because, runbook, step } from './looking.ts'
import { story, type World } from './world.ts'

const make = (outputs: string) =>
  `{ name: make, worker_id: w1, function: Make, params: {}, output_params: { ${outputs} } }`
const use = (params: string) => `{ name: use, worker_id: w1, function: Use, params: { ${params} } }`

async function run(world: World, steps: string[], more = ''): Promise<number> {
  await world.publish(runbook('wave', { 'cutover T-0': steps }, more))
  const batchId = await world.batch('wave', 1)
  await world.settle()
  return batchId
}

const used = ({ jobs }: World) => jobs.find((job) => job.functionName === 'Use')?.parameters

it('keep their types, match in any casing, and win over data of the same name', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => ({
      ok:
        functionName === 'Make'
          ? { ID: 7, tags: ['a', 'b'], flag: false, nothing: null, name: 'from the step' }
          : true,
    })
    const outputs = 'ThingId: id, Tags: Tags, Flag: flag, Nothing: nothing, Name: name'
    const params =
      'Id: "{{ThingId}}", Tags: "{{Tags}}", Flag: "{{Flag}}", Nothing: "{{Nothing}}", Name: "{{Name}}", Text: "{{ThingId}}/{{Tags}}/{{Nothing}}"'
    await run(world, [make(outputs), use(params)])
    assert.deepEqual(used(world), {
      Id: 7,
      Tags: ['a', 'b'],
      Flag: false,
      Nothing: null,
      Name: 'from the step',
      Text: '7/["a","b"]/',
    })
  }))

it('of init belong to the batch: every member sees them, and the member’s own win', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'Open' ? { ok: { Room: 'R1', Floor: 2 } } : { ok: { Room: 'own' } }
    const init = `init: [{ name: open, worker_id: w1, function: Open, params: {}, output_params: { Room: Room, Floor: Floor } }]`
    const params = 'Room: "{{Room}}", Floor: "{{Floor}}", Start: "{{_batch_start_time}}"'
    await run(world, [use(params), make('Room: Room'), step('last')], init)
    assert.deepEqual(used(world), { Room: 'R1', Floor: 2, Start: '2026-03-02T08:00:00.000Z' })
    const [row] = await world.db.query(
      'select b.outputs_json as batch, m.worker_data_json as member from batches b join batch_members m on m.batch_id = b.id',
    )
    assert.deepEqual(row, { batch: { Room: 'R1', Floor: 2 }, member: { Room: 'own' } })
  }))

const NOT_THERE: { what: string; result: Json; reason: string }[] = [
  { what: 'a boolean', result: true, reason: 'the result is not an object and lacks id' },
  { what: 'a list', result: [{ id: 1 }], reason: 'the result is not an object and lacks id' },
  { what: 'a text', result: 'id', reason: 'the result is not an object and lacks id' },
  { what: 'a number', result: 5, reason: 'the result is not an object and lacks id' },
  { what: 'null', result: null, reason: 'the result is not an object and lacks id' },
  { what: 'an object without it', result: { other: 1 }, reason: 'the result lacks id' },
  { what: 'it deeper down', result: { data: { id: 1 } }, reason: 'the result lacks id' },
]
for (const { what, result, reason } of NOT_THERE) {
  it(`a result that is ${what}: the step succeeds and the event names what is missing`, () =>
    story({}, async (world) => {
      world.answer = () => ({ ok: result })
      const batchId = await run(world, [make('ThingId: id')])
      assert.equal((await batchOf(world, batchId)).status, 'completed')
      assert.deepEqual(await because(world, 'outputs_missing'), [reason])
      const [row] = await world.db.query(
        `select s.status, s.result_json as result, s.result_json is null as is_missing, m.worker_data_json as outputs
           from step_executions s join batch_members m on m.id = s.batch_member_id`,
      )
      assert.deepEqual(row, { status: 'succeeded', result, isMissing: false, outputs: {} })
    }))
}

it('unwraps data only from a result with complete', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'Make' ? { ok: { complete: true, data: { id: 9 } } } : { ok: true }
    await run(world, [make('ThingId: id'), use('Id: "{{ThingId}}"')])
    assert.deepEqual(used(world), { Id: 9 })
  }))

it('complete without data: uses the result itself', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'Make' ? { ok: { complete: true, id: 9 } } : { ok: true }
    await run(world, [make('ThingId: id'), use('Id: "{{ThingId}}"')])
    assert.deepEqual(used(world), { Id: 9 })
  }))
