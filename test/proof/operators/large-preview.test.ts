// A preview of 100,000 rows keeps nobody waiting: on the embedded database, with its one connection, a hold is answered meanwhile.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { after, before, describe, it } from 'node:test'
import { realClock } from '../../../src/base/run/clock.ts'
import type { PreviewQuery } from '../../../src/domain/sources/preview.ts'
import { previewSource } from '../../../src/scheduler/preview.ts'
import { sourceAccessFrom } from '../../../src/scheduler/sources/source.ts'
import { formOf, plain, plainCsv } from '../../api/contract/fixtures.ts'
import { type ApiUnderTest, type CallOptions, openApiUnderTest } from '../../api/under-test.ts'

const ROWS = 100_000
const HOLD_MAX_MS = 2_000
const KEYS = Array.from({ length: ROWS }, (_, at) => `p${at}@x.example`)

describe('a hold during a preview of 100,000 rows', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-large-'))
  let api: ApiUnderTest
  const held = { scope: 'batch', target: '', reason: 'now' }
  before(async () => {
    const access = {
      sourceTimeoutSec: 60,
      identityEndpoint: null,
      identityHeader: null,
      workloadTokenFile: null,
      workloadClientId: null,
      workloadTenantId: null,
    }
    const sources = sourceAccessFrom({ ...access, sourceFolder: folder }, realClock())
    const preview: PreviewQuery = (runbook, stopping) => {
      const { db, clock } = api.world
      return previewSource({ db, sources, runbook, now: clock.now(), stopping })
    }
    api = await openApiUnderTest({ options: { preview } })
    await api.world.publish(plain())
    const form = formOf(plainCsv('ada@x.example'), { runbookName: 'plain' })
    const made = await api.call('POST', '/api/batches', { form })
    held.target = String(made.body.batchId)
  })
  after(async () => {
    await api.close()
    rmSync(folder, { recursive: true })
  })

  /** Holds and resumes the batch until the preview is answered; returns its answer. */
  async function holdDuring(path: string, options: CallOptions = {}) {
    let isAnswered = false
    const preview = api.call('POST', path, options).finally(() => {
      isAnswered = true
    })
    const waits: number[] = []
    while (!isAnswered) {
      const path = waits.length % 2 === 0 ? '/api/holds' : '/api/holds/resume'
      const startedMs = performance.now()
      const { status, text } = await api.call('POST', path, { body: held })
      assert.equal(status, 200, text)
      waits.push(performance.now() - startedMs)
    }
    if (waits.length % 2 === 1) await api.call('POST', '/api/holds/resume', { body: held })
    assert.ok(waits.length > 3, `${waits.length} holds and resumes during the preview`)
    assert.ok(Math.max(...waits) < HOLD_MAX_MS, `the slowest took ${Math.max(...waits)} ms`)
    const { body } = await api.call<{ total: number }>('GET', '/api/batches')
    assert.equal(body.total, 1)
    return preview
  }

  it('of a member file is answered at once', async () => {
    const form = formOf(`UserPrincipalName\n${KEYS.join('\n')}\n`, { runbookName: 'plain' })
    const { status, body } = await holdDuring('/api/batches?dryRun=true', { form })
    assert.deepEqual([status, body.memberCount, body.isDryRun], [200, ROWS, true])
  })

  it('of a data source is answered at once', async () => {
    const rows = KEYS.map((key) => `${key},2090-01-01T00:00:00Z\n`)
    writeFileSync(join(folder, 'people.csv'), `UserPrincipalName,When\n${rows.join('')}`)
    const { status, body } = await holdDuring('/api/runbooks/plain/query/preview')
    assert.deepEqual([status, body.rowCount, body.groupCount], [200, ROWS, 1])
  })
})
