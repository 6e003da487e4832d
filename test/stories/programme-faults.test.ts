// Faults around a tick: the source is down, the scheduler dies or hangs, the runbook changes meanwhile.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Tx } from '../../src/db/connection/db.ts'
import { setAutomation } from '../../src/engine/orders/automation.ts'
import { fencedEngine } from '../../src/engine/transactions/engine.ts'
import { tickDueRunbooks } from '../../src/scheduler/scheduler.ts'
import { tick } from '../../src/scheduler/tick.ts'
import { calls, runbook } from './looking.ts'
import {
  batchesOf,
  openDouble,
  PHASES,
  type Programme,
  programme,
  range,
  startProgramme,
  TICK_SEC,
  wave,
  YAML,
} from './programme.ts'
import { story } from './world.ts'

const NEVER = new AbortController().signal
const BY_HAND = { startedBy: 'operator', evenIfNotDue: true }

const lastError = async ({ db }: Programme): Promise<string | null> =>
  (
    await db.query<{ it: string | null }>('select last_error as it from runbooks where is_active')
  )[0]!.it

const ticksOf = async ({ db }: Programme): Promise<string[]> =>
  (await db.query<{ it: string }>('select outcome as it from source_ticks order by id')).map(
    ({ it: outcome }) => outcome,
  )

it('a source that is down delays no due phase, and its error stays until it is back', () =>
  programme(async (world) => {
    await world.tick(wave(26, 1, 2))
    world.rows = new Error('the source is down')
    await world.tickUntil(27, 2)
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'switch user1', 'switch user2'])
    assert.equal(await lastError(world), 'the source is down')
    assert.deepEqual(await batchesOf(world), ['26h completed: user1, user2'])
    await world.tick(wave(26, 1, 2))
    assert.equal(await lastError(world), null)
    assert.deepEqual((await ticksOf(world)).slice(-2), ['failed', 'good'])
  }))

it('a failing runbook does not affect the others', () =>
  programme(async (world) => {
    await world.publish(YAML.replace('name: wave', 'name: other').replace('x.csv', 'y.csv'))
    await world.automate('other')
    const good = openDouble(world)
    const open: typeof good = async (source, ...rest) => {
      if (source.path === 'y.csv') throw new Error('no such file')
      return good(source, ...rest)
    }
    world.rows = wave(30, 1)
    await world.pass(TICK_SEC)
    const settings = world.options.sources.settings
    await tickDueRunbooks({ ...world.options, sources: { settings, open } }, NEVER)
    const outcomes = world.reports.map(({ runbookName, outcome }) => `${runbookName} ${outcome}`)
    assert.deepEqual(outcomes.sort(), ['other failed', 'wave good'])
    const rows = await world.db.query(`select name, last_error from runbooks order by name`)
    assert.deepEqual(rows, [
      { name: 'other', lastError: 'no such file' },
      { name: 'wave', lastError: null },
    ])
  }))

/** Everything a tick can do: a move, a joiner, a leaver, a refresh, a new wave, a rejoiner. */
async function busyTick(world: Programme): Promise<void> {
  const rest = range(2, 12)
  await world.tick([...wave(30, 1, ...rest, 13), ...wave(60, 20)])
  await world.tick([...wave(30, 1, ...rest), ...wave(60, 20)])
  await world.tick()
  world.rows = [
    ...wave(30, ...rest.slice(1), 13, 14).map((one) => ({ ...one, Note: 'changed' })),
    ...wave(60, 20, 1),
    ...wave(90, 30, 31),
  ]
}

const stateOf = async (world: Programme): Promise<unknown> => [
  await batchesOf(world),
  await world.db.query(
    'select key_folded, data_json, status from batch_members order by batch_id, key_folded',
  ),
  await world.db.query('select batch_member_id, missed from source_absences order by 1'),
]

it('the next tick completes what a dying scheduler began, and doubles nothing', async () => {
  let whole: unknown
  await programme(async (world) => {
    await busyTick(world)
    await world.tick()
    await world.tick()
    await world.tick()
    whole = await stateOf(world)
  })
  let fatal = 0
  for (let died = true; died; ) {
    fatal += 1
    died = false
    await programme(async (world) => {
      await busyTick(world)
      await world.pass(TICK_SEC)
      let count = 0
      const engine = fencedEngine(world.engine, async () => {
        count += 1
        if (count < fatal) return
        died = true
        throw Object.assign(new Error('gone'), { code: '57P01' })
      })
      const options = { ...world.options, engine, onError: () => {} }
      await tickDueRunbooks(options, NEVER)
      await world.settle()
      // Its lease expires.
      await world.pass(600)
      for (let more = 0; more < 3; more += 1) await world.tick()
      assert.deepEqual(await stateOf(world), whole, `died at transaction ${fatal}`)
    })
  }
  // Begin, record, refresh, new batch, move, join, rejoin, end; and once without dying.
  assert.equal(fatal, 9)
})

