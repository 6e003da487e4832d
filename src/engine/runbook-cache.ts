// Published runbooks, read once. A version never changes, so what was read stays true.
import type { Queryable } from '../db/db.ts'
import { findRunbookVersion } from '../db/runbooks.ts'
import { type Runbook, readRunbook } from '../domain/runbook/read.ts'

const MAX_KEPT = 200

export class RunbookCache {
  readonly #kept = new Map<string, Runbook>()

  async get(db: Queryable, name: string, version: number): Promise<Runbook> {
    const key = `${name.toLowerCase()}@${version}`
    const known = this.#kept.get(key)
    if (known) return known
    const published = await findRunbookVersion(db, name, version)
    if (!published) throw new Error(`version ${version} of runbook ${name} is not in the database`)
    const { runbook, problems } = readRunbook(published.yaml)
    if (!runbook) {
      throw new Error(
        `version ${version} of runbook ${name} can no longer be read: ${problems[0]?.message}`,
      )
    }
    if (this.#kept.size >= MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(key, runbook)
    return runbook
  }
}
