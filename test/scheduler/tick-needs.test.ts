// Nothing happens silently: what waits for a person is in the tick's report and in the events, once per change, with its command.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { WORKER_RESULTS } from '../../src/bus/bus.ts'
import { noteDeadLetters } from '../../src/engine/needs/dead-letters.ts'
import { loadVerdict } from '../../src/engine/needs/find-needs.ts'
import { dismissReviews } from '../../src/engine/orders/reviews.ts'
import { programme, range, reviewIds, row, wave } from '../stories/programme.ts'
import { story, type World } from '../stories/world.ts'

/** `1 review_opened: 5 removals …`, of the events that tell a person. */
async function told({ db }: World): Promise<string[]> {
  const rows = await db.query<{ said: string }>(
    `select coalesce(batch_id || ' ', '') || event || ': ' || because as said from events
      where event in ('review_opened', 'source_failing', 'source_recovered', 'rows_left_out', 'dead_letters_waiting',
                      'dead_letters_decided') order by id`,
  )
  return rows.map(({ said }) => said)
}

it('removals are told when they come and when their number changes, not at every tick', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 10)))
    await world.tick(wave(40, ...range(6, 10)))
    assert.deepEqual(world.reports.at(-1)!.needs, [])
    const report = await world.tick()
    const text = '5 removals of batch 1 need your decision'
    const command = 'matoolkit review list --kind removal --batch 1'
    assert.deepEqual(
      report!.news.map((item) => [item.text, item.command]),
      [[text, command]],
    )
    assert.deepEqual(await told(world), [`1 review_opened: ${text}: ${command}`])
    const again = await world.tick()
    assert.deepEqual([again!.news.length, again!.needs.length], [0, 1])
    await world.tick(wave(40, ...range(5, 10)))
    assert.deepEqual((await told(world)).slice(1), [
      `1 review_opened: 4 removals of batch 1 need your decision: ${command}`,
    ])
    const reviews = await reviewIds(world, 'removal')
    await dismissReviews(world.engine, { reviewIds: reviews, actor: 'ada', reason: 'HR was down' })
    const last = await world.tick()
    assert.deepEqual([last!.needs, last!.news], [[], []])
    assert.equal((await told(world)).length, 2)
  }))

it('a wave with a new date is told with both dates', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 6)))
    const report = await world.tick(wave(64, ...range(1, 6)))
    assert.match(
      report!.news[0]!.text,
      /^All 6 people of batch 1 now have cut-over 2026-\S+Z in the source, not 2026-\S+Z$/,
    )
    assert.deepEqual(report!.news[0]!.decide.length, 3)
  }))

it('latecomers of an ended batch are told', () =>
  programme(async (world) => {
    await world.tick(wave(1, 1))
    await world.tickUntil(3)
    const report = await world.tick(wave(1, 1, 2, 3))
    assert.deepEqual(
      report!.news.map(({ text }) => text),
      ['2 latecomers of batch 1 need your decision'],
    )
  }))

it('a failing source is told once, and so is its recovery; rows left out are told', () =>
  programme(async (world) => {
    await world.tick(new Error('the server is away'))
    const failing = await world.tick()
    assert.deepEqual([failing!.news.length, failing!.needs.length], [0, 1])
    await world.tick([...wave(40, 1), row(2, 'no time')])
    await world.tick()
    assert.deepEqual(await told(world), [
      'source_failing: The source of wave fails: the server is away: matoolkit query preview wave',
      'rows_left_out: The last tick of wave left out 1 row: matoolkit source list wave --issues',
      'source_recovered: The source of wave answers again',
    ])
  }))

it('dead letters are told once per change', () =>
  story({}, async (world) => {
    const die = async () => {
      await world.result({ jobId: `unknown-${+world.clock.now()}` }, { ok: 1 })
      await world.bus.deadLetter(await world.bus.receive(WORKER_RESULTS, 10), 'Unreadable', 'odd')
      await world.clock.advance(1_000)
    }
    assert.deepEqual(await noteDeadLetters(world.engine), [])
    await die()
    const [item] = await noteDeadLetters(world.engine)
    assert.equal(item!.text, '1 message on worker-results could not be handled')
    assert.deepEqual(await noteDeadLetters({ ...world.engine }), [])
    await die()
    assert.equal((await noteDeadLetters(world.engine))[0]!.count, 2)
    const { items } = await world.bus.deadLetters.list(WORKER_RESULTS, 10)
    for (const { id } of items) await world.bus.deadLetters.discard(id, 'ada')
    assert.deepEqual(await noteDeadLetters(world.engine), [])
    assert.deepEqual((await loadVerdict(world.engine, world.clock.now())).needs, [])
    assert.deepEqual((await told(world)).slice(2), [
      'dead_letters_decided: No dead letters are left on worker-results',
    ])
    await die()
    assert.equal((await noteDeadLetters(world.engine)).length, 1)
  }))

it('a wave that is found after its cut-over is held, which is a need with the command that starts it', () =>
  programme(async (world) => {
    await world.tick([...wave(-30, 1, 2), ...wave(40, 3)])
    const { needs } = await loadVerdict(world.engine, world.clock.now())
    const [need, ...others] = needs.filter(({ kind }) => kind === 'batch_held')
    assert.deepEqual(others, [], 'the wave to come is not held')
    assert.match(
      need!.text,
      /is held by the scheduler since .*: it was found more than a day after/,
    )
    assert.deepEqual([need!.severity, need!.command], ['urgent', 'matoolkit resume --batch 1'])
    await world.tickUntil(1)
    assert.deepEqual(
      world.jobs.filter(({ parameters }) => /user[12]\b/.test(JSON.stringify(parameters))),
      [],
      'nobody of the late wave was touched',
    )
  }))
