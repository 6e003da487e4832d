// Audit rows for reads of personal data. Each row commits before its answer leaves. Rows that arrive during a write go out together
// in the next one, so twenty simultaneous readers cost a few transactions instead of twenty.
import { type AuditEntry, insertAudit, insertAudits } from '../../db/audit.ts'
import type { Queryable } from '../../db/db.ts'

const ROWS_PER_WRITE = 200

interface PendingEntry {
  readonly entry: AuditEntry
  readonly written: () => void
  readonly failed: (error: unknown) => void
}

export class ReadAudit {
  readonly #db: Queryable
  #pending: PendingEntry[] = []
  #isWriting = false

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Resolves when the row is committed. */
  record(entry: AuditEntry): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#pending.push({ entry, written: resolve, failed: reject })
    if (!this.#isWriting) void this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#pending.length > 0) {
      const group = this.#pending.splice(0, ROWS_PER_WRITE)
      try {
        await insertAudits(
          this.#db,
          group.map(({ entry }) => entry),
        )
        for (const { written } of group) written()
      } catch {
        // One bad row must not fail the others.
        for (const { entry, written, failed } of group)
          await insertAudit(this.#db, entry).then(written, failed)
      }
    }
    this.#isWriting = false
  }
}
