// What a rehearsal needs of a running batch: its runbook, its people, and which steps they have passed. Reads the API and changes nothing.

import type { Answer } from '../../api/client/endpoints.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { type CommandContext, idOf } from '../../cli/program/command-context.ts'
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
import { isPassed } from '../../domain/state/transitions.ts'
import { M365_CATALOGUE } from '../../m365/catalogue.ts'

type ShownBatch = Answer<'GET /api/batches/{batchId}'>
type GridRow = Answer<'GET /api/batches/{batchId}/grid'>['rows'][number]
type Member = Answer<'GET /api/batches/{batchId}/members/{memberId}'>['member']

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
  const shown = await client.call('GET /api/batches/{batchId}', { params: { batchId } })
  const { runbookName, runbookVersion, batchStartTime } = shown.batch
  refuse(batchId, unfitReason(stateOf(shown)))
  const endpoint = 'GET /api/runbooks/{name}/versions/{version}'
  const params = { name: runbookName, version: runbookVersion }
  const { yamlContent: yaml } = await client.call(endpoint, { params })
  const { runbook, problems } = readRunbook(yaml, {
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
    yaml,
    runbook,
    lint: problems,
    people: members.map(({ data, outputs }, at) => ({
      key: rows[at]!.memberKey,
      row: rowOf(data as SourceRow, outputs as SourceRow),
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
  const rows: GridRow[] = []
  const passed: string[] = []
  for (let from = 0, total = 1; from < total; from += PAGE) {
    const given = { params: { batchId }, query: { from, limit: PAGE } }
    const page = await client.call('GET /api/batches/{batchId}/grid', given)
    total = page.total
    const left = page.rows.filter(({ state }) => isLeft(state))
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
  rows: readonly GridRow[],
): Promise<Member[]> {
  const all: Member[] = []
  for (let at = 0; at < rows.length; at += CALLS_AT_ONCE) {
    io.progress(`Reading members: ${at} of ${rows.length} …`)
    const pages = rows.slice(at, at + CALLS_AT_ONCE).map(({ memberId }) =>
      client.call('GET /api/batches/{batchId}/members/{memberId}', {
        params: { batchId, memberId },
      }),
    )
    all.push(...(await Promise.all(pages)).map(({ member }) => member))
  }
  io.progress('')
  return all
}
