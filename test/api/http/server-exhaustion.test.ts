// Requests made to exhaust memory or time: each is answered with a limit that it names, and others are answered meanwhile.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { after, before, describe, it } from 'node:test'
import { UploadedFile } from '../../../src/api/http/upload.ts'
import { readMemberFile } from '../../../src/api/services/member-file.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { previewSource } from '../../../src/scheduler/preview.ts'
import { sourceAccessFrom } from '../../../src/scheduler/sources/source.ts'
import { formOf, plain } from '../contract/fixtures.ts'
import { type ApiUnderTest, openApiUnderTest, ROUTES } from '../under-test.ts'

const OTHER_MAX_MS = 2_000

describe('a request made to exhaust the API', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-exhaustion-'))
  let api: ApiUnderTest
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
    api = await openApiUnderTest({
      options: {
        preview: (runbook, stopping) => {
          const { db, clock } = api.world
          return previewSource({ db, sources, runbook, now: clock.now(), stopping })
        },
      },
    })
    await api.world.publish(plain())
  })
  after(async () => {
    await api.close()
    rmSync(folder, { recursive: true })
  })

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
      const form = formOf(`UserPrincipalName\n${line.repeat(5_000_000 / line.length)}`, {
        runbookName: 'plain',
      })
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
    const file = new UploadedFile('gone.csv', [Buffer.from('UserPrincipalName\na\n')])
    await assert.rejects(readMemberFile(file, runbook, AbortSignal.abort()), { code: 'TRY_AGAIN' })
  })

  it('with a header of 100,000 columns is refused without listing them', async () => {
    const form = formOf(`UserPrincipalName${',a'.repeat(100_000)}\n1\n`, { runbookName: 'plain' })
    const { body } = await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', '/api/batches', { form })
    assert.match(body.faults![0]!.message, /more than 1000 columns/)
    const long = formOf(`UserPrincipalName,${'x'.repeat(1_000_000)}\n1,2\n`, {
      runbookName: 'plain',
    })
    const { text } = await api.refused(422, 'MEMBER_ROWS_INVALID', 'POST', '/api/batches', {
      form: long,
    })
    assert.ok(text.length < 2_000, `${text.length} characters`)
  })

  it('as a plan with a long value in many templates gets examples with cut values', async () => {
    const params = `{ Text: "${'{{UserPrincipalName}}'.repeat(900)}" }`
    const yamlContent = plain().replace('{ UserPrincipalName: "{{UserPrincipalName}}" }', params)
    assert.ok(yamlContent.includes(params))
    const ask = (key: string) =>
      api.call<{ warnings: string[]; phases: { steps: { examples: { params: object }[] }[] }[] }>(
        'POST',
        '/api/runbooks/plain/plan',
        { body: { yamlContent, member: { UserPrincipalName: key } } },
      )
    const short = await ask('a@x.example')
    assert.deepEqual([short.status, short.body.warnings], [200, []], short.text.slice(0, 500))
    const long = await ask('k'.repeat(200_000))
    assert.equal(long.status, 200)
    assert.ok(long.text.length < 1_500_000, `${long.text.length} characters`)
    assert.match(long.body.warnings.join(' '), /more than 2000 characters .* more than 1000000/)
    const { examples } = long.body.phases[0]!.steps[0]!
    assert.match(JSON.stringify(examples[0]!.params), /kkk…kkk.*……/)
  })

  const preview = async (csv: string) => {
    writeFileSync(join(folder, 'people.csv'), csv)
    const path = '/api/runbooks/plain/query/preview'
    return api.call<{ sample: { Note: string }[]; warnings: string[] }>('POST', path, { body: {} })
  }
  const WHEN = '2090-01-01T00:00:00Z'

  it('as a preview of long cells gets a sample with cut cells', async () => {
    const rows = Array.from({ length: 30 }, (_, at) => `p${at},${WHEN},${'n'.repeat(200_000)}\n`)
    const { status, text, body } = await preview(`UserPrincipalName,When,Note\n${rows.join('')}`)
    assert.equal(status, 200, text.slice(0, 500))
    assert.deepEqual(body.warnings, ['Cells of more than 2000 characters are cut in the sample.'])
    assert.deepEqual([body.sample.length, body.sample[0]!.Note.length], [30, 2_001])
  })

  it('as a preview of many cells gets fewer rows', async () => {
    const cells = Array.from({ length: 20 }, () => 'n'.repeat(1_900)).join()
    const names = Array.from({ length: 20 }, (_, at) => `N${at}`).join()
    const rows = Array.from({ length: 100 }, (_, at) => `p${at},${WHEN},${cells}\n`)
    const { text, body } = await preview(`UserPrincipalName,When,${names}\n${rows.join('')}`)
    assert.ok(text.length < 1_200_000, `${text.length} characters`)
    assert.deepEqual(body.warnings, [
      'The sample ends after 26 rows: together they have 1000000 characters.',
    ])
    assert.equal(body.sample.length, 26)
  })

  const many = <T>(item: (at: number) => T) => Array.from({ length: 200_000 }, (_, at) => item(at))
  const BODIES: readonly [what: string, body: string][] = [
    ['200,000 strings', JSON.stringify(many(() => 'x'))],
    [
      '200,000 strings in a member',
      JSON.stringify({ member: { UserPrincipalName: many(() => '\0') } }),
    ],
    ['200,000 wrong strings', JSON.stringify({ select: { ids: many(() => 'x') } })],
    [
      '100,000 unknown keys',
      `{${many((at) => `"${at}":1`)
        .slice(0, 100_000)
        .join()}}`,
    ],
    ['a key of 1,000,000 characters', JSON.stringify({ ['k'.repeat(1_000_000)]: '\0' })],
    ['100,000 levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['100,000 levels of objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['a number of 1,000,000 digits', `{"batchId":${'9'.repeat(1_000_000)}}`],
    ['a number beyond all numbers', '{"batchId":1e999}'],
  ]
  const KINDS = ['planRunbook', 'setAutomation', 'retryMembers']
  const POSTS = ROUTES.filter(({ operation }) => KINDS.includes(operation))
  for (const [what, body] of BODIES) {
    it(`with ${what} is refused, and briefly`, async () => {
      assert.equal(POSTS.length, KINDS.length)
      for (const { method, path } of POSTS) {
        const at = path.replaceAll(/\{\w*[iI]d\}/g, '1').replaceAll(/\{\w+\}/g, 'plain')
        const { status, text } = await api.call(method, at, { body })
        assert.ok(status >= 400 && status < 500, `${method} ${at}: ${status} ${text.slice(0, 300)}`)
        assert.ok(text.length < 100_000, `${method} ${at}: ${text.length} characters`)
      }
    })
  }
})
