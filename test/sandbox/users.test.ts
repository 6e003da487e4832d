// Directory users: create, read, change, delete, restore; manager, sessions, mail.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Seed } from '../../sandbox/state.ts'
import {
  assertRefused,
  errorOf,
  id,
  itemsOf,
  openUnderTest,
  PASSWORD,
  type UnderTest,
} from './under-test.ts'

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example', 'contoso.onmicrosoft.com'],
      users: [
        { id: id(1), userPrincipalName: 'ada@contoso.example', displayName: 'Ada Adler' },
        { id: id(2), userPrincipalName: "kim.o'brien@contoso.example", displayName: "Kim O'Brien" },
        { id: id(3), userPrincipalName: 'box@contoso.example', recipient: { kind: 'mailbox' } },
      ],
    },
  ],
}

const NEW = {
  accountEnabled: true,
  displayName: 'Nora Nord',
  mailNickname: 'nora',
  userPrincipalName: 'nora@contoso.example',
  passwordProfile: PASSWORD,
}

const create = (under: UnderTest, changes = {}) =>
  under.graph('POST', '/v1.0/users', { ...NEW, ...changes })

describe('a new user', () => {
  it('is returned with default properties and found after the replication lag', async () => {
    await using under = await openUnderTest(SEED)
    const made = await create(under)
    assert.equal(made.status, 201)
    assert.equal(made.body.userPrincipalName, 'nora@contoso.example')
    assert.equal(made.body.mailNickname, undefined)
    const byId = `/v1.0/users/${String(made.body.id)}`
    assertRefused(await under.graph('GET', byId), 404, 'Request_ResourceNotFound', /does not exist/)
    await under.clock.advance(4_999)
    assert.equal((await under.graph('GET', '/v1.0/users/nora@contoso.example')).status, 404)
    assert.equal((await under.graph('PATCH', byId, { jobTitle: 'x' })).status, 404)
    await under.clock.advance(1)
    const read = await under.graph('GET', `${byId}?$select=mailNickname,proxyAddresses,JobTitle`)
    assert.deepEqual(read.body, { mailNickname: 'nora', proxyAddresses: [], jobTitle: null })
    assert.deepEqual(await under.done(), ['user created'])
  })

  it('gets the same id in every sandbox, and another when the name was used before', async () => {
    await using under = await openUnderTest(SEED, { timing: { replicationLagSec: 0 } })
    await using again = await openUnderTest(SEED)
    const first = (await create(under)).body.id
    assert.equal((await create(again)).body.id, first)
    await under.graph('DELETE', `/v1.0/users/${String(first)}`)
    const second = await create(under)
    assert.equal(second.status, 201)
    assert.notEqual(second.body.id, first)
  })

  const WRONG: readonly [name: string, changes: object, message: RegExp][] = [
    [
      'no password',
      { passwordProfile: undefined },
      /value is required for property 'passwordProfile'/,
    ],
    ['a weak password', { passwordProfile: { password: 'correcthorse' } }, /password complexity/],
    [
      'an unverified domain',
      { userPrincipalName: 'nora@elsewhere.example' },
      /verified domain names/,
    ],
    [
      'an invalid character',
      { userPrincipalName: 'no ra@contoso.example' },
      /Invalid value specified for property 'userPrincipalName'/,
    ],
    ['a nickname too long', { mailNickname: 'x'.repeat(65) }, /Invalid value.*'mailNickname'/],
    ['an unknown property', { shoeSize: 42 }, /'shoeSize' does not exist as a declared property/],
    [
      'a read-only property',
      { proxyAddresses: ['smtp:a@contoso.example'] },
      /'proxyAddresses' is read-only/,
    ],
    ['a value of another type', { accountEnabled: 'true' }, /Invalid value.*'accountEnabled'/],
  ]
  for (const [name, changes, message] of WRONG) {
    it(`is refused with ${name}`, async () => {
      await using under = await openUnderTest(SEED)
      assertRefused(await create(under, changes), 400, 'Request_BadRequest', message)
      assert.deepEqual(await under.done(), [])
    })
  }

  it('is refused when the UPN is in use, even by a user not visible yet', async () => {
    await using under = await openUnderTest(SEED)
    await create(under)
    for (const upn of ['ADA@contoso.example', 'nora@contoso.example']) {
      const refused = await create(under, { userPrincipalName: upn })
      assertRefused(refused, 400, 'Request_BadRequest', /same value for property userPrincipalName/)
      assert.equal(errorOf(refused).details?.[0]?.code, 'ObjectConflict')
      assert.equal(errorOf(refused).details?.[0]?.target, 'userPrincipalName')
    }
  })

  it('is refused when another user has the address', async () => {
    await using under = await openUnderTest(SEED)
    const refused = await create(under, { mail: 'box@contoso.example' })
    assertRefused(refused, 400, 'Request_BadRequest', /property proxyAddresses already exists/)
  })
})

