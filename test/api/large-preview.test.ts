// A preview of 100,000 rows keeps nobody waiting: on the embedded database, with its one connection, a hold is answered meanwhile.
import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { it } from 'node:test'
import { formOf, plain, plainCsv } from './contract/fixtures.ts'
import { openApiUnderTest } from './under-test.ts'

const ROWS = 100_000
const HOLD_MAX_MS = 2_000

it('a hold is answered while 100,000 rows are previewed', async () => {
  const api = await openApiUnderTest()
  try {
    await api.world.publish(plain())
    const runbookName = 'plain'
    const small = formOf(plainCsv('ada@x.example'), { runbookName })
    const made = await api.call('POST', '/api/batches', { form: small })
    assert.equal(made.status, 201, made.text)
    const keys = Array.from({ length: ROWS }, (_, at) => `p${at}@x.example`)
    const form = formOf(`Upn\n${keys.join('\n')}\n`, { runbookName })
    let isPreviewed = false
    const preview = api.call('POST', '/api/batches?dryRun=true', { form }).finally(() => {
      isPreviewed = true
    })
    const waits: number[] = []
    while (!isPreviewed) {
      const verb = waits.length % 2 === 0 ? 'hold' : 'resume'
      const startedMs = performance.now()
      const path = `/api/batches/${String(made.body.batchId)}/${verb}`
      const { status, text } = await api.call('POST', path, { body: { reason: 'now' } })
      assert.equal(status, 200, text)
      waits.push(performance.now() - startedMs)
    }
    const { status, body } = await preview
    assert.deepEqual([status, body.memberCount, body.isDryRun], [200, ROWS, true])
    assert.ok(waits.length > 3, `${waits.length} holds and resumes during the preview`)
    assert.ok(Math.max(...waits) < HOLD_MAX_MS, `the slowest took ${Math.max(...waits)} ms`)
    const { body: list } = await api.call<{ total: number }>('GET', '/api/batches')
    assert.equal(list.total, 1)
  } finally {
    await api.close()
  }
})
