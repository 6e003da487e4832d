import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type DemoOutcome,
  interruptedLines,
  summaryLines,
  unexpectedOutcomes,
} from '../../../src/app/demo/summary.ts'
import { EMPTY_TALLY } from '../../../src/domain/progress.ts'
import { phase, progress, T0 } from './phases.ts'

const plain = (_style: string, text: string) => text
const BATCH = {
  status: 'completed',
  membersActive: 191,
  membersFailed: 9,
  membersRemoved: 1,
} as const
const PHASES = [
  phase({ status: 'completed', members: { total: 200, passed: 191, failed: 9 } }),
  phase({ name: 'aftercare', status: 'skipped', offsetMinutes: -1_440 }),
]
const TALLY = { jobs: 1_373, retries: 57, polls: 305, rollbacksBegun: 9, rolledBack: 9 }

const ending = (of: Partial<DemoOutcome> = {}): DemoOutcome => ({
  progress: progress(PHASES, BATCH),
  tally: TALLY,
  failures: [{ at: T0, mark: '✗', style: 'red', text: 'ada.hahn: switch-address failed: no' }],
  membersExpected: 201,
  failuresExpected: 9,
  leaversExpected: 1,
  faultReport: {
    requests: 11_301,
    faults: new Map([
      ['throttle', 9],
      ['drop-after', 5],
    ]),
    repeated: [],
  },
  invariantsChecked: 29,
  invariantsBroken: [],
  errors: [],
  realMs: 48_000,
  virtualMs: 6 * 86_400_000,
  ...of,
})

describe('the summary', () => {
  it('says what became of everybody', () => {
    const text = summaryLines(ending(), 80, plain).join('\n')
    const shown = `Completed: 9 of 201 members failed, as the example means them to.

PHASE      DUE   STATUS     TOTAL  PASSED  FAILED  STOPPED  REMOVED
cutover    T-0   completed    200     191       9        0        0
aftercare  T+1d  skipped        0       0       0        0        0

members     201: 191 through, 9 failed, 1 removed
jobs sent   1,373, of them 305 polls
retries     57
rollbacks   9, all steps succeeded in 9
requests    11,301 to the tenants; of them
            5 answers lost on the way back
            9 refused as too many
invariants  29 rules of the tables checked
time        6d there, 48s here

Who failed, and why (each was rolled back):
  ada.hahn: switch-address failed: no

Where to go from here:`
    assert.equal(text.slice(0, shown.length), shown)
  })

  it('fits 70 columns', () => {
    const lines = summaryLines(ending(), 60, plain).join('\n').split('\n')
    assert.ok(Math.max(...lines.map((line) => line.length)) <= 70)
  })

  const WRONG: [what: string, of: Partial<DemoOutcome>, says: RegExp][] = [
    ['not completed', { progress: progress(PHASES, { ...BATCH, status: 'failed' }) }, /is failed/],
    ['held', { progress: progress(PHASES, { ...BATCH, heldReason: 'fuse' }) }, /held: fuse/],
    ['somebody missing', { membersExpected: 202 }, /201 members are accounted for, 202 took part/],
    ['nobody left', { leaversExpected: 2 }, /1 members left/],
    [
      'nobody failed',
      { progress: progress(PHASES, { ...BATCH, membersFailed: 0, membersActive: 200 }) },
      /0 members failed, 9 should have/,
    ],
    ['nothing retried', { tally: { ...TALLY, retries: 0 } }, /retried/],
    ['nothing polled', { tally: { ...TALLY, polls: 0 } }, /polled/],
    ['a rollback that did not end', { tally: { ...TALLY, rolledBack: 8 } }, /but 8 were rolled/],
    [
      'what was done twice',
      { faultReport: { requests: 1, faults: new Map(), repeated: ['user created 2 times: ada'] } },
      /more than once: user created 2 times: ada/,
    ],
    ['an invariant', { invariantsBroken: ['I4 order: step 7'] }, /broken: I4 order: step 7/],
    ['an error', { errors: ['out of memory'] }, /Unexpected error: out of memory/],
  ]
  for (const [what, of, says] of WRONG) {
    it(`does not pass over: ${what}`, () => {
      assert.match(unexpectedOutcomes(ending(of)).join('\n'), says)
      assert.match(summaryLines(ending(of), 80, plain)[0]!, /did not end as it should/)
    })
  }

  it('is short for whoever pressed Ctrl-C', () => {
    assert.deepEqual(interruptedLines(null, EMPTY_TALLY).length, 1)
    assert.deepEqual(interruptedLines(progress(PHASES, BATCH), TALLY).slice(0, 2), [
      'Stopped: 1 of 2 phases completed, 1,373 jobs sent,',
      '9 members failed so far.',
    ])
  })
})
