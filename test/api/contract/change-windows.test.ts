// The override of a batch's change windows over HTTP: tried, done, ended, and refused.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { WEEKDAYS } from '../../../src/domain/notifications/quiet-hours.ts'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

interface Decided {
  isDryRun: boolean
  waitingSteps: number
  outstandingJobs: number
  batch: { changeWindow: { override: { until: string; reason: string } | null } | null }
}

planContract()
describe('an override of change windows', () => {
  const reason = 'the bank agreed'
  const path = '/api/batches/1/override-window'
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    const members = people(2)
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
    assert.deepEqual([dry.body.waitingSteps, dry.body.outstandingJobs], [0, 0])
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

interface Window {
  isOpen: boolean
  closesAt: string | null
  opensAt: string | null
  timeZone: string
  freezeReason: string | null
}
interface Plan {
  phases: { name: string; dueAt: string; window: Window | null; noReturnSteps: string[] }[]
}
interface Published {
  impact: { listed: { phases: { name: string; window: Window | null }[] }[] }
}

const NIGHTS = 'windows: { time_zone: UTC, hours: [{ from: "20:00", to: "02:00" }] }'

function planContract(): void {
  describe('a plan with change windows', () => {
    let api: ApiUnderTest
    before(async () => {
      // The system's are narrower than those of the runbook.
      const hours = [{ days: WEEKDAYS, fromMin: 22 * 60, toMin: 4 * 60 }]
      const freezes = [{ from: '2030-03-02', to: '2030-03-02', reason: 'quarter end' }]
      api = await openApiUnderTest({ windows: { timeZone: 'UTC', hours, freezes } })
      await api.world.publish(`${plain()}${NIGHTS}\n`)
    })
    after(() => api.close())

    it('says when the changes of each phase begin, by the windows of system and runbook', async () => {
      const body = { startTime: '2030-03-02T21:00:00Z' }
      const { body: plan } = await api.call<Plan>('POST', '/api/runbooks/plain/plan', { body })
      const [prepare, cutover] = plan.phases
      assert.deepEqual(prepare!.window, {
        isOpen: false,
        closesAt: null,
        opensAt: '2030-03-01T22:00:00.000Z',
        timeZone: 'UTC',
        freezeReason: null,
      })
      // Frozen until midnight, when both are open.
      assert.deepEqual(cutover!.window, {
        isOpen: false,
        closesAt: null,
        opensAt: '2030-03-03T00:00:00.000Z',
        timeZone: 'UTC',
        freezeReason: 'quarter end',
      })
      const later = { startTime: '2030-03-05T23:00:00Z' }
      const open = await api.call<Plan>('POST', '/api/runbooks/plain/plan', { body: later })
      const { isOpen, closesAt } = open.body.phases[1]!.window!
      assert.deepEqual([isOpen, closesAt], [true, '2030-03-06T02:00:00.000Z'])
    })

    it('says it of every batch that a new version would reach, also of one with an override', async () => {
      const members = people(1)
      const batchId = await api.world.batch('plain', members, { startsInMin: 3 * 1_440 })
      const yamlContent = `${plain('plain', 'create-again')}${NIGHTS}\n`
      const body = { yamlContent, dryRun: true }
      const tried = () => api.call<Published>('POST', '/api/runbooks', { body })
      const windowsIn = ({ body: { impact } }: { body: Published }) =>
        impact.listed[0]!.phases.map(({ name, window }) => [name, window?.isOpen, window?.opensAt])
      assert.deepEqual(windowsIn(await tried()), [
        ['prepare', false, '2026-03-04T22:00:00.000Z'],
        ['cutover', false, '2026-03-05T22:00:00.000Z'],
      ])
      const summary = `/api/batches/${batchId}/summary`
      const windowNow = async () =>
        (await api.call<{ window: Window | null }>('GET', summary)).body.window
      assert.equal((await windowNow())!.opensAt, '2026-03-02T22:00:00.000Z')
      const order = { until: '2026-03-05T00:00:00Z', reason: 'the bank agreed' }
      await api.call('POST', `/api/batches/${batchId}/override-window`, { body: order })
      assert.equal(
        (await windowNow())!.closesAt,
        '2026-03-05T02:00:00.000Z',
        'an open window follows',
      )
      assert.deepEqual(windowsIn(await tried()), [
        ['prepare', true, null],
        ['cutover', false, '2026-03-05T22:00:00.000Z'],
      ])
    })
  })
}

covers('overrideWindow')
