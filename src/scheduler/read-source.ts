// Reads a source to its end. Of each row it keeps key, time and hash, and the data only if it differs from the member's:
// 100,000 unchanged rows leave no JSON behind. Nothing of a result may be used before this returns.

import { MatoolkitError } from '../base/errors/errors.ts'
import type { DataSource } from '../domain/runbook/model.ts'
import type { FoundRow, RowTexts, SourceContents } from '../domain/sources/compare.ts'
import { RowCollector } from '../domain/sources/row-collector.ts'
import { rowReader } from '../domain/sources/row-reader.ts'
import type { SourceColumn, SourceRow } from '../domain/sources/source-values.ts'
import { foldKey } from '../domain/state/member-key.ts'
import { dataHash } from '../engine/orders/create.ts'
import { PackedTexts } from './packed-texts.ts'
import { type SourceAccess, type SourceResult, sourceName } from './sources/source.ts'

/** More waves than any programme has. A column with each row's creation time would give one batch per person. */
const GROUPS_MAX = 2_000

/** A usable row and the index of its stored data; -1 when the member already has it. */
export interface StoredRow extends FoundRow {
  readonly textIndex: number
}

export interface Reading {
  readonly columns: readonly SourceColumn[]
  readonly found: SourceContents<StoredRow>
  readonly rowCount: number
  readonly issues: RowCollector<StoredRow>['issues']
  readonly texts: RowTexts<StoredRow>
}

export interface ReadSourceOptions {
  /** The time of rows without one: the slot of an immediate runbook. */
  readonly slotMs: number
  /** Called at the first row: returns the data a member already has, by key. */
  readonly loadKnown: () => Promise<
    (folded: string) => { readonly hash: string; readonly key: string } | undefined
  >
  /** Sees every row first. */
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
  const collector = new RowCollector<StoredRow>()
  const store = new PackedTexts()
  for await (const chunk of rows) {
    for (const row of chunk) {
      onRow?.(row)
      const result = read(row)
      if ('problem' in result) {
        collector.takeProblem(result.problem)
        continue
      }
      const { key, time, data } = result.member
      const folded = foldKey(key)
      const hash = dataHash(data)
      const before = known(folded)
      const isChanged = before?.hash !== hash || before.key !== key
      const textIndex = isChanged ? store.add(JSON.stringify(data)) : -1
      if (textIndex === PackedTexts.FULL) throw tooLarge(source)
      collector.take({ key, folded, timeMs: time ? +time : slotMs, hash, textIndex })
    }
  }
  const { found } = collector
  if (found.groups.size > GROUPS_MAX) throw tooManyGroups(source, found.groups.size)
  return {
    columns,
    found,
    rowCount: collector.rowCount,
    issues: collector.issues,
    texts: {
      dataOf: (row) => store.get(row.textIndex),
      bytesOf: ({ textIndex }) => (textIndex < 0 ? 0 : store.bytesOf(textIndex)),
    },
  }
}

const tooLarge = (source: DataSource): MatoolkitError =>
  new MatoolkitError('SOURCE_RESULT_REFUSED', {
    source: sourceName(source),
    reason: `its new and changed rows exceed ${PackedTexts.BYTES_MAX} bytes`,
  })

const tooManyGroups = (source: DataSource, groups: number): MatoolkitError =>
  new MatoolkitError('SOURCE_RESULT_REFUSED', {
    source: sourceName(source),
    reason: `it has ${groups} different times, and each would be a batch; check that "${source.batchTimeColumn}" holds the cut-over time of a wave`,
  })
