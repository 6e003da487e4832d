// The mistake that no embedded database can show: the batch row is not locked.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestPostgres } from '../databases.ts'
import { loadWithMutant, type Mutant } from './mutant-loader.ts'
import * as race from './race.ts'

const NO_LOCK: Mutant = {
  name: 'no batch lock',
  file: 'src/db/facts.ts',
  find: 'from batches where id = $1 for update`',
  replace: 'from batches where id = $1`',
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
  it('close it once when the batch row is locked', async () => {
    assert.deepEqual(await racedWith(race), [])
  })

  it('are found to leave it open for ever without the lock', async () => {
    const mutated = await loadWithMutant<typeof race>(NO_LOCK, './race.ts')
    assert.notDeepEqual(await racedWith(mutated), [])
  })
})
