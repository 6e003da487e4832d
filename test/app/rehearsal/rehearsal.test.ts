// Rehearsals from end to end: the examples are ready, mistakes are found, and the same seed gives the same report.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { guidOf } from '../../../sandbox/identity.ts'
import { namedFaults } from '../../../src/app/rehearsal/faults.ts'
import { remedyOf } from '../../../src/app/rehearsal/remedy.ts'
import type { RehearsalReport } from '../../../src/app/rehearsal/report.ts'
import { resultText } from '../../../src/app/rehearsal/report.ts'
import { showRehearsal } from '../../../src/app/rehearsal/report-text.ts'
import { openShow } from '../../../src/cli/terminal/output.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { noStates } from '../../../src/domain/state/person-state.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { openReceiver } from '../../kit/receiver.ts'
import { example, firstRows, rehearseText } from './rehearsing.ts'

const GROUP_ROWS = `RemediationId,Action,GroupId,UserId,ShouldBeMember
1,Add-EntraGroupMember,${guidOf('g')},${guidOf('u1')},true
2,Remove-EntraGroupMember,${guidOf('g')},${guidOf('u2')},false`

const USER_ROWS = `SourceObjectId,DisplayName,SourceUpn,TargetUpn,MailNickname,Aliases,CutoverTime
1,Ada Adler,ada@fabrikam.example,ada@contoso.example,ada,a.adler@contoso.example,2030-03-01T20:00:00Z
2,Ben Brand,ben@fabrikam.example,ben@contoso.example,ben,b.brand@contoso.example;bb@contoso.example,2030-03-01T20:00:00Z`

describe('rehearsals of the examples', () => {
  const EXAMPLES: readonly [string, string, people: number, calls: RegExp][] = [
    ['full-migration.yaml', firstRows(example('full-migration.csv'), 2), 2, /Set-MigrationUser/],
    ['user-migration.yaml', USER_ROWS, 2, /POST \/v1\.0\/users$/m],
    ['group-membership.yaml', GROUP_ROWS, 2, /DELETE/],
    [
      'first-migration.yaml',
      example('first-migration.csv').replace('@fabricam.', '@fabrikam.'),
      3,
      /PATCH \/v1\.0\/users\/\*/,
    ],
  ]
  for (const [file, csv, people, calls] of EXAMPLES) {
    it(`${file} is ready`, async () => {
      const report = await rehearseText(example(file), csv)
      assert.deepEqual([report.verdict, report.reasons, report.warnings], ['ready', [], []])
      assert.deepEqual(report.members, { ...noStates(), total: people, done: people })
      assert.match(report.calls.operations.map(({ operation }) => operation).join('\n'), calls)
      assert.ok(report.timeline.every(({ status }) => status === 'completed'))
      assert.deepEqual(report.rollbacks, { ran: 0, failed: 0, notRestored: [] })
      assert.deepEqual(report.failures, [])
      if (file === 'full-migration.yaml') assertThreeWeeks(report)
    })
  }
})

/** Phases start to the second, and polls take their time. */
function assertThreeWeeks({ timeline, staysAfterUndo }: RehearsalReport): void {
  assert.deepEqual(
    staysAfterUndo.filter((one) => one.isPointOfNoReturn).map(({ step }) => step),
    ['complete-the-move'],
  )
  assert.ok(
    staysAfterUndo.every(({ step }) => step !== 'prepare-target'),
    'it goes with the account',
  )
  assert.deepEqual(
    timeline.map(({ phase, startedAt, gapSec }) => [phase, startedAt, gapSec]),
    [
      ['pre-stage', '2030-02-15T20:00:00.000Z', 86_400],
      ['first-look', '2030-02-16T20:00:00.000Z', 6 * 86_400],
      ['second-look', '2030-02-22T20:00:00.000Z', 6 * 86_400],
      ['verify', '2030-02-28T20:00:00.000Z', 86_400],
      ['cutover', '2030-03-01T20:00:00.000Z', 58 * 3_600],
      ['first-morning', '2030-03-04T06:00:00.000Z', 110 * 3_600],
      ['aftercare', '2030-03-08T20:00:00.000Z', 23 * 86_400],
      ['clean-up', '2030-03-31T20:00:00.000Z', null],
    ],
  )
  const cutover = timeline[4]!
  assert.ok(cutover.p50Sec! >= 600, 'Exchange needs ten minutes to complete a move')
  assert.ok(cutover.worstSec! >= cutover.p95Sec! && cutover.p95Sec! >= cutover.p50Sec!)
  assert.ok(cutover.tenTimesSec! >= cutover.worstSec!)
}

