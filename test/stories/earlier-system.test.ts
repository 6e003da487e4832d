// The differences of the API and of timing that docs/coming-from-the-earlier-system.md lists: each line is tried here, or names its test.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { SETTINGS } from '../../src/base/settings/config.ts'
import { formOf, plain, plainCsv } from '../api/contract/fixtures.ts'
import { type ApiUnderTest, openApiUnderTest } from '../api/under-test.ts'

const ROOT = new URL('../../', import.meta.url)
const textOf = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8')

/** The left column of the tables in a section. */
function linesOf(section: string): string[] {
  const guide = textOf('docs/coming-from-the-earlier-system.md')
  const [, found] = new RegExp(`^## ${section}\\n([\\s\\S]*?)^## `, 'm').exec(guide)!
  return [...found!.matchAll(/^\| (.+?) \| .+ \|$/gm)]
    .map(([, left]) => left!)
    .filter((left) => left !== 'The earlier system' && !left.startsWith('---'))
}

type Check = (api: ApiUnderTest) => Promise<void>
type Elsewhere = readonly [file: string, title: string]

interface Body {
  readonly [key: string]: unknown
}

const reason = 'as before'
const batch = '/api/batches/1'

const CHECKS: Readonly<Record<string, Check | Elsewhere>> = {
  'as many changes as you like': [
    'test/api/http.test.ts',
    'limits each caller per minute, reads and changes separately',
  ],
  '`{error}` or `{errors: […]}`': async (api) => {
    const refused = await api.refused(404, 'RUNBOOK_NOT_FOUND', 'GET', '/api/runbooks/nobody')
    assert.equal('error' in refused.body, false)
  },
  'every success is 200': async (api) => {
    const yamlContent = plain()
    const published = await api.call('POST', '/api/runbooks', { body: { yamlContent } })
    assert.equal(published.status, 201, published.text)
    const form = formOf(plainCsv('ann@x.example', 'bob@x.example'), { runbookName: 'plain' })
    assert.equal((await api.call('POST', '/api/batches', { form })).status, 201)
  },
  'a runbook with mistakes is 400': async (api) => {
    const body = { yamlContent: 'name: x' }
    await api.refused(422, 'RUNBOOK_INVALID', 'POST', '/api/runbooks', { body })
  },
  'an id that is no number is 404': async (api) => {
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches/x')
  },
  'lists with `limit` and `offset`, without totals': async (api) => {
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches?offset=1')
    const { body } = await api.call<Body>('GET', '/api/batches?limit=1')
    assert.deepEqual([body.total, body.next], [1, null])
  },
  'unknown filters and values are ignored': async (api) => {
    const { body } = await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches?status=done')
    assert.match(body.detail, /Allowed: detected, .*cancelled/)
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches?state=active')
  },
  '`GET batches?runbookId=`': async (api) => {
    const { body } = await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches?runbookId=1')
    assert.match(body.detail, /Did you mean "runbook"/)
    assert.equal((await api.call<Body>('GET', '/api/batches?runbook=Plain')).body.total, 1)
  },
  '`yamlContent`, `overdueBehavior` (`rerun`), `rerunInit`': async (api) => {
    const { body } = await api.call<Body>('GET', '/api/runbooks/plain')
    assert.deepEqual([body.overdueBehavior, body.rerunInit], ['ignore', false])
    assert.equal(body.yamlContent, plain())
  },
  '`dataTableName`, `createdAt` of a runbook': async (api) => {
    const { body } = await api.call<Body>('GET', '/api/runbooks/plain')
    assert.deepEqual(['dataTableName' in body, 'createdAt' in body], [false, false])
    assert.deepEqual([body.publishedAt, body.publishedBy], ['2026-03-02T08:00:00.000Z', 'root'])
  },
  '`PUT …/automation` without `enabled` disables': async (api) => {
    const path = '/api/runbooks/plain/automation'
    await api.call('PUT', path, { body: { enabled: true } })
    await api.refused(400, 'REQUEST_INVALID', 'PUT', path, { body: {} })
    assert.equal((await api.call<Body>('GET', path)).body.automationEnabled, true)
  },
  '`POST batches` answers `success` and `pending_init`; changes answer `message` or `action`':
    async (api) => {
      const { body } = await api.call<{ batch: Body }>('GET', batch)
      assert.deepEqual([body.batch.status, body.batch.memberCount], ['detected', 2])
    },
  '`POST …/advance` without a body': async (api) => {
    await api.refused(400, 'REQUEST_INVALID', 'POST', `${batch}/advance`)
    const body = { expectedPhase: 'cutover', reason }
    await api.refused(409, 'REFUSED', 'POST', `${batch}/advance`, { body })
    const right = { body: { expectedPhase: 'prepare', reason } }
    assert.equal((await api.call('POST', `${batch}/advance`, right)).status, 200)
  },
  '`isActive: false` of a failed member looks like removed': async (api) => {
    api.world.answer = ({ parameters }) =>
      parameters.UserPrincipalName === 'ann@x.example' ? { fail: 'no' } : { ok: true }
    await api.world.settle()
    const { body } = await api.call<{ members: Body[] }>('GET', `${batch}/members`)
    const [ann, bob] = body.members
    assert.deepEqual([ann!.isActive, ann!.status, ann!.state], [false, 'failed', 'failed'])
    assert.deepEqual([bob!.isActive, bob!.status], [true, 'active'])
  },
  'members and steps come all at once': async (api) => {
    const { body } = await api.call<{ steps: Body[]; next: string }>(
      'GET',
      `${batch}/steps?limit=1`,
    )
    assert.deepEqual([body.steps.length, typeof body.next], [1, 'string'])
    const [first] = body.steps
    assert.deepEqual([first!.phaseName, first!.memberKey], ['prepare', 'ann@x.example'])
  },
  '`POST …/cancel` without a body, the batch is `failed`': async (api) => {
    await api.refused(400, 'REQUEST_INVALID', 'POST', `${batch}/cancel`)
    await api.call('POST', `${batch}/cancel`, { body: { reason } })
    const { body } = await api.call<{ batch: Body }>('GET', batch)
    assert.equal(body.batch.status, 'cancelled')
    const advance = { body: { expectedPhase: 'cutover', reason } }
    await api.refused(409, 'REFUSED', 'POST', `${batch}/advance`, advance)
  },
  '`GET health`': async (api) => {
    const given = { token: null }
    assert.equal((await api.call('GET', '/api/health', given)).text, '{"status":"healthy"}')
    assert.equal((await api.call('GET', '/api/ready', given)).status, 200)
  },
  'anyone may read': [
    'test/api/sign-in/sign-in.test.ts',
    'holds for anonymous, signed-in, HelpDesk, Reader and Admin callers',
  ],
  'uploads: 10 MB and 50,000 rows, no line breaks in quotes': async (api) => {
    const form = formOf('UserPrincipalName,Note\r\ncid@x.example,"two\r\nlines"\r\n', {
      runbookName: 'plain',
    })
    const made = await api.call('POST', '/api/batches', { form })
    assert.equal(made.status, 201, made.text)
  },
  'the sample row of a template becomes a member': [
    'test/api/contract/member-files.test.ts',
    'the sample row of the template',
  ],
  'phases start and polls run with the five-minute tick': [
    'test/stories/polling.test.ts',
    'polls to the second until complete',
  ],
  'a poll timeout is noticed at the next poll': [
    'test/stories/polling.test.ts',
    'times out to the second',
  ],
  'polls of running batches stop after a publish': [
    'test/stories/version-ignore.test.ts',
    'polls continue with the settings they began with',
  ],
  'batches of a deactivated runbook stand still': [
    'test/stories/version-ignore.test.ts',
    'unfinished batches finish on the version they have',
  ],
  'a query has two minutes, in Databricks five': async () => {
    assert.equal(SETTINGS.sourceTimeoutSec.default, 300)
  },
  'a job of more than five minutes is delivered to a second worker': [
    'test/worker/jobs/worker.test.ts',
    'renews leases while a job runs',
  ],
}

const TIMING = /minute|poll|stand still/

describe('differences from the earlier system', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
  })
  after(() => api.close())

  it('are all tried: those of the API and of timing', () => {
    const listed = [
      ...linesOf('API'),
      ...linesOf('What runs differently').filter((line) => TIMING.test(line)),
    ]
    assert.deepEqual(Object.keys(CHECKS).toSorted(), listed.toSorted())
  })

  for (const [line, check] of Object.entries(CHECKS)) {
    it(line.replaceAll('`', ''), async () => {
      if (typeof check === 'function') return check(api)
      const [file, title] = check
      assert.ok(textOf(file).includes(title), `${file} has no test "${title}"`)
    })
  }
})
