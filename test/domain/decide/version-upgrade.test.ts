// Version upgrades as a table: a phase's status × its time × what the publisher decided.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  describeUpgrade,
  OVERDUE_AFTER_SEC,
  type PhaseSummary,
  type Publication,
  planUpgrade,
} from '../../../src/domain/decide/version-upgrade.ts'
import type { BatchStatus, PhaseStatus } from '../../../src/domain/state/transitions.ts'
import { at, NOW, runbookOf } from './builders.ts'

const HOUR = 3600
const step = '{ name: do, worker_id: w1, function: Do }'

/** A runbook of phases `{ prepare: 'T-1h' }`. */
const runbook = (phases: Readonly<Record<string, string>>, init = false) =>
  runbookOf(`name: demo
data_source: { type: csv, path: x.csv, primary_key: Upn, batch_time_column: When }
${init ? `init: [${step}]` : ''}
phases:
${Object.entries(phases)
  .map(([name, offset]) => `  - { name: ${name}, offset: ${offset}, steps: [${step}] }`)
  .join('\n')}
`)

const published = (change: Partial<Publication> = {}): Publication => ({
  version: 2,
  publishedAt: NOW,
  publishedBy: 'ada',
  overdueBehavior: 'ignore',
  rerunInit: false,
  ...change,
})

type State = PhaseStatus | 'overdue'

/** A row of the batch: `prepare completed`, of version 1 by default. */
function row(name: string, state: State, change: Partial<PhaseSummary> = {}): PhaseSummary {
  const isSkipped = state === 'skipped' || state === 'overdue'
  return {
    gate: null,
    rampPercents: null,
    dispatchedAt: null,
    name,
    index: 0,
    offsetMinutes: 60,
    runbookVersion: 1,
    dueAt: at(-HOUR),
    status: state === 'overdue' ? 'skipped' : state,
    skippedBecause: isSkipped ? (state === 'overdue' ? 'overdue' : 'empty') : null,
    ...change,
  }
}

interface Batch {
  readonly status?: BatchStatus
  readonly isManual?: boolean
  /** When the batch starts, from now. The table's phase is an hour before it. */
  readonly startsInSec?: number
}

/** `prepare rerun, old completed, supersedes nothing, makes pending +3600`. */
function told(
  { status = 'active', isManual = false, startsInSec = 0 }: Batch,
  rows: readonly PhaseSummary[],
  phases: Readonly<Record<string, string>>,
  change: Partial<Publication> = {},
): string[] {
  const batch = { status, isManual, startTime: isManual ? null : at(startsInSec) }
  const plan = planUpgrade(batch, rows, runbook(phases), published(change))
  return plan.phases.map(({ name, outcome, from, supersedes, creates }) => {
    const old = supersedes ? `supersedes ${supersedes.runbookVersion}` : 'supersedes nothing'
    const due = creates?.dueAt ? ` ${(+creates.dueAt - +NOW) / 1000}` : ''
    const made = creates
      ? `makes ${creates.isOverdue ? 'skipped' : 'pending'}${due}`
      : 'makes nothing'
    return `${name} ${outcome}, was ${from}, ${old}, ${made}`
  })
}

const PAST: Batch = { startsInSec: 0 }
const FUTURE: Batch = { startsInSec: 2 * HOUR }

