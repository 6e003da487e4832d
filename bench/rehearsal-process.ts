// One rehearsal in its own process: `node bench/rehearsal-process.ts <members>`. Sends its duration, processor time and peak memory to
// the parent.
import { rehearse } from '../src/app/rehearsal/rehearse.ts'
import { openDisposable } from '../src/db/schema/disposable-pglite.ts'
import { readRunbook } from '../src/domain/runbook/read.ts'
import { timeMs } from './bench.ts'

export interface RehearsalFigures {
  readonly ms: number
  readonly cpuMs: number
  readonly peakMb: number
  readonly verdict: string
  readonly passed: number
  readonly days: number
  readonly steps: number
  readonly calls: number
}

const GROUP = '11111111-1111-4111-8111-111111111111'
const step = (name: string, fn: string, params: string, more = '') =>
  `      - { name: ${name}, worker_id: contoso-worker, function: ${fn}, params: { ${params} }${more} }\n`
const attribute = (name: string) =>
  step(
    `set-${name}`,
    'Set-EntraUserAttribute',
    `UserId: "{{Id}}", AttributeName: ${name}, Value: "{{Text}}"`,
  )
const match = (name: string) =>
  step(
    `check-${name}`,
    'Test-EntraAttributeMatch',
    `UserId: "{{Id}}", AttributeName: ${name}, ExpectedValue: "{{Text}}"`,
    ', poll: { interval: 10m, timeout: 12h }',
  )

/** Three phases of five steps over 21 days. */
const YAML = `name: bench
data_source: { type: csv, path: m.csv, primary_key: Upn, batch_time_column: Start, columns: [Upn, Nick, Target, Text, Start] }
phases:
  - name: prepare
    offset: T-14d
    steps:
${step('create', 'New-EntraUser', 'DisplayName: "{{Text}}", UserPrincipalName: "{{Target}}", MailNickname: "{{Nick}}", AccountEnabled: false', ', output_params: { Id: Id }, on_failure: undo')}${attribute('department')}${attribute('jobTitle')}${step('join', 'Add-EntraGroupMember', `GroupId: ${GROUP}, UserId: "{{Id}}"`)}${step('license', 'Add-EntraUserLicense', 'UserId: "{{Id}}", SkuId: ENTERPRISEPACK, UsageLocation: DE')}
  - name: cutover
    offset: T-0
    steps:
${match('department')}${match('jobTitle')}${step('open', 'Enable-EntraUser', 'UserId: "{{Id}}"')}${step('in-group', 'Test-EntraGroupMembership', `GroupId: ${GROUP}, UserId: "{{Id}}"`)}${attribute('companyName')}
  - name: aftercare
    offset: T+7d
    steps:
${match('companyName')}${attribute('officeLocation')}${match('officeLocation')}${step('leave', 'Remove-EntraGroupMember', `GroupId: ${GROUP}, UserId: "{{Id}}"`)}${step('sign-out', 'Revoke-EntraUserSessions', 'UserId: "{{Id}}"')}
rollbacks:
  undo:
${step('delete', 'Remove-EntraUser', 'UserId: "{{Target}}"').replaceAll(/^ {6}/gm, '    ')}`

async function measure(members: number): Promise<RehearsalFigures> {
  const { runbook, problems } = readRunbook(YAML, { catalogues: [], isLinted: true })
  if (!runbook) throw new Error(problems.map(({ message }) => message).join('\n'))
  const before = process.cpuUsage()
  const rows = Array.from({ length: members }, (_, at) => ({
    Upn: `person${at}@fabrikam.example`,
    Nick: `person${at}`,
    Target: `person${at}@contoso.example`,
    Text: `Person ${at}`,
    Start: '2030-03-01T20:00:00Z',
  }))
  const input = {
    yaml: YAML,
    runbook,
    lint: [],
    tenantSeed: null,
    startAt: null,
    seed: 1,
    slots: 32,
    members: { file: 'm.csv', columns: Object.keys(rows[0]!), rows },
    now: new Date('2030-01-01T00:00:00Z'),
    openDatabase: () => openDisposable(process.argv[3]!),
  }
  let report: Awaited<ReturnType<typeof rehearse>> | undefined
  const ms = await timeMs(async () => {
    report = await rehearse(input)
  })
  const { user, system } = process.cpuUsage(before)
  const { verdict, members: people, startedAt, endedAt, calls } = report!
  return {
    ms,
    cpuMs: (user + system) / 1_000,
    peakMb: process.resourceUsage().maxRSS / 1_024,
    verdict,
    passed: people.done,
    days: (Date.parse(endedAt) - Date.parse(startedAt)) / 86_400_000,
    steps: runbook.phases.reduce((sum, { steps }) => sum + steps.length, 0) * members,
    calls: calls.total,
  }
}

if (import.meta.main) {
  const figures = await measure(Number(process.argv[2]))
  if (process.send) {
    process.send(figures)
    process.disconnect()
  } else console.log(figures)
}
