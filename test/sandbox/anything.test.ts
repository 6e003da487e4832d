// Hostile requests: the sandbox refuses them as a tenant would, never breaks, and leaves nothing half done.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CMDLETS } from '../../sandbox/exchange/cmdlets.ts'
import { GRAPH_ROUTES } from '../../sandbox/graph/routes.ts'
import type { Seed } from '../../sandbox/state.ts'
import type { Json } from '../../src/base/text/json.ts'
import { EVERY_VARIANT } from '../kit/variants.ts'
import { assertRefused, formOf, GRAPH, id, openUnderTest } from './under-test.ts'

/** Of all hostile bodies one in so many is sent: all of them took 20 s of processor time. */
const HOSTILE_SHARES = EVERY_VARIANT ? 1 : 6

const CLIENT = id(77)

const SEED: Seed = {
  tenants: [
    {
      id: id(70),
      domains: ['contoso.example'],
      users: [
        {
          id: id(1),
          userPrincipalName: 'ada@contoso.example',
          mail: 'ada@fabrikam.example',
          usageLocation: 'US',
        },
        { id: id(2), userPrincipalName: 'box@contoso.example', recipient: { kind: 'mailbox' } },
        {
          id: id(3),
          userPrincipalName: 'gone@contoso.example',
          deletedDateTime: '2030-02-28T00:00:00.000Z',
        },
      ],
      groups: [{ id: id(10), displayName: 'Everybody', members: [id(1)] }],
      migrationEndpoints: [{ name: 'somewhere', remoteTenant: 'nowhere.example' }],
    },
    {
      id: id(71),
      domains: ['fabrikam.example'],
      applications: [{ clientId: CLIENT, secret: 'x', roles: [] }],
    },
  ],
}

const PARTS: Readonly<Record<string, readonly string[]>> = {
  user: [id(1), id(2), 'nobody@contoso.example', '%00', '..%2f..'],
  group: [id(10), id(99), 'x'],
  member: [id(1), 'x'],
  folder: ['sentitems', 'x', '%00'],
  item: [id(3), id(99)],
  task: [id(80), 'x', "getBySourceUserPrincipalName(sourcePrincipalName='x')", '%00'],
  job: [id(90), id(99), 'x'],
  person: [id(1), 'x'],
  domain: ['contoso.example', 'x', '%00'],
}

/** Useless values, for every place that expects something. */
const JUNK: readonly Json[] = [
  null,
  true,
  0,
  -1,
  '',
  'x',
  '__proto__',
  [],
  [null],
  [[]],
  {},
  { id: null },
  { '@odata.type': 7 },
]

const NAMES = [
  'accountEnabled',
  'displayName',
  'mail',
  'passwordProfile',
  'userPrincipalName',
  'businessPhones',
  'onPremisesExtensionAttributes',
  '@odata.id',
  'message',
  'groupIds',
  'addLicenses',
  'removeLicenses',
  'parameters',
  'resources',
  'workloads',
  'exchangeSettings',
  'completeAfterDateTime',
  'invitedUserEmailAddress',
  'invitedUser',
  'inviteRedirectUrl',
  '__proto__',
  'constructor',
]

/** Each name with each value, or another share of them for each route and cmdlet. */
const singly = (names: readonly string[], turn: number): Record<string, Json>[] =>
  names.flatMap((name, place) =>
    JUNK.filter((_, at) => (at + place + turn) % HOSTILE_SHARES === 0).map((value) => ({
      [name]: value,
    })),
  )

const bodiesFor = (route: number): readonly Json[] => [
  ...JUNK,
  ...JUNK.map((value) => Object.fromEntries(NAMES.map((name) => [name, value]))),
  ...singly(NAMES, route),
  ...JUNK.map((value) => ({ addLicenses: [value], removeLicenses: [value] })),
  ...JUNK.map((value) => ({ message: { toRecipients: [value, { emailAddress: value }] } })),
]

const pathsOf = (path: string): string[] => {
  const [name] = path.match(/\{\w+\}/) ?? []
  if (name === undefined) return [path]
  const parts = PARTS[name.slice(1, -1)]
  if (!parts) throw new Error(`PARTS in this file has no values for ${name} of ${path}: add some`)
  return parts.flatMap((part) => pathsOf(path.replace(name, part)))
}

describe('a hostile body', () => {
  for (const [route, { method, path }] of GRAPH_ROUTES.entries()) {
    it(`gets a response from ${method} ${path}`, async () => {
      await using under = await openUnderTest(SEED)
      const hasBody = method !== 'GET' && method !== 'DELETE'
      for (const [at, one] of pathsOf(path).entries()) {
        // Every value for existing objects, fewer for missing ones.
        const sent = hasBody ? (at === 0 ? bodiesFor(route) : JUNK) : [undefined]
        const replies = await Promise.all(
          sent.map((body) => under.graph(method, `/beta${one}`, body)),
        )
        for (const { status, text } of replies) assert.ok(status < 500, text)
      }
    })
  }

  for (const [turn, [cmdlet, { parameters }]] of Object.entries(CMDLETS).entries()) {
    it(`gets a response from ${cmdlet}`, async () => {
      await using under = await openUnderTest(SEED)
      const inputs = singly(parameters, turn).map((one) => ({ Identity: id(1), ...one }))
      const all = JUNK.map((value) => Object.fromEntries(parameters.map((name) => [name, value])))
      const replies = await Promise.all(
        [...inputs, ...all].map((one) => under.exchange(cmdlet, one)),
      )
      for (const { status, text } of replies) assert.ok(status < 500, text)
    })
  }

  it('gets a response in place of a cmdlet', async () => {
    await using under = await openUnderTest(SEED)
    const headers = {
      authorization: `Bearer ${await under.token('https://outlook.office365.com/.default')}`,
    }
    for (const body of [
      {},
      ...JUNK.map((CmdletInput) => ({ CmdletInput })),
      ...JUNK.map((Parameters) => ({ CmdletInput: { CmdletName: 'Get-User', Parameters } })),
    ])
      assert.notEqual(
        await statusOf(`${under.sandbox.url}/adminapi/beta/${id(70)}/InvokeCommand`, headers, body),
        500,
      )
  })
})

/** Only the status: the body of a 403 cannot be decoded. */
async function statusOf(url: string, headers: Record<string, string>, body: Json): Promise<number> {
  const { status, body: stream } = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  await stream?.cancel()
  return status
}

it('refuses every Graph call without permissions', async () => {
  await using under = await openUnderTest(SEED)
  const asked = await under.send('POST', `/${id(71)}/oauth2/v2.0/token`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: formOf({ client_id: CLIENT, client_secret: 'x', scope: GRAPH }),
  })
  const token = String(asked.body.access_token)
  // Those without a permission refuse everybody.
  for (const { method, path } of GRAPH_ROUTES.filter(({ permissions }) => permissions.length > 0)) {
    const refused = await under.graph(method, `/beta${pathsOf(path)[0]!}`, undefined, { token })
    assertRefused(refused, 403, 'Authorization_RequestDenied', /Insufficient privileges/)
  }
})
