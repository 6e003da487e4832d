// The mistake that no embedded database can show: what others did since the counters were loaded is not looked at.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestPostgres } from '../databases.ts'
import { loadWithMutant, type Mutant } from './mutant-loader.ts'
import * as race from './race.ts'

const OLD_COUNTS: Mutant = {
  name: 'phases closed by the counters that were loaded',
  file: 'src/db/counts.ts',
  find: '  for (const phase of phases) setCounts(phase, standing.get(phase.id)!)\n',
  replace:
    '  for (const phase of phases) setCounts(phase, valuesOf(standing.has(phase.id) ? phase : phase))\n',
}

async function racedWith({ raceTwoResults }: typeof race): Promise<string[]> {
  const database = await openTestPostgres()
  try {
    return await raceTwoResults(database)
  } finally {
    await database.close()
  }
}

describe('two results that end a phase at the same moment, on two connections', () => {
  it('close it once, by the counters as they are when each has added its own', async () => {
    assert.deepEqual(await racedWith(race), [])
  })

  it('are found to leave it open for ever when each goes by what it loaded', async () => {
    const mutated = await loadWithMutant<typeof race>(OLD_COUNTS, './race.ts')
    assert.notDeepEqual(await racedWith(mutated), [])
  })
})
