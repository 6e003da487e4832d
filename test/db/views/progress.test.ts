import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadPaces } from '../../../src/db/views/batch-summary.ts'
import { findQuietUntil, listProgressEvents, loadProgress } from '../../../src/db/views/progress.ts'
import { EMPTY_TALLY, tallyEvents } from '../../../src/domain/forecast/progress.ts'
import { holdScope, resumeScope } from '../../../src/engine/orders/holds.ts'
import { START, story } from '../../stories/world.ts'

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
    assert.equal(await loadProgress(db, 1, world.clock.now()), null)
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
    const progress = await loadProgress(db, batchId, world.clock.now())
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

it('estimates the end of a phase by the pace since the last hold ended', () =>
  story({}, async (world) => {
    const { db, clock, engine } = world
    await world.publish(YAML)
    const batchId = await world.batch('watched', 10, { startsInMin: 120 })
    await world.settle()
    // Two hours without work do not count.
    await clock.advance(7_200_000)
    world.answer = () => 'silent'
    await world.settle()
    const jobs = [...world.jobs]
    const finish = async (count: number) => {
      for (const job of jobs.splice(0, count)) await world.result(job, { ok: true })
      await world.orchestrate()
    }
    const left = async () => {
      const { ends } = (await loadProgress(db, batchId, clock.now()))!
      return [...ends.values()].map((at) => +at - +clock.now())
    }
    assert.deepEqual(await left(), [], 'nothing has passed')
    await clock.advance(120_000)
    await finish(4)
    assert.deepEqual(
      await left(),
      [300_000],
      '4 in 2 minutes, 6 to go, and as long as they are on their way',
    )
    const whole = { scope: 'system', target: '', actor: 'op', reason: 'wait' } as const
    await holdScope(engine, whole)
    await clock.advance(240_000)
    await resumeScope(engine, whole)
    assert.deepEqual(await left(), [], 'nothing has passed since the hold')
    await clock.advance(60_000)
    await finish(3)
    assert.deepEqual(await left(), [120_000], '3 in the minute after the hold, 3 to go')
    const pace = (await loadPaces(db, [batchId], clock.now())).get(batchId)!
    assert.deepEqual([pace.passed, pace.readSince], [3, null])
  }))