describe('reading', () => {
  it('finds by UPN, apostrophe included', async () => {
    await using under = await openUnderTest(SEED)
    const path = `/v1.0/users/${encodeURIComponent("kim.o'brien@contoso.example")}`
    assert.equal((await under.graph('GET', path)).body.displayName, "Kim O'Brien")
  })

  it('refuses an unknown property', async () => {
    await using under = await openUnderTest(SEED)
    const refused = await under.graph('GET', `/v1.0/users/${id(1)}?$select=shoeSize`)
    assertRefused(refused, 400, 'BadRequest', /Could not find a property named 'shoeSize'/)
  })

  it('lists in pages and loses nobody when users are deleted in between', async () => {
    await using under = await openUnderTest(SEED)
    const first = await under.graph('GET', '/v1.0/users?$top=2&$select=id&$count=true')
    assert.deepEqual(itemsOf(first), [{ id: id(1) }, { id: id(2) }])
    assert.equal(first.body['@odata.count'], 3)
    await under.graph('DELETE', `/v1.0/users/${id(1)}`)
    const link = new URL(String(first.body['@odata.nextLink']))
    assert.equal(link.origin, under.sandbox.url)
    const second = await under.graph('GET', `${link.pathname}${link.search}`)
    assert.deepEqual(itemsOf(second), [{ id: id(3) }])
    assert.equal(second.body['@odata.nextLink'], undefined)
  })

  const FILTERS: readonly [filter: string, found: readonly number[]][] = [
    ["userPrincipalName eq 'ADA@contoso.example'", [1]],
    ["displayName eq 'Kim O''Brien' and accountEnabled eq true", [2]],
    ["startswith(displayName,'Ada')", [1]],
    ["proxyAddresses/any(p:p eq 'smtp:box@contoso.example')", [3]],
    ["displayName ne 'Ada Adler' and userType eq 'Member'", [2, 3]],
    ["displayName eq 'Salt and Pepper'", []],
  ]
  for (const [filter, found] of FILTERS) {
    it(`filters by ${filter}`, async () => {
      await using under = await openUnderTest(SEED)
      const path = `/v1.0/users?$select=id&$filter=${encodeURIComponent(filter)}`
      assert.deepEqual(
        itemsOf(await under.graph('GET', path)),
        found.map((one) => ({ id: id(one) })),
      )
    })
  }

  for (const query of [
    "$filter=displayName gt 'A'",
    '$orderby=displayName up',
    "$orderby=displayName&$filter=startswith(displayName,'a')",
    "$filter=endsWith(displayName,'a')",
    '$expand=manager',
    '$top=1000',
    'top=5',
  ]) {
    it(`refuses ${query}`, async () => {
      await using under = await openUnderTest(SEED)
      const refused = await under.graph('GET', `/v1.0/users?${query}`)
      assert.equal(refused.status, 400)
      assert.match(errorOf(refused).code, /^Request_/)
    })
  }
})

