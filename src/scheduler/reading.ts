// A source read to its end. Of each row the key, the time and a hash are kept, and its data only when it is not what the member
// has already: 100,000 unchanged rows leave no JSON behind. Nothing of a result may be used before this has returned.

import type { FoundRow, SourceContents } from '../domain/detection/compare.ts'
import { RowCollector } from '../domain/detection/rows.ts'
import { rowReader } from '../domain/detection/source-rows.ts'
import type { SourceColumn, SourceRow } from '../domain/detection/source-values.ts'
import { foldKey } from '../domain/member-key.ts'
import type { DataSource } from '../domain/runbook/model.ts'
import { dataHash } from '../engine/create.ts'
import { MatoolkitError } from '../errors.ts'
import {
  nameOf,
  type openSource,
  type SourceResult,
  type SourceSettings,
} from './sources/source.ts'
import { TextStore } from './text-store.ts'

/** More waves than any programme has. A column that holds when each row was made would give one batch a person. */
const GROUPS_MAX = 2_000

/** Opens a source; tests put a double here. */
export type OpenSource = typeof openSource

export interface SourceAccess {
  readonly settings: SourceSettings
  readonly open: OpenSource
}

/** A usable row and where its data is kept; -1 when the member has it already. */
export interface KeptRow extends FoundRow {
  readonly place: number
}

export interface Reading {
  readonly columns: readonly SourceColumn[]
  readonly found: SourceContents<KeptRow>
  readonly rowCount: number
  readonly issues: RowCollector<KeptRow>['issues']
  readonly dataOf: (row: KeptRow) => string
}

export interface ReadSourceOptions {
  /** The time of rows that have none of their own: the slot of an immediate runbook. */
  readonly slotMs: number
  /** Asked when the source has begun to answer: the data that a member of this key has already. */
  readonly loadKnown: () => Promise<
    (folded: string) => { readonly hash: string; readonly key: string } | undefined
  >
  /** Sees every row before it is read. */
  readonly onRow?: (row: SourceRow) => void
}

export async function readSource(
  { open, settings }: SourceAccess,
  source: DataSource,
  options: ReadSourceOptions,
  stopping: AbortSignal,
): Promise<Reading> {
  const result = await open(source, settings, stopping)
  try {
    return await readAll(result, source, options)
  } finally {
    await result.close()
  }
}

async function readAll(
  { columns, rows }: SourceResult,
  source: DataSource,
  { slotMs, loadKnown, onRow }: ReadSourceOptions,
): Promise<Reading> {
  const known = await loadKnown()
  const read = rowReader(source, columns)
  const collector = new RowCollector<KeptRow>()
  const store = new TextStore()
  for await (const chunk of rows) {
    for (const row of chunk) {
      onRow?.(row)
      const one = read(row)
      if ('problem' in one) {
        collector.takeProblem(one.problem)
        continue
      }
      const { key, time, data } = one.member
      const folded = foldKey(key)
      const hash = dataHash(data)
      const before = known(folded)
      const isKept = before?.hash !== hash || before.key !== key
      const place = isKept ? store.add(JSON.stringify(data)) : -1
      if (place === TextStore.FULL) throw tooLarge(source)
      collector.take({ key, folded, timeMs: time ? +time : slotMs, hash, place })
    }
  }
  const { found } = collector
  if (found.groups.size > GROUPS_MAX) throw tooManyGroups(source, found.groups.size)
  return {
    columns,
    found,
    rowCount: collector.rowCount,
    issues: collector.issues,
    dataOf: (row) => store.get(row.place),
  }
}

const tooLarge = (source: DataSource): MatoolkitError =>
  new MatoolkitError('SOURCE_RESULT_REFUSED', {
    source: nameOf(source),
    reason: `its new and changed rows have more than ${TextStore.BYTES_MAX} bytes`,
  })

const tooManyGroups = (source: DataSource, groups: number): MatoolkitError =>
  new MatoolkitError('SOURCE_RESULT_REFUSED', {
    source: nameOf(source),
    reason: `it has ${groups} different times, and each would be a batch; is "${source.batchTimeColumn}" the cut-over of a wave?`,
  })
