// The override of a batch's change windows over HTTP: tried, done, ended, and refused.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../scenarios/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { plain } from './fixtures.ts'

interface Decided {
  isDryRun: boolean
  batch: { changeWindow: { override: { until: string; reason: string } | null } | null }
}

export function changeWindowContract(): void {
  describe('an override of change windows', () => {
    const reason = 'the bank agreed'
    const path = '/api/batches/1/override-window'
    let api: ApiUnderTest
    before(async () => {
      api = await openApiUnderTest()
      await api.world.publish(plain())
      const members = people(2).map(({ key }) => ({ key, data: { Upn: key } }))
      await api.world.batch('plain', members, { startsInMin: 3000 })
    })
    after(() => api.close())

    it('has a reason and an end, and stands in the audit', async () => {
      const until = new Date(+api.world.clock.now() + 3_600_000).toISOString()
      const override = (body: object) => api.call<Decided>('POST', path, { body })
      const dry = await override({ reason, until, dryRun: true })
      assert.equal(dry.status, 200, dry.text)
      const tried = dry.body.batch.changeWindow!.override!
      assert.deepEqual([tried.until, tried.reason], [until, reason])
      await api.refused(409, 'REFUSED', 'POST', path, { body: { reason, until: null } })
      await override({ reason, until })
      const ended = await override({ reason, until: null })
      assert.equal(ended.body.batch.changeWindow, null)
      const { body } = await api.call<{ entries: { action: string }[] }>('GET', '/api/audit')
      const done = body.entries.filter(({ action }) => action === 'batch.override_window')
      assert.equal(done.length, 2)
    })

    it('is refused without a reason, for an outdated etag and an unknown batch', async () => {
      const body = { reason, until: '2030-01-01T00:00:00Z' }
      const headers = { 'if-match': '"other"' }
      await api.refused(412, 'STATE_CHANGED', 'POST', path, { body, headers })
      await api.refused(404, 'BATCH_NOT_FOUND', 'POST', path.replace('1', '99'), { body })
      await api.refused(400, 'REQUEST_INVALID', 'POST', path, { body: { ...body, reason: ' ' } })
    })
  })
}
