// Groups: members, permissions, and refusals that look alike.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_CLIENT_ID, DEFAULT_SECRET, type Seed } from '../../sandbox/state.ts'
import {
  assertRefused,
  id,
  itemsOf,
  openUnderTest,
  PASSWORD,
  type Reply,
  type UnderTest,
} from './under-test.ts'

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example'],
      users: [
        { id: id(1), userPrincipalName: 'ada@contoso.example' },
        { id: id(2), userPrincipalName: 'ben@contoso.example' },
        { id: id(3), userPrincipalName: 'cleo@contoso.example' },
      ],
      groups: [
        { id: id(10), displayName: 'Inner', members: ['ada@contoso.example'] },
        { id: id(11), displayName: 'Outer', members: ['Inner', id(2)] },
        {
          id: id(12),
          displayName: 'Unified',
          kind: 'microsoft365',
          mail: 'unified@contoso.example',
        },
        {
          id: id(13),
          displayName: 'List',
          kind: 'distribution',
          mail: 'list@contoso.example',
          members: [id(1)],
        },
        { id: id(14), displayName: 'Mail security', kind: 'mailEnabledSecurity', members: [id(1)] },
        { id: id(15), displayName: 'Rule', kind: 'dynamic', members: [id(1)] },
        { id: id(16), displayName: 'Too new', visibleAt: '2030-03-01T08:00:10.000Z' },
      ],
    },
  ],
}

const ref = (number: number) => ({
  '@odata.id': `https://graph.microsoft.com/v1.0/directoryObjects/${id(number)}`,
})
const add = (under: UnderTest, group: number, member: number) =>
  under.graph('POST', `/v1.0/groups/${id(group)}/members/$ref`, ref(member))
const remove = (under: UnderTest, group: number, member: number) =>
  under.graph('DELETE', `/v1.0/groups/${id(group)}/members/${id(member)}/$ref`)

describe('adding a member', () => {
  it('has one effect; a repeat says that the reference exists', async () => {
    await using under = await openUnderTest(SEED)
    assert.equal((await add(under, 10, 2)).status, 204)
    assertRefused(
      await add(under, 10, 2),
      400,
      'Request_BadRequest',
      /^One or more added object references already exist for the following modified properties: 'members'\.$/,
    )
    assert.equal((await add(under, 12, 2)).status, 204)
    assert.deepEqual(await under.done(), ['member added', 'member added'])
  })

  it('accepts references with the sandbox’s URL and Microsoft’s', async () => {
    await using under = await openUnderTest(SEED)
    const body = { '@odata.id': `${under.sandbox.url}/v1.0/users/${id(2)}` }
    assert.equal(
      (await under.graph('POST', `/v1.0/groups/${id(10)}/members/$ref`, body)).status,
      204,
    )
  })

  it('is 404 for an unknown user or group', async () => {
    await using under = await openUnderTest(SEED)
    assertRefused(await add(under, 10, 99), 404, 'Request_ResourceNotFound', new RegExp(id(99)))
    assertRefused(await add(under, 98, 1), 404, 'Request_ResourceNotFound', new RegExp(id(98)))
  })

  it('before replication is 404 for a new user and 400 for a new group', async () => {
    await using under = await openUnderTest(SEED)
    const made = await under.graph('POST', '/v1.0/users', {
      accountEnabled: true,
      displayName: 'Nora',
      mailNickname: 'nora',
      userPrincipalName: 'nora@contoso.example',
      passwordProfile: PASSWORD,
    })
    const reference = {
      '@odata.id': `https://graph.microsoft.com/v1.0/directoryObjects/${String(made.body.id)}`,
    }
    const path = `/v1.0/groups/${id(10)}/members/$ref`
    assert.equal((await under.graph('POST', path, reference)).status, 404)
    assertRefused(
      await add(under, 16, 1),
      400,
      'Request_BadRequest',
      /objects being referenced don't exist/,
    )
    await under.clock.advance(10_000)
    assert.equal((await under.graph('POST', path, reference)).status, 204)
    assert.equal((await add(under, 16, 1)).status, 204)
  })

  for (const [group, message] of [
    [13, /Cannot Update a mail-enabled/],
    [14, /Cannot Update a mail-enabled/],
    [15, /dynamic group/],
  ] as const) {
    it(`is refused by group ${group}, which Graph does not own`, async () => {
      await using under = await openUnderTest(SEED)
      assertRefused(await add(under, group, 2), 403, 'Authorization_RequestDenied', message)
      assertRefused(await remove(under, group, 1), 403, 'Authorization_RequestDenied', message)
    })
  }
})

describe('removing a member', () => {
  it('returns the same error for a missing member and a missing group', async () => {
    await using under = await openUnderTest(SEED)
    assert.equal((await remove(under, 10, 1)).status, 204)
    const noMember = await remove(under, 10, 1)
    const noGroup = await remove(under, 98, 1)
    const sentence = (group: number) =>
      new RegExp(
        `^Resource '${id(group)}' does not exist or one of its queried reference-property objects are not present\\.$`,
      )
    assertRefused(noMember, 404, 'Request_ResourceNotFound', sentence(10))
    assertRefused(noGroup, 404, 'Request_ResourceNotFound', sentence(98))
    assert.equal((await under.graph('GET', `/v1.0/groups/${id(10)}?$select=id`)).status, 200)
    assert.equal((await under.graph('GET', `/v1.0/groups/${id(98)}?$select=id`)).status, 404)
  })

  it('without /$ref deletes the user', async () => {
    await using under = await openUnderTest(SEED)
    await under.graph('DELETE', `/v1.0/groups/${id(10)}/members/${id(1)}`)
    assert.equal((await under.graph('GET', `/v1.0/users/${id(1)}`)).status, 404)
    assert.deepEqual(await under.done(), ['user deleted'])
  })
})

