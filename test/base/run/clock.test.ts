import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { after, before, describe, it } from 'node:test'
import {
  acceleratedClock,
  type Machine,
  rateOf,
  realClock,
  virtualClock,
} from '../../../src/base/run/clock.ts'
import { ORCHESTRATOR_EVENTS } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import {
  type ClockReport,
  databaseClockLoop,
  followDatabaseTime,
  markDisposable,
  requireClockFits,
} from '../../../src/db/connection/time.ts'
import { event } from '../../bus/contract.ts'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'
import { variants } from '../../kit/variants.ts'

const START = new Date('2026-03-01T10:00:00Z')
const HOUR_MS = 3_600_000
const MAX_SKEW_MS = 30_000

/** A machine whose clocks stand still until the test advances them, and whose wall clock may be wrong. */
function handMachine(wallMs = +START) {
  const machine = { wall: wallMs, steady: 5_000 }
  return {
    wallMs: () => machine.wall,
    steadyMs: () => machine.steady,
    pass: (ms: number) => {
      machine.wall += ms
      machine.steady += ms
    },
    setWall: (ms: number) => {
      machine.wall = ms
    },
  }
}

describe('the rate of a clock', () => {
  it('is its seconds per second of the machine', () => {
    assert.equal(rateOf(realClock()), 1)
    assert.equal(rateOf(acceleratedClock({ factor: 20, startAt: START })), 20)
    assert.equal(rateOf(virtualClock(START)), 0)
  })
})

describe('real clock', () => {
  it('starts on the machine time and keeps counting', () => {
    const machine = handMachine()
    const clock = realClock(machine)
    machine.pass(1_500)
    assert.equal(+clock.now(), +START + 1_500)
  })

  it('ignores changes of the machine clock', () => {
    const machine = handMachine()
    const clock = realClock(machine)
    machine.setWall(+START + 24 * HOUR_MS)
    machine.pass(10)
    assert.equal(+clock.now(), +START + 10)
  })

  it('jumps forward to the time it is set to', () => {
    const machine = handMachine()
    const clock = realClock(machine)
    clock.setTime(+START + 90_000, machine.steadyMs())
    assert.equal(+clock.now(), +START + 90_000)
    assert.equal(clock.aheadMs(), 0)
  })

  it('may go back at the first setting', () => {
    const machine = handMachine()
    const clock = realClock(machine)
    clock.now()
    clock.setTime(+START - HOUR_MS, machine.steadyMs())
    assert.equal(+clock.now(), +START - HOUR_MS)
    assert.equal(clock.aheadMs(), 0)
  })

  it('stands still rather than go back until the true time has caught up', () => {
    const machine = handMachine()
    const clock = realClock(machine)
    clock.setTime(+START, machine.steadyMs())
    clock.now()
    clock.setTime(+START - 2_000, machine.steadyMs())
    assert.equal(+clock.now(), +START)
    assert.equal(clock.aheadMs(), 2_000)
    machine.pass(1_500)
    assert.equal(+clock.now(), +START)
    assert.equal(clock.aheadMs(), 500)
    machine.pass(1_500)
    assert.equal(+clock.now(), +START + 1_000)
    assert.equal(clock.aheadMs(), 0)
  })

  it('never goes back', () => {
    const machine = handMachine()
    const clock = realClock(machine)
    clock.setTime(+START, machine.steadyMs())
    let last = +clock.now()
    for (let round = 0; round < 1_000; round++) {
      machine.pass(round % 7)
      clock.setTime(+START + ((round * 7_919) % 5_000) - 2_500, machine.steadyMs())
      const now = +clock.now()
      assert.ok(now >= last, `round ${round}: ${now} is before ${last}`)
      last = now
    }
  })

  it('ends a wait when the signal aborts, and leaves no listener behind', async () => {
    const clock = realClock()
    const stop = new AbortController()
    const waiting = clock.wait(100 * 24 * HOUR_MS, stop.signal)
    assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
    stop.abort()
    await waiting
    assert.equal(getEventListeners(stop.signal, 'abort').length, 0)
    await clock.wait(HOUR_MS, stop.signal)
    await clock.wait(1)
    await clock.wait(-5)
  })
})

describe('accelerated clock', () => {
  it('runs by its factor', () => {
    const machine = handMachine()
    const clock = acceleratedClock({ factor: 3_600, startAt: START, machine })
    machine.pass(2_000)
    assert.equal(+clock.now(), +START + 2 * HOUR_MS)
  })

  it('waits its own time, not the machine time', async () => {
    const clock = acceleratedClock({ factor: 1e9, startAt: START })
    await clock.wait(24 * HOUR_MS)
    assert.ok(+clock.now() >= +START + 24 * HOUR_MS)
  })

  it('refuses a factor that is not a positive number', () => {
    for (const factor of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => acceleratedClock({ factor, startAt: START }), RangeError)
    }
  })
})

