import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type DemoOutcome,
  interruptedLines,
  summaryLines,
  unexpectedOutcomes,
} from '../../../src/app/demo/summary.ts'
import { EMPTY_TALLY } from '../../../src/domain/forecast/progress.ts'
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
const TALLY = { jobs: 1_068, retries: 57, polls: 305, rollbacksBegun: 6, rolledBack: 6 }

const outcome = (of: Partial<DemoOutcome> = {}): DemoOutcome => ({
  progress: progress(PHASES, BATCH),
  tally: TALLY,
  failures: [{ at: T0, mark: '✗', style: 'red', text: 'ada.hahn: switch-address failed: no' }],
  membersExpected: 201,
  failuresExpected: 9,
  rollbacksExpected: 6,
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
  it('lists members, jobs, faults and failures', () => {
    const text = summaryLines(outcome(), 80, plain).join('\n')
    const shown = `Completed: 9 of 201 members failed, as the example intends.

PHASE      DUE   STATUS     TOTAL  PASSED  FAILED  STOPPED  REMOVED
cutover    T-0   completed    200     191       9        0        0
aftercare  T+1d  skipped        0       0       0        0        0

members     201: 191 finished, 9 failed, 1 removed
jobs sent   1,373, including 305 polls
retries     57
rollbacks   6 started, 6 completed
requests    11,301 to the tenants, of which
            5 answered, response lost
            9 throttled
invariants  29 rules checked
time        6d of migration in 48s

Failures (6 rolled back, 3 had changed nothing):
  ada.hahn: switch-address failed: no

Next:`
    assert.equal(text.slice(0, shown.length), shown)
  })

  it('fits 70 columns', () => {
    const lines = summaryLines(outcome(), 60, plain).join('\n').split('\n')
    assert.ok(Math.max(...lines.map((line) => line.length)) <= 70)
  })

  const WRONG: [what: string, of: Partial<DemoOutcome>, says: RegExp][] = [
    [
      'a batch that did not complete',
      { progress: progress(PHASES, { ...BATCH, status: 'failed' }) },
      /is failed/,
    ],
    [
      'a held batch',
      { progress: progress(PHASES, { ...BATCH, heldReason: 'fuse' }) },
      /held: fuse/,
    ],
    ['a missing member', { membersExpected: 202 }, /201 members are accounted for, 202 took part/],
    ['too few leavers', { leaversExpected: 2 }, /1 member left/],
    [
      'too few failures',
      { progress: progress(PHASES, { ...BATCH, membersFailed: 0, membersActive: 200 }) },
      /0 members failed, 9 were expected to/,
    ],
    ['no retries', { tally: { ...TALLY, retries: 0 } }, /retried/],
    ['no polls', { tally: { ...TALLY, polls: 0 } }, /polled/],
    [
      'an unfinished rollback',
      { tally: { ...TALLY, rolledBack: 5 } },
      /6 rollbacks started and 5 completed, 6 were expected/,
    ],
    [
      'a rollback after nothing was changed',
      { tally: { ...TALLY, rollbacksBegun: 7, rolledBack: 7 } },
      /7 rollbacks started and 7 completed, 6 were expected/,
    ],
    [
      'a repeated change',
      { faultReport: { requests: 1, faults: new Map(), repeated: ['user created 2 times: ada'] } },
      /Repeated change: user created 2 times: ada/,
    ],
    [
      'a broken invariant',
      { invariantsBroken: ['I4 order: step 7'] },
      /Broken invariant: I4 order: step 7/,
    ],
    ['an error', { errors: ['out of memory'] }, /Unexpected error: out of memory/],
  ]
  for (const [what, of, says] of WRONG) {
    it(`reports ${what}`, () => {
      assert.match(unexpectedOutcomes(outcome(of)).join('\n'), says)
      assert.match(summaryLines(outcome(of), 80, plain)[0]!, /did not end as expected/)
    })
  }

  it('is short after Ctrl-C', () => {
    assert.deepEqual(interruptedLines(null, EMPTY_TALLY).length, 1)
    assert.deepEqual(interruptedLines(progress(PHASES, BATCH), TALLY).slice(0, 2), [
      'Stopped: 1 of 2 phases completed, 1,373 jobs sent,',
      '9 members failed so far.',
    ])
  })
})
