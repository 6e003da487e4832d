// Requests made to exhaust memory or time: each is answered with a limit that it names, and others are answered meanwhile.
import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { after, before, describe, it } from 'node:test'
import { UploadedFile } from '../../src/api/http/upload.ts'
import { readMemberFile } from '../../src/api/member-file.ts'
import { formOf, plain } from './contract/fixtures.ts'
import { type ApiUnderTest, openApiUnderTest } from './under-test.ts'

const OTHER_MAX_MS = 2_000

describe('a request made to exhaust the API', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
  })
  after(() => api.close())

  /** Asks for the health again and again until the answer is there; none may wait long. */
  async function askedMeanwhile<T>(answer: Promise<T>): Promise<T> {
    let isAnswered = false
    const ended = answer.finally(() => {
      isAnswered = true
    })
    do {
      const startedMs = performance.now()
      const { status } = await api.call('GET', '/api/health')
      assert.equal(status, 200)
      const tookMs = performance.now() - startedMs
      assert.ok(tookMs < OTHER_MAX_MS, `another request took ${tookMs} ms`)
    } while (!isAnswered)
    return ended
  }

  const FILES: readonly [what: string, line: string, first: RegExp, count: number][] = [
    ['ragged rows', '1,2\n', /has 2 cells, the header 1/, 1_001],
    ['one key again and again', 'a\n', /"a" is already in row 2/, 1_001],
    ['blank rows', '\n', /more than 200000 rows/, 1],
  ]
  for (const [what, line, first, count] of FILES) {
    it(`with 5 MB of ${what} is refused, and others are answered meanwhile`, async () => {
      const form = formOf(`Upn\n${line.repeat(5_000_000 / line.length)}`, { runbookName: 'plain' })
      const { body, text } = await askedMeanwhile(
        api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', '/api/batches', { form }),
      )
      assert.equal(body.faultCount, count, text.slice(0, 500))
      assert.match(body.faults![0]!.message, first)
      assert.ok(body.faults!.length <= 100)
      assert.equal(/has more than 1,000 problems; the first/.test(body.detail), count > 1_000)
      const { body: batches } = await api.call<{ total: number }>('GET', '/api/batches')
      assert.equal(batches.total, 0)
    })
  }

  it('is not worked on when its caller is gone', async () => {
    const { engine } = api.world
    const runbook = await engine.runbooks.get(engine.db, 'plain', 1)
    const file = new UploadedFile('gone.csv', [Buffer.from('Upn\na\n')])
    await assert.rejects(readMemberFile(file, runbook, AbortSignal.abort()), { code: 'TRY_AGAIN' })
  })

  it('with a header of 1,000,000 columns is refused without listing them', async () => {
    const form = formOf(`Upn${',a'.repeat(1_000_000)}\n1\n`, { runbookName: 'plain' })
    const { body } = await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', '/api/batches', { form })
    assert.match(body.faults![0]!.message, /more than 1000 columns/)
    const long = formOf(`Upn,${'x'.repeat(1_000_000)}\n1,2\n`, { runbookName: 'plain' })
    const { text } = await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', '/api/batches', {
      form: long,
    })
    assert.ok(text.length < 2_000, `${text.length} characters`)
  })
})
