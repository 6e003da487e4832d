import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { localSignIn } from '../../../src/api/sign-in/local.ts'
import { isPrivateFile } from '../../../src/base/files/private-files.ts'
import {
  dashboardLink,
  localProof,
  randomText,
  secondToken,
} from '../../../src/base/keys/local-token.ts'
import { rawStatus } from '../raw-status.ts'
import { openApiUnderTest } from '../under-test.ts'

const noModes = process.platform === 'win32'

describe('local sign-in', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'matoolkit-token-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  it('uses a token in a file that only its owner can read, while it is open', () => {
    const file = join(folder, 'new', 'token')
    const first = localSignIn(file)
    const token = readFileSync(file, 'utf8')
    if (process.platform !== 'win32') {
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.equal(statSync(join(folder, 'new')).mode & 0o777, 0o700)
    }
    first.close!()
    assert.equal(existsSync(file), false)
    const second = localSignIn(file)
    assert.notEqual(readFileSync(file, 'utf8'), token)
    second.close!()
  })

  it('knows a second person, by a token that only who has the first one can make', async () => {
    const file = join(folder, 'two')
    const signIn = localSignIn(file)
    const token = readFileSync(file, 'utf8')
    const nameOf = async (given: string) => (await signIn.authenticate(given)).actor.name
    const [own, second] = [await nameOf(token), await nameOf(secondToken(token))]
    assert.equal(second, `${own}, second person`)
    await assert.rejects(signIn.authenticate(secondToken(secondToken(token))), {
      code: 'TOKEN_REFUSED',
    })
    await assert.rejects(signIn.authenticate(secondToken(randomText())), { code: 'TOKEN_REFUSED' })
    signIn.close!()
  })

  it('shares the token between two that run at once; the last one removes it', async () => {
    const file = join(folder, 'shared')
    const first = localSignIn(file)
    const token = readFileSync(file, 'utf8')
    const second = localSignIn(file)
    assert.equal(readFileSync(file, 'utf8'), token)
    first.close!()
    first.close!()
    assert.equal(readFileSync(file, 'utf8'), token)
    const third = localSignIn(file)
    for (const each of [second, third]) assert.equal((await each.authenticate(token)).lacks, null)
    third.close!()
    second.close!()
    assert.equal(existsSync(file), false)
  })

  it('replaces what a crash or somebody else has left in the file', { skip: noModes }, async () => {
    const [left, target] = [join(folder, 'left'), join(folder, 'target')]
    writeFileSync(left, randomText(), { mode: 0o644 })
    writeFileSync(target, 'untouched')
    const link = join(folder, 'link')
    symlinkSync(target, link)
    for (const file of [left, link]) {
      const before = readFileSync(file, 'utf8')
      const signIn = localSignIn(file)
      assert.equal(isPrivateFile(file), true)
      await assert.rejects(signIn.authenticate(before), { code: 'TOKEN_REFUSED' })
      signIn.close!()
    }
    assert.equal(readFileSync(target, 'utf8'), 'untouched')
  })

  it('refuses a token in use that others can read, and a folder that others can change', {
    skip: noModes,
  }, () => {
    const file = join(folder, 'open')
    const first = localSignIn(file)
    chmodSync(file, 0o644)
    assert.throws(() => localSignIn(file), { code: 'LOCAL_TOKEN_UNFIT' })
    first.close!()
    const shared = join(folder, 'shared-folder')
    mkdirSync(shared)
    writeFileSync(join(shared, 'other'), '')
    chmodSync(shared, 0o777)
    assert.throws(() => localSignIn(join(shared, 'token')), { code: 'FOLDER_UNSAFE' })
  })

  it('proves that it has the token, for its own address and each nonce', async () => {
    const api = await openApiUnderTest()
    try {
      const nonce = randomText()
      const { body } = await api.call('GET', `/api/sign-in/proof?nonce=${nonce}`, { token: null })
      assert.deepEqual(body, { proof: localProof(api.token, api.url, nonce) })
      for (const other of [
        localProof(randomText(), api.url, nonce),
        localProof(api.token, 'http://127.0.0.1:1', nonce),
        localProof(api.token, api.url, randomText()),
      ]) {
        assert.notEqual(body.proof, other)
      }
      const short = '/api/sign-in/proof?nonce=short'
      assert.equal((await api.call('GET', short, { token: null })).status, 400)
    } finally {
      await api.close()
    }
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

  it('is in the fragment of the link to the dashboard, behind path and query', () => {
    assert.equal(dashboardLink('http://127.0.0.1:1', 't'), 'http://127.0.0.1:1/#token=t')
    assert.equal(dashboardLink('https://a.example/x', 't'), 'https://a.example/x/#token=t')
    assert.equal(dashboardLink('https://a.example/x?a=1', 't'), 'https://a.example/x/?a=1#token=t')
  })
})
