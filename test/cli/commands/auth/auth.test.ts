// Sign-in of people and pipelines, against a real OpenID server and a real API that trusts it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import { type Clock, realClock } from '../../../../src/base/run/clock.ts'
import { addAuthCommands } from '../../../../src/cli/commands/auth/auth.ts'
import { runLogin } from '../../../../src/cli/commands/auth/verbs.ts'
import { loadProfile } from '../../../../src/cli/connection/profile.ts'
import { contextOf } from '../../../../src/cli/program/command-context.ts'
import { run } from '../../../../src/cli/program/program.ts'
import { readSignIn, signInKey } from '../../../../src/cli/sign-in/store.ts'
import { tokenSource } from '../../../../src/cli/sign-in/token-source.ts'
import type { OutputFormat } from '../../../../src/cli/terminal/show.ts'
import { type ApiUnderTest, openApiUnderTest } from '../../../api/under-test.ts'
import {
  APP_ID,
  APP_SECRET,
  AUDIENCE,
  CLIENT_ID,
  type OpenId,
  openOpenId,
} from '../../../kit/open-id.ts'
import { start } from '../../../kit/processes.ts'
import { WIDE } from '../../against-api.ts'
import { recordingIo } from '../../recording-io.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-auth-'))
let openId: OpenId
let api: ApiUnderTest
before(async () => {
  openId = await openOpenId()
  api = await openApiUnderTest({
    config: {
      oidcIssuers: [openId.issuer],
      oidcAudiences: [AUDIENCE],
      oidcClientId: CLIENT_ID,
      oidcApps: [APP_ID],
    },
    // The provider counts by the machine's clock, so here the API does too.
    options: { clock: realClock() },
  })
})
after(async () => {
  await api.close()
  await openId.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('MATOOLKIT_')) delete process.env[name]
  }
  process.env.MATOOLKIT_HOME = join(mkdtempSync(join(folder, 'home-')), 'new')
  process.env.MATOOLKIT_API_URL = api.url
})

/** A clock that advances itself when something waits, and then runs a callback. */
function quickClock(whileWaiting: (waited: number) => Promise<void> = async () => {}): Clock {
  let nowMs = Date.now()
  let waited = 0
  return {
    kind: 'virtual',
    now: () => new Date(nowMs),
    wait: async (ms) => {
      nowMs += ms
      waited += 1
      await whileWaiting(waited)
    },
  }
}
const laterBy = (ms: number): Clock => ({ ...realClock(), now: () => new Date(Date.now() + ms) })
const HOUR_MS = 3_600_000

const CODE = /enter the code ([A-Z]{4}-[A-Z]{4})/
const fileOf = () => join(process.env.MATOOLKIT_HOME!, 'sign-ins.json')

/** Signs in; the person does `then` with the code at the second poll. */
async function signIn(
  then: (userCode: string) => Promise<void> = (code) => openId.approve(code),
  output: OutputFormat = 'table',
) {
  const io = recordingIo({ width: WIDE })
  const clock = quickClock(async (waited) => {
    if (waited === 2) await then(CODE.exec(io.errText())![1]!)
  })
  await runLogin({ ...contextOf({ output }, io), clock })
  return io
}

async function say(...args: string[]) {
  const io = recordingIo({ width: WIDE })
  const exit = await run(['auth', ...args], io, [addAuthCommands])
  return { exit, out: io.outText(), err: io.errText() }
}

const tokenAt = (clock: Clock, isRefused = false) =>
  tokenSource({ profile: loadProfile({}), clock })(isRefused)
const kept = async () => (await readSignIn(signInKey('default', api.url)))!

