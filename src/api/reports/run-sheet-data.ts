// What the run sheet of a batch is made of. People are read page by page, so that 200,000 of them are never in memory at once.

import type { JsonObject } from '../../base/text/json.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { listGridSteps } from '../../db/views/grid.ts'
import { listSheetMembers } from '../../db/views/members.ts'
import type { MeaningOf } from '../../domain/needs/error-meaning.ts'
import type { FailureGroup } from '../../domain/needs/failures.ts'
import { type GridColumn, type PhaseMark, packCells, phaseMarks } from '../../domain/needs/grid.ts'
import type { FactsOf } from '../../domain/runbook/function-facts.ts'
import type { RunbookPhase } from '../../domain/runbook/model.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { oldAndNewAddresses } from '../../domain/state/member-addresses.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import { type GateState, readGates } from '../../engine/orders/gates.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import type { Services } from '../route.ts'
import { type BatchState, loadBatchState } from '../shapes/batch-state.ts'
import { gridColumns } from '../shapes/grid-columns.ts'

export interface SheetPhase {
  readonly state: BatchState['phases'][number]
  /** As the version that the phase runs has it. */
  readonly definition: RunbookPhase | null
}

export interface SheetFailure extends Pick<FailureGroup, 'pattern' | 'phaseName' | 'stepName'> {
  readonly count: number
  readonly means: string | null
  readonly todo: string | null
}

export interface SheetPerson {
  readonly name: string | null
  readonly old: readonly string[]
  readonly new: readonly string[]
  /** In the order of the phases. */
  readonly marks: readonly PhaseMark[]
}

export interface RunSheet {
  readonly madeAt: Date
  readonly madeBy: string
  readonly line: BatchState['line']
  readonly runbook: Runbook
  readonly phases: readonly SheetPhase[]
  readonly gates: readonly GateState[]
  /** Of the runbook, and of the system. */
  readonly windows: readonly (readonly [whose: string, windows: ChangeWindows])[]
  /** Channels that hear of this runbook's batches. */
  readonly channels: Services['notifications']['channels']
  readonly failures: readonly SheetFailure[]
  /** What the functions of its steps declare. */
  readonly functionFactsOf: FactsOf
  people(): AsyncIterable<readonly SheetPerson[]>
}

export interface SheetOrder {
  readonly batchId: number
  readonly madeAt: Date
  readonly madeBy: string
}

const PEOPLE_PER_PAGE = 500
const ADDRESSES_SHOWN = 2
const FAILURES_SHOWN = 20

/** Throws BATCH_NOT_FOUND. */
export async function loadRunSheet(
  engine: Engine,
  {
    notifications,
    failureCache,
    meaningOf,
  }: Pick<Services, 'failureCache' | 'meaningOf' | 'notifications'>,
  { batchId, madeAt, madeBy }: SheetOrder,
): Promise<RunSheet> {
  const { db } = engine
  const state = await loadBatchState(db, batchId)
  const { line } = state
  const runbook = await engine.runbooks.get(db, line.runbookName, line.runbookVersion)
  const { groups } = await failureCache.groups(db, line)
  const { gates } = await readGates(engine, batchId)
  const phases = await sheetPhases(engine, state)
  const columns = await gridColumns(engine, state)
  return {
    madeAt,
    madeBy,
    line,
    runbook,
    phases,
    gates,
    windows: [
      ...(runbook.windows ? [['the runbook', runbook.windows] as const] : []),
      ...(engine.windows ? [['the system', engine.windows] as const] : []),
    ],
    channels: channelsOf(runbook, notifications),
    failures: groups.slice(0, FAILURES_SHOWN).map((group) => sheetFailure(group, meaningOf)),
    functionFactsOf: await engine.functions.factsOf(db, madeAt),
    people: () => peoplePages(db, batchId, phases, columns),
  }
}

async function sheetPhases(engine: Engine, { line, phases }: BatchState): Promise<SheetPhase[]> {
  const shown: SheetPhase[] = []
  for (const state of phases) {
    if (state.status === 'superseded') continue
    const version = await engine.runbooks.get(engine.db, line.runbookName, state.runbookVersion)
    const definition = version.phases.find(({ name }) => foldKey(name) === foldKey(state.name))
    shown.push({ state, definition: definition ?? null })
  }
  return shown
}

/** Those that a rule of the settings or of the runbook names. */
function channelsOf(
  { name, notifications }: Runbook,
  { channels, rules }: Services['notifications'],
): Services['notifications']['channels'] {
  const ofSettings = rules.filter(({ runbooks }) => runbooks?.includes(foldKey(name)) ?? true)
  const named = new Set([...ofSettings, ...notifications].flatMap((rule) => rule.channels))
  return channels.filter((channel) => named.has(channel.name))
}

function sheetFailure(
  { pattern, phaseName, stepName, count, sample }: FailureGroup,
  meaningOf: MeaningOf,
): SheetFailure {
  const meaning = meaningOf(sample.message)
  const { means = null, todo = null } = meaning ?? {}
  return { pattern, phaseName, stepName, count, means, todo }
}

async function* peoplePages(
  db: Queryable,
  batchId: number,
  phases: readonly SheetPhase[],
  columns: readonly GridColumn[],
): AsyncGenerator<readonly SheetPerson[]> {
  for (let after = ''; ; ) {
    const members = await listSheetMembers(db, batchId, after, PEOPLE_PER_PAGE)
    const ids = members.map(({ id }) => id)
    const cells = packCells(columns, ids, await listGridSteps(db, ids))
    yield members.map(({ id, key, data, outputs }) => {
      const marks = phaseMarks(columns, cells.get(id)!)
      return {
        name: nameIn(data),
        ...oldAndNewAddresses(key, [data, outputs], ADDRESSES_SHOWN),
        marks: phases.map(({ state }) => marks.get(state.name) ?? 'open'),
      }
    })
    if (members.length < PEOPLE_PER_PAGE) return
    after = members.at(-1)!.keyFolded
  }
}

const NAME_COLUMN = /^(?:display[ _]?name|full[ _]?name|name)$/i

/** What the source calls the person. */
function nameIn(data: JsonObject): string | null {
  const found = Object.entries(data).find(
    ([column, value]) => NAME_COLUMN.test(column.trim()) && typeof value === 'string',
  )
  return found ? String(found[1]) : null
}
