// Rehearsals in the dashboard: choose, watch, cancel, read the report. The runner ends when the test says so.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { RehearsalOrder } from '../../src/api/rehearsals.ts'
import type { RehearsalReport } from '../../src/app/rehearsal/report.ts'
import type { Json } from '../../src/domain/json.ts'
import { plain } from '../api/contract/fixtures.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

interface Begun {
  readonly order: RehearsalOrder
  readonly onProgress: (at: Date) => void
  end(report: Json): void
}

const PHASE = {
  ...{ batchId: 1, status: 'completed', dueAt: '2030-03-01T20:00:00.000Z' },
  ...{ startedAt: '2030-03-01T20:00:00.000Z', endedAt: '2030-03-01T20:10:00.000Z' },
  ...{ members: 2, failed: 1, p50Sec: 60, p95Sec: 540, worstSec: 600, gapSec: 86_400 },
  ...{ isLate: false, tenTimesSec: 900, tenTimesFits: true },
}
const COUNTS = { migrated: 1, inProgress: 0, stopped: 0, failed: 1, removed: 0 }
const REPORT: RehearsalReport = {
  verdict: 'not ready',
  faults: ['throttling'],
  reasons: ['1 of 2 members would have failed.'],
  warnings: ['graph throttled 3 calls, 30s in all.'],
  ...{ runbook: 'wave', seed: 1, slots: 32, members: { total: 2, ...COUNTS } },
  ...{ startedAt: '2030-03-01T19:00:00.000Z', endedAt: '2030-03-02T21:00:00.000Z' },
  batches: [
    { id: 1, startTime: null, status: 'completed', heldReason: null, ...COUNTS, members: 2 },
  ],
  events: [],
  timeline: [
    { ...PHASE, phase: 'prepare' },
    { ...PHASE, phase: 'cutover', isLate: true, gapSec: 300 },
  ],
  failures: [
    {
      ...{ kind: 'phase', phase: 'prepare', step: 'create', count: 1 },
      ...{ message: 'The licence is missing.', remedy: 'Buy one.' },
      people: ['eve@contoso.example'],
    },
  ],
  neverRan: [{ where: 'rollback back', step: 'undo' }],
  messages: {
    from: 'migration@contoso.example',
    sent: [
      {
        ...{ phase: 'announce', step: 'tell', message: 'announcement', language: 'de', sent: 12 },
        ...{
          corrections: 3,
          firstAt: '2030-02-15T20:00:02.000Z',
          lastAt: '2030-02-15T20:01:00.000Z',
        },
      },
    ],
    loads: [{ batchId: 1, phase: 'announce', mails: 12, takesSec: 2_040 }],
    examples: [
      {
        ...{
          message: 'announcement',
          language: 'de',
          member: 'ada@x.example',
          to: 'ada@x.example',
        },
        ...{ subject: 'Ihr Umzug', body: '<p>Guten Tag <script>x</script>Ada</p>', isHtml: true },
      },
    ],
    withoutAddress: { count: 0, people: [] },
    inDefaultLanguage: { count: 3, people: ['bo@x.example', 'cy@x.example'] },
  },
  staysAfterUndo: [],
  rollbacks: {
    ran: 1,
    failed: 0,
    notRestored: [
      {
        ...{ member: 'eve@contoso.example', phase: 'prepare', failedStep: 'create' },
        differences: ['The account is still there.'],
      },
    ],
  },
  calls: { total: 7, services: [], operations: [] },
  ...{ source: [], tenants: [], assumptions: [] },
}

describe('rehearsals in the dashboard', () => {
  let dashboard: DashboardUnderTest
  const begun: Begun[] = []
  before(async () => {
    const run = (order: RehearsalOrder, signal: AbortSignal, onProgress: Begun['onProgress']) => {
      const { promise, resolve, reject } = Promise.withResolvers<Json>()
      signal.addEventListener('abort', () => reject(new Error('killed')))
      begun.push({ order, onProgress, end: resolve })
      return promise
    }
    const runRehearsal = { faultNames: ['throttling'], run }
    dashboard = await openDashboard({ options: { runRehearsal } })
    await dashboard.world.publish(plain('wave'))
  })
  after(() => dashboard.close())

  it('begins one with the people of a file, shows its progress, then the report', async () => {
    const opened = await dashboard.open('/rehearse?runbook=wave')
    const { page } = opened
    const text = 'Upn,When\r\nada@contoso.example,2030-03-02\r\neve@contoso.example,2030-03-02\r\n'
    await page.getByLabel('People').setInputFiles({
      name: 'people.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(text),
    })
    await page.getByText('2 people in people.csv').waitFor()
    await page.getByLabel('Faults').fill('throttling')
    await assertSound(opened)
    assert.equal(begun.length, 0, 'choosing begins nothing')
    await page.getByRole('button', { name: 'Rehearse' }).click()
    await page.getByText('Under way').waitFor()
    const { order, onProgress, end } = begun[0]!
    assert.deepEqual(
      [order.rows.map((row) => row.Upn), order.faults, order.yaml],
      [['ada@contoso.example', 'eve@contoso.example'], ['throttling'], plain('wave')],
    )
    onProgress(new Date('2030-03-01T20:00:00Z'))
    await page.getByText(/Inside the rehearsal it is Mar 1, 2030/).waitFor()
    end(REPORT as unknown as Json)
    await page.getByText('1 of 2 members would have failed.').waitFor()
    const shown = await page.locator('#content').innerText()
    for (const said of [
      'not ready',
      'overran',
      'Buy one.',
      'The account is still there.',
      'undo',
      'announcement',
      '34 min',
      'Guten Tag Ada',
      'bo@x.example, cy@x.example and 1 more',
    ])
      assert.ok(shown.includes(said), said)
    await assertSound(opened)
    assert.equal(begun.length, 1)
  })

  it('reads on a phone in the dark, and lists what was rehearsed', async () => {
    const opened = await dashboard.open('/rehearse', {
      colorScheme: 'dark',
      viewport: { width: 390, height: 844 },
    })
    const { page } = opened
    await page.getByRole('link', { name: '1 wave' }).waitFor()
    await assertSound(opened)
    await page.getByRole('link', { name: '1 wave' }).click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    await assertSound(opened)
  })

  it('is cancelled', async () => {
    const { page } = await dashboard.open('/rehearse?runbook=wave')
    await page.getByRole('button', { name: 'Rehearse' }).click()
    await page.getByRole('button', { name: 'Cancel rehearsal' }).click()
    await page.getByText(/^Cancelled by /).waitFor()
    assert.deepEqual(Object.keys(begun[1]!.order.rows[0]!), ['Upn', 'When'], 'the sample row')
    assert.equal(begun.length, 2)
  })
})
