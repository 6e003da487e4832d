// Every fault shows in the report of a rehearsal, and a script of faults is read strictly.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type FaultScript,
  faultScriptSchema,
  namedFaults,
  REHEARSAL_FAULTS,
  type RehearsalFaultName,
} from '../../../src/app/rehearsal/faults.ts'
import type { RehearsalReport } from '../../../src/app/rehearsal/report.ts'
import { rehearseText } from '../../app/rehearsal/rehearsing.ts'

/** A small migration that is ready without faults. */
const YAML = `name: wave
data_source:
  type: csv
  path: people.csv
  primary_key: Upn
  batch_time_column: Start
  columns: [Upn, Target, Nick, Start]
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: create
        worker_id: contoso-worker
        function: New-EntraUser
        params: {DisplayName: "{{Nick}}", UserPrincipalName: "{{Target}}", MailNickname: "{{Nick}}"}
        output_params: {Id: Id}
      - name: wait
        worker_id: contoso-worker
        function: Test-EntraAttributeMatch
        params: {UserId: "{{Id}}", AttributeName: displayName, ExpectedValue: "{{Nick}}"}
        poll: {interval: 1m, timeout: 10m}
  - name: cutover
    offset: T-0
    steps:
      - name: open
        worker_id: contoso-worker
        function: Enable-EntraUser
        params: {UserId: "{{Id}}"}
        timeout: 5m
      - name: tell
        worker_id: contoso-worker
        function: Set-EntraUserAttribute
        params: {UserId: "{{Id}}", AttributeName: department, Value: Sales}
        timeout: 5m
      - name: check
        worker_id: contoso-worker
        function: Test-EntraAttributeMatch
        params: {UserId: "{{Id}}", AttributeName: department, ExpectedValue: Sales}
on_member_removed:
  - name: close
    worker_id: contoso-worker
    function: Disable-EntraUser
    params: {UserId: "{{Id}}"}
    when: [{variable: Id, present: true}]
`
const CSV = ['ada', 'ben', 'cleo', 'dan', 'eve', 'fay']
  .map((name) => `${name}@fabrikam.example,${name}@contoso.example,${name},2030-03-01T20:00:00Z`)
  .toSpliced(0, 0, 'Upn,Target,Nick,Start')
  .join('\n')

const only = (use: RehearsalFaultName): FaultScript => ({ use: [use], workers: [] })
const saidBy = ({ reasons, warnings }: RehearsalReport): string =>
  [...reasons, ...warnings].join('\n')

/** What the verdict says, how many are done, and what else must be so. */
interface Shown {
  readonly says: RegExp
  readonly done: number
  readonly isSo?: (report: RehearsalReport) => boolean
}

const phaseOf = ({ timeline }: RehearsalReport, name: string) =>
  timeline.find(({ phase }) => phase === name)!

const SHOWN: Readonly<Record<RehearsalFaultName, Shown>> = {
  throttling: {
    says: /^Microsoft Graph throttled \d+ calls?, /,
    done: 6,
    isSo: ({ calls }) => calls.services[0]!.throttledSec >= 30,
  },
  'worker-crash': {
    says: /^$/,
    done: 6,
    isSo: (report) => phaseOf(report, 'cutover').worstSec! >= 300,
  },
  'worker-down': {
    says: /6 of 6 members would have failed[\s\S]*6 jobs ended without a result/,
    done: 0,
    isSo: ({ failures }) => failures[0]!.step === 'open',
  },
  'slow-replication': { says: /6 of 6 members would have failed/, done: 0 },
  'bad-rows': {
    says: /1 row cannot be used \(no_key\)[\s\S]*"soon" is not a valid time/,
    done: 6,
  },
  'source-outage': {
    says: /queries of the source failed: the source does not answer/,
    done: 6,
  },
  'permission-missing': {
    says: /6 of 6 members would have failed/,
    done: 0,
    isSo: ({ failures }) => failures[0]!.remedy !== null && failures[0]!.message.includes('403'),
  },
  'refused-parameters': {
    says: /1 of 6 members would have failed/,
    done: 5,
    isSo: ({ failures }) =>
      failures[0]!.message.includes('UnfitParameters') &&
      failures[0]!.remedy ===
        "Parameter UserPrincipalName is refused. Its value comes from column Target of the source: correct the people's rows, or the query. The step was not done. A retry helps after the correction.",
  },
  leaver: { says: /^1 member was removed\.$/, done: 5 },
  latecomer: {
    says: /^$/,
    done: 6,
    isSo: (report) => phaseOf(report, 'prepare').worstSec! >= 3_600,
  },
  redated: {
    says: /Batch 1 was held: [\s\S]*6 moves wait for a person/,
    done: 0,
    isSo: ({ members }) => members.scheduled + members.preparing === 6,
  },
  'redated-approved': {
    says: /^$/,
    done: 6,
    isSo: ({ batches }) => batches[0]!.startTime === '2030-03-02T20:00:00.000Z',
  },
  'long-queue': {
    says: /^$/,
    done: 6,
    isSo: (report) => phaseOf(report, 'cutover').worstSec! >= 900,
  },
}

describe('faults of a rehearsal', () => {
  it('are absent unless asked for', async () => {
    const report = await rehearseText(YAML, CSV)
    assert.deepEqual([report.verdict, report.events], ['ready', []])
    assert.equal(report.members.done, 6)
  })

  for (const [name, { says, done, isSo = () => true }] of Object.entries(SHOWN)) {
    it(`${name} shows in the verdict`, async () => {
      const fault = name as RehearsalFaultName
      const report = await rehearseText(YAML, CSV, { faults: only(fault) })
      assert.deepEqual(report.faults, [fault])
      assert.equal(report.events[0]!.what, REHEARSAL_FAULTS[fault].what)
      assert.match(saidBy(report), says)
      assert.equal(report.members.done, done)
      assert.equal(report.members.total, 6)
      assert.ok(isSo(report), JSON.stringify(report))
    })
  }

  it('by script: calls as the sandbox takes them, and workers that go and come', async () => {
    const faults = faultScriptSchema.parse({
      calls: { script: [{ on: 'POST /v1.0/users', nth: 2, fault: 'error' }] },
      workers: [{ worker: 'contoso-worker', phase: 'prepare', downMin: 30 }],
    })
    const report = await rehearseText(YAML, CSV, { faults })
    assert.deepEqual(
      report.events.map(({ at, what }) => [at, what]),
      [
        ['2030-02-28T20:00:00.000Z', 'worker contoso-worker crashes, for 30m'],
        ['2030-02-28T20:30:00.000Z', 'worker contoso-worker is back'],
      ],
    )
    assert.ok(phaseOf(report, 'prepare').worstSec! >= 1_800)
    assert.equal(report.members.done, 6)
  })

  it('name only phases and workers that there are', async () => {
    for (const wrong of [
      { worker: 'contoso-worker', phase: 'none' },
      { worker: 'no', phase: 'cutover' },
    ]) {
      const faults = faultScriptSchema.parse({ workers: [{ ...wrong, downMin: 5 }] })
      const says = /the runbook has no (phase "none"|worker "no")/
      await assert.rejects(rehearseText(YAML, CSV, { faults }), says)
    }
  })

  it('are read as a list of names', () => {
    assert.deepEqual(namedFaults('throttling, leaver')?.use, ['throttling', 'leaver'])
    assert.equal(namedFaults('throttling,nothing'), null)
    assert.equal(faultScriptSchema.safeParse({ use: [], more: 1 }).success, false)
  })
})
