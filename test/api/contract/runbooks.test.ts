// Runbooks over HTTP: publish, list, show, deactivate, turn automation on and off, preview, member file template.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ErrorCode } from '../../../src/base/errors/errors.ts'
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { type ApiUnderTest, openApiUnderTest, routeOf } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain, wave } from './fixtures.ts'

interface Published {
  runbookId: number | null
  name: string
  version: number
  isNew: boolean
  isDryRun: boolean
  warnings: { code: string }[]
  impact: { batches: number; skipped: { total: number; listed: { phase: string }[] } }
}

describe('publishing', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
  })
  after(() => api.close())

  const publish = (yamlContent: string, more: object = {}, headers = {}) =>
    api.call<Published>('POST', '/api/runbooks', { body: { yamlContent, ...more }, headers })

  it('creates the next version, answers 201 and records the publisher', async () => {
    const { status, body, headers } = await publish(plain(), { name: 'PLAIN', reason: 'first' })
    assert.equal(status, 201)
    assert.deepEqual([body.name, body.version, body.isNew], ['plain', 1, true])
    // No worker has announced itself, and the steps name functions that are not standard ones.
    assert.deepEqual(
      body.warnings.map(({ code }) => code),
      ['UNKNOWN_FUNCTION', 'UNKNOWN_FUNCTION'],
    )
    assert.ok(headers.get('etag'))
    const second = await publish(plain('plain', 'make'), { overdueBehavior: 'rerun' })
    assert.deepEqual([second.status, second.body.version], [201, 2])
    const { body: audit } = await api.call<{ entries: Record<string, unknown>[] }>(
      'GET',
      '/api/audit?action=runbook.publish&limit=1',
    )
    assert.equal(audit.entries[0]!.subject, 'runbook plain')
    assert.match(String(audit.entries[0]!.actor), /^local\//)
  })

  it('is refused when a required parameter is missing, unless forced, and the audit says so', async () => {
    const lacking = plain('lacking')
      .replaceAll('worker_id: w1', 'worker_id: cloud')
      .replaceAll('function: New-Thing', 'function: New-EntraUser')
    const refused = await api.refused(422, 'RUNBOOK_INVALID', 'POST', '/api/runbooks', {
      body: { yamlContent: lacking },
    })
    assert.match(JSON.stringify(refused), /New-EntraUser needs the parameter \\"DisplayName\\"/)
    const { status, body } = await publish(lacking, { force: true, reason: 'as before' })
    assert.equal(status, 201)
    assert.ok(body.warnings.some(({ code }) => code === 'MISSING_PARAMETER_ALLOWED'))
    const audit = await api.call<{ entries: { after: { force?: boolean } }[] }>(
      'GET',
      '/api/audit?action=runbook.publish&limit=1',
    )
    assert.equal(audit.body.entries[0]?.after.force, true)
  })

  it('the same text creates no new version', async () => {
    const again = await publish(plain('plain', 'make'), { overdueBehavior: 'rerun' })
    assert.deepEqual([again.status, again.body.isNew, again.body.version], [200, false, 2])
  })

  it('as a dry run shows the impact and changes nothing', async () => {
    await api.world.batch('plain', 3, { startsInMin: 60 })
    const { status, body } = await publish(plain('plain', 'other'), { dryRun: true })
    assert.deepEqual([status, body.isDryRun, body.version, body.runbookId], [200, true, 3, null])
    assert.deepEqual([body.impact.batches, body.impact.skipped.listed[0]?.phase], [1, 'prepare'])
    const now = await api.call('GET', '/api/runbooks/plain')
    assert.equal(now.body.version, 2)
  })

  it('refuses a runbook with problems and lists them all with line and column', async () => {
    const { body } = await api.refused(422, 'RUNBOOK_INVALID', 'POST', '/api/runbooks', {
      body: { yamlContent: 'name: x\nphases: nonsense\nnmae: y\n' },
    })
    assert.ok(body.faultCount! >= 3)
    assert.ok(body.faults!.every(({ line, message }) => line !== undefined && message !== ''))
  })

  it("refuses a name that differs from the runbook's", async () => {
    await api.refused(422, 'RUNBOOK_NAME_DIFFERS', 'POST', '/api/runbooks', {
      body: { name: 'else', yamlContent: plain() },
    })
  })

  it('refuses an outdated etag', async () => {
    const { headers } = await api.call('GET', '/api/runbooks/plain')
    const seen = { 'if-match': headers.get('etag')! }
    assert.equal((await publish(plain('plain', 'third'), {}, seen)).status, 201)
    await api.refused(412, 'STATE_CHANGED', 'POST', '/api/runbooks', {
      body: { yamlContent: plain('plain', 'fourth') },
      headers: seen,
    })
  })

  it('repeats the answer for the same key, and refuses another request under it', async () => {
    const headers = { 'idempotency-key': 'publish-1' }
    const first = await publish(plain('keyed'), {}, headers)
    const second = await publish(plain('keyed'), {}, headers)
    assert.deepEqual([first.status, second.status], [201, 201])
    assert.deepEqual(second.body, first.body)
    assert.equal(second.headers.get('etag'), first.headers.get('etag'))
    assert.equal(second.headers.get('idempotent-replay'), 'true')
    await api.refused(422, 'KEY_REUSED', 'POST', '/api/runbooks', {
      body: { yamlContent: plain('keyed', 'other') },
      headers,
    })
  })

  it('refuses an invalid body and names every problem', async () => {
    const { body } = await api.refused(400, 'REQUEST_INVALID', 'POST', '/api/runbooks', {
      body: { yaml: 'x', overdueBehavior: 'maybe' },
    })
    assert.deepEqual(body.faults!.map(({ path }) => path).sort(), [
      'body.overdueBehavior',
      'body.yaml',
      'body.yamlContent',
    ])
  })
})