describe('a change', () => {
  it('has one effect however often it is repeated', async () => {
    await using under = await openUnderTest(SEED)
    const path = `/v1.0/users/${id(1)}`
    const change = {
      jobTitle: 'Engineer',
      onPremisesExtensionAttributes: { extensionAttribute3: 'wave 2' },
    }
    assert.equal((await under.graph('PATCH', path, change)).status, 204)
    assert.equal((await under.graph('PATCH', path, change)).status, 204)
    await under.graph('PATCH', path, {
      onPremisesExtensionAttributes: { extensionAttribute1: 'a' },
    })
    const read = await under.graph('GET', `${path}?$select=jobTitle,onPremisesExtensionAttributes`)
    assert.equal(read.body.jobTitle, 'Engineer')
    const extensions = read.body.onPremisesExtensionAttributes as Record<string, string>
    assert.deepEqual(
      [extensions.extensionAttribute1, extensions.extensionAttribute3],
      ['a', 'wave 2'],
    )
    assert.deepEqual(await under.done(), ['user changed', 'user changed'])
  })

  it('of the UPN frees the old one; a recipient keeps it as an address', async () => {
    await using under = await openUnderTest(SEED)
    await under.graph('PATCH', `/v1.0/users/${id(3)}`, {
      userPrincipalName: 'crate@contoso.example',
    })
    assert.equal((await under.graph('GET', '/v1.0/users/box@contoso.example')).status, 404)
    const read = await under.graph(
      'GET',
      '/v1.0/users/crate@contoso.example?$select=proxyAddresses',
    )
    assert.deepEqual(read.body.proxyAddresses, [
      'SMTP:box@contoso.example',
      'smtp:crate@contoso.example',
    ])
  })

  it('is refused as a whole when one part is invalid', async () => {
    await using under = await openUnderTest(SEED)
    const path = `/v1.0/users/${id(1)}`
    const refused = await under.graph('PATCH', path, {
      jobTitle: 'x',
      userPrincipalName: 'box@contoso.example',
    })
    assertRefused(refused, 400, 'Request_BadRequest', /userPrincipalName already exists/)
    assert.equal((await under.graph('GET', `${path}?$select=jobTitle`)).body.jobTitle, null)
  })

  it('of the mail address is refused for a user with a mailbox', async () => {
    await using under = await openUnderTest(SEED)
    const refused = await under.graph('PATCH', `/v1.0/users/${id(3)}`, {
      mail: 'a@elsewhere.example',
    })
    assertRefused(refused, 400, 'Request_BadRequest', /originated within an external service/)
  })

  it('of the password is never shown', async () => {
    await using under = await openUnderTest(SEED)
    await under.graph('PATCH', `/v1.0/users/${id(1)}`, { passwordProfile: PASSWORD })
    const state = await under.send('GET', '/_sandbox/state')
    const journal = await under.send('GET', '/_sandbox/journal')
    assert.doesNotMatch(state.text + journal.text, /Correct-Horse/)
  })
})

describe('a deleted user', () => {
  it('can be restored for 30 days', async () => {
    await using under = await openUnderTest(SEED)
    const bin = `/v1.0/directory/deletedItems/${id(1)}`
    assert.equal((await under.graph('GET', bin)).status, 404)
    assert.equal((await under.graph('DELETE', `/v1.0/users/${id(1)}`)).status, 204)
    assert.equal((await under.graph('DELETE', `/v1.0/users/${id(1)}`)).status, 404)
    assert.equal((await under.graph('GET', bin)).status, 404, 'it replicates first')
    await under.clock.advance(5_000)
    assert.equal((await under.graph('GET', `${bin}?$select=id`)).body.id, id(1))
    assert.equal(
      (await under.graph('POST', `${bin}/restore`)).body.userPrincipalName,
      'ada@contoso.example',
    )
    assert.equal((await under.graph('GET', `/v1.0/users/${id(1)}`)).status, 200)
    await under.graph('DELETE', `/v1.0/users/${id(1)}`)
    await under.clock.advance(30 * 86_400_000)
    // The token of a month ago has expired too.
    const token = await under.token('https://graph.microsoft.com/.default')
    assert.equal((await under.graph('GET', bin, undefined, { token })).status, 404)
  })

  it('is listed and can be purged', async () => {
    await using under = await openUnderTest(SEED)
    await under.graph('DELETE', `/v1.0/users/${id(1)}`)
    const list = '/v1.0/directory/deletedItems/microsoft.graph.user'
    assert.equal(itemsOf(await under.graph('GET', list)).length, 1)
    await under.clock.advance(5_000)
    assert.equal((await under.graph('DELETE', `/v1.0/directory/deletedItems/${id(1)}`)).status, 204)
    assert.equal(itemsOf(await under.graph('GET', list)).length, 0)
    assert.deepEqual(await under.done(), ['user deleted', 'user purged'])
  })

  it('cannot be restored when another user has its name', async () => {
    await using under = await openUnderTest(SEED)
    await under.graph('DELETE', `/v1.0/users/${id(1)}`)
    await create(under, { userPrincipalName: 'ada@contoso.example' })
    await under.clock.advance(5_000)
    const refused = await under.graph('POST', `/v1.0/directory/deletedItems/${id(1)}/restore`)
    assertRefused(refused, 400, 'Request_BadRequest', /userPrincipalName already exists/)
  })
})

