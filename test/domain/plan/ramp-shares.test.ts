// The shares of a ramp as people see them, from before its start to its end.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { rampShares, rampStateText } from '../../../src/domain/plan/ramp-shares.ts'

const SOAK = '2026-03-02T23:30:00.000Z'
type Facts = Parameters<typeof rampShares>[0]

function said(facts: Partial<Facts>, failed = 0, total = 0): string {
  const phase: Facts = {
    status: 'dispatched',
    rampPercents: [5, 25, 100],
    rampShare: 0,
    soakEndsAt: null,
    ...facts,
  }
  const soakEndsAt = phase.soakEndsAt?.toISOString() ?? null
  const ramp = { shares: rampShares(phase), soakEndsAt, maxFailedPercent: 2 }
  return rampStateText(ramp, { failed, total })
}

it('says of each share whether it is done, runs, soaks or is to come, and what may fail', () => {
  assert.equal(
    said({ status: 'pending', rampShare: null }),
    '5 % to come, 25 % to come, 100 % to come; at most 2 % may fail',
  )
  assert.equal(
    said({}, 0, 5),
    '5 % runs, 25 % to come, 100 % to come; 0 of 5 members failed so far, 2 % may',
  )
  assert.equal(
    said({ rampShare: 1, soakEndsAt: new Date(SOAK) }, 1, 25),
    `5 % done, 25 % soaks until ${SOAK}, 100 % to come; 1 of 25 members failed so far, 2 % may`,
  )
  assert.match(said({ rampShare: 2 }), /^5 % done, 25 % done, 100 % runs;/)
  assert.match(said({ status: 'completed', rampShare: 2 }), /^5 % done, 25 % done, 100 % done;/)
})

it('claims nothing of shares that never start', () => {
  assert.match(
    said({ status: 'cancelled', rampShare: 0 }),
    /^5 % done, 25 % not run, 100 % not run;/,
  )
  assert.match(said({ status: 'skipped', rampShare: null }), /^5 % not run,/)
  assert.deepEqual(
    rampShares({ status: 'pending', rampPercents: null, rampShare: null, soakEndsAt: null }),
    [],
  )
})
