// A person is found by any address they have or had: in the key, in data of the source, in outputs, in every batch.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { refreshMembers } from '../../src/db/sources/membership.ts'
import {
  type FoundMember,
  findPeopleByAddress,
  findPeopleByBeginning,
} from '../../src/db/views/find-members.ts'
import { setMemberVariable } from '../../src/engine/orders/member-actions.ts'
import { memberId, moveMember, order, runbook, step } from './looking.ts'
import { people, story, type World } from './world.ts'

const create = step('create', 'output_params: { NewAddress: mail, Licence: licence }')
const YAML = runbook('wave', { 'prepare T-2h': [create], 'cutover T-0': [step('switch')] })

const batchesOf = (found: readonly FoundMember[]) => found.map(({ batchId }) => batchId)
const find = async ({ db }: World, address: string) =>
  batchesOf(await findPeopleByAddress(db, address, 21))

async function refresh({ db }: World, batchId: number, id: number, address: string) {
  const data = JSON.stringify({ UserPrincipalName: 'user1@contoso.example', Mail: address })
  const fresh = { memberId: id, key: 'user1@contoso.example', data, hash: address }
  await db.transaction((tx) => refreshMembers(tx, batchId, [fresh]))
}

it('is found by addresses of data and outputs, and by old ones', () =>
  story({}, async (world) => {
    world.answer = ({ parameters }) => ({
      ok: { mail: `SMTP:New.${String(parameters.Upn)}`, licence: 'E5' },
    })
    await world.publish(YAML)
    const first = await world.batch('wave', 2, { startsInMin: 120 })
    assert.deepEqual(await find(world, 'user1@contoso.example'), [], 'the key has its own index')
    assert.deepEqual(await find(world, 'new.user1@contoso.example'), [])
    await world.settle()
    assert.deepEqual(await find(world, 'new.user1@contoso.example'), [first])

    const id = await memberId(world, first, 1)
    await refresh(world, first, id, 'one@contoso.example')
    await refresh(world, first, id, 'two@contoso.example')
    for (const address of ['one@contoso.example', 'two@contoso.example'])
      assert.deepEqual(await find(world, address), [first])
    const byHand = {
      ...order(first),
      memberIds: [id],
      name: 'NewAddress',
      value: 'x@fabrikam.example',
    }
    await setMemberVariable(world.engine, byHand)
    assert.deepEqual(await find(world, 'x@fabrikam.example'), [first])

    const second = await world.batch('wave', people(3).slice(2), { startsInMin: 180 })
    await moveMember(world.engine, { ...order(first), memberId: id, toBatchId: second })
    for (const address of ['two@contoso.example', 'x@fabrikam.example'])
      assert.deepEqual(await find(world, address), [second, first])
    assert.deepEqual(await find(world, 'one@contoso.example'), [first], 'the old row keeps it')

    const near = await findPeopleByBeginning(world.db, 'new.user', 21)
    assert.deepEqual(batchesOf(near), [first, first])
    const byKey = await findPeopleByBeginning(world.db, 'user1@c', 21)
    assert.deepEqual(batchesOf(byKey), [second, first])
    assert.deepEqual(await findPeopleByBeginning(world.db, 'new.user_', 21), [])
  }))

it('costs nothing when results bring no address', () =>
  story({}, async (world) => {
    world.answer = () => ({ ok: { mail: null, licence: 'E5' } })
    await world.publish(YAML)
    await world.batch('wave', 2, { startsInMin: 120 })
    const count = async () =>
      (
        await world.db.query<{ count: number }>(
          'select count(*)::int as count from member_addresses',
        )
      )[0]
    const before = await count()
    await world.settle()
    assert.deepEqual(before, { count: 0 })
    assert.deepEqual(await count(), before)
  }))
