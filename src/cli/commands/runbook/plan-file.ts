// `matoolkit runbook plan wave.yaml`: what the first tick would create from a runbook file and its people. Needs no server.

import { MatoolkitError } from '../../../base/errors/errors.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { type BatchesPlan, planBatches } from '../../../domain/plan/batches-plan.ts'
import { planNotes } from '../../../domain/plan/plan-notes.ts'
import { planRun, type RunPlan } from '../../../domain/plan/run-plan.ts'
import { type FactsOf, factsFrom } from '../../../domain/runbook/function-facts.ts'
import type { Runbook, RunbookProblem } from '../../../domain/runbook/read.ts'
import { sampleMemberOf } from '../../../domain/runbook/sample-member.ts'
import { columnsProblem } from '../../../domain/sources/row-reader.ts'
import { findMemberRows, type MemberRows } from '../../input/member-rows.ts'
import { readRunbookFile } from '../../input/runbook-file.ts'
import { timeFlag } from '../../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { type Column, showSection } from '../../terminal/show.ts'
import { STEP_COLUMNS, stepRows } from './plan-steps.ts'

/** Names of runbooks have neither. */
export const isRunbookFile = (text: string): boolean => /[./\\]/.test(text)

interface BatchRow {
  readonly startTime: string
  readonly memberCount: number
  readonly held: string | null
}
interface PhaseRow {
  readonly startTime: string | null
  readonly phase: string
  readonly dueAt: string | null
  readonly steps: number
  readonly note: string | null
}

const BATCHES: readonly Column<BatchRow>[] = [
  ['START', 'startTime', 'whole'],
  ['MEMBERS', 'memberCount'],
  ['HELD', 'held'],
]
const PHASES: readonly Column<PhaseRow>[] = [
  ['START', 'startTime', 'whole'],
  ['PHASE', 'phase', 'whole'],
  ['DUE', 'dueAt', 'whole'],
  ['STEPS', 'steps'],
  ['NOTE', 'note'],
]
const PROBLEMS: readonly Column<BatchesPlan['problems'][number]>[] = [
  ['KEY', 'key'],
  ['COLUMN', 'column'],
  ['PROBLEM', 'reason'],
]
/** Of a table; JSON has all. */
const ROWS_SHOWN = 100

interface FilePlan extends BatchesPlan {
  readonly runbookName: string
  /** Null without people: then `sample` is for a made-up member. */
  readonly memberFile: string | null
  readonly sample: (RunPlan & { readonly startTime: string | null }) | null
  readonly warnings: readonly Pick<RunbookProblem, 'code' | 'line' | 'message'>[]
}

export async function runPlanOfFile(
  context: CommandContext,
  file: string,
  flags: Flags,
): Promise<void> {
  const { io } = context
  for (const flag of ['batch', 'file'])
    if (flags[flag] !== undefined)
      throw usageError(`--${flag} is for a published runbook, and "${file}" is a file.`)
  const { runbook, warnings } = await readRunbookFile(file, io)
  const factsOf = factsFrom([await io.packagedFunctions()])
  const members = await findMemberRows(runbook, file, textFlag(flags, 'members'))
  const startTime = timeFlag(context, flags, 'start') ?? null
  if ('file' in members && startTime !== null && runbook.dataSource.batchTimeColumn !== null)
    throw usageError('The people have start times already. Use --start without a member file.')
  const now = startTime !== null && 'file' in members ? new Date(startTime) : io.now()
  const planned = 'file' in members ? batchesOf(runbook, members, { now, factsOf }) : NO_BATCHES
  const plan: FilePlan = {
    runbookName: runbook.name,
    memberFile: 'file' in members ? members.file : null,
    ...planned,
    sample: 'file' in members ? null : sampleOf(runbook, startTime, { now: io.now(), factsOf }),
    warnings: warnings.map(({ code, line, message }) => ({ code, line, message })),
  }
  await showPlan(context, plan)
  if ('reason' in members) io.err(`warning: the plan is for a made-up member: ${members.reason}`)
}

const NO_BATCHES: BatchesPlan = { rowCount: 0, batches: [], problems: [], problemCount: 0 }

interface Known {
  readonly now: Date
  readonly factsOf: FactsOf
}

function batchesOf(
  runbook: Runbook,
  { file, columns, rows }: MemberRows,
  known: Known,
): BatchesPlan {
  const typed = columns.map((name) => ({ name, type: 'text' as const }))
  const reason = columnsProblem(typed, runbook.dataSource)
  if (reason !== null) throw new MatoolkitError('MEMBER_FILE_INVALID', { file, reason })
  return planBatches({ runbook, columns: typed, rows, ...known })
}

function sampleOf(runbook: Runbook, startTime: string | null, known: Known): FilePlan['sample'] {
  const facts = {
    runbook,
    ...known,
    batchId: null,
    batchOutputs: {},
    members: [sampleMemberOf(runbook)],
    windows: runbook.windows ? [runbook.windows] : [],
  }
  const at = startTime === null ? null : new Date(startTime)
  return { startTime, ...planRun({ ...facts, startTime: at }) }
}

/** JSON and YAML have everything, CSV the steps of the first batch. */
async function showPlan({ show, io }: CommandContext, plan: FilePlan): Promise<void> {
  const { batches, sample, problems, problemCount, warnings, runbookName } = plan
  const whole: unknown = JSON.parse(JSON.stringify(plan))
  const shown = sample ?? batches[0]
  const steps = shown ? stepRows(JSON.parse(JSON.stringify(shown))) : []
  if (show.format !== 'table') {
    await show.list({ whole, rows: steps, columns: STEP_COLUMNS, empty: '' })
    return
  }
  const people = batches.reduce((sum, { memberCount }) => sum + memberCount, 0)
  show.say(
    `${printable(runbookName)}: ${countText(people, 'member')} in ${countText(batches.length, 'batch', 'batches')}`,
  )
  const section = <R>(title: string, rows: readonly R[], columns: readonly Column<R>[]) =>
    showSection(show, title, rows.slice(0, ROWS_SHOWN), columns)
  await section('Batches', batches.map(batchRow), BATCHES)
  await section('Phases', phaseRows(plan), PHASES)
  await section(
    sample ? 'Steps, for a made-up member' : 'Steps, for the first member',
    steps,
    STEP_COLUMNS,
  )
  await section('Problems', problems, PROBLEMS)
  if (batches.length > ROWS_SHOWN || problemCount > ROWS_SHOWN)
    io.err(`Showing the first ${ROWS_SHOWN}; --output json has more.`)
  for (const { code, line, message } of warnings)
    io.err(printable(`warning: line ${line}: ${code} ${message}`))
  for (const warning of shown?.warnings ?? []) io.err(`warning: ${warning}`)
}

const batchRow = ({ startTime, memberCount, held }: BatchesPlan['batches'][number]): BatchRow => ({
  startTime: startTime.toISOString(),
  memberCount,
  held,
})

const phaseRows = ({ batches, sample }: FilePlan): PhaseRow[] =>
  [...batches, ...(sample ? [sample] : [])].flatMap(({ startTime, phases }) =>
    phases.map((phase) => ({
      startTime: startTime === null ? null : new Date(startTime).toISOString(),
      phase: phase.name,
      dueAt: phase.dueAt?.toISOString() ?? null,
      steps: phase.steps.length,
      note:
        [...(phase.isOverdue ? ['would start at once'] : []), ...planNotes(phase)].join('; ') ||
        null,
    })),
  )
