// Audit rows for reads of personal data. The first row of a read commits before its answer leaves. A screen that asks again every few
// seconds would write 17,280 rows a day, so repeats of one person, route and subject are counted for ten minutes and then written as
// one row. Rows that arrive during a write go out together in the next one: twenty simultaneous readers cost a few transactions.

import type { Queryable } from '../../db/connection/db.ts'
import { type AuditEntry, insertAudit, insertAudits } from '../../db/orders/audit.ts'

const ROWS_PER_WRITE = 200
const REPEATS_MS = 10 * 60_000
/** Reads whose repeats are counted. Beyond that, every read has its own row. */
const COUNTED_MAX = 10_000

interface PendingEntry {
  readonly entry: AuditEntry
  readonly written: () => void
  readonly failed: (error: unknown) => void
}

interface Repeats {
  readonly first: AuditEntry
  count: number
  lastAt: Date
}

export class ReadAudit {
  readonly #db: Queryable
  readonly #counted = new Map<string, Repeats>()
  #pending: PendingEntry[] = []
  #isWriting = false

  constructor(db: Queryable) {
    this.#db = db
  }

  /** `what` names what was read: the subject, and the part of the query that selects it. Resolves when the read is on record. */
  async record(entry: AuditEntry, what: string): Promise<void> {
    const key = JSON.stringify([entry.actor, entry.source, entry.clientApp, entry.action, what])
    const known = this.#counted.get(key)
    if (known && +entry.at - +known.first.at < REPEATS_MS) {
      known.count += 1
      known.lastAt = entry.at
      return
    }
    await this.#write(entry)
    if (known) await this.#writeRepeats([[key, known]])
    if (this.#counted.size < COUNTED_MAX)
      this.#counted.set(key, { first: entry, count: 0, lastAt: entry.at })
  }

  /** Writes the repeats that were counted for ten minutes. Call it each minute. */
  writeDue(now: Date): Promise<void> {
    return this.#writeRepeats(
      [...this.#counted].filter(([, { first }]) => +now - +first.at >= REPEATS_MS),
    )
  }

  /** Writes all of them, at the end. */
  close(): Promise<void> {
    return this.#writeRepeats([...this.#counted])
  }

  async #writeRepeats(due: readonly (readonly [string, Repeats])[]): Promise<void> {
    for (const [key] of due) this.#counted.delete(key)
    await Promise.all(
      due
        .filter(([, { count }]) => count > 0)
        .map(([, { first, count, lastAt }]) =>
          this.#write({
            ...first,
            at: lastAt,
            after: { repeated: count, since: first.at.toISOString() },
          }),
        ),
    )
  }

  #write(entry: AuditEntry): Promise<void> {
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
