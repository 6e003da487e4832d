// Real processes on a real server: killed, frozen, cut off, asked to stop. A third of a minute here; `npm run chaos` runs longer.
// Nothing is asserted about speed: tests wait for conditions, with a limit so that a hang ends.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { realClock } from '../../../src/base/run/clock.ts'
import { openPglite } from '../../../src/db/connection/pglite.ts'
import { overrideWindow } from '../../../src/engine/orders/change-windows.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import { publishRunbook } from '../../../src/engine/orders/publish.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { makeDataFolder } from '../../kit/schema-copies.ts'
import { seeded } from '../../kit/seeded.ts'
import { missingAcknowledged, missingEffects, outOfOrder, repeatedJobs } from './checks.ts'
import { Fleet } from './fleet.ts'
import { readJournals } from './journal.ts'
import { dieAtFuse } from './modes/notifications.ts'
import { chaosDoor, type Part } from './process.ts'
import { MODES } from './proxy.ts'
import { NIGHT_SOAK_SEC, nightYaml } from './runbooks.ts'
import { makeWatcher } from './watcher.ts'
import { type ChaosSetup, createLarge, openSetup, prepare, runChaos } from './world.ts'

const clock = realClock()
const LIMIT_MS = 240_000
const MINUTE_MS = 60_000

