// A few seeds of faults on Service Bus; `npm run chaos -- --mode servicebus-seeds` runs many.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openRenewablePglite, type RenewableDb } from '../../kit/renewable-pglite.ts'
import { runOnServiceBus } from './seeded/run.ts'

describe('seeded faults on Service Bus', () => {
  let db: RenewableDb
  before(async () => {
    db = await openRenewablePglite()
  })
  after(() => db.close())

  for (const seed of [1])
    it(`break no promise with seed ${seed}, and everything ends`, async () => {
      const { found, jobs, log } = await runOnServiceBus(seed, db)
      assert.deepEqual(found, [], log.join('\n'))
      assert.ok(jobs > 0, 'jobs ran')
    })
})
