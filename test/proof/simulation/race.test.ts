// Mistakes that show only on two connections: the batch is not locked, or counters changed by others are not read again.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestPostgres } from '../../kit/databases.ts'
import { loadWithMutant, type Mutant } from './mutant-loader.ts'
import { remove, replace } from './place.ts'
import * as race from './race.ts'

const OLD_COUNTS: Mutant = {
  name: 'phases closed by the counters that were loaded',
  in: 'addToCounters',
  edits: [
    replace(
      'setCounters($phase, $sums.get($phase.id)!)',
      'setCounters($phase, countersOf($sums.has($phase.id) ? $phase : $phase))',
    ),
  ],
}

const NO_LOCK: Mutant = {
  name: 'no batch lock',
  in: 'lockAndRead',
  edits: [replace('lockBatches($$args)', 'null'), remove('for no key update')],
}

async function racedWith(
  { raceTwoResults }: typeof race,
  status: 'Success' | 'Failure',
): Promise<string[]> {
  const database = await openTestPostgres()
  try {
    return await raceTwoResults(database, status)
  } finally {
    await database.close()
  }
}

describe('two results that end a phase at the same moment, on two connections', () => {
  it('close it once, using the counters after both additions', async () => {
    assert.deepEqual(await racedWith(race, 'Success'), [])
  })

  it('would leave it open if each used the counters it loaded', async () => {
    const mutated = await loadWithMutant<typeof race>(OLD_COUNTS, './race.ts')
    assert.notDeepEqual(await racedWith(mutated, 'Success'), [])
  })

  it('close it once when they are failures, each under the exclusive lock', async () => {
    assert.deepEqual(await racedWith(race, 'Failure'), [])
  })

  it('would miscount without the batch lock', async () => {
    const mutated = await loadWithMutant<typeof race>(NO_LOCK, './race.ts')
    assert.notDeepEqual(await racedWith(mutated, 'Failure'), [])
  })
})
