// The keyring, simulated by programs of the same name that store secrets in a file. No secret appears in the arguments.
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { openKeyring } from '../../../src/cli/sign-in/keyring.ts'
import {
  readSignIn,
  removeSignIn,
  saveSignIn,
  storageText,
} from '../../../src/cli/sign-in/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-keyring-'))
after(() => rmSync(folder, { recursive: true }))

/** `args` and `kept` are files next to the programs. */
const SECRET_TOOL = `#!/bin/sh
cd "$(dirname "$0")" && echo "$@" >> args
case "$1" in
  store) cat > kept ;;
  lookup) cat kept ;;
  clear) rm -f kept ;;
esac
`
const SECURITY = `#!/bin/sh
cd "$(dirname "$0")" && echo "$@" >> args
case "$1" in
  -i) sed 's/.* -w //' > kept ;;
  find-generic-password) cat kept ;;
  delete-generic-password) rm -f kept ;;
esac
`
/** Protects as Windows does for the caller: another text, which only the same program turns back. */
const POWERSHELL = `#!/bin/sh
cd "$(dirname "$0")" && echo "$@" >> args
case "$4" in
  *::Protect*) printf 'for-this-user:' ; base64 ;;
  *::Unprotect*) sed 's/^for-this-user://' | base64 -d ;;
esac
`
const path = process.env.PATH!
let bin: string
beforeEach(() => {
  bin = mkdtempSync(join(folder, 'bin-'))
  process.env.PATH = `${bin}${delimiter}${path}`
  process.env.MATOOLKIT_HOME = mkdtempSync(join(folder, 'home-'))
  process.env.SystemRoot = bin
})
after(() => {
  delete process.env.SystemRoot
})
const install = (name: string, script: string): void => {
  writeFileSync(join(bin, name), script)
  chmodSync(join(bin, name), 0o755)
}
const argsSeen = () => readFileSync(join(bin, 'args'), 'utf8')

const SIGN_IN = {
  issuer: 'https://issuer.example',
  clientId: 'cli',
  scope: 'access_as_user',
  accessToken: 'an-access-token',
  expiresAt: '2030-01-01T00:00:00.000Z',
  refreshToken: 'a-refresh-token',
}

describe('a keyring', () => {
  for (const [platform, name, script] of [
    ['linux', 'secret-tool', SECRET_TOOL],
    ['darwin', 'security', SECURITY],
  ] as const) {
    it(`of ${platform} stores, returns and removes a secret, never as an argument`, async () => {
      const keyring = openKeyring('home', platform)!
      assert.deepEqual([await keyring.write('s3cret'), await keyring.read()], [false, null])
      install(name, script)
      assert.equal(await keyring.write('s3cret'), true)
      assert.equal(await keyring.read(), 's3cret')
      await keyring.remove()
      assert.equal(await keyring.read(), null)
      assert.ok(!argsSeen().includes('s3cret'), argsSeen())
    })
  }

  it('of Windows encrypts with DPAPI, stores the result in a private file and removes it', async () => {
    const keyring = openKeyring('home', 'win32')!
    assert.deepEqual([await keyring.write('s3cret'), await keyring.read()], [false, null])
    const file = join(process.env.MATOOLKIT_HOME!, 'sign-ins.key')
    assert.ok(!existsSync(file), 'nothing is stored that is not protected')
    const system = join('System32', 'WindowsPowerShell', 'v1.0')
    mkdirSync(join(bin, system), { recursive: true })
    install(join(system, 'powershell.exe'), POWERSHELL)
    assert.equal(await keyring.write('s3cret'), true)
    assert.equal(await keyring.read(), 's3cret')
    assert.match(readFileSync(file, 'utf8'), /"protected": ?"for-this-user:/)
    assert.ok(!readFileSync(file, 'utf8').includes('s3cret'))
    if (process.getuid) assert.equal(statSync(file).mode & 0o077, 0)
    const args = readFileSync(join(bin, system, 'args'), 'utf8')
    assert.ok(!args.includes('s3cret') && !args.includes('for-this-user'), args)
    writeFileSync(file, '{"protected":"of somebody else"}')
    install(join(system, 'powershell.exe'), '#!/bin/sh\nexit 1\n')
    assert.equal(await keyring.read(), null)
    await keyring.remove()
    assert.ok(!existsSync(file))
  })

  it('does not block when it is missing', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')
    const before = timers().length
    assert.equal(await openKeyring('home', 'linux')!.read(), null)
    assert.equal(timers().length, before)
  })

  it('counts as missing when it fails', async () => {
    install('secret-tool', '#!/bin/sh\necho "Cannot autolaunch D-Bus" >&2\nexit 1\n')
    assert.equal(await openKeyring('home', 'linux')!.write('s3cret'), false)
    assert.equal(openKeyring('home', 'freebsd'), null)
    assert.throws(() => openKeyring('a; rm -rf b'), RangeError)
  })
})

describe('sign-ins with a keyring', { skip: process.platform !== 'linux' }, () => {
  const text = () => readFileSync(join(process.env.MATOOLKIT_HOME!, 'sign-ins.json'), 'utf8')

  it('are encrypted, and unreadable without the key or after a change', async () => {
    install('secret-tool', SECRET_TOOL)
    await saveSignIn('a', SIGN_IN)
    assert.match(storageText()!, /encrypted with a key in the keyring of this system$/)
    assert.ok(!text().includes('token'))
    assert.deepEqual(await readSignIn('a'), SIGN_IN)
    const { sealed } = JSON.parse(text()) as { sealed: string }
    const last = sealed.at(-1) === 'A' ? 'Q' : 'A'
    const touched = JSON.stringify({ sealed: `${sealed.slice(0, -1)}${last}` })
    writeFileSync(join(process.env.MATOOLKIT_HOME!, 'sign-ins.json'), touched)
    assert.equal(await readSignIn('a'), null)
    writeFileSync(join(process.env.MATOOLKIT_HOME!, 'sign-ins.json'), JSON.stringify({ sealed }))
    rmSync(join(bin, 'kept'))
    assert.equal(await readSignIn('a'), null)
  })

  it('share one key, which is removed with the last sign-in', async () => {
    install('secret-tool', SECRET_TOOL)
    await saveSignIn('a', SIGN_IN)
    await saveSignIn('b', { ...SIGN_IN, clientId: 'other' })
    assert.equal(argsSeen().match(/^store/gm)!.length, 1)
    await removeSignIn('a')
    assert.equal((await readSignIn('b'))!.clientId, 'other')
    await removeSignIn('b')
    assert.ok(!existsSync(join(bin, 'kept')))
    assert.equal(storageText(), null)
  })

  it('are encrypted at the next change if they were plain', async () => {
    await saveSignIn('a', SIGN_IN)
    assert.match(storageText()!, /readable by you only; this machine has no keyring$/)
    assert.ok(text().includes('a-refresh-token'))
    install('secret-tool', SECRET_TOOL)
    await saveSignIn('b', SIGN_IN)
    assert.ok(!text().includes('a-refresh-token'))
    assert.deepEqual(await readSignIn('a'), SIGN_IN)
  })
})
