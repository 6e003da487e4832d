// The keys that sign jobs: what fits a signature, rotation, and the files that hold them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { JobKeys, ownJobKeyFile, readJobKeys } from '../../../src/base/keys/job-keys.ts'

const OLD = randomBytes(32)
const NEW = randomBytes(32)
const TEXT = '{"jobId":"step-1","parameters":{"Upn":"ada@contoso.example"}}'

describe('a signature', () => {
  const keys = new JobKeys([OLD])
  const signed = keys.sign(TEXT)

  it('is the last field of the same JSON', () => {
    const { signature, ...others } = JSON.parse(signed) as Record<string, unknown>
    assert.deepEqual(others, JSON.parse(TEXT))
    assert.match(String(signature), new RegExp(`^${keys.ids[0]}\\.[\\w-]{43}$`))
    assert.equal(keys.faultIn(signed), null)
  })

  it('is the HMAC-SHA256 that Python’s hmac computes over the purpose and the text', () => {
    const known = new JobKeys([Buffer.alloc(32, 0x0b)]).sign('{"jobId":"step-1"}')
    assert.ok(known.endsWith('.ybjcgq0pmV6LmWlkJEvvDwyngerqu_SgcN5hslyV7IA"}'), known)
  })

  it('does not reveal the key', () => {
    for (const form of ['hex', 'base64', 'base64url'] as const)
      assert.ok(!signed.includes(OLD.toString(form)))
  })

  const CHANGED: [what: string, text: string, fault: string][] = [
    ['no signature', TEXT, 'JobUnsigned'],
    ['an empty text', '', 'JobUnsigned'],
    ['a cut text', signed.slice(0, -1), 'JobUnsigned'],
    ['a field after it', `${signed.slice(0, -1)},"parameters":{}}`, 'JobUnsigned'],
    ['another person', signed.replace('ada@', 'eve@'), 'JobForged'],
    ['a field before it', signed.replace('{"jobId"', '{"x":1,"jobId"'), 'JobForged'],
    ['a space', signed.replace('":"', '": "'), 'JobForged'],
    ['another signature', new JobKeys([NEW]).sign(TEXT), 'JobKeyUnknown'],
    [
      'the id of a known key and another MAC',
      new JobKeys([NEW]).sign(TEXT).replace(new JobKeys([NEW]).ids[0]!, keys.ids[0]!),
      'JobForged',
    ],
    [
      'the signature of another job',
      `${TEXT.replace('step-1', 'step-2').slice(0, -1)}${signed.slice(TEXT.length - 1)}`,
      'JobForged',
    ],
  ]
  for (const [what, text, fault] of CHANGED)
    it(`is refused with ${what}`, () => assert.equal(keys.faultIn(text), fault))

  it('is refused after any change of one character', () => {
    for (let at = 0; at < signed.length; at += 1) {
      const changed = `${signed.slice(0, at)}${signed[at] === 'x' ? 'y' : 'x'}${signed.slice(at + 1)}`
      assert.notEqual(keys.faultIn(changed), null, changed)
    }
  })

  it('is made by the first key and accepted from every key, so that keys can rotate', () => {
    const both = new JobKeys([NEW, OLD])
    assert.equal(both.faultIn(signed), null)
    assert.equal(new JobKeys([OLD, NEW]).faultIn(both.sign(TEXT)), null)
    assert.equal(keys.faultIn(both.sign(TEXT)), 'JobKeyUnknown')
  })
})

describe('key files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'job-keys-'))
  after(() => rmSync(folder, { recursive: true }))
  const base64 = (key: Buffer) => key.toString('base64')
  const fileOf = (content: string, mode = 0o600) => {
    const file = join(folder, 'given')
    writeFileSync(file, content)
    chmodSync(file, mode)
    return file
  }

  it('are optional', () => assert.equal(readJobKeys({ jobKeys: [], jobKeyFile: null }), null))

  it('hold a key per line, after the keys of the environment', () => {
    const file = fileOf(`${base64(OLD)}\n${base64(NEW)}\n`)
    assert.deepEqual(
      readJobKeys({ jobKeys: [], jobKeyFile: file })?.ids,
      new JobKeys([OLD, NEW]).ids,
    )
    assert.deepEqual(
      readJobKeys({ jobKeys: [base64(NEW)], jobKeyFile: file })?.ids.slice(0, 2),
      new JobKeys([NEW, OLD]).ids,
    )
  })

  const UNUSABLE: [what: string, content: string, mode: number, says: RegExp][] = [
    ['empty', '\n', 0o600, /it is empty/],
    ['short', `${base64(OLD)}\nc2hvcnQ=\n`, 0o600, /key 2 is not 32 bytes in base64/],
    [
      'readable by others',
      base64(OLD),
      0o644,
      /other users can use it \(mode 644\); run chmod 600/,
    ],
  ]
  for (const [what, content, mode, says] of UNUSABLE) {
    it(`are refused when ${what}, without showing a key`, () => {
      const jobKeyFile = fileOf(content, mode)
      assert.throws(
        () => readJobKeys({ jobKeys: [], jobKeyFile }),
        (error: Error & { code?: string }) =>
          error.code === 'JOB_KEY_UNUSABLE' &&
          says.test(error.message) &&
          !error.message.includes(base64(OLD)),
      )
    })
  }

  it('are created once, for their owner only', () => {
    const file = ownJobKeyFile(join(folder, 'secrets'))
    const made = readFileSync(file, 'utf8')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal(ownJobKeyFile(join(folder, 'secrets')), file)
    assert.equal(readFileSync(file, 'utf8'), made)
    assert.equal(readJobKeys({ jobKeys: [], jobKeyFile: file })?.ids.length, 1)
  })
})
