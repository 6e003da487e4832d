// Rehearsals in the dashboard: choose, watch, cancel, read the report. The runner ends when the test says so.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { RehearsalOrder } from '../../../src/api/services/rehearsals.ts'
import type { RehearsalReport } from '../../../src/app/rehearsal/report.ts'
import type { WhatIfReport } from '../../../src/app/rehearsal/what-if-report.ts'
import type { Json } from '../../../src/base/text/json.ts'
import { noStates } from '../../../src/domain/state/person-state.ts'
import { plain } from '../../api/contract/fixtures.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

interface Begun {
  readonly order: RehearsalOrder
  readonly onProgress: (at: Date) => void
  end(report: Json): void
}

const PHASE = {
  batchId: 1,
  status: 'completed',
  dueAt: '2030-03-01T20:00:00.000Z',
  startedAt: '2030-03-01T20:00:00.000Z',
  endedAt: '2030-03-01T20:10:00.000Z',
  members: 2,
  failed: 1,
  p50Sec: 60,
  p95Sec: 540,
  worstSec: 600,
  gapSec: 86_400,
  isLate: false,
  tenTimesSec: 900,
  tenTimesFits: true,
  windowWaitSec: 0,
}
const COUNTS = { ...noStates(), done: 1, failed: 1 }
const REPORT: RehearsalReport = {
  verdict: 'not ready',
  faults: ['throttling'],
  reasons: ['1 of 2 members would have failed.'],
  warnings: ['graph throttled 3 calls, 30s in all.'],
  runbook: 'wave',
  seed: 1,
  slots: 32,
  members: { total: 2, ...COUNTS },
  startedAt: '2030-03-01T19:00:00.000Z',
  endedAt: '2030-03-02T21:00:00.000Z',
  windowWaitSec: 0,
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
      kind: 'phase',
      phase: 'prepare',
      step: 'create',
      count: 1,
      message: 'The licence is missing.',
      remedy: 'Buy one.',
      people: ['eve@contoso.example'],
    },
  ],
  neverRan: [{ where: 'rollback back', step: 'undo' }],
  messages: {
    from: 'migration@contoso.example',
    sent: [
      {
        phase: 'announce',
        step: 'tell',
        message: 'announcement',
        language: 'de',
        sent: 12,
        corrections: 3,
        firstAt: '2030-02-15T20:00:02.000Z',
        lastAt: '2030-02-15T20:01:00.000Z',
      },
    ],
    loads: [{ batchId: 1, phase: 'announce', mails: 12, takesSec: 2_040 }],
    examples: [
      {
        message: 'announcement',
        language: 'de',
        member: 'ada@x.example',
        to: 'ada@x.example',
        subject: 'Ihr Umzug',
        body: '<p>Guten Tag <script>x</script>Ada</p>',
        isHtml: true,
      },
    ],
    withoutAddress: { count: 0, people: [] },
    inDefaultLanguage: { count: 3, people: ['bo@x.example', 'cy@x.example'] },
  },
  staysAfterUndo: [],
  notifications: {
    hasSettings: true,
    conditions: [
      {
        kind: 'failure_limit',
        opened: 1,
        cleared: 0,
        untold: 0,
        channels: ['night-shift'],
        firstAt: '2030-03-01T20:04:10.000Z',
        example: 'Batch 1 is held: too many failures. 11 of 12 members failed',
      },
    ],
    channels: [],
    messages: [
      {
        dueAt: '2030-03-01T20:04:10.000Z',
        channel: 'night-shift',
        says: ['Batch 1 is held: too many failures'],
      },
    ],
  },
  rollbacks: {
    ran: 1,
    failed: 0,
    notRestored: [
      {
        member: 'eve@contoso.example',
        phase: 'prepare',
        failedStep: 'create',
        differences: ['The account is still there.'],
      },
    ],
  },
  calls: { total: 7, services: [], operations: [] },
  source: [],
  tenants: [],
  assumptions: [],
}