describe('reading members', () => {
  it('checkMemberGroups follows nested groups and ignores unknown ones', async () => {
    await using under = await openUnderTest(SEED)
    const groupIds = [id(10), id(11), id(12), id(98)]
    const reply = await under.graph('POST', '/v1.0/users/ada@contoso.example/checkMemberGroups', {
      groupIds,
    })
    assert.deepEqual(reply.body.value, [id(10), id(11)])
    assert.equal(reply.headers.get('x-ms-resource-unit'), '4')
  })

  it('checkMemberGroups refuses a malformed id and more than twenty', async () => {
    await using under = await openUnderTest(SEED)
    const path = `/v1.0/users/${id(1)}/checkMemberGroups`
    for (const groupIds of [['x'], Array(21).fill(id(10)), 'x'])
      assert.equal((await under.graph('POST', path, { groupIds })).status, 400)
  })

  it('lists direct and transitive members in pages', async () => {
    await using under = await openUnderTest(SEED)
    const path = `/v1.0/groups/${id(11)}`
    const page = await under.graph('GET', `${path}/members?$select=id&$top=1`)
    assert.deepEqual(itemsOf(page), [{ '@odata.type': '#microsoft.graph.user', id: id(2) }])
    const next = new URL(String(page.body['@odata.nextLink']))
    assert.deepEqual(itemsOf(await under.graph('GET', next.pathname + next.search)), [
      { '@odata.type': '#microsoft.graph.group', id: id(10) },
    ])
    const all = await under.graph('GET', `${path}/transitiveMembers?$select=id`)
    assert.deepEqual(
      itemsOf(all).map((one) => one.id),
      [id(1), id(2), id(10)],
    )
    const filter = encodeURIComponent(`id eq '${id(2)}'`)
    assert.equal(
      itemsOf(await under.graph('GET', `${path}/members?$filter=${filter}&$count=true`)).length,
      1,
    )
  })

  it('lists groups, their kinds and memberships', async () => {
    await using under = await openUnderTest(SEED)
    const filter = encodeURIComponent("displayName eq 'Unified'")
    const [unified] = itemsOf(await under.graph('GET', `/v1.0/groups?$filter=${filter}`))
    assert.deepEqual(
      [unified!.mailEnabled, unified!.securityEnabled, unified!.groupTypes],
      [true, false, ['Unified']],
    )
    const of = itemsOf(
      await under.graph('GET', `/v1.0/users/${id(2)}/memberOf?$select=displayName`),
    )
    assert.deepEqual(
      of.map(({ displayName }) => displayName),
      ['Outer'],
    )
    assert.equal((await under.graph('GET', '/v1.0/groups/everybody')).status, 400)
  })
})

describe('rights that a plain permission does not include', () => {
  const APP = { clientId: DEFAULT_CLIENT_ID, secret: DEFAULT_SECRET }
  const refused = (reply: Reply) =>
    assertRefused(reply, 403, 'Authorization_RequestDenied', /^Insufficient privileges/)
  const seedWith = (roles: string[]): Seed => ({
    tenants: [
      {
        domains: ['contoso.example'],
        applications: [{ ...APP, roles }],
        users: [{ id: id(1), userPrincipalName: 'ada@contoso.example' }],
        groups: [{ id: id(10), displayName: 'Helpdesk admins', isAssignableToRole: true }],
      },
    ],
  })
  const PLAIN = ['GroupMember.ReadWrite.All', 'User.ReadWrite.All']

  it('members of a group with a directory role need the right to manage roles', async () => {
    await using plain = await openUnderTest(seedWith(PLAIN))
    refused(await add(plain, 10, 1))
    await using manager = await openUnderTest(
      seedWith([...PLAIN, 'RoleManagement.ReadWrite.Directory']),
    )
    assert.equal((await add(manager, 10, 1)).status, 204)
  })

  it('the day somebody leaves has a right of its own, to read it too', async () => {
    const leaves = { employeeLeaveDateTime: '2030-01-01T00:00:00Z' }
    const select = `/v1.0/users/${id(1)}?$select=id,employeeLeaveDateTime`
    await using plain = await openUnderTest(seedWith(PLAIN))
    const write = (under: UnderTest) => under.graph('PATCH', `/v1.0/users/${id(1)}`, leaves)
    refused(await write(plain))
    refused(await plain.graph('GET', select))
    await using hr = await openUnderTest(seedWith([...PLAIN, 'User-LifeCycleInfo.ReadWrite.All']))
    assert.equal((await write(hr)).status, 204)
    assert.deepEqual(
      (await hr.graph('GET', select)).body.employeeLeaveDateTime,
      leaves.employeeLeaveDateTime,
    )
  })
})