describe('matoolkit auth login', () => {
  it('answers with who that is, in every format', async () => {
    const said = async (output: OutputFormat) => (await signIn(undefined, output)).outText()
    const { isSignedIn } = JSON.parse(await said('json')) as { isSignedIn: boolean }
    assert.equal(isSignedIn, true)
    assert.match(await said('yaml'), /^isSignedIn: true$/m)
    assert.match(await said('csv'), /^api,profile,signed in,as,/)
  })

  it('shows a page and a code, waits for the person, and says who that is', async () => {
    const io = await signIn()
    assert.match(io.errText(), /Open http:\S+\/device in a browser on any machine/)
    assert.match(io.outText(), /^stored in .*sign-ins\.json, readable by you only; this machine/m)
    assert.match(io.outText(), /^as +Ada$/m)
    assert.match(io.outText(), /^roles +Admin$/m)
    assert.equal(statSync(fileOf()).mode & 0o777, 0o600)
    const { exit, out } = await say('status', '--output', 'json')
    const status = JSON.parse(out) as Record<string, unknown>
    assert.equal(exit, EXIT.ok)
    assert.deepEqual(
      [status.isSignedIn, status.name, status.roles, status.issuer, status.clientId],
      [true, 'Ada', ['Admin'], openId.issuer, CLIENT_ID],
    )
  })

  it('differs from having a role', async () => {
    const io = await signIn((code) => openId.approve(code, 'bob'))
    assert.equal(io.exitCode, EXIT.notAllowed)
    assert.match(
      io.outText(),
      /^signed in +yes\n[\s\S]*^refused +.*the role HelpDesk, Reader or Admin/m,
    )
    assert.doesNotMatch(io.outText(), /Sign in with/)
  })

  it('fails when the person declines or the code expires', async () => {
    await assert.rejects(signIn(openId.deny), /failed: Ada said no\. Run "matoolkit auth login"/)
    await assert.rejects(
      signIn(async () => {}),
      /failed: the code has expired\./,
    )
    assert.equal((await say('status')).exit, EXIT.notSignedIn)
  })

  it('continues after a lost request to the issuer', async () => {
    const { fetch } = globalThis
    let isLost = false
    globalThis.fetch = async (url, ...more) => {
      if (!isLost && String(url).endsWith('/token')) {
        isLost = true
        throw new TypeError('fetch failed')
      }
      return fetch(url, ...more)
    }
    try {
      await signIn()
    } finally {
      globalThis.fetch = fetch
    }
    assert.ok(isLost)
  })

  it('names missing settings, and refuses a sign-in that would be unused or unsafe', async () => {
    process.env.MATOOLKIT_TENANT_ID = '11111111-2222-3333-4444-555555555555'
    assert.match((await say('login')).err, /needs the scope "access_as_user" in full/)
    delete process.env.MATOOLKIT_TENANT_ID
    process.env.MATOOLKIT_TOKEN = 'given'
    assert.match((await say('login')).err, /MATOOLKIT_TOKEN is set and takes precedence/)
    delete process.env.MATOOLKIT_TOKEN
    const open = await say('login', '--api-url', 'http://matoolkit.contoso.example')
    assert.match(open.err, /without https others could read it.*\(API_NOT_SECURE\)/)
    assert.equal(open.exit, EXIT.usage)
    process.env.MATOOLKIT_ISSUER = 'http://127.0.0.1:9'
    assert.match((await say('login')).err, /is unreachable: .*\(ISSUER_UNREACHABLE\)/)
  })
})

