// Searches for a mistake of the bug bank and reports the seed that found it. The changed program runs in this process, loaded as
// separate modules (mutant-loader.ts), on the same database.
import type { RenewableDb } from '../../kit/renewable-pglite.ts'
import { type BankedMutant, loadWithMutant } from './mutant-loader.ts'
import { MUTANTS } from './mutants.ts'
import { drawNight } from './night.ts'
import { NIGHT_MUTANTS } from './night-mutants.ts'
import type * as RunModule from './run.ts'
import { hasSource } from './source.ts'
import { SOURCE_MUTANTS } from './source-mutants.ts'

export interface Verdict {
  readonly mutant: string
  /** The seed that found it; null if none did. */
  readonly seed: number | null
  readonly found: string
}

/** The scheduler's mistakes show only in seeds with a source, those of the guards in seeds with a night. */
function canShow(mutant: BankedMutant, seed: number): boolean {
  if (SOURCE_MUTANTS.includes(mutant)) return hasSource(seed)
  return !NIGHT_MUTANTS.includes(mutant) || drawNight(seed) !== null
}

/** Tries the seeds in order. */
export async function hunt(
  db: RenewableDb,
  name: string,
  seeds: readonly number[],
): Promise<Verdict> {
  const mutant = MUTANTS.find((one) => one.name === name)!
  const { runSeed } = await loadWithMutant<typeof RunModule>(mutant, './run.ts')
  for (const seed of seeds.filter((one) => canShow(mutant, one))) {
    const { found } = await runSeed({ db, seed })
    if (found.length > 0) return { mutant: name, seed, found: found[0]! }
  }
  return { mutant: name, seed: null, found: '' }
}
