// What a rehearsal needs of a running batch: its runbook, its people, and which steps they have passed. Reads the API and changes nothing.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { batchPath } from '../../cli/commands/batch/paths.ts'
import { type CommandContext, idOf } from '../../cli/program/command-context.ts'
import type { GridColumn } from '../../domain/needs/grid.ts'
import {
  isLeft,
  type LivePast,
  type LivePerson,
  liveRowReader,
  passedInRow,
  placeKey,
  unfitCount,
  unfitReason,
} from '../../domain/needs/live-batch.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import { type RunbookProblem, readRunbook } from '../../domain/runbook/read.ts'
import type { SourceRow } from '../../domain/sources/source-values.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import type { Outcome } from '../../domain/state/outcome.ts'
import { isPassed, type StepStatus } from '../../domain/state/transitions.ts'
import { M365_CATALOGUE } from '../../m365/catalogue.ts'

interface ShownBatch {
  readonly batch: {
    readonly runbookName: string
    readonly runbookVersion: number
    readonly status: string
    readonly isManual: boolean
    readonly batchStartTime: string | null
    readonly endedAt: string | null
    readonly held: { readonly reason: string } | null
  }
  readonly phases: readonly {
    readonly phaseName: string
    readonly status: string
    readonly completedAt: string | null
  }[]
  readonly initSteps: readonly { readonly stepName: string; readonly status: StepStatus }[]
}

interface Grid {
  readonly total: number
  readonly columns: readonly GridColumn[]
  readonly rows: readonly {
    readonly memberId: number
    readonly memberKey: string
    readonly outcome: Outcome
    readonly cells: string
  }[]
}

interface ShownMember {
  readonly member: { readonly data: SourceRow; readonly outputs: SourceRow }
}

export interface LiveBatch {
  readonly yaml: string
  readonly runbook: Runbook
  readonly lint: readonly RunbookProblem[]
  /** In the order of the batch. */
  readonly people: readonly LivePerson[]
  readonly past: LivePast
}

const PAGE = 500
const CALLS_AT_ONCE = 8

export async function readLiveBatch(
  context: CommandContext,
  id: string | undefined,
  now: Date,
): Promise<LiveBatch> {
  const { client } = context
  const batchId = idOf('batch', id)
  const { body: shown } = await client.get<ShownBatch>(batchPath(id))
  const { runbookName, runbookVersion, batchStartTime } = shown.batch
  refuse(batchId, unfitReason(stateOf(shown)))
  const path = `/api/runbooks/${encodeURIComponent(runbookName)}/versions/${runbookVersion}`
  const { body: text } = await client.get<{ yamlContent: string }>(path)
  const { runbook, problems } = readRunbook(text.yamlContent, {
    catalogues: [M365_CATALOGUE],
    isLinted: true,
  })
  if (!runbook) throw unfit(batchId, problems[0]?.message ?? 'its runbook is invalid')
  const column = runbook.dataSource.batchTimeColumn
  if (column === null) throw unfit(batchId, 'its runbook has no batch_time_column')
  const { rows, passed } = await readGrid(context, batchId)
  for (const { stepName, status } of shown.initSteps)
    if (isPassed(status)) passed.push(placeKey({ memberKey: null, phaseName: null, stepName }))
  const rowOf = liveRowReader(runbook, column, batchStartTime!)
  const members = await readMembers(context, batchId, rows)
  const ended = shown.phases.filter(({ completedAt }) => completedAt !== null)
  return {
    yaml: text.yamlContent,
    runbook,
    lint: problems,
    people: members.map(({ data, outputs }, at) => ({
      key: rows[at]!.memberKey,
      row: rowOf(data, outputs),
    })),
    past: {
      batchId,
      at: now.toISOString(),
      passed,
      endedPhases: ended.map(({ phaseName }) => foldKey(phaseName)),
      isHeld: shown.batch.held !== null,
    },
  }
}

const unfit = (batchId: number, reason: string) =>
  new MatoolkitError('REHEARSAL_BATCH_UNFIT', { batchId, reason })

function refuse(batchId: number, reason: string | null): void {
  if (reason !== null) throw unfit(batchId, reason)
}

const stateOf = ({ batch: { status, isManual, batchStartTime, endedAt }, phases }: ShownBatch) => ({
  status,
  isManual,
  phases,
  hasStartTime: batchStartTime !== null,
  hasEnded: endedAt !== null,
})

/** The active members, and the steps that they have passed. */
async function readGrid({ client }: CommandContext, batchId: number) {
  const rows: Grid['rows'][number][] = []
  const passed: string[] = []
  for (let from = 0, total = 1; from < total; from += PAGE) {
    const path = `${batchPath(String(batchId))}/grid`
    const { body: page } = await client.get<Grid>(path, { from, limit: PAGE })
    total = page.total
    const left = page.rows.filter(({ outcome }) => isLeft(outcome))
    rows.push(...left)
    if (rows.length > 0) refuse(batchId, unfitCount(rows.length))
    passed.push(...left.flatMap((row) => passedInRow(page.columns, row)))
  }
  refuse(batchId, unfitCount(rows.length))
  return { rows, passed }
}

async function readMembers(
  { client, io }: CommandContext,
  batchId: number,
  rows: Grid['rows'],
): Promise<ShownMember['member'][]> {
  const all: ShownMember['member'][] = []
  for (let at = 0; at < rows.length; at += CALLS_AT_ONCE) {
    io.progress(`Reading members: ${at} of ${rows.length} …`)
    const paths = rows
      .slice(at, at + CALLS_AT_ONCE)
      .map(({ memberId }) => `${batchPath(String(batchId))}/members/${memberId}`)
    const answers = await Promise.all(paths.map((path) => client.get<ShownMember>(path)))
    all.push(...answers.map(({ body }) => body.member))
  }
  io.progress('')
  return all
}