describe('a rehearsal', () => {
  it('gives the same report for the same seed', async () => {
    const run = (seed: number) =>
      rehearseText(example('first-migration.yaml'), example('first-migration.csv'), { seed })
    const [one, two] = [await run(7), await run(7)]
    assert.equal(one.seed, 7)
    assert.deepEqual(one, two)
  })

  it('says who would fail, why and what to do', async () => {
    const report = await rehearseText(
      example('first-migration.yaml'),
      example('first-migration.csv'),
    )
    assert.equal(report.verdict, 'not ready')
    assert.deepEqual(report.reasons, ['1 of 3 members would have failed.'])
    const [failure, ...others] = report.failures
    assert.deepEqual(others, [])
    assert.deepEqual(
      [failure!.phase, failure!.step, failure!.count],
      ['prepare', 'create-account', 1],
    )
    assert.deepEqual(failure!.people, ['ben.brand@contoso.example'])
    assert.match(failure!.message, /domain portion of the userPrincipalName/)
    assert.match(failure!.remedy!, /Verify the domain in the tenant/)
    assert.deepEqual(report.neverRan, [])
  })

  it('counts nobody as done when the batch fails in init, in all formats', async () => {
    const init =
      'init:\n  - name: open\n    worker_id: contoso-worker\n    function: Enable-EntraUser\n    params: {UserId: 7}\n'
    const yaml = example('first-migration.yaml').replace(/^phases:/m, `${init}phases:`)
    const report = await rehearseText(yaml, firstRows(example('first-migration.csv'), 2))
    assert.equal(report.verdict, 'not ready')
    const counts = { ...noStates(), stopped: 2 }
    assert.deepEqual(report.members, { total: 2, ...counts })
    assert.deepEqual(report.reasons, [
      '2 of 2 members would not have got through.',
      'Batch 1 failed.',
    ])
    assert.partialDeepStrictEqual(report.batches, [{ status: 'failed', members: 2, ...counts }])
    const [failure] = report.failures
    assert.deepEqual([failure!.kind, failure!.step], ['init', 'open'])
    const io = recordingIo()
    await showRehearsal(report, openShow('table', io), io)
    assert.match(io.outText(), /: not ready\n2 members in 1 batch: 2 stopped\. /)
    // The phases did not begin: they are not "in time".
    assert.deepEqual(
      report.timeline.map((phase) => resultText(phase)),
      report.timeline.map(() => 'no one ran it'),
    )
    assert.doesNotMatch(io.outText(), /in time/)
    assert.doesNotMatch(io.outText(), /\b(done|cut over)\b/)
  })

  it('opens gates, and says where the night would have waited', async () => {
    const gated = example('user-migration.yaml').replace(
      /offset: T-0\n/,
      'offset: T-0\n    gate: { approvals: 2 }\n    ramp: [50%, 100%]\n    soak: 10m\n',
    )
    const rules =
      'notifications: [{ conditions: [gate_waiting, batch_held, phase_ended], channels: [leads] }]\n'
    const report = await rehearseText(`${gated}${rules}`, USER_ROWS)
    const { conditions, channels, messages } = report.notifications
    const told = conditions.map((one) => [one.kind, one.opened, one.cleared, one.firstAt])
    const phases = report.timeline.length
    assert.deepEqual(told[0], ['gate_waiting', 2, 2, '2030-02-28T20:00:00.000Z'])
    assert.deepEqual(told[1]!.slice(0, 3), ['phase_ended', phases, null])
    assert.deepEqual(
      conditions.map((one) => one.channels),
      [['leads'], ['leads'], []],
    )
    assert.equal(channels[0]!.messages, phases + 3)
    assert.deepEqual(
      messages.flatMap(({ says }) => says),
      [
        'Phase pre-stage of batch 1: completed',
        'Phase cutover of batch 1 needs approval',
        'Phase verify of batch 1: completed',
        'Phase cutover of batch 1 needs approval',
        'Cleared: Phase cutover of batch 1 needs approval',
        'Phase cutover of batch 1: completed',
        'Phase aftercare of batch 1: completed',
      ],
    )
    assert.deepEqual([report.verdict, report.reasons, report.members.done], ['ready', [], 2])
    assert.deepEqual(
      report.events.map(({ what }) => what),
      [
        `Batch 1 waits at the gate of phase ${report.timeline.find(({ dueAt }) => dueAt === '2030-03-01T20:00:00.000Z')!.phase}: 0 of 2 approvals. The rehearsal opens it.`,
      ],
    )
  })

  it('says who would have been told what and when, and sends nothing', async () => {
    const receiver = await openReceiver()
    const folder = mkdtempSync(join(tmpdir(), 'rehearse-'))
    writeFileSync(join(folder, 'url'), receiver.url)
    try {
      const read = readNotificationSettings(`
channels:
  - { name: night, type: teams, url_file: ${folder}/url }
  - { name: leads, type: teams, url_file: ${folder}/url, digest: 30m, quiet_hours: { from: "20:00", to: "07:00" } }
rules:
  - { conditions: [failure_limit], channels: [night] }
  - { conditions: [phase_ended, batch_ended], channels: [leads] }
`)
      assert.ok('settings' in read)
      const [header, first] = example('first-migration.csv').split('\n')
      const many = Array.from({ length: 12 }, (_, at) => first!.replaceAll(/ada/gi, `ada${at}`))
      const rules = 'notifications: [{ conditions: [stuck], channels: [leads, nobody] }]\n'
      const report = await rehearseText(
        `${example('first-migration.yaml')}${rules}`,
        [header, ...many].join('\n'),
        { notifications: read.settings, faults: namedFaults('permission-missing') },
      )
      const { conditions, messages, hasSettings } = report.notifications
      assert.equal(hasSettings, true)
      const limit = conditions.find(({ kind }) => kind === 'failure_limit')!
      assert.deepEqual([limit.opened, limit.cleared, limit.channels], [1, 0, ['night']])
      assert.match(
        limit.example,
        /^Batch 1 is held: too many failures\. Batch 1 is held by the fuse since .*: \d+ of 12 members failed/,
      )
      assert.deepEqual(
        messages.map(({ channel, says }) => [channel, says]),
        [
          ['night', ['Batch 1 is held: too many failures']],
          ['leads', ['Phase prepare of batch 1: failed']],
        ],
      )
      // The urgent one leaves at once, the other one after the quiet hours.
      assert.equal(messages[0]!.dueAt, limit.firstAt)
      assert.match(messages[1]!.dueAt, /T07:00:00\.000Z$/)
      assert.match(
        report.warnings.join('\n'),
        /Channel nobody of the runbook is not in the settings/,
      )
      assert.deepEqual(receiver.arrived, [], 'nothing is sent')
      const io = recordingIo()
      await showRehearsal(report, openShow('table', io), io)
      assert.match(
        io.outText(),
        /Notifications\n {2}By the rules of the runbook and the settings\. Nothing was sent\.\n {2}failure_limit, 1 time, 0 cleared: night\n/,
      )
    } finally {
      await receiver.close()
      rmSync(folder, { recursive: true })
    }
  })

  it('sees unusable rows', async () => {
    const csv = `${example('first-migration.csv').replace('@fabricam.', '@fabrikam.').trimEnd()}\nzoe@contoso.example,Zoe,zoe,zoe@fabrikam.example,soon\n`
    const report = await rehearseText(example('first-migration.yaml'), csv)
    assert.equal(report.verdict, 'not ready')
    assert.match(report.reasons.join('\n'), /^1 row cannot be used \(.+\): .*soon/)
    assert.equal(report.members.total, 3)
    assert.equal(report.members.failed, 0)
  })

  it('takes functions of the site for granted, and says so', async () => {
    const yaml = example('first-migration.yaml').replace('Enable-EntraUser', 'Open-OurAccount')
    const csv = firstRows(example('first-migration.csv'), 1)
    const report = await rehearseText(yaml, csv)
    assert.equal(report.members.failed, 0)
    assert.match(report.assumptions.join('\n'), /Open-OurAccount is not a standard function/)
    assert.equal(report.verdict, 'ready with warnings')
    assert.match(report.warnings.join('\n'), /UNKNOWN_FUNCTION/)
  })
})