describe('runbooks', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    for (const name of ['delta', 'alpha', 'Charlie', 'bravo']) await api.world.publish(plain(name))
    await api.world.publish(plain('alpha', 'second'))
  })
  after(() => api.close())

  it('are listed by name in pages, with totals', async () => {
    interface Page {
      runbooks: { name: string; version: number; isAutomationEnabled: boolean }[]
      total: number
      next: string | null
    }
    const first = await api.call<Page>('GET', '/api/runbooks?limit=3')
    assert.deepEqual(
      first.body.runbooks.map(({ name }) => name),
      ['alpha', 'bravo', 'Charlie'],
    )
    assert.equal(first.body.total, 4)
    const second = await api.call<Page>('GET', `/api/runbooks?limit=3&cursor=${first.body.next}`)
    assert.deepEqual([second.body.runbooks[0]!.name, second.body.next], ['delta', null])
    const found = await api.call<Page>('GET', '/api/runbooks?search=HARL')
    assert.deepEqual([found.body.total, found.body.runbooks[0]!.name], [1, 'Charlie'])
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/runbooks?cursor=nonsense')
  })

  it('are shown with their text, whatever the case of the name', async () => {
    const { status, body } = await api.call('GET', '/api/runbooks/ALPHA')
    assert.deepEqual([status, body.version, body.yamlContent], [200, 2, plain('alpha', 'second')])
    await api.refused(404, 'RUNBOOK_NOT_FOUND', 'GET', '/api/runbooks/nobody')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/runbooks/no%20name')
  })

  it('have versions', async () => {
    interface Page {
      versions: { version: number; isActive: boolean }[]
      total: number
      next: string
    }
    const { body } = await api.call<Page>('GET', '/api/runbooks/alpha/versions?limit=1')
    assert.deepEqual(
      [body.versions[0]!.version, body.versions[0]!.isActive, body.total],
      [2, true, 2],
    )
    const path = `/api/runbooks/alpha/versions?limit=1&cursor=${body.next}`
    const rest = await api.call<Page>('GET', path)
    assert.deepEqual([rest.body.versions[0]!.version, rest.body.next], [1, null])
    await api.refused(404, 'RUNBOOK_UNKNOWN', 'GET', '/api/runbooks/nobody/versions')
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/runbooks/alpha/versions?cursor=x')
  })

  it('show one version', async () => {
    const { body } = await api.call('GET', '/api/runbooks/alpha/versions/1')
    assert.deepEqual([body.version, body.isActive, body.yamlContent], [1, false, plain('alpha')])
    await api.refused(404, 'RUNBOOK_VERSION_NOT_FOUND', 'GET', '/api/runbooks/alpha/versions/9')
    await api.refused(404, 'RUNBOOK_UNKNOWN', 'GET', '/api/runbooks/nobody/versions/1')
    for (const bad of ['0', '-1', '1e1', '0x1', '99999999999', '1.0'])
      await api.refused(400, 'REQUEST_INVALID', 'GET', `/api/runbooks/alpha/versions/${bad}`)
  })

  it('are deactivated by version, once', async () => {
    const path = '/api/runbooks/bravo/versions/1'
    const seen = {
      'if-match': (await api.call('GET', '/api/runbooks/bravo')).headers.get('etag')!,
    }
    await api.refused(412, 'STATE_CHANGED', 'DELETE', path, { headers: { 'if-match': '"x"' } })
    const { status, body } = await api.call('DELETE', `${path}?reason=over`, { headers: seen })
    assert.deepEqual([status, body.isActive], [200, false])
    await api.refused(409, 'REFUSED', 'DELETE', path)
    await api.refused(404, 'RUNBOOK_NOT_FOUND', 'GET', '/api/runbooks/bravo')
    await api.refused(404, 'RUNBOOK_UNKNOWN', 'DELETE', '/api/runbooks/nobody/versions/1')
    await api.refused(404, 'RUNBOOK_VERSION_NOT_FOUND', 'DELETE', '/api/runbooks/bravo/versions/2')
    const all = await api.call<{ total: number }>('GET', '/api/runbooks?withInactive=true')
    assert.equal(all.body.total, 4)
  })

  it('have automation turned on and off, explicitly', async () => {
    const path = '/api/runbooks/delta/automation'
    const off = await api.call('GET', path)
    assert.deepEqual([off.status, off.body.automationEnabled], [200, false])
    await api.refused(400, 'REQUEST_INVALID', 'PUT', path, { body: {} })
    const seen = { 'if-match': off.headers.get('etag')! }
    const on = await api.call('PUT', path, { body: { enabled: true }, headers: seen })
    assert.deepEqual([on.status, on.body.automationEnabled], [200, true])
    assert.equal(on.body.enabledAt, api.world.clock.now().toISOString())
    await api.refused(412, 'STATE_CHANGED', 'PUT', path, {
      body: { enabled: true },
      headers: seen,
    })
    const unknown = '/api/runbooks/nobody/automation'
    await api.refused(404, 'RUNBOOK_UNKNOWN', 'PUT', unknown, { body: { enabled: true } })
    await api.refused(404, 'RUNBOOK_UNKNOWN', 'GET', unknown)
  })

  it('provide a member file template with every column that a step uses', async () => {
    await api.world.publish(wave())
    const { status, text, headers } = await api.call('GET', '/api/runbooks/wave/template')
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
    assert.equal(headers.get('content-disposition'), 'attachment; filename="wave_template.csv"')
    const [header, sample] = text.split('\r\n')
    assert.equal(header, 'UserPrincipalName,When,Aliases,Action,Site,Office')
    assert.match(sample!, /^replace-this-row@example\.com,/)
    await api.refused(404, 'RUNBOOK_NOT_FOUND', 'GET', '/api/runbooks/nobody/template')
  })
})

