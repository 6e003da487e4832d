// Failures in groups are made anew when one came or went, and only then.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { FailureCache, type FailureKind } from '../../src/api/failure-cache.ts'
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
    query: async (_sql: string, [, after]: [number, number]) => {
      store.reads += 1
      if (store.isBroken) throw new Error('gone')
      return failures().filter(({ stepId }) => stepId > after)
    },
  } as unknown as Queryable
  const batch = (id = 1) => ({ id, failureRevision: store.messages.length })
  return { store, db, batch }
}

it('is read once for all who ask, and again after a change', async () => {
  const { store, db, batch } = storeOf(['over quota 1', 'over quota 2', 'not found'])
  const look = new FailureCache()
  const [one, two] = await Promise.all([look.groups(db, batch()), look.groups(db, batch())])
  assert.equal(one, two)
  assert.deepEqual(
    one!.groups.map(({ pattern, count }) => [pattern, count]),
    [
      ['over quota <number>', 2],
      ['not found', 1],
    ],
  )
  await look.groups(db, batch())
  assert.equal(store.reads, 1)
  store.messages.push('not found')
  const { count, groupCount, isComplete } = await look.groups(db, batch())
  assert.deepEqual([count, groupCount, isComplete, store.reads], [4, 2, true, 2])
})

it('keeps no look that failed, and not more than it may', async () => {
  const { store, db, batch } = storeOf(['no'])
  const look = new FailureCache()
  store.isBroken = true
  await assert.rejects(look.groups(db, batch()), /gone/)
  store.isBroken = false
  assert.equal((await look.groups(db, batch())).count, 1)
  for (let batchId = 2; batchId <= 51; batchId++) await look.groups(db, batch(batchId))
  const before = store.reads
  await look.groups(db, batch(51))
  assert.equal(store.reads, before)
  await look.groups(db, batch())
  assert.equal(store.reads, before + 1)
})

it('says who failed how, in whatever letters it is asked', async () => {
  const { store, db, batch } = storeOf(['Over Quota', 'not found'])
  const look = new FailureCache()
  const who = (how: FailureKind) => look.memberIds(db, batch(), how)
  assert.deepEqual(await who({ error: 'QUOTA' }), [1])
  assert.deepEqual(await who({ failedPhase: 'P', failedStep: 'S' }), [1, 2])
  assert.deepEqual(await who({ failedPhase: 'q', error: 'quota' }), [])
  assert.equal(store.reads, 1)
  store.messages.push('over quota')
  assert.deepEqual(await who({ error: 'over' }), [1, 3])
})

it('leaves it to the database when there are too many to keep', async () => {
  const { db, batch } = storeOf(Array.from({ length: 5_001 }, (_, n) => `failure ${n}`))
  const look = new FailureCache()
  assert.equal(await look.memberIds(db, batch(), { error: 'failure 7' }), null)
  assert.equal((await look.groups(db, batch())).count, 5_001)
})
