// Heads of the audit leave as they are sealed: nothing is lost while a place is out of reach or when their sealer dies.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { makeHeadSender } from '../../../src/api/services/audit-heads.ts'
import { insertAudit } from '../../../src/db/orders/audit.ts'
import { sealAudit } from '../../../src/db/orders/audit-sealing.ts'
import { openTestPglite } from '../../kit/databases.ts'
import { openApiUnderTest } from '../under-test.ts'

const NOW = new Date('2026-03-01T10:00:00Z')
const headOf = (sealed: number) => ({ sealed, hash: String(sealed).repeat(64).slice(0, 64) })
const lineOf = (sealed: number) => ({ at: NOW.toISOString(), head: headOf(sealed) })

describe('heads of the audit', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'heads-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  it('are appended to a file for its owner only, and wait while it cannot be written', async () => {
    const file = join(folder, 'heads')
    const heads = makeHeadSender({ auditHeadsFile: file })
    mkdirSync(file)
    heads.note(headOf(1), NOW)
    await assert.rejects(heads.send(), { code: 'AUDIT_HEADS_UNSENT' })
    rmdirSync(file)
    heads.note(headOf(2), NOW)
    await heads.send()
    await heads.send()
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      [lineOf(1), lineOf(2)],
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
  })

  it('are sent by the next API when the one that sealed them died first', async () => {
    const database = await openTestPglite()
    const row = { actor: 'a', actorName: 'A', action: 'batch.hold', subject: 'batch 1' }
    const nothing = { source: null, clientApp: null, requestId: null, reason: null }
    await insertAudit(database.db, { at: NOW, ...row, ...nothing })
    const { sealed, hash } = await sealAudit(database.db)
    const file = join(folder, 'after-death')
    const api = await openApiUnderTest({ database, config: { auditHeadsFile: file } })
    await using _ = { [Symbol.asyncDispose]: () => api.close() }
    const written = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
    for (let look = 0; look < 100_000 && !written().includes('\n'); look += 1)
      await new Promise(setImmediate)
    assert.deepEqual(JSON.parse(written().split('\n')[0]!).head, { sealed, hash })
  })
})
