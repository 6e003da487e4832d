// A pack that was changed in any way is found out, and so is one that somebody else has signed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { before, describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { MANIFEST, PUBLIC_KEY, SIGNATURE, SUMS } from '../../../src/api/evidence/manifest.ts'
import type { SigningKey } from '../../../src/api/evidence/signing-key.ts'
import { verifyPack } from '../../../src/api/evidence/verify-pack.ts'
import type { Json } from '../../../src/base/text/json.ts'
import { archiveOf, type Entry, entriesOf, newKey, packed, sourceOf, TABLES } from './packs.ts'

describe('an evidence pack', () => {
  let key: SigningKey
  let archive: Buffer
  let entries: Entry[]
  before(async () => {
    key = newKey()
    archive = await packed(key)
    entries = await entriesOf(archive)
  })
  async function* parts(bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000)
  }
  const check = (bytes: Buffer, named: string | null = key.fingerprint) =>
    verifyPack(parts(bytes), named)
  const findingsIn = async (changed: readonly Entry[], named?: string | null) =>
    (await check(await archiveOf(changed), named)).findings.join('\n')
  const without = (name: string) => entries.filter((entry) => entry.name !== name)
  const replaced = (name: string, content: Buffer) =>
    entries.map((entry) => (entry.name === name ? { ...entry, content } : entry))

  it('is intact as it was written, with any key and with the named one', async () => {
    for (const named of [null, key.fingerprint]) {
      const { findings, manifest, signedBy } = await check(archive, named)
      assert.deepEqual(findings, [])
      assert.equal(signedBy, key.fingerprint)
      assert.deepEqual(manifest?.tables, { members: 2, holds: 0, audit: 3 })
    }
    assert.deepEqual((await check(await archiveOf(entries))).findings, [])
    const names = entries.map(({ name }) => name)
    for (const name of ['README.txt', 'batch.json', 'members/00001.jsonl', 'audit/00001.jsonl'])
      assert.ok(names.includes(`evidence/${name}`), name)
  })

  it('is not, once any file has another byte', async () => {
    assert.ok(entries.length >= 8)
    for (const { name, content } of entries) {
      const changed = Buffer.from(content)
      const middle = Math.floor(changed.length / 2)
      changed[middle] = changed[middle]! ^ 1
      const { findings } = await check(await archiveOf(replaced(name, changed)))
      assert.notDeepEqual(findings, [], name)
      const isNamed = findings.some((finding) => finding.includes(name.slice('evidence/'.length)))
      assert.ok(isNamed || /signature|signed by/.test(findings.join()), `${name}: ${findings}`)
    }
  })

  it('is not, once any file is missing, twice there or added', async () => {
    for (const { name } of entries)
      assert.match(
        await findingsIn(without(name)),
        new RegExp(`${name.slice('evidence/'.length).replaceAll('.', '\\.')} is missing`),
      )
    const more = { name: 'evidence/more.json', content: Buffer.from('{}') }
    assert.match(await findingsIn([...entries, more]), /^more\.json was added$/)
    assert.match(await findingsIn([...entries, entries[1]!]), /is there twice/)
  })

  it('is not the named one’s, once somebody else has signed it', async () => {
    const other = newKey()
    const forged = await packed(other, sourceOf({ ...TABLES, members: [{ key: 'eve@x.example' }] }))
    const { findings, signedBy } = await check(forged)
    assert.match(findings.join(), /^it is signed by the key [0-9a-f]{64}, not by the one/)
    assert.equal(signedBy, other.fingerprint)
    assert.deepEqual((await check(forged, null)).findings, [], 'nobody named a key')
  })

  it('is not, with a manifest of another signer, or a signature of something else', async () => {
    const other = newKey()
    const manifest = entries.find(({ name }) => name.endsWith(MANIFEST))!.content
    const signature = other.sign(manifest)
    const signed = replaced(`evidence/${SIGNATURE}`, signature)
    assert.match(await findingsIn(signed, null), /the signature does not fit manifest\.json/)
    const swapped = signed.map((entry) =>
      entry.name.endsWith(PUBLIC_KEY)
        ? { ...entry, content: Buffer.from(other.publicKeyPem) }
        : entry,
    )
    assert.match(await findingsIn(swapped, null), /names another key than public-key\.pem holds/)
    assert.match(await findingsIn(swapped), /not by the one that you named/)
  })

  it('is not, with a broken chain, although everything is signed', async () => {
    const rows: Json[] = []
    for await (const page of sourceOf(TABLES).audit.pages()) rows.push(...page)
    const broken: [readonly Json[], RegExp][] = [
      [
        [{ ...(rows[0] as object), reason: 'another' }, rows[1]!, rows[2]!],
        /the contents of audit row 1/,
      ],
      [[rows[0]!, rows[2]!], /rows are missing before audit row 3/],
      [[rows[0]!, rows[1]!], /the audit does not end where the manifest says/],
      [[rows[1]!, rows[2]!], /the audit does not begin where the manifest says/],
      [[rows[0]!, 'nothing', rows[2]!], /the chain of the audit is broken/],
    ]
    for (const [audit, why] of broken) {
      const source = sourceOf(TABLES)
      const pages = async function* () {
        yield audit
      }
      const { findings } = await check(
        await packed(key, { ...source, audit: { ...source.audit, pages } }),
      )
      assert.match(findings.join('\n'), why)
    }
  })

  it('is not, cut off anywhere, or no archive at all', async () => {
    for (const share of [0, 0.2, 0.5, 0.9, 0.999]) {
      const { findings, manifest } = await check(
        archive.subarray(0, Math.floor(archive.length * share)),
      )
      assert.notDeepEqual(findings, [])
      if (share < 0.9) assert.equal(manifest, null)
    }
    for (const bytes of [Buffer.from('hello'), gzipSync('hello'), gzipSync(Buffer.alloc(2_000, 7))])
      assert.notDeepEqual((await check(bytes)).findings, [])
  })

  it('refuses names that lead elsewhere, links, folders and huge files', async () => {
    const content = Buffer.from('x')
    const hostile: Entry[] = [
      '../evil',
      '/etc/passwd',
      'evidence/../../evil',
      'evidence/a/b/c',
      'evidence/.hidden',
      'other/file',
      'evidence/a\\b',
      'evidence/a\nb',
      'evidence/',
    ].map((name) => ({ name, content }))
    for (const entry of hostile)
      assert.match(await findingsIn([entry, ...entries]), /is no name for a file of it/, entry.name)
    const link = { name: 'evidence/link', content: Buffer.alloc(0), linkname: '/etc/passwd' }
    for (const type of ['symlink', 'link'] as const)
      assert.match(await findingsIn([{ ...link, type }, ...entries]), /a pack has files only/)
    const huge = await archiveOf(entries)
    assert.equal((await check(huge)).findingCount, 0)
    assert.match(
      (await check(gzipSync(hugeHeader()))).findings.join(),
      /has 8000000000 bytes, more than a pack may hold/,
    )
  })

  it('needs little memory, however much a small file of it unpacks to', async () => {
    const manifest = entries.find(({ name }) => name.endsWith(MANIFEST))!.content
    const files = Array.from({ length: 2_000_000 }, () => ({}))
    const hostile: [Entry, RegExp][] = [
      [
        { name: 'evidence/audit/00002.jsonl', content: Buffer.alloc(30_000_000, '\n') },
        /no row of/,
      ],
      [
        { name: 'evidence/audit/00002.jsonl', content: Buffer.alloc(9_000_000, '[') },
        /has a row of/,
      ],
      [{ name: 'evidence/audit/00002.jsonl', content: Buffer.alloc(7_000_000, '[') }, /no row of/],
      [{ name: `evidence/${SUMS}`, content: Buffer.alloc(11_000_000) }, /has more than 10000000/],
      [
        {
          name: `evidence/${MANIFEST}`,
          content: Buffer.from(JSON.stringify({ ...JSON.parse(manifest.toString()), files })),
        },
        /is no manifest/,
      ],
    ]
    for (const [entry, why] of hostile) {
      const changed = await archiveOf([...without(entry.name), entry])
      assert.ok(changed.length < 200_000, `${changed.length} bytes`)
      assert.match((await checkInLittleMemory(changed)).join('\n'), why)
    }
  })

  it('ends when the reader has gone', async () => {
    const stop = new AbortController()
    let pages = 0
    const source = {
      ...sourceOf({}),
      tables: [
        {
          name: 'members',
          pages: async function* () {
            for (;;) {
              pages += 1
              yield Array.from({ length: 1_000 }, () => ({ key: 'x'.repeat(1_000) }))
            }
          },
        },
      ],
    }
    const { writePack } = await import('../../../src/api/evidence/write-pack.ts')
    const reading = async () => {
      for await (const _ of writePack(source, key, stop.signal)) stop.abort()
    }
    await assert.rejects(reading(), /abort/i)
    const seen = pages
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(pages, seen, 'it stops reading')
  })
})

/** The findings of a thread whose heap has 200 MB. */
async function checkInLittleMemory(archive: Buffer): Promise<string[]> {
  const thread = new Worker(
    `const { parentPort, workerData: { module, archive } } = require('node:worker_threads')
     import(module).then(({ verifyPack }) => verifyPack((async function* () { yield archive })(), null))
       .then(({ findings }) => parentPort.postMessage(findings))`,
    {
      eval: true,
      workerData: {
        module: new URL('../../../src/api/evidence/verify-pack.ts', import.meta.url).href,
        archive,
      },
      resourceLimits: { maxOldGenerationSizeMb: 200 },
    },
  )
  const [findings] = (await once(thread, 'message')) as [string[]]
  await thread.terminate()
  return findings
}

/** The header of a file of eight gigabytes, in the ustar format; none of its content. */
function hugeHeader(): Buffer {
  const header = Buffer.alloc(1_024)
  header.write('evidence/huge.jsonl', 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${(8_000_000_000).toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        ', 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