describe('a sign-in', () => {
  it('is used while it is valid, and renewed silently when it expires', async () => {
    await signIn()
    const first = await tokenAt(realClock())
    assert.equal(await tokenAt(realClock()), first)
    const renewed = await tokenAt(laterBy(2 * HOUR_MS))
    assert.notEqual(renewed, first)
    assert.equal((await kept()).accessToken, renewed)
    assert.equal((await say('token')).out, `${renewed}\n`)
    assert.equal((await say('status')).exit, EXIT.ok)
  })

  it('is renewed when the API refuses the token, and asked for once in a command', async () => {
    await signIn()
    const first = await kept()
    const source = tokenSource({ profile: loadProfile({}), clock: realClock() })
    const second = await source(true)
    assert.notEqual(second, first.accessToken)
    const before = openId.asked.get('/token')
    assert.equal(await source(false), second)
    assert.equal(openId.asked.get('/token'), before)
  })

  it('is renewed once when several commands find it expired at the same time', async () => {
    await signIn()
    const before = openId.asked.get('/token')!
    const late = laterBy(2 * HOUR_MS)
    const tokens = await Promise.all([1, 2, 3].map(() => tokenAt(late)))
    assert.equal(new Set(tokens).size, 1)
    assert.equal(openId.asked.get('/token'), before + 1)
  })

  it('does not stay locked after a process was killed while renewing', async () => {
    await signIn()
    const dead = await new Promise<number>((resolve) => {
      const child = spawn(process.execPath, ['--version'])
      child.on('close', () => resolve(child.pid!))
    })
    writeFileSync(join(process.env.MATOOLKIT_HOME!, 'sign-ins.lock'), `${hostname()} ${dead}`)
    assert.notEqual(await tokenAt(laterBy(2 * HOUR_MS)), null)
    // One of another machine cannot be asked after; in the end it is taken away too.
    writeFileSync(join(process.env.MATOOLKIT_HOME!, 'sign-ins.lock'), `else ${process.pid}`)
    assert.notEqual(await tokenAt({ ...quickClock(), now: laterBy(4 * HOUR_MS).now }), null)
  })

  it('ends here when it has ended elsewhere', async () => {
    await signIn()
    await openId.endSignIns()
    await assert.rejects(tokenAt(laterBy(2 * HOUR_MS)), /Run "matoolkit auth login" again/)
    assert.equal(await tokenAt(realClock()), null)
    const { exit, err } = await say('token')
    assert.deepEqual([exit, /\(SIGN_IN_NEEDED\)/.test(err)], [EXIT.notSignedIn, true])
  })

  it('outlives an issuer that does not answer', async () => {
    await signIn()
    const { accessToken } = await kept()
    const { fetch } = globalThis
    globalThis.fetch = async () => new Response('busy', { status: 503 })
    try {
      await assert.rejects(tokenAt(laterBy(2 * HOUR_MS)), { code: 'ISSUER_UNREACHABLE' })
    } finally {
      globalThis.fetch = fetch
    }
    assert.equal((await kept()).accessToken, accessToken)
  })

  it('is for one profile and one API only', async () => {
    await signIn()
    const profile = loadProfile({ apiUrl: 'https://else.example' })
    assert.equal(await tokenSource({ profile, clock: realClock() })(false), null)
  })

  it('ends with logout, here and at the issuer', async () => {
    await signIn()
    const { refreshToken } = await kept()
    const { out } = await say('logout')
    assert.match(out, /^signed out +yes$/m)
    assert.match(out, /^at the issuer +ended too$/m)
    assert.ok(!existsSync(fileOf()))
    const answer = await fetch(`${openId.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: CLIENT_ID,
        refresh_token: refreshToken!,
      }),
    })
    assert.equal(answer.status, 400)
    assert.match((await say('logout')).out, /no one was signed in/)
  })
})

describe('a pipeline', () => {
  it('signs in with the environment alone and leaves nothing behind', async () => {
    process.env.MATOOLKIT_CLIENT_ID = APP_ID
    process.env.MATOOLKIT_CLIENT_SECRET = APP_SECRET
    // The secret is not sent to whomever the API names.
    assert.match((await say('status')).err, /needs an issuer for the client secret/)
    process.env.MATOOLKIT_ISSUER = openId.issuer
    const { exit, out, err } = await say('status')
    assert.equal(exit, EXIT.ok, err)
    assert.match(out, /^roles +Reader$/m)
    assert.match(out, /^by +an application/m)
    assert.ok(!existsSync(fileOf()))
    process.env.MATOOLKIT_CLIENT_SECRET = 'wrong'
    const wrong = await say('status')
    assert.equal(wrong.exit, EXIT.notSignedIn)
    assert.match(wrong.out, /client authentication failed/)
  })
})

describe('the program', () => {
  it('loads no issuer code while the sign-in is valid', async () => {
    await signIn()
    const hook = join(import.meta.dirname, '../../../fixtures/loaded-modules.mjs')
    const env = {
      MATOOLKIT_HOME: process.env.MATOOLKIT_HOME!,
      MATOOLKIT_API_URL: api.url,
      NODE_OPTIONS: `--import=${pathToFileURL(hook)}`,
    }
    const { code, err } = await start(['batch', 'list'], env).ended
    assert.equal(code, EXIT.ok, err)
    assert.match(err, /src\/cli\/sign-in\/store\.ts/)
    assert.doesNotMatch(err, /sign-in\/issuer|oauth4webapi/)
  })

  it('says who is signed in and prints the token, in a process of its own', async () => {
    await signIn()
    const env = { MATOOLKIT_HOME: process.env.MATOOLKIT_HOME!, MATOOLKIT_API_URL: api.url }
    const token = await start(['auth', 'token'], env).ended
    assert.equal(token.out, `${(await kept()).accessToken}\n`)
    const status = await start(['auth', 'status', '--debug'], env).ended
    assert.equal(status.code, EXIT.ok, status.err)
    assert.match(status.err, /GET \S+\/api\/me/)
    assert.ok(!status.err.includes((await kept()).accessToken))
    const { code } = await start(['auth', 'status', '--api-url', 'http://127.0.0.1:9'], env).ended
    assert.equal(code, EXIT.unavailable)
  })
})

it('names a damaged file and does not overwrite it', async () => {
  await signIn()
  writeFileSync(fileOf(), '{"plain":')
  const { exit, err } = await say('token')
  assert.equal(exit, EXIT.usage)
  assert.match(err, /Cannot read the file ".*sign-ins\.json": it is not valid JSON/)
  assert.equal(readFileSync(fileOf(), 'utf8'), '{"plain":')
})
