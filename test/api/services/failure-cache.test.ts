// Failure groups are recomputed exactly when a failure was added or removed.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { FailureCache, type FailureKind } from '../../../src/api/services/failure-cache.ts'
import type { Queryable } from '../../../src/db/connection/db.ts'
import type { Failure } from '../../../src/domain/needs/failures.ts'

function storeOf(messages: string[]) {
  const store = { messages, reads: 0, isBroken: false }
  const failures = () =>
    store.messages.map(
      (message, n): Failure => ({
        stepId: n + 1,
        kind: 'phase',
        memberId: n + 1,
        phaseName: 'p',
        stepName: 's',
        message,
        at: new Date(n),
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

it('reads once for concurrent calls, and again after a change', async () => {
  const { store, db, batch } = storeOf(['over quota 1', 'over quota 2', 'not found'])
  const cache = new FailureCache()
  const [one, two] = await Promise.all([cache.groups(db, batch()), cache.groups(db, batch())])
  assert.equal(one, two)
  assert.deepEqual(
    one!.groups.map(({ pattern, count }) => [pattern, count]),
    [
      ['over quota <number>', 2],
      ['not found', 1],
    ],
  )
  await cache.groups(db, batch())
  assert.equal(store.reads, 1)
  store.messages.push('not found')
  const { count, groupCount, isComplete } = await cache.groups(db, batch())
  assert.deepEqual([count, groupCount, isComplete, store.reads], [4, 2, true, 2])
})

it('caches no failed read, and evicts beyond its limit', async () => {
  const { store, db, batch } = storeOf(['no'])
  const cache = new FailureCache()
  store.isBroken = true
  await assert.rejects(cache.groups(db, batch()), /gone/)
  store.isBroken = false
  assert.equal((await cache.groups(db, batch())).count, 1)
  for (let batchId = 2; batchId <= 51; batchId++) await cache.groups(db, batch(batchId))
  const before = store.reads
  await cache.groups(db, batch(51))
  assert.equal(store.reads, before)
  await cache.groups(db, batch())
  assert.equal(store.reads, before + 1)
})

it('finds the kind of each failure, whatever the case', async () => {
  const { store, db, batch } = storeOf(['Over Quota', 'not found'])
  const cache = new FailureCache()
  const memberIds = (how: FailureKind) => cache.memberIds(db, batch(), how)
  assert.deepEqual(await memberIds({ error: 'QUOTA' }), [1])
  assert.deepEqual(await memberIds({ failedPhase: 'P', failedStep: 'S' }), [1, 2])
  assert.deepEqual(await memberIds({ failedPhase: 'q', error: 'quota' }), [])
  assert.equal(store.reads, 1)
  store.messages.push('over quota')
  assert.deepEqual(await memberIds({ error: 'over' }), [1, 3])
})

it('leaves grouping to the database when there are too many to keep', async () => {
  const { db, batch } = storeOf(Array.from({ length: 5_001 }, (_, n) => `failure ${n}`))
  const cache = new FailureCache()
  assert.equal(await cache.memberIds(db, batch(), { error: 'failure 7' }), null)
  assert.equal((await cache.groups(db, batch())).count, 5_001)
})
