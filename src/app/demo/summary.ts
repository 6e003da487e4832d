// The summary of the demonstration, and whether it is the expected one. Some members fail by design. The demonstration itself fails
// when the batch does not complete, a member is unaccounted for, a rollback is missing or needless, or an invariant is broken.

import { countText } from '../../base/text/count-text.ts'
import { durationText, phaseOffsetText } from '../../base/text/duration.ts'
import type { NewsItem, Paint } from '../../cli/terminal/progress-text.ts'
import { tableText } from '../../cli/terminal/table.ts'
import { cutTo } from '../../cli/terminal/text-width.ts'

import { membersOf, type Progress, type Tally } from '../../domain/forecast/progress.ts'

export interface FaultReport {
  readonly requests: number
  /** Injected faults by kind. */
  readonly faults: ReadonlyMap<string, number>
  /** Changes that must happen once and happened more often. */
  readonly repeated: readonly string[]
}

export interface DemoOutcome {
  readonly progress: Progress
  readonly tally: Tally
  /** One line per failed member. */
  readonly failures: readonly NewsItem[]
  readonly membersExpected: number
  readonly failuresExpected: number
  /** The other failed members had changed nothing. */
  readonly rollbacksExpected: number
  readonly leaversExpected: number
  readonly faultReport: FaultReport
  readonly invariantsChecked: number
  readonly invariantsBroken: readonly string[]
  /** Errors of the services; none on a good run. */
  readonly errors: readonly string[]
  readonly realMs: number
  readonly virtualMs: number
}

/** Everything that differs from the expected outcome. */
export function unexpectedOutcomes(outcome: DemoOutcome): string[] {
  const { progress, tally, membersExpected, leaversExpected } = outcome
  const { batch } = progress
  const checks: [ok: boolean, otherwise: string][] = [
    [batch.status === 'completed', `The batch is ${batch.status}, not completed.`],
    [batch.heldReason === null, `The batch is held: ${batch.heldReason}.`],
    [
      membersOf(progress) === membersExpected,
      `${countText(membersOf(progress), 'member is', 'members are')} accounted for, ${membersExpected} took part.`,
    ],
    [
      batch.membersRemoved === leaversExpected,
      `${countText(batch.membersRemoved, 'member')} left.`,
    ],
    [
      batch.membersFailed === outcome.failuresExpected,
      `${countText(batch.membersFailed, 'member')} failed, ${outcome.failuresExpected} were expected to.`,
    ],
    [tally.retries > 0, 'Nothing was retried.'],
    [tally.polls > 0, 'Nothing was polled.'],
    [
      tally.rollbacksBegun === outcome.rollbacksExpected &&
        tally.rolledBack === outcome.rollbacksExpected,
      `${countText(tally.rollbacksBegun, 'rollback')} started and ${tally.rolledBack} completed, ${outcome.rollbacksExpected} were expected.`,
    ],
  ]
  return [
    ...checks.filter(([ok]) => !ok).map(([, otherwise]) => otherwise),
    ...outcome.faultReport.repeated.map((effect) => `Repeated change: ${effect}.`),
    ...outcome.invariantsBroken.map((found) => `Broken invariant: ${found}`),
    ...outcome.errors.map((error) => `Unexpected error: ${error}`),
  ]
}

export function summaryLines(outcome: DemoOutcome, width: number, paint: Paint): string[] {
  const wrong = unexpectedOutcomes(outcome)
  const { batch } = outcome.progress
  const members = membersOf(outcome.progress)
  const verdict =
    wrong.length === 0
      ? paint(
          'green',
          `Completed: ${batch.membersFailed} of ${members} members failed, as the example intends.`,
        )
      : paint('red', 'This did not end as expected:')
  return [
    verdict,
    ...wrong.map((line) => `  ${line}`),
    '',
    phaseTable(outcome.progress),
    '',
    totals(outcome),
    '',
    failuresHeading(outcome),
    ...outcome.failures.map(({ text }) => `  ${cutTo(text, width - 3)}`),
    '',
    ...WHERE_NEXT,
  ]
}

function failuresHeading({ progress, tally }: DemoOutcome): string {
  const unchanged = progress.batch.membersFailed - tally.rolledBack
  const rest = unchanged > 0 ? `, ${unchanged} had changed nothing` : ''
  return `Failures (${tally.rolledBack} rolled back${rest}):`
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

function totals(outcome: DemoOutcome): string {
  const { progress, tally, invariantsChecked, realMs, virtualMs, faultReport } = outcome
  const { batch } = progress
  const number = (n: number) => n.toLocaleString('en')
  return tableText([
    [
      'members',
      `${number(membersOf(progress))}: ${batch.membersActive} finished, ${batch.membersFailed} failed, ${batch.membersRemoved} removed`,
    ],
    ['jobs sent', `${number(tally.jobs + tally.polls)}, including ${number(tally.polls)} polls`],
    ['retries', number(tally.retries)],
    ['rollbacks', `${tally.rollbacksBegun} started, ${tally.rolledBack} completed`],
    ...requestRows(faultReport),
    ['invariants', `${countText(invariantsChecked, 'rule')} checked`],
    ['time', `${durationText(virtualMs)} of migration in ${durationText(realMs)}`],
  ])
}

const FAULT_WORDS: Readonly<Record<string, string>> = {
  throttle: 'throttled',
  error: 'failed with a server error',
  'drop-before': 'lost before arrival',
  'drop-after': 'answered, response lost',
  'error-after': 'done, then failed with a server error',
  'expired-token': 'refused for an expired token',
}

/** The requests and their injected faults, as rows of the totals. */
function requestRows({ requests, faults }: FaultReport): string[][] {
  const rows = [...faults].map(([kind, times]) => ['', `${times} ${FAULT_WORDS[kind] ?? kind}`])
  const all = `${requests.toLocaleString('en')} to the tenants${rows.length > 0 ? ', of which' : ''}`
  return [['requests', all], ...rows.sort()]
}

const WHERE_NEXT = [
  'Next:',
  '  examples/full-migration.yaml  the runbook you just saw',
  '  docs/runbook.md               every key of a runbook',
  '  ARCHITECTURE.md               how it works, on one page',
  '  npx matoolkit runbook validate examples/user-migration.yaml',
]

/** After Ctrl-C. */
export function interruptedLines(progress: Progress | null, tally: Tally): string[] {
  if (progress === null) return ['Stopped before the start; nothing is left behind.']
  const { batch, phases } = progress
  const done = phases.filter(({ status }) => status === 'completed').length
  return [
    `Stopped: ${done} of ${countText(phases.length, 'phase')} completed, ${countText(tally.jobs + tally.polls, 'job')} sent,`,
    `${countText(batch.membersFailed, 'member')} failed so far.`,
    'The database was in memory; nothing is left behind.',
  ]
}
