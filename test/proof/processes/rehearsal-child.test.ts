// The process of a rehearsal that the API began: a real one, its report, its death.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'csv-parse/sync'
import type { RehearsalOrder } from '../../../src/api/services/rehearsals.ts'
import { childRehearsals } from '../../../src/app/rehearsal/child-process.ts'
import type { RehearsalReport } from '../../../src/app/rehearsal/report.ts'
import type { WhatIfReport } from '../../../src/app/rehearsal/what-if-report.ts'
import { WEEKDAYS } from '../../../src/domain/notifications/quiet-hours.ts'
import { noStates } from '../../../src/domain/state/person-state.ts'
import type { ChangeWindows } from '../../../src/domain/windows/change-windows.ts'
import { example, REHEARSAL_HOME } from '../../app/rehearsal/rehearsing.ts'

const rows = parse(example('first-migration.csv'), { columns: true, trim: true }) as Record<
  string,
  string
>[]
const order: RehearsalOrder = {
  yaml: example('first-migration.yaml'),
  columns: Object.keys(rows[0]!),
  rows,
  faults: [],
  startAt: null,
  seed: 1,
  slots: 32,
  notifications: null,
}
/** The system's: the first phase is due at 20:00. */
const NIGHTS: ChangeWindows = {
  timeZone: 'UTC',
  hours: [{ days: WEEKDAYS, fromMin: 23 * 60, toMin: 20 * 60 }],
  freezes: [],
}
const { run } = childRehearsals(join(REHEARSAL_HOME, 'templates'), NIGHTS)
const never = new AbortController().signal

describe('a rehearsal in a process of its own', () => {
  it('tells its progress and gives its report', async () => {
    const times: Date[] = []
    const report = (await run(order, never, (at) => times.push(at))) as unknown as RehearsalReport
    assert.equal(report.verdict, 'not ready')
    assert.deepEqual(report.members, { ...noStates(), total: 3, done: 2, failed: 1 })
    assert.match(
      report.warnings.join(' '),
      /Phase prepare of batch 1 waited 3h for the change window/,
    )
    assert.ok(times.length > 0 && times[0]! >= new Date('2030-02-28T00:00:00Z'))
  })

  it('rehearses a running batch with a change, and compares it with the batch as it is', async () => {
    const past = {
      batchId: 7,
      at: '2030-02-01T00:00:00.000Z',
      passed: [],
      endedPhases: [],
      isHeld: false,
    }
    const keys = rows.map((_, at) => `person ${at}`)
    const change = { slots: 2, workerSlots: {}, people: 2, without: [], faults: [] }
    const batch = { past, keys, workerSlots: { 'contoso-worker': 4 }, assumed: [], change }
    const asked = async (isCompared: boolean) =>
      run({ ...order, whatIf: { ...batch, isCompared } }, never, () => {})
    const report = (await asked(true)) as unknown as WhatIfReport
    assert.deepEqual([report.asItIs.members.total, report.changed.members.total], [3, 2])
    assert.match(report.headline, /^With 2 slots a worker and 2 of 3 people, /)
    const once = (await asked(false)) as unknown as RehearsalReport
    assert.deepEqual([once.batches[0]!.id, once.members.total, once.slots], [7, 2, 32])
    assert.match(once.assumptions.join(' '), /The system's change windows count/)
  })

  it('says why it could not run, and dies when it is cancelled', async () => {
    await assert.rejects(
      run({ ...order, yaml: 'name: x\n' }, never, () => {}),
      /data_source|phases/,
    )
    const cancelled = new AbortController()
    const ran = run(order, cancelled.signal, () => {})
    cancelled.abort()
    await assert.rejects(ran, /Its process ended by SIGKILL before the report was there/)
  })
})
