// What a rehearsal needs of a running batch: its runbook, its people, and which steps they have passed. Reads the API and changes nothing.
import { type CommandContext, idOf } from '../../cli/command-context.ts'
import { batchPath } from '../../cli/commands/batch/paths.ts'
import type { MemberRows } from '../../cli/member-rows.ts'
import { CELL_OF, type GridColumn } from '../../domain/grid.ts'
import type { Json } from '../../domain/json.ts'
import { foldKey } from '../../domain/member-key.ts'
import type { Outcome } from '../../domain/outcome.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import { type RunbookProblem, readRunbook } from '../../domain/runbook/read.ts'
import { isPassed, type StepStatus } from '../../domain/transitions.ts'
import { MatoolkitError } from '../../errors.ts'
import type { RehearsalPast, StepPlace } from './past.ts'

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

type Values = Readonly<Record<string, Json>>

interface ShownMember {
  readonly member: { readonly data: Values; readonly outputs: Values }
}

export interface LiveBatch {
  readonly yaml: string
  readonly runbook: Runbook
  readonly lint: readonly RunbookProblem[]
  readonly members: MemberRows
  readonly past: RehearsalPast
}

const PAGE = 500
/** As many as the API rehearses. Each is read by a call of its own. */
const MEMBERS_MAX = 2_000
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
  refuseUnfit(batchId, shown)
  const path = `/api/runbooks/${encodeURIComponent(runbookName)}/versions/${runbookVersion}`
  const { body: text } = await client.get<{ yamlContent: string }>(path)
  const { runbook, problems } = readRunbook(text.yamlContent, { catalogues: [], isLinted: true })
  if (!runbook) throw unfit(batchId, problems[0]?.message ?? 'its runbook is invalid')
  const column = runbook.dataSource.batchTimeColumn
  if (column === null) throw unfit(batchId, 'its runbook has no batch_time_column')
  const { rows, passed } = await readGrid(context, batchId)
  for (const { stepName, status } of shown.initSteps)
    if (isPassed(status)) passed.add(keyOf({ memberKey: null, phaseName: null, stepName }))
  const data = await readData(context, batchId, runbook, rows)
  const people = data.map((values) => ({
    ...withoutName(values, column),
    [column]: batchStartTime,
  }))
  const ended = shown.phases.filter(({ completedAt }) => completedAt !== null)
  return {
    ...{ yaml: text.yamlContent, runbook, lint: problems },
    members: {
      file: `batch ${batchId}`,
      columns: [...new Set(people.flatMap((row) => Object.keys(row)))],
      rows: people,
    },
    past: {
      batchId,
      at: now,
      isPassed: (place) => passed.has(keyOf(place)),
      endedPhases: new Set(ended.map(({ phaseName }) => foldKey(phaseName))),
      isHeld: shown.batch.held !== null,
    },
  }
}

const unfit = (batchId: number, reason: string) =>
  new MatoolkitError('REHEARSAL_BATCH_UNFIT', { batchId, reason })

function refuseUnfit(batchId: number, { batch, phases }: ShownBatch): void {
  if (batch.endedAt !== null) throw unfit(batchId, `it is ${batch.status}`)
  if (batch.isManual || batch.batchStartTime === null)
    throw unfit(batchId, 'its phases start by hand, so nobody knows when')
  const skipped = phases.find(({ status }) => status === 'skipped')
  if (skipped) throw unfit(batchId, `phase ${skipped.phaseName} was skipped`)
}

const keyOf = ({ memberKey, phaseName, stepName }: StepPlace): string =>
  JSON.stringify([memberKey, phaseName, stepName].map((name) => name && foldKey(name)))

const PASSED_CELLS = new Set(
  Object.entries(CELL_OF)
    .filter(([status]) => isPassed(status as StepStatus))
    .map(([, letter]) => letter),
)

/** The active members, and the steps that they have passed. Failed and removed ones stay out. */
async function readGrid({ client }: CommandContext, batchId: number) {
  const rows: Grid['rows'][number][] = []
  const passed = new Set<string>()
  for (let from = 0, total = 1; from < total; from += PAGE) {
    const path = `${batchPath(String(batchId))}/grid`
    const { body: page } = await client.get<Grid>(path, { from, limit: PAGE })
    total = page.total
    const active = page.rows.filter(({ outcome }) => outcome !== 'failed' && outcome !== 'removed')
    rows.push(...active)
    if (rows.length > MEMBERS_MAX) throw unfit(batchId, `it has more than ${MEMBERS_MAX} members`)
    for (const { memberKey, cells } of active)
      for (const [at, column] of page.columns.entries())
        if (PASSED_CELLS.has(cells[at]!)) passed.add(keyOf({ memberKey, ...column }))
  }
  if (rows.length === 0) throw unfit(batchId, 'it has no active members')
  return { rows, passed }
}

/** The rows of the source, with the variables that a person has set. Outputs of steps come from the rehearsal's own tenants. */
async function readData(
  { client, io }: CommandContext,
  batchId: number,
  runbook: Runbook,
  rows: Grid['rows'],
): Promise<Values[]> {
  const steps = [...runbook.init, ...runbook.phases.flatMap(({ steps: list }) => list)]
  const outputs = new Set(
    steps.flatMap(({ outputParams }) => Object.keys(outputParams).map(foldKey)),
  )
  const all: Values[] = []
  for (let at = 0; at < rows.length; at += CALLS_AT_ONCE) {
    io.progress(`Reading members: ${at} of ${rows.length} …`)
    const paths = rows
      .slice(at, at + CALLS_AT_ONCE)
      .map(({ memberId }) => `${batchPath(String(batchId))}/members/${memberId}`)
    const answers = await Promise.all(paths.map((path) => client.get<ShownMember>(path)))
    for (const { body } of answers) {
      const byHand = Object.entries(body.member.outputs).filter(
        ([name]) => !outputs.has(foldKey(name)),
      )
      all.push({ ...body.member.data, ...Object.fromEntries(byHand) })
    }
  }
  io.progress('')
  return all
}

const withoutName = (values: Values, name: string): Values =>
  Object.fromEntries(Object.entries(values).filter(([one]) => foldKey(one) !== foldKey(name)))
