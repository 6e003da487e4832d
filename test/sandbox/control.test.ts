// Seeds, state, the journal, and requests to the wrong place.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { isOwnHost } from '../../sandbox/access.ts'
import { CONTROL_ROUTES } from '../../sandbox/control.ts'
import type { FaultSettings } from '../../sandbox/faults.ts'
import { csvSeed, defaultSeed, jsonSeed, SeedFault, stateOf } from '../../sandbox/seed.ts'
import { DEFAULT_CLIENT_ID, type Seed } from '../../sandbox/state.ts'
import { assertRefused, GRAPH, id, itemsOf, openUnderTest, PASSWORD, START } from './under-test.ts'

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example'],
      users: [
        { id: id(1), userPrincipalName: 'ada@contoso.example' },
        { id: id(2), userPrincipalName: 'ben@contoso.example', recipient: { kind: 'mailUser' } },
      ],
      groups: [{ id: id(10), displayName: 'Everybody' }],
    },
  ],
}

const root = join(import.meta.dirname, '../..')

describe('a seed', () => {
  it('in CSV creates a source tenant with mailboxes and an empty target', () => {
    const text = readFileSync(join(root, 'examples/full-migration.csv'), 'utf8')
    const [source, target] = stateOf(csvSeed(text)).tenants
    assert.equal(source!.users.length, 200)
    const ada = source!.users[0]!
    assert.deepEqual(
      [ada.userPrincipalName, ada.displayName, ada.attributes.department, ada.recipient?.kind],
      ['ada.adler@fabrikam.example', 'Ada Adler', 'Sales', 'mailbox'],
    )
    assert.deepEqual(source!.domains, ['fabrikam.example', 'fabrikam.onmicrosoft.com'])
    assert.deepEqual(target!.domains, ['contoso.example', 'contoso.onmicrosoft.com'])
    assert.deepEqual(target!.migrationEndpoints, [
      {
        name: 'source-tenant',
        remoteTenant: 'fabrikam.onmicrosoft.com',
        applicationId: DEFAULT_CLIENT_ID,
      },
    ])
    assert.equal(target!.users.length, 0)
  })

  it('in CSV reads known columns in any case and ignores others', () => {
    const rows = [
      'USERPRINCIPALNAME,id,ProxyAddresses,ExchangeGuid,ArchiveGuid,LegacyExchangeDn,Groups,CutoverTime',
      `ada@fabrikam.example,${id(1)},smtp:a@fabrikam.example;x500:/o=a,${id(2)},${id(3)},/o=b,Sales;Everybody,2030`,
      'ben@fabrikam.example,,,,,,Everybody,',
    ]
    const [source, target] = stateOf(csvSeed(rows.join('\n'))).tenants
    const [ada, ben] = source!.users
    assert.equal(ada!.id, id(1))
    assert.deepEqual(ada!.proxyAddresses, [
      'SMTP:ada@fabrikam.example',
      'smtp:a@fabrikam.example',
      'x500:/o=a',
    ])
    const { exchangeGuid, archiveGuid, legacyExchangeDn } = ada!.recipient!
    assert.deepEqual([exchangeGuid, archiveGuid, legacyExchangeDn], [id(2), id(3), '/o=b'])
    const groups = source!.groups.map(({ displayName, members }) => [displayName, members])
    assert.deepEqual(groups, [
      ['Sales', [ada!.id]],
      ['Everybody', [ada!.id, ben!.id]],
    ])
    assert.equal(target!.domains[0], 'contoso.example')
  })

  it('has a default', () => {
    const [source, target] = stateOf(defaultSeed()).tenants
    assert.deepEqual([source!.users.length, target!.users.length], [3, 0])
    assert.equal(target!.applications[0]!.clientId, DEFAULT_CLIENT_ID)
  })

  const WRONG: readonly [name: string, seed: () => unknown, reason: RegExp][] = [
    ['invalid JSON', () => jsonSeed('{'), /not JSON/],
    ['no tenants', () => stateOf({ tenants: [] }), /^tenants: /],
    [
      'an unknown key',
      () => stateOf({ tenants: [{ domains: ['a.example'], user: [] }] }),
      /tenants\.0: .*"user"/,
    ],
    [
      'an invalid UPN',
      () =>
        stateOf({ tenants: [{ domains: ['a.example'], users: [{ userPrincipalName: 'ada' }] }] }),
      /tenants\.0\.users\.0\.userPrincipalName: must be an address/,
    ],
    [
      'CSV without the required column',
      () => csvSeed('Name\nAda\n'),
      /needs the column UserPrincipalName/,
    ],
    [
      'a duplicate CSV column',
      () => csvSeed('UserPrincipalName,userprincipalname\na,b\n'),
      /"userprincipalname" appears twice/,
    ],
    ['CSV with a ragged row', () => csvSeed('UserPrincipalName,B\nada@a.example\n'), /not CSV/],
    [
      'many problems',
      () => stateOf({ tenants: [{ domains: ['a.example'], users: Array(9).fill({}) }] }),
      /and 4 more$/,
    ],
  ]
  for (const [name, seed, reason] of WRONG) {
    it(`with ${name} is refused`, () => {
      assert.throws(seed, (error) => error instanceof SeedFault && reason.test(error.message))
    })
  }

  it('with two users of the same name is refused', async () => {
    const users = ['ada@a.example', 'ADA@a.example'].map((userPrincipalName, at) => ({
      id: id(at),
      userPrincipalName,
    }))
    await assert.rejects(openUnderTest({ tenants: [{ domains: ['a.example'], users }] }), SeedFault)
  })
})

