// A phase that will not be done in time: people hear of it once, and once when it is in time again, although orchestrators die.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { listNotifications } from '../../src/db/orders/notifications.ts'
import { endRehearsal, insertRehearsal } from '../../src/db/orders/rehearsals.ts'
import { readNotificationSettings } from '../../src/domain/notifications/read-settings.ts'
import { lookForConditions } from '../../src/engine/needs/notifications.ts'
import { holdBatch, rescheduleBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { tellMisses } from '../../src/orchestrator/forecast-misses.ts'
import { because, order, runbook, step } from './looking.ts'
import { people, story, type World } from './world.ts'

const WAVE = runbook('wave', { 'prepare T-2h': [step('create')], 'cutover T-0': [step('switch')] })

const read = readNotificationSettings(
  '{ channels: [{ name: pager, type: webhook, url_file: /x, key_file: /y }], rules: [{ conditions: [forecast_miss], channels: [pager] }] }',
)
assert.ok('settings' in read)
const { settings } = read

let messages = 0
async function look(world: World): Promise<number> {
  const events = await tellMisses(world.engine)
  await lookForConditions({ engine: world.engine, settings, newId: () => `m-${++messages}` })
  return events
}

/** Minutes in which the worker ends so many jobs each; people are told as it goes. */
async function work(world: World, minutes: number, perMin: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await world.clock.advance(60_000)
    if (perMin > 0) await world.work(perMin)
    await world.orchestrate()
    await look(world)
  }
}

async function begin(world: World, members: number, startsInMin = 120): Promise<number> {
  await world.publish(WAVE)
  const batchId = await world.batch('wave', members, { startsInMin })
  await world.orchestrate()
  return batchId
}

/** `open Phase prepare of batch 1 will miss T-0 by 48m`, oldest first. */
const toldPeople = async ({ db }: World): Promise<string[]> =>
  (await listNotifications(db, {}, 100))
    .reverse()
    .flatMap(({ items }) => items.map(({ state, title }) => `${state} ${title}`))

const events = async (world: World) => [
  ...(await because(world, 'forecast_miss')),
  ...(await because(world, 'forecast_in_time')),
]

it('is told once when a slow worker makes it miss T-0, and once when the worker is fast again', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 160)
    await work(world, 7, 1)
    assert.deepEqual(await events(world), [], 'with less than a twentieth done it would be a guess')
    // The first orchestrator dies in the transaction that tells it.
    await world.clock.advance(60_000)
    await world.work(1)
    await world.orchestrate()
    const dying = { ...world.engine, db: { ...world.db, query: world.db.query.bind(world.db) } }
    dying.db.transaction = (run) =>
      world.db.transaction(async (tx) => {
        await run(tx)
        throw new Error('killed')
      })
    await assert.rejects(tellMisses(dying), /killed/)
    assert.deepEqual(await events(world), [])
    // Two others look at the same time.
    assert.deepEqual(
      (await Promise.all([tellMisses(world.engine), tellMisses(world.engine)])).sort(),
      [0, 1],
    )
    await work(world, 6, 1)
    const late =
      'phase prepare will miss T-0 (2026-03-02T10:00:00.000Z) by 48m: 152 steps left at 1 step a minute, the pace of the last 8m, and 8m for the last members'
    assert.deepEqual(await events(world), [late])
    const title = `Phase prepare of batch ${batchId} will miss T-0 by 48m`
    assert.deepEqual(await toldPeople(world), [`open ${title}`])
    await work(world, 12, 10)
    const [, inTime, ...more] = await events(world)
    assert.match(inTime!, /^phase prepare is forecast to end in time for T-0 \(2026-03-02T10:00/)
    assert.deepEqual(more, [])
    await work(world, 10, 10)
    assert.deepEqual(await toldPeople(world), [`open ${title}`, `cleared ${title}`])
    const rows = await world.db.query(
      `select entity, p.phase_name as phase, e.batch_id as batch, actor from events e join phase_executions p on p.id = e.phase_id
        where event like 'forecast%' order by e.id`,
    )
    const row = { entity: 'phase', phase: 'prepare', batch: batchId, actor: 'orchestrator' }
    assert.deepEqual(rows, [row, row])
  }))

