import assert from 'node:assert/strict'
import { it } from 'node:test'
import { configureWorkers, recordWorker } from '../../../src/db/state/workers.ts'
import { story } from '../../stories/world.ts'

const YAML = `
name: mixed
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
phases:
  - name: cut-over
    offset: T-0
    steps: [{ name: switch, worker_id: legacy, function: F }]
`

it('sends jobs to a foreign worker only once it is configured', () =>
  story({}, async (world) => {
    world.workers.push('legacy')
    await world.publish(YAML)
    await world.batch('mixed', 2)
    await world.settle()
    assert.equal(world.jobs.length, 0, 'nobody knows the worker')
    await configureWorkers(world.db, ['legacy'])
    await world.settle()
    assert.equal(world.jobs.length, 2)
  }))

it('follows the list: a worker taken off is unknown again unless it announced itself', () =>
  story({}, async ({ db, clock }) => {
    const known = () =>
      db.query(`select worker_id as id, is_configured from workers
                 where worker_id like 'legacy-%' order by worker_id`)
    await configureWorkers(db, ['legacy-b', 'legacy-a', 'legacy-c'])
    const hello = { workerId: 'legacy-b', version: null, slots: null, functions: [] }
    await db.transaction((tx) => recordWorker(tx, hello, clock.now()))
    await configureWorkers(db, ['legacy-c', 'legacy-d'])
    assert.deepEqual(await known(), [
      { id: 'legacy-b', isConfigured: false },
      { id: 'legacy-c', isConfigured: true },
      { id: 'legacy-d', isConfigured: true },
    ])
    await configureWorkers(db, [])
    assert.deepEqual(await known(), [{ id: 'legacy-b', isConfigured: false }])
  }))