describe('the state', () => {
  it('seeds another sandbox that continues from there', async () => {
    await using first = await openUnderTest(SEED, { timing: { replicationLagSec: 60 } })
    await first.graph('POST', '/v1.0/users', {
      accountEnabled: true,
      displayName: 'Nora',
      mailNickname: 'nora',
      userPrincipalName: 'nora@contoso.example',
      passwordProfile: PASSWORD,
    })
    await first.graph('DELETE', `/v1.0/users/${id(1)}`)
    const { text } = await first.send('GET', '/_sandbox/state')
    await using second = await openUnderTest(JSON.parse(text) as Seed)
    assert.deepEqual(second.sandbox.state(), first.sandbox.state())
    assert.equal((await second.graph('GET', '/v1.0/users/nora@contoso.example')).status, 404)
    await second.clock.advance(60_000)
    assert.equal((await second.graph('GET', '/v1.0/users/nora@contoso.example')).status, 200)
    assert.equal(
      (await second.graph('POST', `/v1.0/directory/deletedItems/${id(1)}/restore`)).status,
      200,
    )
  })
})

describe('the journal', () => {
  it('records caller, effect and request', async () => {
    await using under = await openUnderTest(SEED)
    const headers = { 'client-request-id': id(42) }
    const changed = await under.graph(
      'PATCH',
      `/v1.0/users/${id(1)}`,
      { jobTitle: 'x' },
      { headers },
    )
    assert.equal(changed.headers.get('client-request-id'), id(42))
    assert.deepEqual(await under.effects(), [
      {
        number: 1,
        at: START.toISOString(),
        tenantId: under.sandbox.state().tenants[0]!.id,
        clientId: DEFAULT_CLIENT_ID,
        what: 'user changed',
        id: id(1),
        name: 'ada@contoso.example',
        details: { attributes: { jobTitle: 'x' } },
        requestId: changed.headers.get('request-id'),
        clientRequestId: id(42),
      },
    ])
  })

  it('can be resumed from a number', async () => {
    await using under = await openUnderTest(SEED)
    for (const jobTitle of ['a', 'b', 'c'])
      await under.graph('PATCH', `/v1.0/users/${id(1)}`, { jobTitle })
    const { body } = await under.send('GET', '/_sandbox/journal?after=2')
    assert.deepEqual(
      (body.effects as { number: number }[]).map(({ number }) => number),
      [3],
    )
    assert.equal(body.dropped, 0)
  })

  it('records status, fault and cmdlet of requests', async () => {
    await using under = await openUnderTest(SEED)
    await under.token(GRAPH)
    await under.graph('GET', '/v1.0/users/nobody')
    await under.exchange('Get-MailUser', { Identity: id(2) })
    under.sandbox.setFaults({ script: [{ on: '*', fault: 'drop-before' }] })
    await assert.rejects(under.graph('GET', '/v1.0/users?$top=5'))
    const made = (await under.requests()).map(({ method, path, cmdlet, status, fault }) => [
      method,
      path.replace(/^\/[^_v][^/]*/, '…'),
      cmdlet,
      status,
      fault,
    ])
    assert.deepEqual(made, [
      ['POST', '…/oauth2/v2.0/token', null, 200, null],
      ['POST', '…/oauth2/v2.0/token', null, 200, null],
      ['GET', '/v1.0/users/nobody', null, 404, null],
      ['POST', '…/oauth2/v2.0/token', null, 200, null],
      [
        'POST',
        '…/beta/'.concat(under.sandbox.state().tenants[0]!.id, '/InvokeCommand'),
        'Get-MailUser',
        200,
        null,
      ],
      ['GET', '/v1.0/users?$top=5', null, null, 'drop-before'],
    ])
  })
})

