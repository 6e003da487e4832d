// A result taken in row by row: which keys can be used, and which stand in it and cannot. Equal rows of one key count once.
// Rows of one key that differ are all unused, since nobody can tell which one is meant; a member of that key stays as it is.

import { foldKey } from '../member-key.ts'
import type { FoundRow, Issue, IssueKind, SourceContents } from './compare.ts'
import type { RowProblem } from './source-rows.ts'

/** Stored and shown; the totals are counted all the same. */
export const ISSUES_MAX = 1_000

/** The first so many issues, and how many of each kind there are. */
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
    if (key !== null) this.#unuse(foldKey(key))
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
    this.#unuse(row.folded)
    this.issues.add({
      kind: 'duplicate',
      key: row.key,
      column: null,
      batchId: null,
      reason: 'this key stands in rows that differ; none of them is used',
    })
  }

  #unuse(folded: string): void {
    this.#rows.delete(folded)
    this.#unusable.add(folded)
  }

  get found(): SourceContents<Row> {
    const groups = new Map<number, number>()
    for (const { timeMs } of this.#rows.values()) groups.set(timeMs, (groups.get(timeMs) ?? 0) + 1)
    return { rows: this.#rows, unusable: this.#unusable, groups }
  }
}
