// The end of the demonstration: what became of everybody, and whether it is what should have. The sample means some members to
// fail; it is a failure of the program when the batch does not end, somebody is unaccounted for, a rollback is missing or a rule
// of the tables is broken.

import {
  countText,
  durationText,
  type NewsItem,
  type Paint,
  phaseOffsetText,
} from '../../cli/terminal/progress-text.ts'
import { tableText } from '../../cli/terminal/table.ts'
import { cutTo } from '../../cli/terminal/text-width.ts'
import { membersOf, type Progress, type Tally } from '../../domain/progress.ts'

export interface FaultReport {
  readonly requests: number
  /** By what went wrong on purpose. */
  readonly faults: ReadonlyMap<string, number>
  /** Changes that were made twice, of the kinds that must not be. */
  readonly repeated: readonly string[]
}

export interface DemoOutcome {
  readonly progress: Progress
  readonly tally: Tally
  /** One line for each member who failed. */
  readonly failures: readonly NewsItem[]
  readonly membersExpected: number
  readonly failuresExpected: number
  readonly leaversExpected: number
  /** What the tenants went through. */
  readonly faultReport: FaultReport
  readonly invariantsChecked: number
  readonly invariantsBroken: readonly string[]
  /** What the loops reported: on a good run nothing. */
  readonly errors: readonly string[]
  readonly realMs: number
  readonly virtualMs: number
}

/** Everything that is not as it should be; none when the story ended well. */
export function unexpectedOutcomes(ending: DemoOutcome): string[] {
  const { progress, tally, membersExpected, leaversExpected } = ending
  const { batch } = progress
  const checks: [ok: boolean, otherwise: string][] = [
    [batch.status === 'completed', `The batch is ${batch.status}, not completed.`],
    [batch.heldReason === null, `The batch is held: ${batch.heldReason}.`],
    [
      membersOf(progress) === membersExpected,
      `${membersOf(progress)} members are accounted for, ${membersExpected} took part.`,
    ],
    [batch.membersRemoved === leaversExpected, `${batch.membersRemoved} members left.`],
    [
      batch.membersFailed === ending.failuresExpected,
      `${batch.membersFailed} members failed, ${ending.failuresExpected} should have.`,
    ],
    [tally.retries > 0, 'Nothing was retried.'],
    [tally.polls > 0, 'Nothing was polled.'],
    [
      tally.rollbacksBegun === batch.membersFailed && tally.rolledBack === tally.rollbacksBegun,
      `${batch.membersFailed} members failed, but ${tally.rolledBack} were rolled back.`,
    ],
  ]
  return [
    ...checks.filter(([ok]) => !ok).map(([, otherwise]) => otherwise),
    ...ending.faultReport.repeated.map((effect) => `Done more than once: ${effect}.`),
    ...ending.invariantsBroken.map((found) => `An invariant is broken: ${found}`),
    ...ending.errors.map((error) => `Unexpected error: ${error}`),
  ]
}

export function summaryLines(ending: DemoOutcome, width: number, paint: Paint): string[] {
  const wrong = unexpectedOutcomes(ending)
  const { batch } = ending.progress
  const members = membersOf(ending.progress)
  const verdict =
    wrong.length === 0
      ? paint(
          'green',
          `Completed: ${batch.membersFailed} of ${members} members failed, as the example means them to.`,
        )
      : paint('red', 'This did not end as it should:')
  return [
    verdict,
    ...wrong.map((line) => `  ${line}`),
    '',
    phaseTable(ending.progress),
    '',
    totals(ending),
    '',
    'Who failed, and why (each was rolled back):',
    ...ending.failures.map(({ text }) => `  ${cutTo(text, width - 3)}`),
    '',
    ...WHERE_NEXT,
  ]
}

const HEADER = ['PHASE', 'DUE', 'STATUS', 'TOTAL', 'PASSED', 'FAILED', 'STOPPED', 'REMOVED']
const FIRST_NUMBER = 3

function phaseTable({ phases }: Progress): string {
  const rows = phases.map(({ name, offsetMinutes, status, members }) => [
    name,
    phaseOffsetText(offsetMinutes),
    status,
    ...[members.total, members.passed, members.failed, members.stopped, members.removed].map(
      String,
    ),
  ])
  const aligned = rows.map((row) =>
    row.map((cell, column) =>
      column < FIRST_NUMBER ? cell : cell.padStart(HEADER[column]!.length),
    ),
  )
  return tableText([HEADER, ...aligned])
}

function totals(ending: DemoOutcome): string {
  const { progress, tally, invariantsChecked, realMs, virtualMs, faultReport } = ending
  const { batch } = progress
  const number = (n: number) => n.toLocaleString('en')
  return tableText([
    [
      'members',
      `${number(membersOf(progress))}: ${batch.membersActive} through, ${batch.membersFailed} failed, ${batch.membersRemoved} removed`,
    ],
    ['jobs sent', `${number(tally.jobs)}, of them ${number(tally.polls)} polls`],
    ['retries', number(tally.retries)],
    ['rollbacks', `${tally.rollbacksBegun}, all steps succeeded in ${tally.rolledBack}`],
    ...troubles(faultReport),
    ['invariants', `${countText(invariantsChecked, 'rule')} of the tables checked`],
    ['time', `${durationText(virtualMs)} there, ${durationText(realMs)} here`],
  ])
}

const FAULT_WORDS: Readonly<Record<string, string>> = {
  throttle: 'refused as too many',
  error: 'answered with an error',
  'drop-before': 'lost on the way there',
  'drop-after': 'answers lost on the way back',
  'expired-token': 'refused for an old token',
}

/** Rows of the table of totals: how many requests, and what went wrong with them, each in a row of its own. */
function troubles({ requests, faults }: FaultReport): string[][] {
  const said = [...faults].map(([kind, times]) => ['', `${times} ${FAULT_WORDS[kind] ?? kind}`])
  const all = `${requests.toLocaleString('en')} to the tenants${said.length > 0 ? '; of them' : ''}`
  return [['requests', all], ...said.sort()]
}

const WHERE_NEXT = [
  'Where to go from here:',
  '  examples/full-migration.yaml  the runbook you just saw',
  '  docs/runbook.md               every key of a runbook',
  '  ARCHITECTURE.md               how it works, on one page',
  '  bin/matoolkit runbook validate examples/user-migration.yaml',
]

/** A few words for somebody who pressed Ctrl-C. */
export function interruptedLines(progress: Progress | null, tally: Tally): string[] {
  if (progress === null) return ['Stopped before it began; nothing is left behind.']
  const { batch, phases } = progress
  const done = phases.filter(({ status }) => status === 'completed').length
  return [
    `Stopped: ${done} of ${countText(phases.length, 'phase')} completed, ${countText(tally.jobs, 'job')} sent,`,
    `${countText(batch.membersFailed, 'member')} failed so far.`,
    'The database was in memory; nothing is left behind.',
  ]
}