describe('virtual clock', () => {
  it('stands still until advanced', async () => {
    const clock = virtualClock(START)
    assert.equal(+clock.now(), +START)
    await clock.advance(250)
    assert.equal(+clock.now(), +START + 250)
  })

  it('wakes waits in order of time, then of call, each at its own time', async () => {
    const clock = virtualClock(START)
    const woken: string[] = []
    const sleeper = async (name: string, ms: number) => {
      await clock.wait(ms)
      woken.push(`${name}@${+clock.now() - +START}`)
    }
    const all = [sleeper('c', 30), sleeper('a', 10), sleeper('b1', 20), sleeper('b2', 20)]
    assert.deepEqual(clock.nextWakeAt(), new Date(+START + 10))
    await clock.advance(29)
    assert.deepEqual(woken, ['a@10', 'b1@20', 'b2@20'])
    await clock.advance(1)
    await Promise.all(all)
    assert.equal(woken.at(-1), 'c@30')
    assert.equal(clock.nextWakeAt(), null)
  })

  it('wakes waits that woken code starts', async () => {
    const clock = virtualClock(START)
    const at: number[] = []
    const loop = async () => {
      while (at.length < 5) {
        await clock.wait(100)
        at.push(+clock.now() - +START)
      }
    }
    const running = loop()
    await clock.advance(1_000)
    await running
    assert.deepEqual(at, [100, 200, 300, 400, 500])
  })

  it('ends a wait when the signal aborts, without the clock moving', async () => {
    const clock = virtualClock(START)
    const stop = new AbortController()
    const waiting = clock.wait(100, stop.signal)
    stop.abort()
    await waiting
    assert.equal(+clock.now(), +START)
    assert.equal(clock.nextWakeAt(), null)
    assert.equal(getEventListeners(stop.signal, 'abort').length, 0)
  })

  it('refuses to go back and to be advanced twice at once', async () => {
    const clock = virtualClock(START)
    await assert.rejects(clock.advance(-1), RangeError)
    const turning = clock.advance(1)
    await assert.rejects(clock.advance(1), /already running/)
    await turning
  })
})