describe('the remedy of refused parameters', () => {
  const { runbook } = readRunbook(example('full-migration.yaml'), { catalogues: [M365_CATALOGUE] })
  const steps = runbook!.phases.flatMap((phase) => phase.steps.map((step) => ({ phase, step })))
  const remedyFor = (stepName: string, misfits: string, kind: 'phase' | 'init' = 'phase') => {
    const phaseName = steps.find(({ step }) => step.name === stepName)?.phase.name ?? null
    const message = `UnfitParameters: Parameters do not fit New-EntraUser: ${misfits}`
    const sample = { stepId: 1, memberId: 1, message }
    return remedyOf(runbook!, { kind, phaseName, stepName, sample })
  }
  const uses = (text: RegExp) =>
    steps
      .flatMap(({ step }) =>
        Object.entries(step.params).map(([name, value]) => ({ step, name, value })),
      )
      .find(({ value }) => text.test(String(value)))!

  it('is found at once in a name of many parts', () => {
    const stepName = steps[0]!.step.name
    const parts = `Odd${'.a'.repeat(5_000)}`
    assert.match(remedyFor(stepName, `${parts}: too long`)!, /^Parameter Odd is missing/)
    assert.doesNotMatch(remedyFor(stepName, parts) ?? '', /Odd/)
  })

  it('names outputs of steps, values in the runbook, and what is missing', () => {
    const giver = steps.find(({ step }) => Object.keys(step.outputParams).length > 0)!.step
    const output = Object.keys(giver.outputParams)[0]!
    const user = uses(new RegExp(`^{{${output}}}$`))
    assert.match(
      remedyFor(user.step.name, `${user.name}.0: not an id; ${user.name}: not an id`)!,
      new RegExp(
        `^Parameter ${user.name} is refused\\. Its value comes from output ${output} of step ${giver.name}: .*\\. The step was not done\\.`,
      ),
    )
    const written = uses(/^[^{]+$/)
    assert.match(
      remedyFor(written.step.name, `${written.name}: too long`)!,
      /^Parameter \w+ is refused\. Its value is in the runbook: correct it there\. The/,
    )
    assert.match(remedyFor(giver.name, 'Absent: Required')!, /^Parameter Absent is missing: add it/)
  })

  it('is not invented for other failures', () => {
    assert.equal(remedyFor('no-such-step', 'UserId: bad'), null)
    assert.equal(remedyFor(steps[0]!.step.name, 'UserId: bad', 'init'), null)
  })
})

describe('rollbacks', () => {
  const NEWCOMERS = guidOf('newcomers')
  const yaml = (undo: string) => `name: wave
data_source:
  type: csv
  path: people.csv
  primary_key: Upn
  batch_time_column: Start
  columns: [Upn, Start]
phases:
  - name: prepare
    offset: T-0
    steps:
      - name: join
        worker_id: contoso-worker
        function: Add-EntraGroupMember
        params: {GroupId: ${NEWCOMERS}, UserId: "{{Upn}}"}
        on_failure: take-back
      - name: wait
        worker_id: contoso-worker
        function: Test-EntraAttributeMatch
        params: {UserId: "{{Upn}}", AttributeName: department, ExpectedValue: Sales}
        poll: {interval: 1m, timeout: 3m}
        on_failure: take-back
rollbacks:
  take-back:
    - name: undo
      worker_id: contoso-worker
      function: ${undo}
`
  const csv = 'Upn,Start\nada@contoso.example,2030-03-01T20:00:00Z\n'
  const tenantSeed = {
    tenants: [
      {
        domains: ['contoso.example'],
        users: [{ userPrincipalName: 'ada@contoso.example' }],
        groups: [{ id: NEWCOMERS, displayName: 'Newcomers' }],
      },
    ],
  }

  it('that forget something are found by comparing the tenant', async () => {
    const undo = 'Revoke-EntraUserSessions\n      params: {UserId: "{{Upn}}"}'
    const report = await rehearseText(yaml(undo), csv, { tenantSeed })
    assert.equal(report.verdict, 'not ready')
    assert.match(report.reasons.join('\n'), /1 rollback did not restore the tenant/)
    assert.deepEqual(report.rollbacks, {
      ran: 1,
      failed: 0,
      notRestored: [
        {
          member: 'ada@contoso.example',
          phase: 'prepare',
          failedStep: 'wait',
          differences: ['ada@contoso.example in contoso: groups was empty and is "Newcomers".'],
        },
      ],
    })
  })

  it('that never ran are listed, although another one has a step of that name', async () => {
    const undo = `Remove-EntraGroupMember\n      params: {GroupId: ${NEWCOMERS}, UserId: "{{Upn}}"}`
    const other = `  other:\n    - name: undo\n      worker_id: contoso-worker\n      function: ${undo}\n`
    const two = `${yaml(undo).replace('on_failure: take-back', 'on_failure: other')}${other}`
    const report = await rehearseText(two, csv, { tenantSeed })
    assert.equal(report.rollbacks.ran, 1)
    assert.deepEqual(report.neverRan, [{ where: 'rollback other', step: 'undo' }])
    const timeline = report.timeline.map((phase) => [phase.phase, resultText(phase)])
    assert.deepEqual(timeline, [['prepare', 'in time']])
  })

  it('that undo everything are not reported', async () => {
    const undo = `Remove-EntraGroupMember\n      params: {GroupId: ${NEWCOMERS}, UserId: "{{Upn}}"}`
    const report = await rehearseText(yaml(undo), csv, { tenantSeed })
    assert.equal(report.members.rolled_back, 1)
    assert.deepEqual(report.rollbacks, { ran: 1, failed: 0, notRestored: [] })
    assert.deepEqual(report.neverRan, [])
    assert.doesNotMatch(report.reasons.join('\n'), /rollback/)
  })
})
