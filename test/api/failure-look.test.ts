// Failures in groups are made anew when one came or went, and only then.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { FailureLook } from '../../src/api/failure-look.ts'
import type { Queryable } from '../../src/db/db.ts'
import type { Failure } from '../../src/domain/failures.ts'

function storeOf(messages: string[]) {
  const store = { messages, reads: 0, isBroken: false }
  const failures = () =>
    store.messages.map(
      (message, n): Failure => ({
        ...{ stepId: n + 1, memberId: n + 1, phaseName: 'p', stepName: 's' },
        ...{ message, at: new Date(n) },
      }),
    )
  const db = {
    query: async (sql: string, [, after]: [number, number]) => {
      if (sql.includes('mark')) return [{ mark: store.messages.join() }]
      store.reads += 1
      if (store.isBroken) throw new Error('gone')
      return failures().filter(({ stepId }) => stepId > after)
    },
  } as unknown as Queryable
  return { store, db }
}

it('is read once for all who ask, and again after a change', async () => {
  const { store, db } = storeOf(['over quota 1', 'over quota 2', 'not found'])
  const look = new FailureLook()
  const [one, two] = await Promise.all([look.groups(db, 1), look.groups(db, 1)])
  assert.equal(one, two)
  assert.deepEqual(
    one!.groups.map(({ pattern, count }) => [pattern, count]),
    [
      ['over quota <number>', 2],
      ['not found', 1],
    ],
  )
  await look.groups(db, 1)
  assert.equal(store.reads, 1)
  store.messages.push('not found')
  const { count, groupCount, isComplete } = await look.groups(db, 1)
  assert.deepEqual([count, groupCount, isComplete, store.reads], [4, 2, true, 2])
})

it('keeps no look that failed, and not more than it may', async () => {
  const { store, db } = storeOf(['no'])
  const look = new FailureLook()
  store.isBroken = true
  await assert.rejects(look.groups(db, 1), /gone/)
  store.isBroken = false
  assert.equal((await look.groups(db, 1)).count, 1)
  for (let batchId = 2; batchId <= 51; batchId++) await look.groups(db, batchId)
  const before = store.reads
  await look.groups(db, 51)
  assert.equal(store.reads, before)
  await look.groups(db, 1)
  assert.equal(store.reads, before + 1)
})
