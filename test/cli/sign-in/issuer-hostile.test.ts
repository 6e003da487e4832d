// An issuer and an API that send escape sequences and marks of direction: nothing of it reaches the terminal of a person who signs
// in or looks at the traffic.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { addAuthCommands } from '../../../src/cli/commands/auth/auth.ts'
import { runLogin } from '../../../src/cli/commands/auth/verbs.ts'
import { contextOf } from '../../../src/cli/program/command-context.ts'
import { run } from '../../../src/cli/program/program.ts'
import { setEnv, WIDE } from '../against-api.ts'
import { type RecordingIo, recordingIo } from '../recording-io.ts'

/** Clears the screen, changes colour by one byte, turns the text around, and hides in a line. */
const EVIL = '\u001b[2J\u009b31m\u202egro.elpmaxe\u2066\u061c\u0007'
const UNSAFE = /(?!\n)\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u

describe('an issuer that sends escape sequences', () => {
  const home = mkdtempSync(join(tmpdir(), 'matoolkit-hostile-'))
  let server: Server
  let url = ''
  /** The last word of the token endpoint. */
  let refusal = {}
  before(async () => {
    server = createServer((request, response) => {
      const answer = answers()[request.url!.split('?')[0]!]
      response.writeHead(answer?.status ?? 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer?.body ?? {}))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    setEnv({
      MATOOLKIT_HOME: home,
      MATOOLKIT_API_URL: url,
      MATOOLKIT_ISSUER: url,
      MATOOLKIT_CLIENT_ID: 'cli',
      MATOOLKIT_API_SCOPE: 'scope',
      MATOOLKIT_TOKEN: undefined,
    })
  })
  after(async () => {
    const none = { MATOOLKIT_ISSUER: undefined, MATOOLKIT_CLIENT_ID: undefined }
    setEnv({ ...none, MATOOLKIT_API_SCOPE: undefined, MATOOLKIT_HOME: undefined })
    setEnv({ MATOOLKIT_API_URL: undefined, MATOOLKIT_TOKEN: undefined })
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
    rmSync(home, { recursive: true })
  })
  const answers = (): Record<string, { status: number; body: object }> => ({
    '/.well-known/openid-configuration': {
      status: 200,
      body: {
        issuer: url,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        device_authorization_endpoint: `${url}/device`,
      },
    },
    '/device': {
      status: 200,
      body: {
        device_code: 'd',
        user_code: `AB${EVIL}CD`,
        interval: 1,
        expires_in: 600,
        verification_uri: `${url}/${EVIL}`,
        verification_uri_complete: `${url}/${EVIL}?code`,
      },
    },
    '/token': { status: 400, body: refusal },
    '/api/me': {
      status: 401,
      body: { code: 'TOKEN_REFUSED', status: 401, title: EVIL, detail: `no ${EVIL}`, type: EVIL },
    },
  })

  const requireSafe = (io: RecordingIo) => {
    const said = io.outText() + io.errText()
    assert.doesNotMatch(said, UNSAFE)
    assert.match(said, /\\u001b\[2J/, 'what was sent is shown as text')
  }

  it('shows its page and code as text at auth login, and its refusal too', async () => {
    refusal = { error: 'access_denied', error_description: `denied ${EVIL}` }
    const io = recordingIo({ width: WIDE })
    let ms = Date.now()
    const clock = {
      kind: 'virtual' as const,
      now: () => new Date(ms),
      wait: async (forMs: number) => {
        ms += forMs
      },
    }
    const login = (context: ReturnType<typeof contextOf>) => runLogin({ ...context, clock })
    const exit = await run(['login'], io, [
      (program) => {
        program.command('login').action(() => login(contextOf({ output: 'table' }, io)))
      },
    ])
    assert.notEqual(exit, EXIT.ok)
    assert.match(io.errText(), /enter the code AB\\u001b\[2J\\u009b31m\\u202e/)
    assert.match(io.errText(), /denied \\u001b/)
    requireSafe(io)
  })

  it('is printable with --debug, in what is sent and in what comes back', async () => {
    setEnv({ MATOOLKIT_TOKEN: 'a.b.c' })
    const io = recordingIo({ width: WIDE })
    const exit = await run(['auth', 'status', '--debug', '--output', 'table'], io, [
      addAuthCommands,
    ])
    assert.equal(exit, EXIT.notSignedIn, io.errText())
    assert.match(io.errText(), /> GET \S+\/api\/me\n/)
    assert.doesNotMatch(io.errText(), /a\.b\.c/)
    requireSafe(io)
  })
})
