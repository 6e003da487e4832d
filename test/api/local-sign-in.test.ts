import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { localSignIn } from '../../src/api/sign-in/local.ts'
import { rawStatus } from './raw-status.ts'
import { openApiUnderTest } from './under-test.ts'

describe('local sign-in', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'matoolkit-token-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  it('uses a token in a file that only its owner can read, created once', async () => {
    const file = join(folder, 'new', 'token')
    localSignIn(file)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal(statSync(join(folder, 'new')).mode & 0o777, 0o700)
    const made = statSync(file).mtimeMs
    localSignIn(file)
    assert.equal(statSync(file).mtimeMs, made)
  })

  it('refuses a token file that others can read, or with other content', () => {
    const file = join(folder, 'open')
    localSignIn(file)
    chmodSync(file, 0o644)
    assert.throws(() => localSignIn(file), /LOCAL_TOKEN_UNFIT|is unsafe/)
    const short = join(folder, 'short')
    writeFileSync(short, 'password', { mode: 0o600 })
    assert.throws(() => localSignIn(short), /is unsafe/)
  })

  it('refuses to listen on other addresses', async () => {
    for (const apiHost of ['0.0.0.0', '::', '192.168.1.5', 'console.contoso.example'])
      await assert.rejects(openApiUnderTest({ config: { apiHost } }), /must not listen on/)
    const oidcIssuers = ['https://login.example/v2.0']
    await assert.rejects(openApiUnderTest({ config: { oidcIssuers } }), /must not listen on/)
  })

  it('answers only to local host names (DNS rebinding)', async () => {
    const api = await openApiUnderTest()
    try {
      const { port } = new URL(api.url)
      const ask = (host: string) =>
        rawStatus(`${api.url}/api/me`, ['host', host, 'authorization', `Bearer ${api.token}`])
      for (const good of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, 'LOCALHOST'])
        assert.equal(await ask(good), 200, good)
      for (const bad of [
        'evil.example',
        `evil.example:${port}`,
        '127.0.0.1.evil.example',
        '10.0.0.1',
      ])
        assert.equal(await ask(bad), 421, bad)
      assert.equal((await api.call('GET', '/api/me', { token: `${api.token}x` })).status, 401)
      await api.refused(401, 'NOT_SIGNED_IN', 'GET', '/api/me', { token: null })
    } finally {
      await api.close()
    }
  })
})