async function until(what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> {
  const giveUp = AbortSignal.timeout(LIMIT_MS)
  while (!(await isTrue())) {
    if (giveUp.aborted) throw new Error(`waited ${LIMIT_MS} ms until ${what}`)
    await clock.wait(50)
  }
}

const effectsEnded = (folder: string): number =>
  readJournals(folder, 'effects').filter(({ what }) => what === 'end').length

describe('chaos: a third of a minute of kills, freezes, crashes and cuts', () => {
  it('loses nothing, does nothing out of order, and ends everything', async () => {
    const { findings, figures, report } = await runChaos({
      seed: 20_260_301,
      minutes: 0.3,
      members: 200,
      // A machine that runs the other tests meanwhile may take its time; `npm run chaos` insists on 5 s.
      takeoverMaxMs: 60_000,
      say: () => {},
    })
    assert.equal(findings.length, 0, report)
    const harm = Object.keys(figures.harm!).join(', ')
    for (const kind of ['orchestrator killed', 'worker killed', 'database crashed', 'frozen']) {
      assert.ok(harm.includes(kind), `${kind} should be among ${harm}`)
    }
  })
})

describe('chaos: a network that misbehaves', () => {
  const DISTURBED_MS = 1_500
  const DISTURBANCES = MODES.filter((one) => one !== 'pass')
  let setup: ChaosSetup
  let fleet: Fleet
  before(async () => {
    setup = await openSetup(1)
    fleet = new Fleet([
      setup.partOf('orchestrator-1', ['orchestrator']),
      setup.partOf('worker-1', ['worker']),
    ])
    await fleet.start()
  })
  after(async () => {
    await fleet?.killAll()
    await setup?.close()
  })

  it(`recovers from each of ${DISTURBANCES.join(', ')}, and nothing is lost`, async () => {
    const { db, folder, proxy } = setup
    const batchId = await createLarge(db, 150)
    for (const mode of DISTURBANCES) {
      const before = effectsEnded(folder)
      await until(`20 more jobs end before ${mode}`, () => effectsEnded(folder) > before + 20)
      proxy.become(mode)
      await clock.wait(DISTURBED_MS)
      proxy.become('pass')
    }
    const watcher = makeWatcher(db, fleet, clock)
    const status = await watcher.untilEnded(batchId, AbortSignal.timeout(LIMIT_MS))
    assert.equal(status, 'completed')
    assert.deepEqual(fleet.findings, [])
    assert.equal(fleet.restarts, 0)
    assert.deepEqual(await missingAcknowledged(db, folder), [])
    assert.deepEqual(await brokenInvariants(db, clock.now(), batchId), [])
    const effects = readJournals(folder, 'effects')
    assert.deepEqual(await missingEffects(db, effects), [])
    assert.deepEqual(outOfOrder(effects), [])
    const unexpected = readJournals(folder, 'noticed').filter((one) => one.what === 'unexpected')
    assert.deepEqual(unexpected, [])
  })

  it('loses no ramp and opens no window when its orchestrator is killed, and starts no share early', async () => {
    const { db, folder } = setup
    const engine = chaosDoor(db, clock)
    await publishRunbook(engine, { yaml: nightYaml(clock.now()), publishedBy: 'chaos' })
    const keys = Array.from({ length: 20 }, (_, index) => `night${10 + index}@contoso.example`)
    const members = keys.map((key) => ({ key, data: { Upn: key } }))
    const { batchId } = await createBatch(engine, {
      runbookName: 'night',
      sourceTime: clock.now(),
      members,
      createdBy: 'chaos',
    })
    const told = (name: string) =>
      db.query<Told>(
        'select event, at from events where batch_id = $1 and event = $2 order by id',
        [batchId, name],
      )
    const begun = () =>
      readJournals(folder, 'effects').filter(
        ({ what, step }) => what === 'begin' && step === 'switch-at-night',
      )
    const kill = async () => {
      fleet.kill('orchestrator-1')
      await fleet.allReady()
    }
    await until('the window is closed over the first share', async () => {
      const [written] = await told('expanded')
      return written !== undefined && (await told('window_closed')).length > 0
    })
    await kill()
    await until('the new orchestrator has looked at the window', async () => {
      const [worker] = await db.query<{ waiting: number }>(
        `select count(*)::int as waiting from waits where batch_id = $1 and kind = 'slot'`,
        [batchId],
      )
      return worker!.waiting === 2
    })
    assert.deepEqual(begun(), [], 'nothing was sent into the closed window')
    const until1h = new Date(+clock.now() + 60 * MINUTE_MS)
    const order = { batchId, actor: 'chaos', reason: 'tonight', until: until1h }
    await overrideWindow(engine, order)
    await until('the first share soaks', async () => (await told('share_ended')).length === 1)
    await kill()
    await until('the second share starts', async () => (await told('share_started')).length >= 2)
    await kill()
    const watcher = makeWatcher(db, fleet, clock)
    const status = await watcher.untilEnded(batchId, AbortSignal.timeout(LIMIT_MS))
    assert.equal(status, 'completed')
    const [started, ended] = [await told('share_started'), await told('share_ended')]
    assert.deepEqual([started.length, ended.length], [3, 2])
    for (const [index, { at }] of ended.entries())
      assert.ok(+started[index + 1]!.at >= +at + NIGHT_SOAK_SEC * 1_000, `share ${index + 2}`)
    const shareOf = (key: string) => [2, 10, 20].findIndex((through) => keys.indexOf(key) < through)
    for (const { key, at } of begun())
      assert.ok(at >= +started[shareOf(key!)]!.at, `${key} began before its share`)
    assert.equal(new Set(begun().map(({ key }) => key)).size, keys.length)
    assert.deepEqual(fleet.findings, [])
    assert.deepEqual(await missingEffects(db, readJournals(folder, 'effects')), [])
    assert.deepEqual(await brokenInvariants(db, clock.now(), batchId), [])
  })
})

interface Told {
  readonly event: string
  readonly at: Date
}

describe('chaos: asked to stop', () => {
  it('abandons unfinished messages and exits with 0; the next processes finish without repeating a job', async () => {
    const setup = await openSetup(1)
    const { db, folder } = setup
    const parts = [
      setup.partOf('orchestrator-1', ['orchestrator'], { leaseMs: MINUTE_MS }),
      setup.partOf('worker-1', ['worker'], { leaseMs: MINUTE_MS }),
    ]
    let fleet = new Fleet(parts)
    try {
      await fleet.start()
      const batchId = await createLarge(db, 100)
      for (const least of [50, 200]) {
        await until('the batch is under way', () => effectsEnded(folder) > least)
        const exits = await fleet.stop()
        assert.deepEqual([...exits.values()], [0, 0])
        const held = await db.query('select id from messages where leased_until > $1', [
          clock.now(),
        ])
        assert.deepEqual(held, [], 'nothing is left under a lease')
        fleet = new Fleet(parts)
        await fleet.start()
      }
      const watcher = makeWatcher(db, fleet, clock)
      const status = await watcher.untilEnded(batchId, AbortSignal.timeout(LIMIT_MS))
      assert.equal(status, 'completed')
      const effects = readJournals(folder, 'effects')
      const { jobs } = repeatedJobs({ effects, happened: [], noticed: [] }, MINUTE_MS)
      assert.equal(jobs, 0)
      assert.deepEqual(await brokenInvariants(db, clock.now()), [])
    } finally {
      await fleet.killAll()
      await setup.close()
    }
  })
})

describe('chaos: both orchestrators die at a blown failure limit', () => {
  it('tells of it once, and of its end once, whenever they die', async () => {
    const database = await openTestPostgres()
    try {
      const rounds = [{ open: 'answered', cleared: 'written' }] as const
      const world = { db: database.db, url: database.url! }
      const { findings, fleet } = await dieAtFuse(world, rounds, { members: 12, seed: 1 })
      assert.deepEqual(findings, [])
      assert.equal(fleet.happened.filter(({ what }) => what === 'killed').length, 4)
    } finally {
      await database.close()
    }
  })
})

describe('chaos: the embedded database', () => {
  it('keeps everything it acknowledged, whenever it is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-chaos-'))
    const MEMBERS = 20
    const KILLS = 2
    const part: Part = {
      roles: ['orchestrator', 'worker', 'operators'],
      name: 'embedded',
      folder,
      seed: 3,
      leaseMs: 1_000,
      statementTimeoutMs: 30_000,
      workMs: 20,
      slots: 8,
    }
    const inspect = async () => {
      const db = await openPglite(`${folder}/pglite`)
      try {
        assert.deepEqual(await missingAcknowledged(db, folder), [])
        assert.deepEqual(await brokenInvariants(db, clock.now()), [])
      } finally {
        await db.close()
      }
    }
    try {
      await makeDataFolder(`${folder}/pglite`)
      const db = await openPglite(`${folder}/pglite`)
      await prepare(db)
      await createLarge(db, MEMBERS)
      await db.close()
      const pick = seeded(part.seed)
      for (let kills = 0; kills < KILLS; kills += 1) {
        const fleet = new Fleet([part])
        await fleet.start()
        await clock.wait(300 + pick(1_500))
        await fleet.killAll()
        await inspect()
      }
      const fleet = new Fleet([part])
      await fleet.start()
      const isPassed = ({
        what,
        step,
        passes,
      }: {
        what: string
        step?: string
        passes?: boolean
      }) => what === 'end' && step === 'check' && passes === true
      await until('every member has passed', () => {
        const passed = readJournals(folder, 'effects').filter(isPassed)
        return new Set(passed.map(({ key }) => key)).size === MEMBERS
      })
      assert.deepEqual([...(await fleet.stop()).values()], [0])
      assert.deepEqual(outOfOrder(readJournals(folder, 'effects')), [])
      await inspect()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
