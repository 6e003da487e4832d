// The contract of both vaults, and what is particular to each.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Secrets } from '../../src/worker/http/api.ts'
import { openFolderVault } from '../../src/worker/secrets/folder-vault.ts'
import { KeyVault, keyVaultScope } from '../../src/worker/secrets/key-vault.ts'
import { drivenClock, type Seen, type Service, startService } from '../kit/scripted-service.ts'

const VALUE = 'pa"ss\nwörd'

let folder: string
let vaultService: Service
const kept = new Map<string, string>()

function answer({ method, path, body }: Seen) {
  const name = path.split(/[/?]/)[2] ?? ''
  if (method === 'PUT') kept.set(name, (body as { value: string }).value)
  const value = kept.get(name)
  if (value !== undefined) return { status: 200, body: { value, id: `vault/${name}` } }
  const error = { code: 'SecretNotFound', message: `A secret with ${name} was not found` }
  return { status: 404, body: { error } }
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vault-'))
  vaultService = await startService(drivenClock(), answer)
})
after(async () => {
  await rm(folder, { recursive: true })
  await vaultService.close()
})
beforeEach(() => kept.clear())

const keyVaultOptions = () => ({
  clock: drivenClock(),
  url: vaultService.url,
  token: async () => 'token',
  policy: { attempts: 2, baseSec: 1, maxSec: 1 },
  random: () => 0,
  timeout: () => new AbortController().signal,
})
const openKeyVault = () => new KeyVault(keyVaultOptions())

const VAULTS: [name: string, open: () => Promise<Secrets>][] = [
  ['a folder', () => openFolderVault({ folder, key: null })],
  ['Key Vault', async () => openKeyVault()],
]
for (const [name, open] of VAULTS) {
  describe(`secrets in ${name}`, () => {
    it('are read back by reference, from another process too', async () => {
      const reference = await (await open()).put('password-kim-1', VALUE)
      assert.equal(reference, 'matoolkit-password-kim-1')
      assert.equal(await (await open()).get(reference), VALUE)
    })

    it('are found and replaced by name', async () => {
      const vault = await open()
      assert.equal(await vault.find('twice'), null)
      await vault.put('twice', 'first')
      const reference = await vault.put('twice', 'second')
      assert.equal(await vault.find('twice'), reference)
      assert.equal(await vault.get(reference), 'second')
    })

    it('may have any name', async () => {
      const vault = await open()
      const a = await vault.put('of kim@contoso.com/../x', 'a')
      const b = await vault.put('of kim@contoso.com/../y', 'b')
      assert.match(a, /^matoolkit-[0-9a-f]{64}$/)
      assert.deepEqual([await vault.get(a), await vault.get(b)], ['a', 'b'])
    })

    it('are refused when missing or not ours', async () => {
      const vault = await open()
      await assert.rejects(vault.get('matoolkit-none'), { code: 'SecretNotFound' })
      for (const foreign of ['worker-app-cert', '../key', 'key', 'matoolkit-', 'matoolkit-../key'])
        await assert.rejects(vault.get(foreign), { code: 'SecretRefused' }, foreign)
    })
  })
}

describe('the folder vault', () => {
  it('stores no plain text and allows only its owner', async () => {
    const vault = await openFolderVault({ folder, key: null })
    await vault.put('plain', 'hunter2 hunter2')
    for (const file of await readdir(folder)) {
      const path = join(folder, file)
      assert.equal((await stat(path)).mode & 0o777, 0o600, file)
      assert.ok(!(await readFile(path)).includes('hunter2'), file)
    }
  })

  it('refuses a key file that others can read', async () => {
    const open = await mkdtemp(join(tmpdir(), 'vault-'))
    await openFolderVault({ folder: open, key: null })
    await chmod(join(open, 'key'), 0o644)
    await assert.rejects(openFolderVault({ folder: open, key: null }), {
      code: 'SECRETS_UNUSABLE',
      message: /other users can read the file .*chmod 600/,
    })
    await rm(open, { recursive: true })
  })

  it('detects a wrong key, a changed file and a swapped file', async () => {
    const vault = await openFolderVault({ folder, key: randomBytes(32) })
    const reference = await vault.put('sealed', 'value')
    const other = await openFolderVault({ folder, key: randomBytes(32) })
    await assert.rejects(other.get(reference), { code: 'SECRET_UNREADABLE' })
    await vault.put('moved', 'value')
    await writeFile(join(folder, reference), await readFile(join(folder, 'matoolkit-moved')))
    await assert.rejects(vault.get(reference), { code: 'SECRET_UNREADABLE' })
    await writeFile(join(folder, reference), 'short')
    await assert.rejects(vault.get(reference), { code: 'SECRET_UNREADABLE' })
  })

  it('creates one key for many simultaneous openers', async () => {
    const fresh = await mkdtemp(join(tmpdir(), 'vault-'))
    const vaults = await Promise.all(
      Array.from({ length: 8 }, () => openFolderVault({ folder: fresh, key: null })),
    )
    const reference = await vaults[0]!.put('shared', 'value')
    const read = await Promise.all(vaults.map((vault) => vault.get(reference)))
    assert.deepEqual(new Set(read), new Set(['value']))
    await rm(fresh, { recursive: true })
  })
})

describe('Key Vault', () => {
  it('replaces a deleted secret, whose name the vault keeps', async () => {
    const seen: string[] = []
    let state: 'deleted' | 'recovering' | 'active' = 'deleted'
    const service = await startService(drivenClock(), ({ method, path, body }) => {
      seen.push(`${method} ${path.split('?')[0]}`)
      if (path.startsWith('/deletedsecrets/')) {
        state = 'recovering'
        return { status: 200, body: {} }
      }
      if (state === 'active') return { status: 200, body: body as never }
      if (state === 'recovering' && seen.length > 3) state = 'active'
      const message = 'Secret is currently in a deleted but recoverable state.'
      return { status: 409, body: { error: { code: 'Conflict', message } } }
    })
    try {
      const clock = { ...drivenClock(), wait: async () => {} }
      const vault = new KeyVault({ ...keyVaultOptions(), clock, url: service.url })
      assert.equal(await vault.put('gone', 'new'), 'matoolkit-gone')
      const put = 'PUT /secrets/matoolkit-gone'
      const recover = 'POST /deletedsecrets/matoolkit-gone/recover'
      assert.deepEqual(seen, [put, recover, put, put, put])
    } finally {
      await service.close()
    }
  })

  it('is called as documented', async () => {
    await openKeyVault().put('x', 'value')
    const { method, path, body, headers } = vaultService.seen.at(-1)!
    assert.deepEqual(
      [method, path, body, headers.authorization],
      ['PUT', '/secrets/matoolkit-x?api-version=7.4', { value: 'value' }, 'Bearer token'],
    )
    assert.equal(
      keyVaultScope('https://contoso.vault.azure.net'),
      'https://vault.azure.net/.default',
    )
  })
})