/** The phase's status, its time, and its outcome with `ignore` and with `rerun`. */
const TABLE: readonly (readonly [State, Batch, string, string])[] = [
  ['pending', FUTURE, 'pending, was pending, supersedes 1, makes pending 3600', 'same'],
  [
    'pending',
    PAST,
    'skipped, was pending, supersedes 1, makes skipped -3600',
    'pending, was pending, supersedes 1, makes pending -3600',
  ],
  ['dispatched', PAST, 'carried_over, was dispatched, supersedes nothing, makes nothing', 'same'],
  ['dispatched', FUTURE, 'carried_over, was dispatched, supersedes nothing, makes nothing', 'same'],
  [
    'completed',
    PAST,
    'carried_over, was completed, supersedes nothing, makes nothing',
    'rerun, was completed, supersedes nothing, makes pending -3600',
  ],
  [
    'failed',
    PAST,
    'carried_over, was failed, supersedes nothing, makes nothing',
    'rerun, was failed, supersedes nothing, makes pending -3600',
  ],
  [
    'skipped',
    PAST,
    'carried_over, was skipped, supersedes nothing, makes nothing',
    'rerun, was skipped, supersedes nothing, makes pending -3600',
  ],
  [
    'overdue',
    PAST,
    'skipped, was skipped, supersedes nothing, makes nothing',
    'pending, was skipped, supersedes nothing, makes pending -3600',
  ],
  ['overdue', FUTURE, 'pending, was skipped, supersedes nothing, makes pending 3600', 'same'],
]

describe('a phase in both versions', () => {
  for (const [state, batch, ignore, rerun] of TABLE) {
    const when = batch === PAST ? 'past its time' : 'before its time'
    it(`${state}, ${when}`, () => {
      const decide = (overdueBehavior: 'ignore' | 'rerun') =>
        told(batch, [row('prepare', state)], { Prepare: 'T-1h' }, { overdueBehavior })
      assert.deepEqual(decide('ignore'), [`Prepare ${ignore}`])
      assert.deepEqual(decide('rerun'), [`Prepare ${rerun === 'same' ? ignore : rerun}`])
    })
  }

  it("takes its time from the new version and the batch's current start", () => {
    const moved = row('prepare', 'pending', { dueAt: at(-HOUR) })
    assert.deepEqual(told(PAST, [moved], { prepare: 'T+1h' }), [
      'prepare pending, was pending, supersedes 1, makes pending 3600',
    ])
    assert.deepEqual(told(FUTURE, [moved], { prepare: 'T-3h' }), [
      'prepare skipped, was pending, supersedes 1, makes skipped -3600',
    ])
  })

  it('skips no phase when published in the second that the phase is due', () => {
    const decide = (sec: number) =>
      told({ startsInSec: -sec }, [row('cutover', 'pending')], { cutover: 'T-0' })[0]
    assert.match(decide(OVERDUE_AFTER_SEC)!, /^cutover pending/)
    assert.match(decide(OVERDUE_AFTER_SEC + 1)!, /^cutover skipped/)
  })
})

describe('a phase in only one version', () => {
  it('adds a new phase, as pending or overdue', () => {
    const phases = { early: 'T-2d', late: 'T+2h' }
    assert.deepEqual(told(PAST, [], phases), [
      'early skipped, was null, supersedes nothing, makes skipped -172800',
      'late pending, was null, supersedes nothing, makes pending 7200',
    ])
    assert.deepEqual(told(PAST, [], phases, { overdueBehavior: 'rerun' }), [
      'early pending, was null, supersedes nothing, makes pending -172800',
      'late pending, was null, supersedes nothing, makes pending 7200',
    ])
  })

  it('keeps a dropped phase that has begun, drops one that has not, ignores one already skipped', () => {
    const rows = [
      row('done', 'completed'),
      row('open', 'dispatched'),
      row('next', 'pending'),
      row('missed', 'overdue'),
    ]
    for (const overdueBehavior of ['ignore', 'rerun'] as const) {
      assert.deepEqual(told(FUTURE, rows, { other: 'T-0' }, { overdueBehavior }).slice(1), [
        'done carried_over, was completed, supersedes nothing, makes nothing',
        'open carried_over, was dispatched, supersedes nothing, makes nothing',
        'next dropped, was pending, supersedes 1, makes nothing',
      ])
    }
  })
})