describe('manager, sessions and mail', () => {
  const ref = (number: number) => ({
    '@odata.id': `https://graph.microsoft.com/v1.0/users/${id(number)}`,
  })

  it('sets, reads and removes a manager', async () => {
    await using under = await openUnderTest(SEED)
    const path = `/v1.0/users/${id(1)}/manager`
    assert.equal((await under.graph('GET', path)).status, 404)
    assert.equal((await under.graph('PUT', `${path}/$ref`, ref(2))).status, 204)
    assert.equal((await under.graph('PUT', `${path}/$ref`, ref(2))).status, 204)
    assert.equal((await under.graph('GET', path)).body.id, id(2))
    assert.equal((await under.graph('DELETE', `${path}/$ref`)).status, 204)
    assert.equal((await under.graph('DELETE', `${path}/$ref`)).status, 404)
    assert.equal((await under.graph('PUT', `${path}/$ref`, ref(9))).status, 404)
    assert.equal((await under.graph('PUT', `${path}/$ref`, { '@odata.id': 'nobody' })).status, 400)
    assert.deepEqual(await under.done(), ['manager set', 'manager removed'])
  })

  it('revokes sessions', async () => {
    await using under = await openUnderTest(SEED)
    const answer = await under.graph('POST', `/v1.0/users/${id(1)}/revokeSignInSessions`)
    assert.deepEqual([answer.status, answer.body.value], [200, true])
    assert.equal(
      under.sandbox.state().tenants[0]!.users[0]!.signInSessionsValidFromDateTime,
      '2030-03-01T08:00:00.000Z',
    )
  })

  const mail = {
    message: {
      subject: 'Moving day',
      toRecipients: [{ emailAddress: { address: 'ada@contoso.example' } }],
    },
  }

  it('sends mail from a mailbox only, and twice when called twice', async () => {
    await using under = await openUnderTest(SEED)
    const refused = await under.graph('POST', `/v1.0/users/${id(1)}/sendMail`, mail)
    assertRefused(refused, 404, 'MailboxNotEnabledForRESTAPI', /mailbox/)
    const path = `/v1.0/users/${id(3)}/sendMail`
    assert.equal((await under.graph('POST', path, { message: {} })).status, 400)
    assert.equal((await under.graph('POST', path, mail)).status, 202)
    assert.equal((await under.graph('POST', path, mail)).status, 202)
    const sent = await under.effects()
    assert.deepEqual(
      sent.map(({ details }) => details),
      Array(2).fill({ to: ['ada@contoso.example'], subject: 'Moving day' }),
    )
  })
})

it('returns the organisation and its domains', async () => {
  await using under = await openUnderTest(SEED)
  const [organization] = itemsOf(await under.graph('GET', '/v1.0/organization'))
  assert.equal(organization!.id, under.sandbox.state().tenants[0]!.id)
  const domains = itemsOf(await under.graph('GET', '/v1.0/domains'))
  assert.deepEqual(
    domains.map(({ id: name, isInitial }) => [name, isInitial]),
    [
      ['contoso.example', false],
      ['contoso.onmicrosoft.com', true],
    ],
  )
})
