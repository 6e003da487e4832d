import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { type CryptoKey, exportSPKI, importJWK, type JWTPayload } from 'jose'
import { offeredScope } from '../../../src/api/api.ts'
import type { Route } from '../../../src/api/route.ts'
import { LOOK_UPS_PER_HOUR } from '../../../src/api/sign-in/look-ups.ts'
import {
  ADA,
  AUDIENCE,
  claimsOf,
  type Mood,
  newKey,
  type SigningKey,
  signed,
  TENANT,
  TestIssuer,
} from '../../kit/issuer.ts'
import { plain } from '../contract/fixtures.ts'
import { rawStatus } from '../raw-status.ts'
import { type ApiUnderTest, openApiUnderTest, ROUTES } from '../under-test.ts'

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

describe('tokens of an issuer', () => {
  let issuer: TestIssuer
  let api: ApiUnderTest
  let key: SigningKey
  let other: SigningKey
  before(async () => {
    issuer = await new TestIssuer().open()
    key = await newKey('key-1')
    other = await newKey('key-other')
    issuer.keys = [key]
    api = await openApiUnderTest({
      config: {
        oidcIssuers: [issuer.v2, issuer.plain],
        oidcAudiences: [AUDIENCE],
        oidcApps: ['nightly'],
        oidcClientId: 'cli-client',
      },
    })
  })
  after(async () => {
    await api.close()
    await issuer.close()
  })

  const claims = (more: object = {}) => claimsOf(issuer.v2, api.world.clock.now(), more)
  const token = (more: object = {}, header: object = {}, by = key) =>
    signed(claims(more), by, header)
  const me = (sent: string, headers: Record<string, string> = {}) =>
    api.call('GET', '/api/me', { token: sent, headers })
  const nowSec = () => Math.floor(+api.world.clock.now() / 1_000)

  it('sign a person in, identified by tenant and object and shown by name', async () => {
    const { status, body } = await me(await token())
    assert.equal(status, 200)
    const id = `${TENANT}/${ADA}`
    assert.deepEqual(body, { id, name: 'ada@contoso.example', roles: ['Admin'] })
    const offer = await api.call('GET', '/api/sign-in', { token: null })
    assert.deepEqual(offer.body, {
      mode: 'oidc',
      issuer: issuer.v2,
      clientId: 'cli-client',
      scope: `api://${AUDIENCE}/access_as_user`,
    })
    const nonce = 'n'.repeat(43)
    const proof = await api.call('GET', `/api/sign-in/proof?nonce=${nonce}`, { token: null })
    assert.deepEqual(proof.body, { proof: null })
  })

  it('carry the full scope where Entra requires it', () => {
    const entra = { oidcIssuers: [issuer.v2] }
    const named = offeredScope({ ...entra, oidcAudiences: ['guid', 'api://moves'] })
    assert.equal(named, 'api://moves/access_as_user')
    const plainly = { oidcIssuers: [issuer.plain], oidcAudiences: ['x'] }
    assert.equal(offeredScope(plainly), 'access_as_user')
  })

  it('may be expired by up to a minute, and "bearer" may be in any case', async () => {
    const late = await token({ exp: nowSec() - 50 })
    assert.equal((await me(late)).status, 200)
    const sent = { authorization: `bEaReR ${await token()}` }
    assert.equal((await api.call('GET', '/api/me', { token: null, headers: sent })).status, 200)
  })

  it('of other standard issuers may have lists as audience and scopes', async () => {
    const plainClaims = claimsOf(issuer.plain, api.world.clock.now(), {
      aud: ['else', AUDIENCE],
      tid: undefined,
      oid: undefined,
      ver: undefined,
      nbf: undefined,
      scp: undefined,
      scope: 'profile access_as_user',
      sub: 'user-7',
      azp: 'cli-client',
    })
    const { status, body } = await me(await signed(plainClaims, key, { typ: 'at+jwt' }))
    assert.deepEqual([status, body.id], [200, `${issuer.plain}/user-7`])
  })

  it('of an application are accepted if it is listed', async () => {
    const app = { scp: undefined, idtyp: 'app', azp: 'nightly', preferred_username: undefined }
    assert.equal((await me(await token(app))).status, 200)
    assert.equal((await me(await token({ ...app, azp: 'stranger' }))).status, 403)
  })

  /** Every token that must be refused, with its status. */
  type Attack = [what: string, status: 401 | 403, make: () => string | Promise<string>]
  const publicPem = async () => exportSPKI((await importJWK(key.open, 'RS256')) as CryptoKey)
  const hmac = (secret: string | Buffer) => {
    const start = `${base64({ alg: 'HS256', typ: 'JWT', kid: key.kid })}.${base64(claims())}`
    return `${start}.${createHmac('sha256', secret).update(start).digest('base64url')}`
  }
  const parts = async () => (await token()).split('.') as [string, string, string]
  const unsigned = (alg: string) => `${base64({ alg, typ: 'JWT' })}.${base64(claims())}.`
  const ATTACKS: readonly Attack[] = [
    ['algorithm none', 401, () => unsigned('none')],
    ['algorithm NoNe', 401, () => unsigned('NoNe')],
    ['HS256 with the public key as secret', 401, async () => hmac(await publicPem())],
    ['HS256 with the modulus as secret', 401, () => hmac(Buffer.from(key.open.n!, 'base64url'))],
    [
      'PS256',
      401,
      async () => {
        const pss = await newKey('key-1', 'PS256')
        return signed(claims(), pss, { alg: 'PS256' })
      },
    ],
    ['a key that nobody knows', 401, () => token({}, { kid: 'nobody' }, other)],
    ['no key id and another key', 401, () => token({}, { kid: undefined }, other)],
    ['a key id that is a path', 401, () => token({}, { kid: '../../dev/null' }, other)],
    ['a key id that is SQL', 401, () => token({}, { kid: "' or 1=1 --" }, other)],
    ['keys of its own by address', 401, () => token({}, { jku: 'http://127.0.0.1:1/keys' }, other)],
    ['a key of its own inside', 401, () => token({}, { jwk: other.open }, other)],
    [
      'other contents',
      401,
      async () => {
        const [head, , tail] = await parts()
        return `${head}.${base64(claims({ oid: 'mallory' }))}.${tail}`
      },
    ],
    ['no signature', 401, async () => (await parts()).slice(0, 2).join('.')],
    ['an empty signature', 401, async () => `${(await parts()).slice(0, 2).join('.')}.`],
    ['four parts', 401, async () => `${(await parts()).join('.')}.x`],
    [
      'a critical extension',
      401,
      async () => {
        const [, body, tail] = await parts()
        return `${base64({ alg: 'RS256', kid: key.kid, crit: ['x'], x: 1 })}.${body}.${tail}`
      },
    ],
    [
      'a header with two algorithms',
      401,
      async () => {
        const [, body, tail] = await parts()
        return `${base64(`{"alg":"RS256","alg":"none","kid":"${key.kid}"}`)}.${body}.${tail}`
      },
    ],
    ['an end long ago', 401, () => token({ exp: nowSec() - 61 })],
    ['a begin to come', 401, () => token({ nbf: nowSec() + 300 })],
    ['no end', 401, () => token({ exp: undefined })],
    ['another audience', 401, () => token({ aud: 'else' })],
    ['the audience of Graph', 401, () => token({ aud: '00000003-0000-0000-c000-000000000000' })],
    ['a list of audiences with ours in it', 401, () => token({ aud: [AUDIENCE, 'else'] })],
    ['another issuer', 401, () => token({ iss: 'https://evil.example/v2.0' })],
    ['another tenant’s issuer', 401, () => token({ iss: issuer.v2.replace(TENANT, ADA) })],
    ['an issuer of version 1 where 2 is set', 401, () => token({ iss: issuer.v1, ver: '1.0' })],
    ['an issuer with a slash too many', 401, () => token({ iss: `${issuer.v2}/` })],
    ['another tenant', 401, () => token({ tid: ADA })],
    ['version 1.0', 401, () => token({ ver: '1.0' })],
    ['no object id', 401, () => token({ oid: undefined })],
    ['roles as a text', 401, () => token({ roles: 'Admin' })],
    ['roles that are no texts', 401, () => token({ roles: [['Admin']] })],
    ['neither scope nor roles', 403, () => token({ scp: undefined, roles: undefined })],
    ['an ID token of our own client', 403, () => token({ scp: undefined, nonce: 'n' })],
    ['another scope', 403, () => token({ scp: 'User.Read' })],
    ['roles we do not know', 403, () => token({ roles: ['admin', 'Owner'] })],
    ['another kind of token', 401, () => token({}, { typ: 'logout+jwt' })],
    ['nonsense', 401, () => 'nonsense'],
    ['three dots', 401, () => '...'],
    [
      'a body that is no JSON',
      401,
      async () => {
        const [head, , tail] = await parts()
        return `${head}.${base64('no json')}.${tail}`
      },
    ],
  ]
  for (const [what, status, make] of ATTACKS) {
    it(`are refused with ${what}`, async () => {
      const answer = await me(await make())
      assert.equal(answer.status, status, answer.text)
      assert.match(answer.headers.get('www-authenticate')!, /^Bearer realm="matoolkit", error=/)
      // Each refusal uses budget; time refills it.
      await api.world.clock.advance(60_000)
    })
  }

  it('are refused when sent twice, in the URL, or when huge', async () => {
    const good = await token()
    const url = `${api.url}/api/me`
    const two = ['authorization', `Bearer ${good}`, 'authorization', `Bearer ${good}`]
    const host = ['host', '127.0.0.1']
    assert.equal(await rawStatus(url, [...host, ...two]), 401)
    assert.equal(await rawStatus(`${url}?access_token=${good}`, host), 401)
    const both = [...host, 'authorization', `Bearer ${good}`]
    assert.equal(await rawStatus(`${url}?access_token=${good}`, both), 400)
    const huge = randomBytes(60_000).toString('base64url')
    assert.equal(await rawStatus(url, [...host, 'authorization', `Bearer ${huge}`]), 431)
    assert.equal(await rawStatus(url, [...host, 'authorization', `Basic ${base64('a:b')}`]), 401)
  })

  it('never appear in the log, nor do names; refusals appear without the token', async () => {
    const log = api.lines.join('')
    assert.doesNotMatch(log, /eyJ/)
    assert.doesNotMatch(log, /ada@contoso/)
    assert.match(log, /The access token was refused/)
  })

  it('refused too often are limited, and good ones from the same address still sign in', async () => {
    await api.world.clock.advance(60_000)
    const bad = await token({ aud: 'else' })
    for (let n = 0; n < 30; n++) assert.equal((await me(bad)).status, 401)
    const { status, headers, body } = await me(bad)
    assert.deepEqual([status, body.code], [429, 'RATE_LIMITED'])
    assert.ok(Number(headers.get('retry-after')) > 0)
    assert.equal((await me(await token())).status, 200)
    await api.world.clock.advance(60_000)
  })

  it('without our scope or of an unlisted application are audited', async () => {
    const oid = '99999999-0000-4000-8000-000000000001'
    const lacking = [
      await token({ oid, scp: 'User.Read' }),
      await token({ oid, scp: undefined, idtyp: 'app', azp: 'stranger' }),
    ]
    for (const sent of lacking) assert.equal((await me(sent)).status, 403)
    const path = '/api/audit?action=denied%20getMe'
    const { body } = await api.call<{ entries: { actor: string; clientApp: string }[] }>(
      'GET',
      path,
      { token: await token() },
    )
    const denied = body.entries.filter(({ actor }) => actor === `${TENANT}/${oid}`)
    assert.deepEqual(denied.map(({ clientApp }) => clientApp).includes('stranger'), true)
    assert.equal(denied.length, 2)
  })

  it('of an application elsewhere need the list, whatever scope and subject they carry', async () => {
    const plainToken = (more: object) => {
      const none = {
        tid: undefined,
        oid: undefined,
        ver: undefined,
        nbf: undefined,
        scp: undefined,
      }
      const own = { scope: 'access_as_user', sub: 'service-account-7', ...none, ...more }
      return signed(claimsOf(issuer.plain, api.world.clock.now(), own), key, { typ: 'at+jwt' })
    }
    assert.equal((await me(await plainToken({ azp: 'stranger' }))).status, 403)
    assert.equal((await me(await plainToken({ azp: undefined }))).status, 403)
    assert.equal((await me(await plainToken({ azp: 'nightly' }))).status, 200)
    assert.equal((await me(await plainToken({ azp: 'cli-client' }))).status, 200)
    assert.equal((await me(await plainToken({ azp: 'cli-client', scope: 'else' }))).status, 403)
  })

  describe('keys of the issuer', () => {
    it('are fetched again when a token names a new one (rotation)', async () => {
      const next = await newKey('key-2')
      issuer.keys = [key, next]
      await api.world.clock.advance(31_000)
      assert.equal((await me(await token({}, {}, next))).status, 200)
      issuer.keys = [next]
      // The old key is valid until the background refresh after ten minutes.
      await api.world.clock.advance(11 * 60_000)
      await me(await token({}, {}, next))
      await untilAsked(issuer)
      assert.equal((await me(await token())).status, 401)
      issuer.keys = [key]
    })

    it('are fetched at most twice a minute, however many unknown keys tokens name', async () => {
      await api.world.clock.advance(31_000)
      assert.equal((await me(await token())).status, 200)
      const before = issuer.asked
      for (let n = 0; n < 10; n++) await me(await token({}, { kid: `x${n}` }, other))
      assert.ok(issuer.asked - before <= 1)
      await api.world.clock.advance(60_000)
    })

    const MOODS: readonly Mood[] = ['down', 'html', 'redirect', 'huge', 'other issuer']
    for (const mood of MOODS) {
      it(`are unavailable (${mood}): known keys still verify, unknown ones get 503 rather than 401`, async () => {
        await api.world.clock.advance(31_000)
        issuer.mood = mood
        const unknown = await me(await token({}, { kid: `${mood}-key` }, other))
        assert.deepEqual([unknown.status, unknown.body.code], [503, 'SIGN_IN_UNAVAILABLE'])
        assert.equal((await me(await token())).status, 200)
        issuer.mood = 'well'
        await api.world.clock.advance(31_000)
        assert.equal((await me(await token({}, { kid: `${mood}-key` }, other))).status, 401)
        await api.world.clock.advance(60_000)
      })
    }

    it('may be a thousand', async () => {
      issuer.keys = [
        ...Array.from({ length: 999 }, (_, n) => ({
          ...other,
          open: { ...other.open, kid: `k${n}` },
        })),
        key,
      ]
      await api.world.clock.advance(11 * 60_000)
      await me(await token())
      await untilAsked(issuer)
      assert.equal((await me(await token())).status, 200)
    })

    it('stay valid for a day without the issuer, and no longer', async () => {
      issuer.mood = 'down'
      await api.world.clock.advance(23 * 3_600_000)
      assert.equal((await me(await token())).status, 200)
      await api.world.clock.advance(2 * 3_600_000)
      assert.equal((await me(await token())).status, 503)
      issuer.mood = 'well'
      await api.world.clock.advance(31_000)
      assert.equal((await me(await token())).status, 200)
    })
  })
})