describe('several versions', () => {
  const done = row('prepare', 'completed')
  const again = row('prepare', 'pending', { runbookVersion: 2 })

  it('withdraws a pending rerun when the next version ignores, and renews it when that version reruns', () => {
    const version = 3
    assert.deepEqual(told(PAST, [done, again], { prepare: 'T-1h' }, { version }), [
      'prepare carried_over, was completed, supersedes 2, makes nothing',
    ])
    const rerun = { version, overdueBehavior: 'rerun' } as const
    assert.deepEqual(told(PAST, [done, again], { prepare: 'T-1h' }, rerun), [
      'prepare rerun, was completed, supersedes 2, makes pending -3600',
    ])
  })

  it('ignores superseded rows', () => {
    const old = row('prepare', 'superseded')
    assert.deepEqual(told(FUTURE, [old, again], { prepare: 'T-1h' }, { version: 3 }), [
      'prepare pending, was pending, supersedes 2, makes pending 3600',
    ])
    assert.deepEqual(told(FUTURE, [old], { other: 'T-0' }), [
      'other pending, was null, supersedes nothing, makes pending 7200',
    ])
  })

  it('counts a rerun that has begun', () => {
    const running = row('prepare', 'dispatched', { runbookVersion: 2 })
    const rerun = { version: 3, overdueBehavior: 'rerun' } as const
    assert.deepEqual(told(PAST, [done, running], { prepare: 'T-1h' }, rerun), [
      'prepare carried_over, was dispatched, supersedes nothing, makes nothing',
    ])
  })
})

describe('a manual batch', () => {
  const manual: Batch = { isManual: true }

  it('gets no times: pending phases are replaced and wait for an advance', () => {
    const rows = [
      row('prepare', 'completed', { dueAt: null }),
      row('cutover', 'pending', { dueAt: null, offsetMinutes: 0 }),
    ]
    assert.deepEqual(told(manual, rows, { prepare: 'T-1h', cutover: 'T-0', after: 'T+1d' }), [
      'prepare carried_over, was completed, supersedes nothing, makes nothing',
      'cutover pending, was pending, supersedes 1, makes pending',
      'after pending, was null, supersedes nothing, makes pending',
    ])
  })

  it('skips a new phase before one that has begun, or leaves it pending when rerun is chosen', () => {
    const rows = [row('cutover', 'dispatched', { dueAt: null, offsetMinutes: 0 })]
    const phases = { prepare: 'T-1h', cutover: 'T-0' }
    assert.match(told(manual, rows, phases)[0]!, /^prepare skipped, .* makes skipped$/)
    const rerun = { overdueBehavior: 'rerun' } as const
    assert.match(told(manual, rows, phases, rerun)[0]!, /^prepare pending, .* makes pending$/)
  })
})

describe('init', () => {
  const init = (status: BatchStatus, rerunInit: boolean, hasInit = true) =>
    planUpgrade(
      { status, isManual: false, startTime: NOW },
      [],
      runbook({ prepare: 'T-1h' }, hasInit),
      published({ rerunInit }),
    ).init

  it('uses the new init before it has begun, keeps it afterwards, and reruns it when chosen', () => {
    assert.deepEqual(
      (['detected', 'init_dispatched', 'active'] as const).map((status) => [
        init(status, false),
        init(status, true),
      ]),
      [
        ['new', 'new'],
        ['carried_over', 'rerun'],
        ['carried_over', 'rerun'],
      ],
    )
  })

  it('reruns nothing for a version without init', () => {
    assert.equal(init('detected', true, false), 'none')
    assert.equal(init('active', true, false), 'carried_over')
  })
})

it('is described in one sentence', () => {
  const rows = [row('prepare', 'completed'), row('next', 'pending')]
  const plan = planUpgrade(
    { status: 'active', isManual: false, startTime: at(HOUR) },
    rows,
    runbook({ prepare: 'T-1h', cutover: 'T-0' }, true),
    published({ rerunInit: true }),
  )
  assert.equal(
    describeUpgrade(1, plan),
    'from version 1 to 2, published by ada: init rerun, prepare carried over, cutover pending, next dropped',
  )
  assert.deepEqual(
    plan.phases.map(({ because }) => because),
    [
      'it is completed and is kept',
      'due at 2026-03-02T09:00:00.000Z',
      'version 2 no longer has it',
    ],
  )
})