describe('a tick now', () => {
  const path = '/api/runbooks/plain/ticks'
  const report = {
    runbookName: 'plain',
    outcome: 'failed' as const,
    counts: { joined: 2 },
    error: '1 change failed',
    needs: [],
  }

  it('answers with what the tick did, and is audited', async () => {
    const asked: string[] = []
    const api = await openApiUnderTest({
      options: {
        tickNow: async (name, by) => {
          asked.push(name, by)
          return { ...report, news: [] }
        },
      },
    })
    try {
      const { status, body } = await api.call('POST', path, { body: { reason: 'new rows' } })
      assert.deepEqual([status, body], [200, report])
      assert.equal(asked[0], 'plain')
      const { entries: rows } = (
        await api.call<{ entries: { reason: string; subject: string; after: unknown }[] }>(
          'GET',
          '/api/audit?action=source.tick',
        )
      ).body
      assert.deepEqual(
        rows.map(({ subject, reason, after }) => ({ subject, reason, after })),
        [
          {
            subject: 'runbook plain',
            reason: 'new rows',
            after: { outcome: 'failed', counts: { joined: 2 } },
          },
        ],
      )
    } finally {
      await api.close()
    }
  })

  it('is refused when there is nothing to tick, and while another one runs', async () => {
    let fails: ErrorCode | null = null
    const api = await openApiUnderTest({
      options: {
        tickNow: async (name) => {
          if (fails) throw new MatoolkitError(fails, { name })
          return null
        },
      },
    })
    try {
      await api.refused(409, 'TICK_RUNNING', 'POST', path)
      const codes = ['RUNBOOK_NOT_FOUND', 'AUTOMATION_OFF', 'TICK_TAKEN_OVER'] as const
      for (const code of codes) {
        fails = code
        assert.equal((await api.call('POST', path)).body.code, code)
      }
    } finally {
      await api.close()
    }
  })

  it("needs a scheduler in the API's process", async () => {
    const api = await openApiUnderTest()
    try {
      await api.refused(503, 'PREVIEW_UNAVAILABLE', 'POST', path)
    } finally {
      await api.close()
    }
  })
})

