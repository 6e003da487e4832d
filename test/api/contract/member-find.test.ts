// People over all batches: by state, and those who have still to be cut over.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { addMembers } from '../../../src/engine/orders/create.ts'
import { assertStatesAgree } from '../../kit/person-states.ts'
import { runbook, step } from '../../stories/looking.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'

interface People {
  members: {
    name: string | null
    department: string | null
    batch: { id: number; runbookName: string; batchStartTime: string }
    member: { memberKey: string; state: string; cutOverAt: string | null }
  }[]
  total: number
  isTotalExact: boolean
  next: string | null
}

const YAML = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0': [step('switch')],
  'aftercare T+1d': [step('check')],
})
const person = (name: string) => ({
  key: `${name}@contoso.example`,
  data: { UserPrincipalName: `${name}@contoso.example`, DisplayName: `The ${name}`, Dept: 'IT' },
})

describe('people over all batches', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    const { world } = api
    world.answer = ({ functionName, parameters }) => {
      const who = String(parameters.Upn).split('@')[0]!
      const fails = { create: ['ben', 'eve'], switch: ['cy'], check: ['dan'] }[functionName] ?? []
      return fails.includes(who) ? { fail: 'no' } : { ok: true }
    }
    await world.publish(YAML)
    await world.batch('wave', ['ada', 'ben', 'cy', 'dan', 'eve'].map(person), { startsInMin: 60 })
    await world.batch('wave', ['fay'].map(person), { startsInMin: 7 * 1_440 })
    await world.publish(YAML.replace('name: wave', 'name: other'))
    await world.batch('other', ['gil'].map(person), { startsInMin: 7 * 1_440 })
    await world.settle()
    await world.pass(3_600)
    await world.pass(86_400)
    // She failed in the first wave and is in the next one.
    await addMembers(world.engine, 2, [person('eve')], 'operator')
    await world.settle()
  })
  after(async () => {
    await assertStatesAgree(api.world.db)
    await api.close()
  })
  const ask = async (query = ''): Promise<People> =>
    (await api.call<People>('GET', `/api/members${query}`)).body
  const who = ({ members }: People) =>
    members.map(
      ({ member, batch }) => `${member.memberKey.split('@')[0]} ${batch.id} ${member.state}`,
    )

  it('are listed batch by batch with name, department, wave and time', async () => {
    const all = await ask()
    assert.deepEqual(who(all), [
      'ada 1 done',
      'ben 1 failed',
      'cy 1 failed',
      'dan 1 failed',
      'eve 1 failed',
      'fay 2 scheduled',
      'eve 2 scheduled',
      'gil 3 scheduled',
    ])
    assert.deepEqual([all.total, all.isTotalExact, all.next], [8, true, null])
    const at = '2026-03-02T09:00:00.000Z'
    assert.partialDeepStrictEqual(all.members[0], {
      name: 'The ada',
      department: 'IT',
      batch: { runbookName: 'wave', batchStartTime: at },
      member: { cutOverAt: at },
    })
    assert.equal(all.members[1]!.member.cutOverAt, null)
  })

  it('who have still to be cut over are each there once, and nobody who has been', async () => {
    // Dan failed in the aftercare: he has been cut over.
    assert.deepEqual(who(await ask('?notCutOver=true')), [
      'ben 1 failed',
      'cy 1 failed',
      'fay 2 scheduled',
      'eve 2 scheduled',
      'gil 3 scheduled',
    ])
    assert.deepEqual(who(await ask('?notCutOver=true&runbook=OTHER')), ['gil 3 scheduled'])
    assert.deepEqual(who(await ask('?notCutOver=true&state=failed')), [
      'ben 1 failed',
      'cy 1 failed',
    ])
    assert.deepEqual(who(await ask('?notCutOver=true&state=done')), [])
    assert.deepEqual(who(await ask('?state=done,scheduled&runbook=wave')), [
      'ada 1 done',
      'fay 2 scheduled',
      'eve 2 scheduled',
    ])
  })

  it('come page by page, across batches, nobody twice', async () => {
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: People = await ask(`?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`)
      assert.equal(page.total, 8)
      seen.push(...who(page))
      cursor = page.next
    } while (cursor !== null)
    assert.deepEqual(seen, who(await ask()))
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/members?cursor=x')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/members?state=migrated')
  })

  it('are a file for a spreadsheet', async () => {
    const answer = await fetch(`${api.url}/api/members?notCutOver=true&runbook=other`, {
      headers: { accept: 'text/csv', authorization: `Bearer ${api.token}` },
    })
    const [header, ...rows] = (await answer.text()).trimEnd().split('\r\n')
    assert.match(
      header!,
      /^name,department,batch\.id,batch\.runbookName,batch\.status,batch\.batchStartTime,/,
    )
    assert.match(
      rows.join(),
      /^The gil,IT,3,other,(?:detected|active),2026-03-09T08:00:00\.000Z,.*scheduled/,
    )
    assert.equal(rows.length, 1)
  })
})

covers('findMembers')
