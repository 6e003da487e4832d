// `matoolkit runbook plan`: the steps of a runbook with their due times and parameters, before anything runs.

import { planNotes } from '../../../domain/plan/plan-notes.ts'
import { readTextFile } from '../../input/files.ts'
import { timeFlag } from '../../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { isRunbookFile, runPlanOfFile } from './plan-file.ts'
import { STEP_COLUMNS, stepRows } from './plan-steps.ts'

export async function runPlan(
  context: CommandContext,
  [name]: readonly string[],
  flags: Flags,
): Promise<void> {
  if (isRunbookFile(name!)) return runPlanOfFile(context, name!, flags)
  const { client, show, io } = context
  if (flags.members !== undefined)
    throw usageError('--members is for a runbook file, such as "runbook plan wave.yaml".')
  const file = textFlag(flags, 'file')
  const batch = textFlag(flags, 'batch')
  const startTime = timeFlag(context, flags, 'start')
  const body = {
    ...(file !== undefined && { yamlContent: await readTextFile(file) }),
    ...(batch !== undefined && { batchId: idOf('batch', batch) }),
    ...(startTime !== undefined && { startTime }),
  }
  const given = { params: { name: name! }, body }
  const plan = await client.call('POST /api/runbooks/{name}/plan', given)
  await show.list({
    whole: plan,
    rows: stepRows(plan),
    columns: STEP_COLUMNS,
    empty: 'The runbook has no steps.',
  })
  for (const warning of plan.warnings) io.err(`warning: ${warning}`)
  for (const phase of plan.phases) {
    for (const note of planNotes(phase)) show.say(`Phase ${phase.name}: ${note}.`)
    if (phase.isOverdue) io.err(`warning: phase ${phase.name} would start at once`)
  }
}