describe('a request to the wrong place', () => {
  it('is refused by Graph with its segment, a wrong method with 405', async () => {
    await using under = await openUnderTest(SEED)
    assertRefused(await under.graph('GET', '/v1.0/sites'), 400, 'BadRequest', /segment 'sites'/)
    assertRefused(await under.graph('GET', '/v2.0/users'), 400, 'BadRequest', /Resource not found/)
    assertRefused(
      await under.graph('PUT', '/v1.0/users'),
      405,
      'Request_BadRequest',
      /method is not allowed/,
    )
    assertRefused(
      await under.graph('GET', '/v1.0/users/%E0%A4%A'),
      404,
      'Request_ResourceNotFound',
      /./,
    )
  })

  it('with a body that is not a JSON object is refused', async () => {
    await using under = await openUnderTest(SEED)
    for (const body of ['{', '[]', '"x"'])
      assertRefused(
        await under.graph('POST', '/v1.0/users', body),
        400,
        'BadRequest',
        /Unable to read JSON/,
      )
  })

  it('with a body that is too large is refused', async () => {
    await using under = await openUnderTest(SEED)
    const reply = under.graph('POST', '/v1.0/users', 'x'.repeat(4_000_001))
    // The client either reads the refusal or finds the connection cut while sending.
    const status = await reply.then(
      ({ status: one }) => one,
      () => 413,
    )
    assert.equal(status, 413)
    assert.equal(itemsOf(await under.graph('GET', '/v1.0/users')).length, 2)
  })

  it('under /_sandbox lists the endpoints', async () => {
    await using under = await openUnderTest(SEED)
    const reply = await under.send('GET', '/_sandbox/nothing')
    assert.equal(reply.status, 404)
    assert.match(String(reply.body.error), /GET \/_sandbox\/state/)
    const faults = (await under.send('GET', '/_sandbox/faults')).body as unknown as FaultSettings
    assert.deepEqual(faults.script, [])
  })
})

describe('the control endpoints', () => {
  it('need the token of this start, and change nothing without it', async () => {
    await using under = await openUnderTest(SEED)
    await using other = await openUnderTest(SEED)
    const foreign = `Bearer ${other.sandbox.controlToken}`
    for (const authorization of ['', 'Bearer ', foreign, under.sandbox.controlToken]) {
      const headers = { authorization }
      for (const { method, path } of CONTROL_ROUTES) {
        const body = { rates: { error: 1 } }
        const asking = method === 'GET' ? { headers } : { headers, body }
        const reply = await under.send(method, path, asking)
        assert.equal(reply.status, 401)
        assert.doesNotMatch(reply.text, /contoso|error: 1/)
      }
      assert.equal((await under.send('GET', '/_sandbox/nothing', { headers })).status, 401)
    }
    const faults = (await under.send('GET', '/_sandbox/faults')).body as unknown as FaultSettings
    assert.deepEqual(faults.rates, {})
  })
})

describe('a request for another host', () => {
  const statusFor = async (url: string, host: string): Promise<number> => {
    const asked = httpRequest(url, { headers: { host }, setHost: false }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode!
  }

  it('is refused, whatever it asks for: a web page may point a name at this machine', async () => {
    await using under = await openUnderTest(SEED)
    const { url } = under.sandbox
    for (const host of [
      'evil.example',
      'evil.example:80',
      '127.0.0.1.evil.example',
      '10.0.0.1',
      '',
    ]) {
      for (const path of ['/v1.0/users', '/_sandbox/state', `/${id(1)}/oauth2/v2.0/token`]) {
        assert.equal(await statusFor(url + path, host), 421, host)
      }
    }
    assert.deepEqual(await under.requests(), [])
  })

  it('is answered for the loopback, with any port, and for its further names', async () => {
    await using under = await openUnderTest(SEED, { names: ['Sandbox.internal'] })
    const hosts = ['127.0.0.1', '127.0.0.1:9', 'localhost:4365', '[::1]:1', 'sandbox.internal:80']
    for (const host of hosts)
      assert.equal(await statusFor(`${under.sandbox.url}/v1.0/users`, host), 401, host)
  })

  it('on every address of the machine is answered for bare addresses and its names only', () => {
    const own = { host: '0.0.0.0', names: ['tenant'] }
    for (const host of ['10.1.2.3:4365', '[fe80::1]', 'tenant', 'TENANT:1', 'localhost'])
      assert.equal(isOwnHost(host, own), true, host)
    for (const host of ['evil.example', '10.1.2.3.evil.example', undefined, ''])
      assert.equal(isOwnHost(host, own), false, host)
  })
})