it('is not told of a batch that gets on, nor of one that stands still in its last few steps', () =>
  story({}, async (world) => {
    await begin(world, 60)
    await work(world, 5, 10)
    await work(world, 1, 8)
    for (const minutes of [3, 27, 100]) {
      await world.clock.advance(minutes * 60_000)
      await look(world)
    }
    assert.deepEqual([await events(world), await toldPeople(world)], [[], []])
    assert.deepEqual(
      await world.db.query('select from phase_executions where forecast_miss is not null'),
      [],
    )
  }))

it('lasts through a hold and its time, and ends with the phase or with another date', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 40, 20)
    await work(world, 5, 1)
    assert.equal((await because(world, 'forecast_miss')).length, 1)
    await holdBatch(world.engine, order(batchId))
    await world.clock.advance(29 * 60_000)
    await work(world, 1, 0)
    await resumeBatch(world.engine, order(batchId))
    await work(world, 2, 0)
    assert.equal((await events(world)).length, 1, 'nothing new')
    await work(world, 1, 40)
    const [, ended, ...more] = await events(world)
    assert.equal(ended, 'phase prepare ended 18m after T-0 (2026-03-02T08:20:00.000Z)')
    assert.deepEqual(more, [])
    await world.settle()
    // Another wave is given a date that it can keep.
    const other = await world.batch('wave', people(80).slice(40), { startsInMin: 20 })
    await world.orchestrate()
    await work(world, 3, 1)
    const startTime = new Date(+world.clock.now() + 24 * 3_600_000)
    await rescheduleBatch(world.engine, { ...order(other), startTime, allowOverdue: true })
    await work(world, 1, 0)
    assert.equal(
      (await because(world, 'forecast_in_time'))[1],
      'phase prepare has another time than T-0 (2026-03-02T08:58:00.000Z) now',
    )
    assert.deepEqual(
      await world.db.query('select from phase_executions where forecast_miss is not null'),
      [],
    )
    const states = (await toldPeople(world)).map((line) => line.split(' ')[0])
    assert.deepEqual(states, ['open', 'cleared', 'open', 'cleared'])
  }))

it('is told a day before the phase when the rehearsal took too long for so many people', () =>
  story({}, async (world) => {
    const now = world.clock.now()
    const asked = { requestedBy: 'ada', requestedAt: now }
    const line = { batchId: null, runbookName: 'Wave', members: 50, ...asked }
    const phase = { phase: 'prepare', members: 50, worstSec: 3_600, tenTimesSec: 34_200 }
    const report = { slots: 32, faults: [], timeline: [phase] }
    await endRehearsal(
      world.db,
      await insertRehearsal(world.db, line),
      { status: 'completed', report },
      now,
    )
    const faults = { ...report, faults: ['throttling'], timeline: [{ ...phase, worstSec: 9e6 }] }
    await endRehearsal(
      world.db,
      await insertRehearsal(world.db, line),
      { status: 'completed', report: faults },
      now,
    )
    await world.db.query('update workers set slots = 32')
    await world.publish(WAVE)
    // An hour of waiting and work for 50; 150 people need 3,600 + 2 × 3,400 s, and have two hours.
    await world.batch('wave', 150, { startsInMin: 27 * 60 })
    await world.orchestrate()
    await look(world)
    assert.deepEqual(await events(world), [], 'more than a day before')
    await world.clock.advance(3_600_000)
    await look(world)
    await look(world)
    assert.deepEqual(await events(world), [
      'phase prepare will miss T-0 (2026-03-03T11:00:00.000Z) by 53m: the rehearsal at 2026-03-02T08:00:00.000Z makes it 2h 53m for 150 members',
    ])
    // Twice the slots: the phase is in time, though not on a bad night.
    await world.db.query('update workers set slots = 64')
    await look(world)
    assert.equal((await events(world)).length, 1)
    await world.db.query('update workers set slots = 3200')
    await look(world)
    assert.equal((await events(world)).length, 2)
  }))
