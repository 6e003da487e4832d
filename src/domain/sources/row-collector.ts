// Collects a result row by row into usable and unusable keys. Equal rows of a key count once. Differing rows of a key are all
// unused, since nobody can tell which one is right; its member stays unchanged.

import { foldKey } from '../state/member-key.ts'
import type { FoundRow, Issue, IssueKind, SourceContents } from './compare.ts'
import type { RowProblem } from './row-reader.ts'

/** Issues stored and shown; totals count all. */
export const ISSUES_MAX = 1_000

/** The first issues, and counts by kind. */
export class IssueList {
  readonly first: Issue[] = []
  readonly counts: Partial<Record<IssueKind, number>> = {}

  add(issue: Issue): void {
    this.counts[issue.kind] = (this.counts[issue.kind] ?? 0) + 1
    if (this.first.length < ISSUES_MAX) this.first.push(issue)
  }

  addAll(issues: readonly Issue[]): void {
    for (const issue of issues) this.add(issue)
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0)
  }
}

export class RowCollector<Row extends FoundRow> {
  readonly issues = new IssueList()
  rowCount = 0
  readonly #rows = new Map<string, Row>()
  readonly #unusable = new Set<string>()

  takeProblem({ key, column, reason }: RowProblem): void {
    this.rowCount += 1
    this.issues.add({
      kind: key === null ? 'no_key' : 'unusable',
      key,
      column,
      batchId: null,
      reason: `this row is not used: ${reason}`,
    })
    if (key !== null) this.#markUnusable(foldKey(key))
  }

  take(row: Row): void {
    this.rowCount += 1
    if (this.#unusable.has(row.folded)) return
    const other = this.#rows.get(row.folded)
    if (!other) {
      this.#rows.set(row.folded, row)
      return
    }
    if (other.hash === row.hash && other.timeMs === row.timeMs) return
    this.#markUnusable(row.folded)
    this.issues.add({
      kind: 'duplicate',
      key: row.key,
      column: null,
      batchId: null,
      reason: 'rows of this key differ; none of them is used',
    })
  }

  #markUnusable(folded: string): void {
    this.#rows.delete(folded)
    this.#unusable.add(folded)
  }

  get found(): SourceContents<Row> {
    const groups = new Map<number, number>()
    for (const { timeMs } of this.#rows.values()) groups.set(timeMs, (groups.get(timeMs) ?? 0) + 1)
    return { rows: this.#rows, unusable: this.#unusable, groups }
  }
}