const [SOON, LATE] = ['2030-03-01T21:10:00.000Z', '2030-03-01T22:40:00.000Z']
const END = { startedAt: '2030-03-01T20:00:00.000Z', failed: 0 }
const RUN = {
  verdict: 'ready' as const,
  reasons: [],
  failures: [],
  endedAt: LATE,
  members: { total: 3, ...COUNTS, done: 3, failed: 0 },
}
const COMPARED: WhatIfReport = {
  verdict: 'ready',
  headline: `With 16 slots a worker, phase prepare ends ${SOON} instead of ${LATE}, before T-0.`,
  batchId: 1,
  runbook: 'wave',
  at: END.startedAt,
  cutoverAt: '2030-03-01T22:00:00.000Z',
  seed: 1,
  assumptions: [],
  change: { slots: 16, workerSlots: {}, people: null, without: [], faults: [] },
  phases: [
    {
      phase: 'prepare',
      dueAt: END.startedAt,
      savedSec: 5_400,
      asItIs: { ...END, endedAt: LATE, misses: 'T-0' },
      changed: { ...END, endedAt: SOON, misses: null },
    },
  ],
  asItIs: { ...RUN, workerSlots: { w1: 8 } },
  changed: { ...RUN, workerSlots: { w1: 16 } },
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
    const text =
      'UserPrincipalName,When\r\nada@contoso.example,2030-03-02\r\neve@contoso.example,2030-03-02\r\n'
    await page.getByLabel('People').setInputFiles({
      name: 'people.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(text),
    })
    await page.getByLabel('Faults').fill('throttling')
    await assertSound(opened)
    assert.equal(begun.length, 0, 'choosing begins nothing')
    await page.getByRole('button', { name: 'Rehearse' }).click()
    await page.getByText('Under way').waitFor()
    const { order, onProgress, end } = begun[0]!
    assert.deepEqual(
      [order.rows.map((row) => row.UserPrincipalName), order.faults, order.yaml],
      [['ada@contoso.example', 'eve@contoso.example'], ['throttling'], plain('wave')],
    )
    assert.equal(order.notifications, null)
    onProgress(new Date('2030-03-01T20:00:00Z'))
    await page.getByText(/Inside the rehearsal it is Mar 1, 2030/).waitFor()
    end(REPORT as unknown as Json)
    await page.getByText('1 of 2 members would have failed.').waitFor()
    const shown = await page.locator('#content').innerText()
    assert.match(shown, /failure limit\s+1\s+0\s+Mar 1, 2030[^\n]*\s+Batch 1 is held.*night-shift/s)
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

  it('answers what a change of a running batch would save', async () => {
    await dashboard.world.batch('wave', 3, { startsInMin: 24 * 60 })
    const opened = await dashboard.open('/batches/1')
    const { page } = opened
    const count = begun.length
    await page.getByRole('button', { name: 'What if …' }).click()
    const rehearse = page.getByRole('button', { name: 'Rehearse it' })
    assert.ok(await rehearse.isDisabled(), 'nothing would change')
    await page.getByLabel('Slots of every worker').fill('16')
    await assertSound(opened)
    assert.equal(begun.length, count, 'choosing begins nothing')
    await rehearse.click()
    await page.getByText('Under way').waitFor()
    const { order, end } = begun.at(-1)!
    assert.deepEqual([order.rows.length, order.whatIf!.change.slots], [3, 16])
    end(COMPARED as unknown as Json)
    await page.getByText(/^With 16 slots a worker, phase prepare ends Mar 1, 2030/).waitFor()
    const shown = await page.locator('#content').innerText()
    for (const said of ['What if, for batch 1 of wave', 'after T-0', '1 h 30 min earlier'])
      assert.ok(shown.includes(said), said)
    assert.ok(!/T\d\d:\d\d:\d\d/.test(shown), 'times are those of the viewer')
    await assertSound(opened)
    assert.equal(begun.length, count + 1)
  })

  it('is cancelled', async () => {
    const { page } = await dashboard.open('/rehearse?runbook=wave')
    await page.getByRole('button', { name: 'Rehearse' }).click()
    await page.getByRole('button', { name: 'Cancel rehearsal' }).click()
    await page.getByText(/^Cancelled by /).waitFor()
    assert.deepEqual(
      Object.keys(begun[2]!.order.rows[0]!),
      ['UserPrincipalName', 'When'],
      'the sample row',
    )
    assert.equal(begun.length, 3)
  })
})
