// Looks for each mistake of the bug bank and says after how many seeds it was found. The mistaken programs run in this process,
// each as modules of its own (mutant-loader.ts), on the one database.
import type { Db } from '../../src/db/db.ts'
import { loadWithMutant, type Mutant } from './mutant-loader.ts'
import type * as RunModule from './run.ts'

export interface Verdict {
  readonly mutant: Mutant
  /** How many seeds it took; null when none found it. */
  readonly seeds: number | null
  readonly found: string
}

/** Tries the seed that is known to find it, then the others from 1. */
export async function hunt(db: Db, mutant: Mutant, seeds: readonly number[]): Promise<Verdict> {
  const { runSeed } = await loadWithMutant<typeof RunModule>(mutant, './run.ts')
  for (const [index, seed] of seeds.entries()) {
    const { found } = await runSeed({ db, seed })
    if (found.length > 0) return { mutant, seeds: index + 1, found: found[0]! }
  }
  return { mutant, seeds: null, found: '' }
}