for (const database of variants(DATABASES)) {
  describe(`database time on ${database.kind}`, () => {
    let test: TestDatabase
    before(async () => {
      test = await database.open()
    })
    after(() => test.close())

    /** The real machine with a wall clock that is `skewMs` wrong. The database is the truth. */
    const skewedMachine = (skewMs: number): Machine => ({
      wallMs: () => Date.now() + skewMs,
      steadyMs: () => performance.now(),
    })

    for (const skewMs of [5 * 60_000, -5 * 60_000]) {
      it(`corrects and reports a machine clock that is ${skewMs / 60_000} minutes off`, async () => {
        const clock = realClock(skewedMachine(skewMs))
        const report = await followDatabaseTime(test.db, clock)
        assert.equal(report.withinLimit, false)
        const off = report.machineSkewMs - skewMs
        assert.ok(Math.abs(off) <= report.uncertaintyMs + 50, `measured ${off} ms apart`)
        assert.equal(report.aheadMs, 0)
        const [row] = await test.db.query<{ at: Date }>('select clock_timestamp() as at')
        assert.ok(Math.abs(+row!.at - +clock.now()) < MAX_SKEW_MS)
      })
    }

    it('keeps a machine that is five minutes fast from taking a leased message', async () => {
      const fresh = await database.open()
      try {
        const clocks = [skewedMachine(0), skewedMachine(300_000), skewedMachine(300_000)].map(
          realClock,
        )
        const [honest, following, thief] = clocks.map((clock) =>
          openPostgresBus({ db: fresh.db, clock, newToken: randomUUID }),
        )
        await followDatabaseTime(fresh.db, clocks[0]!)
        await followDatabaseTime(fresh.db, clocks[1]!)
        await honest!.publish([event()])
        assert.equal((await honest!.receive(ORCHESTRATOR_EVENTS, 10)).length, 1)
        assert.equal((await following!.receive(ORCHESTRATOR_EVENTS, 10)).length, 0)
        // On its own time the machine would have taken it.
        assert.equal((await thief!.receive(ORCHESTRATOR_EVENTS, 10)).length, 1)
      } finally {
        await fresh.close()
      }
    })

    it('lets no lease of a living process lapse when it jumps by ten minutes, in any order of noticing', async () => {
      const fresh = await database.open()
      try {
        const machine = handMachine()
        let databaseIsOffMs = 0
        const time = {
          query: async <Row>() => [{ ms: machine.wallMs() + databaseIsOffMs }] as Row[],
        }
        const open = async () => {
          const clock = realClock(machine)
          const bus = openPostgresBus({ db: fresh.db, clock, newToken: randomUUID })
          const measure = () => followDatabaseTime(time, clock, bus.storedJobs.keepLeases)
          await measure()
          const receive = () => bus.receive(ORCHESTRATOR_EVENTS, 1)
          return { bus, clock, measure, receive }
        }
        const [early, late] = [await open(), await open()]
        await early.bus.publish(['a', 'b', 'c'].map((id) => event(id)))
        const held = await late.receive()
        machine.pass(15_000)
        databaseIsOffMs = 600_000
        await early.measure()
        // Not noticed yet: leases of the former time.
        held.push(...(await late.receive()))
        assert.deepEqual(await late.bus.renew(held), [])
        machine.pass(4_000)
        await late.measure()
        held.push(...(await late.receive()))
        for (const waited of [1_000, 5_000]) {
          machine.pass(waited)
          await early.measure()
          assert.deepEqual(await early.receive(), [])
        }
        assert.equal(+early.clock.now(), machine.wallMs() + 600_000)
        assert.equal(+late.clock.now(), machine.wallMs(), 'it follows a little later')
        await late.bus.publish([event('d')])
        held.push(...(await late.receive()))
        assert.deepEqual(await early.receive(), [])
        machine.pass(4_000)
        await late.measure()
        assert.deepEqual([held.length, await late.bus.ack(held.slice(0, 3))], [4, []])
        // The lease of one that died lapses as ever.
        machine.pass(66_000)
        assert.equal((await early.receive()).length, 1)
      } finally {
        await fresh.close()
      }
    })

    it('is not adopted when measured too imprecisely', async () => {
      const machine = handMachine()
      const clock = realClock(machine)
      /** A database that is an hour ahead and whose responses take this long on the way back. */
      const far = (tripMs: number) => ({
        query: async <Row>() => {
          const ms = machine.wallMs() + HOUR_MS
          machine.pass(tripMs)
          return [{ ms }] as Row[]
        },
      })
      await followDatabaseTime(far(20), clock)
      const offMs = () => +clock.now() - machine.wallMs() - HOUR_MS
      assert.equal(offMs(), -10)
      const slow = await followDatabaseTime(far(6_000), clock)
      assert.equal(slow.uncertaintyMs, 3_000)
      assert.equal(offMs(), -10)
    })

    it('accepts a machine clock within the limit', async () => {
      const report = await followDatabaseTime(test.db, realClock())
      assert.equal(report.withinLimit, true)
    })

    it('is measured again every few seconds, and reports an error without stopping', async () => {
      const virtual = virtualClock(START)
      const machine = handMachine()
      const clock = { ...realClock(machine), wait: virtual.wait }
      let offMs: number | null = 0
      let told = Promise.withResolvers<ClockReport | Error>()
      const loop = databaseClockLoop({
        db: {
          query: async <Row>() => {
            if (offMs === null) throw new Error('the database is away')
            return [{ ms: machine.wallMs() + offMs }] as Row[]
          },
        },
        clock,
        onReport: (report) => told.resolve(report),
        onError: (error) => told.resolve(error as Error),
      })
      const next = async (databaseIsOffMs: number | null) => {
        offMs = databaseIsOffMs
        told = Promise.withResolvers()
        machine.pass(5_000)
        await virtual.advance(5_000)
        return told.promise
      }
      loop.start()
      assert.equal(((await told.promise) as ClockReport).withinLimit, true)
      const skewed = (await next(HOUR_MS)) as ClockReport
      assert.deepEqual([skewed.machineSkewMs, skewed.withinLimit], [-HOUR_MS, false])
      await next(HOUR_MS)
      assert.equal(+clock.now(), machine.wallMs(), 'others may not know of it yet')
      await next(HOUR_MS)
      assert.equal(+clock.now(), machine.wallMs() + HOUR_MS)
      assert.match(String(await next(null)), /the database is away/)
      const back = (await next(0)) as ClockReport
      assert.deepEqual([back.machineSkewMs, back.aheadMs, back.withinLimit], [0, HOUR_MS, false])
      await loop.stop()
    })

    it('accepts an unreal clock only when marked as throw-away while empty', async () => {
      const fresh = await database.openEmpty()
      try {
        const virtual = virtualClock(START)
        await requireClockFits(fresh.db, realClock())
        await assert.rejects(requireClockFits(fresh.db, virtual), {
          code: 'DATABASE_NOT_THROW_AWAY',
        })
        await fresh.db.script('create table somebody_elses (id int)')
        await assert.rejects(markDisposable(fresh.db), { code: 'DATABASE_NOT_EMPTY' })
        await fresh.db.script('drop table somebody_elses')
        await markDisposable(fresh.db)
        await requireClockFits(fresh.db, virtual)
        await requireClockFits(fresh.db, acceleratedClock({ factor: 2, startAt: START }))
      } finally {
        await fresh.close()
      }
    })
  })
}
