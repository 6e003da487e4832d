// What a person decides about one member against the source: it stays moved, and it stays added again, until the source says something new.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readmitMembers, removeMembers } from '../../src/engine/orders/member-actions.ts'
import { moveMembers } from '../../src/engine/orders/moves.ts'
import { calls, memberId, order } from './looking.ts'
import { type Programme, programme, range, wave } from './programme.ts'

/** `1 active`, a line per place of the member. */
const placesOf = async ({ db }: Programme, number: number): Promise<string[]> => {
  const rows = await db.query<{ line: string }>(
    `select batch_id || ' ' || status as line from batch_members where key_folded = $1 order by batch_id`,
    [`user${number}@contoso.example`],
  )
  return rows.map(({ line }) => line)
}

const issues = async ({ db }: Programme): Promise<string[]> =>
  (
    await db.query<{ reason: string }>(
      `select reason from source_issues where kind = 'move_refused' order by id`,
    )
  ).map(({ reason }) => reason)

it('a member moved by hand stays until the source has it in a third group', () =>
  programme(async (world) => {
    const rows = [...wave(40, ...range(1, 8)), ...wave(64, ...range(11, 14))]
    await world.tick(rows)
    const who = { ...order(1), memberIds: [await memberId(world, 1, 1)] }
    const { done } = await moveMembers(world.engine, { ...who, to: { batchId: 2 } })
    assert.deepEqual(done, who.memberIds)
    for (let round = 0; round < 3; round++) {
      const report = (await world.tick(rows))!
      assert.equal(report.counts.moved, undefined)
      assert.deepEqual(await placesOf(world, 1), ['1 removed', '2 active'])
    }
    assert.deepEqual(await issues(world), [
      'it is in the group of 2026-03-04T00:00:00Z but stays in batch 2: operator moved it there from batch 1',
    ])
    await world.tick([...rows.slice(1), ...wave(88, 1)])
    assert.deepEqual(await placesOf(world, 1), ['1 removed', '2 removed', '3 active'])
    assert.deepEqual(
      calls(world, 0).filter((call) => call.startsWith('revoke')),
      [],
    )
  }))

it('a member moved by hand into a manual batch stays there', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 8)))
    const manual = await world.batch('wave', [], { manual: true })
    const who = { ...order(1), memberIds: [await memberId(world, 1, 1)] }
    await moveMembers(world.engine, { ...who, to: { batchId: manual } })
    await world.tick()
    await world.tick()
    assert.deepEqual(await placesOf(world, 1), ['1 removed', `${manual} active`])
  }))

it('a member added again by hand is not removed before its key has been back', () =>
  programme(async (world) => {
    const without = wave(40, ...range(2, 8))
    await world.tick(wave(40, ...range(1, 8)))
    const who = { ...order(1), memberIds: [await memberId(world, 1, 1)] }
    await removeMembers(world.engine, who)
    await world.settle()
    await world.tick(without)
    await world.tick()
    assert.deepEqual(await placesOf(world, 1), ['1 removed'])
    const back = await readmitMembers(world.engine, { ...who, event: 'readd' })
    assert.deepEqual(back.done, who.memberIds)
    for (let round = 0; round < 3; round++) await world.tick(without)
    assert.deepEqual(await placesOf(world, 1), ['1 active'])
    await world.tick(wave(40, ...range(1, 8)))
    await world.tick(without)
    assert.deepEqual(await placesOf(world, 1), ['1 active'])
    await world.tick(without)
    assert.deepEqual(await placesOf(world, 1), ['1 removed'])
    assert.deepEqual(calls(world, 0), ['revoke user1', 'revoke user1'])
  }))