it('a lease passes on when its scheduler is gone, and not before', () =>
  programme(async (world) => {
    world.rows = wave(30, 1)
    await world.pass(TICK_SEC)
    const dead = fencedEngine(world.engine, refuseAfter(1))
    await assert.rejects(tick({ ...world.options, ...BY_HAND, engine: dead }, 'wave', NEVER))
    assert.equal(await tick({ ...world.options, ...BY_HAND }, 'wave', NEVER), null)
    await world.pass(400)
    assert.equal(await tick({ ...world.options, ...BY_HAND }, 'wave', NEVER), null)
    await world.pass(100)
    const report = await tick({ ...world.options, ...BY_HAND }, 'wave', NEVER)
    assert.equal(report?.outcome, 'good')
    assert.deepEqual(await ticksOf(world), ['abandoned', 'good'])
  }))

function refuseAfter(good: number): (tx: Tx) => Promise<void> {
  let count = 0
  return async () => {
    count += 1
    if (count > good) throw Object.assign(new Error('gone'), { code: '57P01' })
  }
}

it('a scheduler that hung writes nothing after another has taken over', () =>
  programme(async (world) => {
    world.rows = wave(30, 1, 2)
    await world.pass(TICK_SEC)
    let slept = false
    world.onAsk = async () => {
      if (slept) return
      slept = true
      await world.pass(600)
      await tick({ ...world.options, ...BY_HAND }, 'wave', NEVER)
      world.rows = wave(30, 3)
    }
    await assert.rejects(tick({ ...world.options, ...BY_HAND }, 'wave', NEVER), {
      code: 'TICK_TAKEN_OVER',
    })
    await world.settle()
    assert.deepEqual(await batchesOf(world), ['30h active: user1, user2'])
    assert.deepEqual(await ticksOf(world), ['abandoned', 'good'])
  }))

it('a result of an older version, or from before automation was turned off, is not used', () =>
  programme(async (world) => {
    world.rows = wave(30, 1)
    world.onAsk = async () => {
      world.onAsk = async () => {}
      await world.publish(runbook('wave', { ...PHASES, 'after T+1h': PHASES['cutover T-0'] }))
    }
    await world.tick()
    assert.equal(world.reports.at(-1)!.outcome, 'abandoned')
    assert.deepEqual(await batchesOf(world), [])
    assert.equal(await lastError(world), null)
    await world.tick()
    assert.deepEqual(await batchesOf(world), ['30h active: user1'])
    world.onAsk = async () => {
      await setAutomation(world.engine, {
        runbookName: 'wave',
        isEnabled: false,
        actor: 'operator',
      })
    }
    await world.tick(wave(30, 1, 2))
    assert.equal(world.reports.at(-1)!.outcome, 'abandoned')
    assert.deepEqual(await batchesOf(world), ['30h active: user1'])
  }))

it('automation off stops membership changes only; on again it continues', () =>
  programme(async (world) => {
    await world.tick(wave(26, 1, 2))
    const turn = (isEnabled: boolean) =>
      setAutomation(world.engine, { runbookName: 'wave', isEnabled, actor: 'operator' })
    await turn(false)
    const { asked } = world
    world.rows = wave(26, 2, 3)
    await world.tickUntil(20, 5)
    assert.equal(world.asked, asked)
    assert.deepEqual(calls(world), ['create user1', 'create user2'])
    await assert.rejects(tick({ ...world.options, ...BY_HAND }, 'wave', NEVER), {
      code: 'AUTOMATION_OFF',
    })
    await turn(true)
    await world.tick()
    assert.deepEqual(await batchesOf(world), ['26h active: user1, user2, user3'])
    await world.tick()
    assert.deepEqual(await batchesOf(world), ['26h active: user1 removed, user2, user3'])
  }))

it('a stopped tick changes nothing, reports no error and is due again at once', () =>
  programme(async (world) => {
    const stopping = new AbortController()
    world.rows = wave(30, 1)
    world.onAsk = async () => {
      world.onAsk = async () => {}
      stopping.abort()
      throw new Error('cancelled')
    }
    await world.pass(TICK_SEC)
    await tick({ ...world.options, ...BY_HAND }, 'wave', stopping.signal)
    assert.equal(await lastError(world), null)
    assert.equal(await tickDueRunbooks(world.options, NEVER), 1)
    await world.settle()
    assert.deepEqual(await batchesOf(world), ['30h active: user1'])
  }))

it('refuses a time column that makes a batch per member', () =>
  story({}, async (base) => {
    const world = await startProgramme(base)
    const rows = range(1, 2_001).map((number) => wave(number, number)[0]!)
    await world.tick(rows)
    assert.match(await lastError(world).then(String), /2001 different times/)
    assert.deepEqual(await batchesOf(world), [])
  }))