/** Waits until the background fetch of the keys has ended. */
async function untilAsked(issuer: TestIssuer): Promise<void> {
  const before = issuer.asked
  for (let turn = 0; turn < 200 && issuer.asked === before; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
}

it('version 1 of Entra’s tokens is accepted where its issuer is set', async () => {
  const issuer = await new TestIssuer().open()
  const key = await newKey('k')
  issuer.keys = [key]
  const api = await openApiUnderTest({
    config: { oidcIssuers: [issuer.v1], oidcAudiences: [AUDIENCE, `api://${AUDIENCE}`] },
  })
  try {
    const v1 = { ver: '1.0', aud: `api://${AUDIENCE}`, azp: undefined, appid: 'cli', upn: 'ada' }
    const made = claimsOf(issuer.v1, api.world.clock.now(), {
      ...v1,
      preferred_username: undefined,
    })
    const { status, body } = await api.call('GET', '/api/me', { token: await signed(made, key) })
    assert.deepEqual([status, body.name], [200, 'ada'])
  } finally {
    await api.close()
    await issuer.close()
  }
})

describe('the rule of every route', () => {
  const issuers: TestIssuer[] = []
  after(() => Promise.all(issuers.map((one) => one.close())))

  async function withApi(
    readPolicy: 'reader' | 'authenticated',
    look: (
      api: ApiUnderTest,
      tokenFor: (roles: string[], claims?: JWTPayload) => Promise<string>,
    ) => Promise<void>,
  ): Promise<void> {
    const issuer = await new TestIssuer().open()
    issuers.push(issuer)
    const key = await newKey('k')
    issuer.keys = [key]
    const config = { oidcIssuers: [issuer.v2], oidcAudiences: [AUDIENCE], readPolicy }
    const api = await openApiUnderTest({ config })
    const tokenFor = (roles: string[], claims: JWTPayload = {}) => {
      const made: JWTPayload = claimsOf(issuer.v2, api.world.clock.now(), { roles, ...claims })
      return signed(made, key)
    }
    try {
      await look(api, tokenFor)
    } finally {
      await api.close()
    }
  }

  /** Ids and names that do not exist: an authorised caller gets anything but 401 and 403. */
  const pathOf = (path: string) =>
    path
      .replace('{name}', 'nobody')
      .replace('{version}', '1')
      .replaceAll(/\{\w+\}/g, '999')
      // The help desk finds people by a text and may not list them.
      .replace(/^\/api\/members$/, '$&?text=nobody')

  const isOfOne = ({ rule, path }: Route) => rule === 'help-desk' && path.includes('{memberId}')

  /** Without reading the body: the live stream never ends. */
  async function statusOf(api: ApiUnderTest, method: string, path: string, token: string | null) {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(api.url + path, { method, headers })
    await response.body?.cancel()
    return response.status
  }

  for (const readPolicy of ['reader', 'authenticated'] as const) {
    it(`holds for anonymous, signed-in, HelpDesk, Reader and Admin callers (read policy ${readPolicy})`, () =>
      withApi(readPolicy, async (api, tokenFor) => {
        const mayAll = readPolicy === 'authenticated' ? 1 : 0
        const may = {
          anonymous: [1, 1, 1, 1, 1],
          'help-desk': [0, mayAll, 1, 1, 1],
          reader: [0, mayAll, mayAll, 1, 1],
          admin: [0, 0, 0, 0, 1],
        }
        const callers = [
          null,
          await tokenFor([]),
          await tokenFor(['HelpDesk']),
          await tokenFor(['Reader']),
          await tokenFor(['Admin']),
        ]
        for (const route of ROUTES) {
          for (const [index, token] of callers.entries()) {
            const status = await statusOf(api, route.method, pathOf(route.path), token)
            // The help desk needs a reference besides.
            const isIn = may[route.rule][index] === 1 && !(index === 2 && isOfOne(route))
            const expected = isIn ? 'in' : token === null ? 401 : 403
            const got = status === 401 || status === 403 ? status : 'in'
            assert.equal(got, expected, `${route.method} ${route.path}, caller ${index}: ${status}`)
          }
        }
      }))
  }

  type FoundOne = { member: { id: number; memberKey: string }; reference: string | null }

  const find = async (api: ApiUnderTest, token: string, text: string) => {
    const path = `/api/members?text=${encodeURIComponent(text)}`
    const { body } = await api.call<{ members: FoundOne[] }>('GET', path, { token })
    return body.members
  }

  const [ada, ben] = ['ada@contoso.example', 'ben@contoso.example'] as const
  const withPeople: typeof withApi = (readPolicy, look) =>
    withApi(readPolicy, async (api, tokenFor) => {
      await api.world.publish(plain())
      const members = [ada, ben].map((key) => ({ key, data: { UserPrincipalName: key } }))
      await api.world.batch('plain', members, { startsInMin: 60 })
      await look(api, tokenFor)
    })

  it('lets the help desk find one person by a whole address, and no others', () =>
    withPeople('reader', async (api, tokenFor) => {
      const token = await tokenFor(['HelpDesk'])
      const [found] = await find(api, token, ben.toUpperCase())
      for (const part of ['contoso', ben.slice(0, -3)])
        assert.deepEqual(await find(api, token, part), [])
      const path = `/api/batches/1/members/${found!.member.id}`
      for (const page of [path, `${path}/effects`]) {
        const answer = await api.call('GET', `${page}?reference=${found!.reference}`, { token })
        assert.equal(answer.status, 200)
      }
      await api.refused(403, 'NOT_ALLOWED', 'GET', '/api/batches/1/members', { token })
      for (const query of ['', '?notCutOver=true'])
        await api.refused(403, 'NOT_ALLOWED', 'GET', `/api/members${query}`, { token })
    }))

  it('lets the help desk read nobody by number, with the reference of somebody else or of another caller', () =>
    withPeople('reader', async (api, tokenFor) => {
      const token = await tokenFor(['HelpDesk'])
      const colleague = await tokenFor(['HelpDesk'], { oid: 'another' })
      const [found] = await find(api, token, ada)
      const [next] = await find(api, colleague, ben)
      assert.notEqual(found!.member.id, next!.member.id)
      const refuse = async (id: number, query: string) => {
        for (const part of ['', '/effects']) {
          const path = `/api/batches/1/members/${id}${part}${query}`
          const { text } = await api.refused(403, 'NOT_ALLOWED', 'GET', path, { token })
          assert.doesNotMatch(text, /contoso/)
        }
      }
      await refuse(next!.member.id, '')
      await refuse(next!.member.id, `?reference=${found!.reference}`)
      await refuse(next!.member.id, `?reference=${next!.reference}`)
      // The same answer where there is nobody.
      await refuse(999, `?reference=${next!.reference}`)
      const admin = await tokenFor(['Admin'])
      const audit = await api.call('GET', '/api/audit?limit=100', { token: admin })
      assert.equal(audit.text.split('denied getMember').length - 1, 4)
      assert.equal((await find(api, admin, ada))[0]!.reference, null)
    }))

  it('limits the look-ups of the help desk, and nobody else’s', () =>
    withPeople('reader', async (api, tokenFor) => {
      const token = await tokenFor(['HelpDesk'])
      const search = (n: number) => `/api/members?text=person${n}%40contoso.example`
      for (let n = 0; n < LOOK_UPS_PER_HOUR; n++)
        assert.equal((await api.call('GET', search(n), { token })).status, 200)
      await api.refused(429, 'RATE_LIMITED', 'GET', search(0), { token })
      for (const [roles, claims] of [[['HelpDesk'], { oid: 'another' }], [['Reader']]] as const) {
        const other = await tokenFor([...roles], claims)
        assert.equal((await find(api, other, ada)).length, 1)
      }
      const audit = await api.call('GET', '/api/audit', { token: await tokenFor(['Admin']) })
      assert.match(audit.text, /denied findMembers/)
    }))

  it('limits how often a signed-in caller is refused', async () => {
    const issuer = await new TestIssuer().open()
    issuers.push(issuer)
    const key = await newKey('k')
    issuer.keys = [key]
    const config = { oidcIssuers: [issuer.v2], oidcAudiences: [AUDIENCE], apiReadsPerMin: 15 }
    const api = await openApiUnderTest({ config })
    try {
      const made = claimsOf(issuer.v2, api.world.clock.now(), { scp: 'User.Read' })
      const token = await signed(made, key)
      const statuses: number[] = []
      for (let n = 0; n < 5; n++)
        statuses.push((await api.call('GET', '/api/me', { token })).status)
      assert.deepEqual(statuses, [403, 403, 403, 429, 429])
    } finally {
      await api.close()
    }
  })

  it('audits the refusal of a signed-in caller', () =>
    withApi('reader', async (api, tokenFor) => {
      await api.world.publish(plain())
      const body = { enabled: true }
      const path = '/api/runbooks/plain/automation'
      await api.refused(403, 'NOT_ALLOWED', 'PUT', path, {
        body,
        token: await tokenFor(['Reader']),
      })
      const { body: audit } = await api.call<{ entries: { action: string; actorName: string }[] }>(
        'GET',
        '/api/audit',
        { token: await tokenFor(['Admin']) },
      )
      assert.deepEqual(
        [audit.entries[0]!.action, audit.entries[0]!.actorName],
        ['denied setAutomation', 'ada@contoso.example'],
      )
    }))
})
