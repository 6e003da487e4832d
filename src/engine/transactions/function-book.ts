// What functions declare, for every transaction: what the program brings along, and what workers announced. Read from the workers' rows at
// most once a second, and only where an announcement has changed.
import type { Queryable } from '../../db/connection/db.ts'
import { listAnnouncedFacts, listFunctionHashes } from '../../db/state/workers.ts'
import type { FunctionCatalogue } from '../../domain/runbook/catalogues.ts'
import { type FactsOf, factsFrom } from '../../domain/runbook/function-facts.ts'

const READ_EVERY_MS = 1_000

export class FunctionBook {
  /** Of the program: what a worker has without announcing it. */
  readonly packaged: FunctionCatalogue
  readonly #announced = new Map<string, { readonly hash: string; readonly of: FunctionCatalogue }>()
  #factsOf: FactsOf
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(packaged: FunctionCatalogue['functions'] = []) {
    this.packaged = { workerId: null, functions: packaged }
    this.#factsOf = factsFrom([this.packaged])
  }

  async factsOf(db: Queryable, now: Date): Promise<FactsOf> {
    if (+now - this.#readAtMs < READ_EVERY_MS && +now >= this.#readAtMs) return this.#factsOf
    const hashes = await listFunctionHashes(db)
    const isKnown = ({ id, hash }: { id: string; hash: string }) =>
      this.#announced.get(id)?.hash === hash
    const changed = hashes.filter((one) => !isKnown(one))
    if (changed.length > 0) {
      const ids = changed.map(({ id }) => id)
      for (const { hash, ...of } of await listAnnouncedFacts(db, ids))
        this.#announced.set(of.workerId, { hash, of })
      const all = [...this.#announced.values()].map(({ of }) => of)
      this.#factsOf = factsFrom([this.packaged, ...all])
    }
    this.#readAtMs = +now
    return this.#factsOf
  }
}
