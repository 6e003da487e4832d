// A wrong clock is told in the log, from the first measurement on and once for each change.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { clockTeller } from '../../../src/app/upkeep/clock-watch.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'

const START = new Date('2026-03-01T10:00:00Z')

const said = (...reports: readonly (readonly [machineSkewMs: number, aheadMs: number])[]) => {
  const lines: string[] = []
  const tell = clockTeller(
    createLog({
      level: 'info',
      format: 'json',
      clock: virtualClock(START),
      destination: { write: (line) => void lines.push(JSON.parse(line).msg) },
    }),
  )
  for (const [machineSkewMs, aheadMs] of reports)
    tell({
      measuredAt: START,
      machineSkewMs,
      aheadMs,
      uncertaintyMs: 1,
      withinLimit: Math.max(Math.abs(machineSkewMs), aheadMs) <= 30_000,
    })
  return lines
}

it('says a skew of the first measurement, says it once, and says when it is over', () => {
  assert.deepEqual(said([600_000, 0], [600_100, 0], [12, 0]), [
    "The clock of this machine is 600 s ahead of the database's. Work continues on the database's time; correct the clock that is wrong",
    'The clocks of this machine and of the database agree again',
  ])
  assert.match(said([-45_040, 0])[0]!, /is 45 s behind the database's/)
})

it('says that time stands still when the clock of the database was set back', () => {
  assert.match(said([12, 0], [600_000, 600_000])[0]!, /was set back by 600 s: time stands still/)
})

it('says nothing of clocks that agree', () => {
  assert.deepEqual(said([29_000, 0], [-29_000, 0], [0, 0]), [])
})
