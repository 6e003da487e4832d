// What people take away from a batch, over HTTP.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { verifyPack } from '../../../src/api/evidence/verify-pack.ts'
import { AUDIENCE, claimsOf, newKey, signed, TestIssuer } from '../../kit/issuer.ts'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

describe('the report of a batch', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    const members = people(3)
    await api.world.batch('plain', members, { startsInMin: 60 })
  })
  after(() => api.close())
  const get = (query = '', accept = '*/*') =>
    api.call('GET', `/api/batches/1/report${query}`, { headers: { accept } })

  it('follows the format, or else what the caller accepts', async () => {
    const types = async (...asked: Parameters<typeof get>) => {
      const { headers } = await get(...asked)
      return [headers.get('content-type'), headers.get('content-disposition')]
    }
    const json = 'application/json; charset=utf-8'
    const [csv, html] = ['text/csv; charset=utf-8', 'text/html; charset=utf-8']
    const named = (ending: string) => `attachment; filename="batch-1-report.${ending}"`
    assert.deepEqual(await types(), [json, named('json')])
    assert.deepEqual(await types('', 'text/csv'), [csv, named('csv')])
    assert.deepEqual(await types('', 'text/html,application/json;q=0.9'), [html, named('html')])
    assert.deepEqual(await types('?format=csv', 'text/html'), [csv, named('csv')])
  })

  it('has every member, times in the zone, and a policy of its own as a page', async () => {
    const { text, headers } = await get('?format=html&zone=Europe/Berlin')
    assert.equal(text.match(/<th scope="row" class="key">/g)?.length, 3)
    assert.match(text, /Times are in the zone Europe\/Berlin\./)
    const policy = headers.get('content-security-policy')!
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+';/)
    assert.doesNotMatch(text, /\sstyle="/)
  })

  it('is on record, a repeated read once', async () => {
    const { body } = await api.call<{ entries: { action: string; subject: string }[] }>(
      'GET',
      '/api/audit?action=read%20getBatchReport',
    )
    assert.equal(body.entries.length, 3, 'five reads with three queries')
    for (const { subject } of body.entries) assert.equal(subject, '/api/batches/1/report')
  })

  it('refuses what it does not know', async () => {
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/9/report')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches/1/report?zone=Nowhere')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches/1/report?format=pdf')
  })

  it('is also a run sheet: a page, on record', async () => {
    const path = '/api/batches/1/run-sheet'
    const { text, headers } = await api.call('GET', `${path}?zone=Europe/Berlin`)
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(headers.get('content-disposition')!, /filename="batch-1-run-sheet\.html"/)
    assert.match(headers.get('content-security-policy')!, /^default-src 'none'; style-src 'sha256-/)
    assert.equal(text.match(/<th scope="row" class="key">/g)?.length, 3)
    assert.doesNotMatch(text, /\sstyle="|<script|src=/)
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/9/run-sheet')
    await api.refused(400, 'REQUEST_INVALID', 'GET', `${path}?zone=Nowhere`)
    const { body } = await api.call<{ entries: { subject: string }[] }>(
      'GET',
      '/api/audit?action=read%20getRunSheet',
    )
    assert.deepEqual(
      body.entries.map(({ subject }) => subject),
      [path],
    )
  })

  it('is also an evidence pack, signed by a key that is shown', async () => {
    const { body: key } = await api.call<{ fingerprint: string }>('GET', '/api/evidence/key')
    const { status, headers } = await api.call('GET', '/api/batches/1/evidence')
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/gzip'])
    assert.match(headers.get('content-disposition')!, /filename="batch-1-evidence\.tar\.gz"/)
    const answer = await fetch(`${api.url}/api/batches/1/evidence`, {
      headers: { authorization: `Bearer ${api.token}` },
    })
    const { findings, manifest } = await verifyPack(answer.body!, key.fingerprint)
    assert.deepEqual(findings, [])
    assert.deepEqual([manifest?.batch.id, manifest?.tables.members], [1, 3])
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/9/evidence')
  })
})

it('an API with an issuer and no key signs no evidence', async () => {
  const issuer = await new TestIssuer().open()
  issuer.keys = [await newKey('one')]
  const config = { oidcIssuers: [issuer.v2], oidcAudiences: [AUDIENCE] }
  const api = await openApiUnderTest({ config })
  const token = await signed(claimsOf(issuer.v2, api.world.clock.now()), issuer.keys[0]!)
  await api.world.publish(plain())
  await api.world.batch('plain', 1, { startsInMin: 60 })
  for (const path of ['/api/batches/1/evidence', '/api/evidence/key'])
    await api.refused(503, 'EVIDENCE_KEY_MISSING', 'GET', path, { token })
  await api.close()
  await issuer.close()
})

covers('getBatchEvidence', 'getBatchReport', 'getEvidenceKey', 'getRunSheet')
