import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findQuietUntil, listProgressEvents, loadProgress } from '../../../src/db/views/progress.ts'
import { EMPTY_TALLY, tallyEvents } from '../../../src/domain/progress.ts'
import { START, story } from '../../scenarios/world.ts'

const YAML = `
name: watched
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
retry: { max_retries: 1, interval: 30s }
phases:
  - name: after
    offset: T+1h
    steps: [{ name: check, worker_id: w1, function: F }]
  - name: before
    offset: T-0
    steps: [{ name: switch, worker_id: w1, function: F }]
`

const at = (seconds: number) => new Date(+START + seconds * 1_000)

it('reports progress, events and the next due time', () =>
  story({}, async (world) => {
    const { db } = world
    assert.equal(await findQuietUntil(db), null, 'nothing is to come')
    assert.equal(await loadProgress(db, 1), null)
    await world.publish(YAML)
    const batchId = await world.batch('watched', 2, { startsInMin: 10 })
    await world.settle()
    assert.deepEqual(await findQuietUntil(db), at(600), 'the first phase')
    world.answer = ({ jobId }) => (jobId === 'step-1' ? { fail: 'busy' } : { ok: true })
    await world.clock.advance(600_000)
    await world.orchestrate()
    assert.equal(await findQuietUntil(db), null, 'jobs are out')
    await world.settle()
    assert.deepEqual(await findQuietUntil(db), at(630), 'a retry')
    await world.pass(30)
    assert.deepEqual(await findQuietUntil(db), at(4_200), 'the next phase')
    const progress = await loadProgress(db, batchId)
    assert.deepEqual(
      progress?.phases.map(({ name, status, members }) => [name, status, members.passed]),
      [
        ['before', 'completed', 2],
        ['after', 'pending', 0],
      ],
    )
    const first = await listProgressEvents(db, batchId, 0, 5)
    const rest = await listProgressEvents(db, batchId, first.at(-1)!.id, 1_000)
    const all = [...first, ...rest]
    assert.deepEqual(
      all.map(({ id }) => id),
      all.map(({ id }) => id).toSorted((a, b) => a - b),
    )
    const retry = all.find(({ event }) => event === 'retry')
    assert.deepEqual(
      [retry?.memberKey, retry?.stepName, retry?.stepKind],
      ['user1@contoso.example', 'switch', 'phase'],
    )
    const tally = tallyEvents(EMPTY_TALLY, all)
    assert.deepEqual([tally.jobs, tally.retries], [3, 1])
  }))
