// `matoolkit runbook plan`: the steps of a runbook with their due times and parameters, before anything runs.

import type { Json } from '../../../domain/json.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  pathSegment,
  textFlag,
} from '../../command-context.ts'
import { readTextFile } from '../../files.ts'
import type { Column, Row } from '../../terminal/show.ts'
import { timeFlag } from '../../typed-time.ts'

interface PlannedStep {
  readonly name: string
  readonly workerId: string
  readonly examples: readonly {
    readonly functionName: string
    readonly params: Json
    readonly missing: readonly string[]
  }[]
}

interface Plan {
  readonly runbookName: string
  readonly startTime: string | null
  readonly memberCount: number | null
  readonly init: readonly PlannedStep[]
  readonly phases: readonly {
    readonly name: string
    readonly dueAt: string | null
    readonly isOverdue: boolean
    readonly steps: readonly PlannedStep[]
  }[]
  readonly onRemoval: readonly PlannedStep[]
  readonly warnings: readonly string[]
}

const STEPS: readonly Column[] = [
  ['PHASE', 'phase'],
  ['DUE', 'dueAt'],
  ['STEP', 'step'],
  ['WORKER', 'workerId', 'spare'],
  ['FUNCTION', 'functionName'],
  ['MISSING', 'missing'],
  ['PARAMETERS', 'params'],
]

export async function runPlan(
  context: CommandContext,
  [name]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, show, io } = context
  const file = textFlag(flags, 'file')
  const batch = textFlag(flags, 'batch')
  const startTime = timeFlag(context, flags, 'start')
  const body: Json = {
    ...(file !== undefined && { yamlContent: await readTextFile(file) }),
    ...(batch !== undefined && { batchId: idOf('batch', batch) }),
    ...(startTime !== undefined && { startTime }),
  }
  const path = `/api/runbooks/${pathSegment(name!)}/plan`
  const { body: plan } = await client.post<Plan>(path, { body, isRead: true })
  const rows = rowsOf(plan)
  await show.list({
    whole: plan as unknown as Json,
    rows,
    columns: STEPS,
    empty: 'The runbook has no steps.',
  })
  for (const warning of plan.warnings) io.err(`warning: ${warning}`)
  for (const { name: phase, isOverdue } of plan.phases) {
    if (isOverdue) io.err(`warning: phase ${phase} would start at once`)
  }
}

function rowsOf({ init, phases, onRemoval }: Plan): Row[] {
  const rows = (phase: string, dueAt: string | null, steps: readonly PlannedStep[]): Row[] =>
    steps.map(({ name: step, workerId, examples: [example] }) => ({
      ...{ phase, dueAt, step, workerId },
      functionName: example?.functionName ?? null,
      missing: example?.missing.join(', ') || null,
      params: example?.params ?? null,
    }))
  return [
    ...rows('init', null, init),
    ...phases.flatMap(({ name, dueAt, steps }) => rows(name, dueAt, steps)),
    ...rows('removal', null, onRemoval),
  ]
}