describe('the preview of a query', () => {
  const path = '/api/runbooks/plain/query/preview'
  const none = { total: 0, first: [] }
  const nextTick = {
    newBatches: { total: 1, first: [{ time: '2026-04-01T20:00:00Z', members: 2, held: null }] },
    joiners: none,
    rejoiners: none,
    moves: none,
    leavers: none,
    reviews: none,
    missing: 0,
    refreshed: 0,
    holds: [],
  }
  const found = {
    rowCount: 2,
    columns: [{ name: 'UserPrincipalName', type: 'text' as const }],
    sample: [{ UserPrincipalName: 'a@contoso.example' }],
    warnings: [],
    batchGroups: [{ batchTime: new Date('2026-04-01T20:00:00Z'), memberCount: 2 }],
    groupCount: 1,
    problems: [],
    problemCount: 0,
    durationMs: 12,
    nextTick,
  }
  const shown = JSON.parse(JSON.stringify(found))

  it('shows what the scheduler found, and is audited', async () => {
    const api = await openApiUnderTest({ options: { preview: async () => found } })
    try {
      await api.refused(404, 'RUNBOOK_NOT_FOUND', 'POST', path)
      await api.world.publish(plain())
      const { status, body } = await api.call('POST', path)
      assert.deepEqual([status, body], [200, shown])
      const text = { body: { yamlContent: plain('new-one') } }
      const other = await api.call('POST', '/api/runbooks/new-one/query/preview', text)
      assert.equal(other.status, 200)
      await api.refused(422, 'RUNBOOK_NAME_DIFFERS', 'POST', path, text)
      await api.refused(422, 'RUNBOOK_INVALID', 'POST', path, { body: { yamlContent: 'x' } })
      const noted = await api.call<{ total: number }>(
        'GET',
        '/api/audit?action=read%20previewQuery',
      )
      assert.equal(noted.body.total, 2)
    } finally {
      await api.close()
    }
  })

  it('says why the source could not be read', async () => {
    let failure: ErrorCode = 'SOURCE_UNREACHABLE'
    const preview = async () => {
      throw new MatoolkitError(failure, {
        source: 'csv source',
        reason: 'no',
        rows: 1,
        seconds: 1,
      })
    }
    const api = await openApiUnderTest({ options: { preview } })
    try {
      await api.world.publish(plain())
      const codes = routeOf('POST', path)!.errors.filter((code) => code.startsWith('SOURCE_'))
      for (const code of codes) {
        failure = code
        assert.equal((await api.call('POST', path)).body.code, code)
      }
    } finally {
      await api.close()
    }
  })

  it("needs a scheduler in the API's process", async () => {
    const api = await openApiUnderTest()
    try {
      await api.world.publish(plain())
      await api.refused(503, 'PREVIEW_UNAVAILABLE', 'POST', path)
    } finally {
      await api.close()
    }
  })
})

covers(
  'deactivateRunbookVersion',
  'getAutomation',
  'getRunbook',
  'getRunbookVersion',
  'getTemplate',
  'listRunbookVersions',
  'listRunbooks',
  'previewQuery',
  'publishRunbook',
  'setAutomation',
  'tickNow',
)
