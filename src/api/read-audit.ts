// The audit rows of looks at members. Each is committed before what it speaks of is shown; those that come while others are being
// written are written together after them. Twenty people who look at once cost a few transactions a turn and not twenty.
import { type AuditEntry, insertAudit, insertAudits } from '../db/audit.ts'
import type { Queryable } from '../db/db.ts'

const ROWS_PER_WRITE = 200

interface Waiting {
  readonly entry: AuditEntry
  readonly written: () => void
  readonly failed: (error: unknown) => void
}

export class ReadAudit {
  readonly #db: Queryable
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Done when the row is committed. */
  note(entry: AuditEntry): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ entry, written: resolve, failed: reject })
    if (!this.#isWriting) void this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, ROWS_PER_WRITE)
      try {
        await insertAudits(
          this.#db,
          group.map(({ entry }) => entry),
        )
        for (const { written } of group) written()
      } catch {
        // Whatever is wrong with one of them is no fault of the others.
        for (const one of group)
          await insertAudit(this.#db, one.entry).then(one.written, one.failed)
      }
    }
    this.#isWriting = false
  }
}
