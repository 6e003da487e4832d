// Each kind of need: its sentence, how urgent it is, the command and the page that handle it, and whether a channel hears of it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  channelNeed,
  deadLetterNeed,
  sourceNeed,
  type WaitingAtSource,
} from '../../../src/domain/needs/from-sources.ts'
import {
  failedNeed,
  gateNeed,
  hasGrown,
  holdNeed,
  missNeed,
  stuckNeeds,
} from '../../../src/domain/needs/from-work.ts'
import { NEED_KINDS, type NeedKind, type Severity } from '../../../src/domain/needs/kinds.ts'
import {
  byHarm,
  concerns,
  type Need,
  needPage,
  newNeeds,
  verdictOf,
  withoutExplained,
} from '../../../src/domain/needs/needs.ts'
import type { Stuck } from '../../../src/domain/needs/stuck.ts'
import { needCondition } from '../../../src/domain/notifications/conditions.ts'
import type { Hold } from '../../../src/domain/state/holds.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const THEN = new Date('2026-03-01T20:00:00Z')
const HELD = '2026-03-01T20:00:00.000Z'

const WAITING: WaitingAtSource = {
  kind: 'removals',
  runbookName: 'wave',
  batchId: 7,
  count: 1,
  membersActive: null,
  since: THEN,
  fromTime: null,
  toTime: null,
  isWholeWave: false,
  hasOtherTimes: false,
  error: null,
}
const fromSource = (more: Partial<WaitingAtSource>): Need =>
  sourceNeed({ ...WAITING, ...more }, NOW)

const HOLD: Hold = {
  scope: 'batch',
  target: '7',
  batchId: null,
  memberId: null,
  memberKey: null,
  heldAt: THEN,
  heldBy: 'fuse',
  reason: '3 of 4 failed.',
}
const OF_BATCH = { batchIds: [7], runbookNames: ['wave'] }
const OF_ALL = { batchIds: null, runbookNames: null }
const held = (more: Partial<Hold>, work = OF_BATCH as typeof OF_BATCH | typeof OF_ALL): Need =>
  holdNeed({ ...HOLD, ...more }, work)!

const STUCK: Stuck = {
  kind: 'result_overdue',
  because: 'the result is overdue',
  aboutWorker: null,
  count: 2,
  isCountExact: true,
  since: THEN,
  workerId: 'w1',
  stepId: 1,
  actions: [],
}
const stuck = (more: Partial<Stuck>, ids = [7]): Need =>
  stuckNeeds(
    ids.map((batchId) => ({ batchId, runbookName: 'wave', stuck: [{ ...STUCK, ...more }] })),
    NOW,
  )[0]!

const GATE = {
  phaseId: 3,
  phaseName: 'cutover',
  batchId: 7,
  runbookName: 'wave',
  needed: 2,
  given: 1,
  since: THEN,
  readyPercent: null,
  active: 8,
  present: 10,
}
const gateIn = (minutes: number): Need =>
  gateNeed({ ...GATE, dueAt: new Date(+NOW + minutes * 60_000) }, NOW)

interface Example {
  readonly need: Need
  readonly text: string
  readonly severity: Severity
  readonly command: string
  readonly page: string
  /** Nobody hears of it in a channel. */
  readonly isUntold?: true
}

const FAILED = {
  id: 7,
  runbookName: 'wave',
  membersFailed: 2,
  failedInInit: false,
  since: THEN,
  failureRevision: 3,
  endedAt: null,
}

/** The compiler asks for an example of a new kind. */
const EXAMPLES: Readonly<Record<NeedKind, Example>> = {
  everything_held: {
    need: held({ scope: 'system', target: '', heldBy: 'ada' }, OF_ALL),
    text: `The whole system is held by ada since ${HELD}: 3 of 4 failed`,
    severity: 'urgent',
    command: 'matoolkit resume --all',
    page: '/holds',
  },
  worker_silent: {
    need: stuck({ kind: 'worker_silent', aboutWorker: 'worker w1 was never seen' }, [7, 8]),
    text: 'Worker w1 was never seen; 4 steps wait for it in 2 batches',
    severity: 'urgent',
    command: 'matoolkit worker list w1',
    page: '/workers/w1',
  },
  gate_waiting: {
    need: gateIn(60),
    text: 'Phase cutover of batch 7 has 1 of 2 approvals for the start at 2026-03-02T09:00:00.000Z; without them the batch is held then',
    severity: 'urgent',
    command: 'matoolkit batch get 7 --gates',
    page: '/batches/7',
  },
  failure_limit: {
    need: held({}),
    text: `Batch 7 is held by the fuse since ${HELD}: 3 of 4 failed`,
    severity: 'urgent',
    command: 'matoolkit failures 7',
    page: '/batches/7',
  },
  batch_held: {
    need: held({ heldBy: 'source' }),
    text: `Batch 7 is held by the source since ${HELD}: 3 of 4 failed`,
    severity: 'urgent',
    command: 'matoolkit resume --batch 7',
    page: '/holds',
  },
  people_failed: {
    need: failedNeed(FAILED, NOW),
    text: '2 people of batch 7 failed',
    severity: 'urgent',
    command: 'matoolkit failures 7',
    page: '/failures?batchId=7',
  },
  phase_late: {
    need: stuck({ kind: 'phase_overdue', because: 'phase x was due' }),
    text: 'Batch 7 is late: phase x was due',
    severity: 'urgent',
    command: 'matoolkit status 7',
    page: '/batches/7',
  },
  stuck: {
    need: stuck({}),
    text: 'Batch 7 is stuck: the result is overdue',
    severity: 'urgent',
    command: 'matoolkit status 7',
    page: '/batches/7',
  },
  forecast_miss: {
    need: missNeed({
      phaseId: 3,
      phaseName: 'prepare',
      batchId: 7,
      runbookName: 'wave',
      deadline: NOW,
      deadlineOf: 'T-0',
      bySec: 1_800,
      because: 'phase prepare will miss T-0 by 30m',
      since: THEN,
    }),
    text: 'Batch 7: phase prepare will miss T-0 by 30m',
    severity: 'urgent',
    command: 'matoolkit batch get 7 --forecast',
    page: '/batches/7',
  },
  review_waiting: {
    need: fromSource({ count: 2 }),
    text: '2 removals of batch 7 need your decision',
    severity: 'soon',
    command: 'matoolkit review list --kind removal --batch 7',
    page: '/sources',
  },
  source_failing: {
    need: fromSource({ kind: 'source_failing', batchId: null, error: 'Sign-in refused.' }),
    text: 'The source of wave fails: Sign-in refused',
    severity: 'soon',
    command: 'matoolkit query preview wave',
    page: '/sources',
  },
  dead_letters: {
    need: deadLetterNeed('worker-jobs', 1, NOW),
    text: '1 message on worker-jobs could not be handled',
    severity: 'soon',
    command: 'matoolkit deadletters list',
    page: '/dead-letters',
  },
  channel_failing: {
    need: channelNeed({ channel: 'night', since: THEN, error: 'it answered 500' }),
    text: 'Channel night does not take messages: it answered 500',
    severity: 'later',
    command: 'matoolkit notification test night',
    page: '/notifications',
    isUntold: true,
  },
  rows_left_out: {
    need: fromSource({ kind: 'rows_left_out', batchId: null, count: 4 }),
    text: 'The last tick of wave left out 4 rows',
    severity: 'later',
    command: 'matoolkit source list wave --issues',
    page: '/sources',
    isUntold: true,
  },
}

describe('a need', () => {
  for (const kind of NEED_KINDS)
    it(`has a sentence, a severity, a command and a page: ${kind}`, () => {
      const { need, isUntold, ...expected } = EXAMPLES[kind]
      const { text, severity, command } = need
      assert.equal(need.kind, kind)
      assert.deepEqual({ text, severity, command, page: needPage(need).path }, expected)
      assert.equal(needCondition(need)?.text ?? null, isUntold ? null : text)
    })

  it('of a review says which commands decide it', () => {
    const ofBatch = '--kind removal --batch 7'
    assert.deepEqual(fromSource({ count: 2 }).decide, [
      `matoolkit review approve --all ${ofBatch}`,
      `matoolkit review dismiss --all ${ofBatch}`,
    ])
    const moves = { kind: 'moves', count: 3, membersActive: 3, toTime: THEN } as const
    const whole = fromSource({ ...moves, isWholeWave: true })
    assert.equal(whole.text, `All 3 people of batch 7 now have cut-over ${HELD} in the source`)
    assert.deepEqual(whole.decide, [
      'matoolkit review approve --all --kind move --batch 7 --choice reschedule',
      'matoolkit review approve --all --kind move --batch 7 --choice move',
      'matoolkit review dismiss --all --kind move --batch 7',
    ])
    const latecomer = fromSource({ kind: 'latecomers', batchId: null })
    assert.equal(latecomer.text, '1 latecomer of wave needs your decision')
    assert.deepEqual(latecomer.batchIds, [])
  })

  it('is a gate from a day before, and becomes urgent in the last hour without being over', () => {
    const early = gateIn(61)
    const late = { ...gateIn(61), key: `${early.key}:urgent` }
    assert.equal(early.severity, 'soon')
    assert.equal(needCondition(early)!.isEarly, true, 'it waits for the end of quiet hours')
    assert.equal(needCondition(gateIn(60))!.isEarly, false)
    assert.equal(gateIn(-5).severity, 'urgent', 'its time has come and nobody has approved')
    assert.equal(hasGrown(early.key, new Set([late.key])), true)
    assert.equal(hasGrown(early.key, new Set([early.key])), false)
  })

  it('is no hold that a person set, unless it holds everything', () => {
    const byAda = held({ heldBy: 'ada' })
    assert.equal(byAda.severity, 'planned')
    assert.equal(EXAMPLES.everything_held.need.severity, 'urgent')
    assert.equal(holdNeed({ ...HOLD, scope: 'member', memberKey: 'ada@x.example' }, OF_BATCH), null)
  })

  it('is a late phase behind a hold that a person set, and not twice behind one that is a need', () => {
    const late = EXAMPLES.phase_late.need
    assert.deepEqual(withoutExplained([late], [held({ heldBy: 'ada' })], []), [late])
    assert.deepEqual(withoutExplained([late], [held({})], []), [])
    assert.deepEqual(withoutExplained([late], [EXAMPLES.everything_held.need], []), [])
    const other = held({ target: '8' }, { batchIds: [8], runbookNames: ['wave'] })
    assert.deepEqual(withoutExplained([late], [other], []), [late])
    assert.deepEqual(
      withoutExplained([late], [], [gateIn(-13 * 60)]),
      [],
      'its gate says it already',
    )
    assert.deepEqual(withoutExplained([late], [], [gateIn(24 * 60)]), [late], 'the next gate')
    assert.deepEqual(withoutExplained([EXAMPLES.stuck.need], [held({})], []), [EXAMPLES.stuck.need])
  })

  it('is new once, until its sentence changes', () => {
    const [two, three] = [fromSource({ count: 2 }), fromSource({ count: 3 })]
    assert.deepEqual(newNeeds([two], [two]), [])
    assert.deepEqual(newNeeds([two], [three]), [three])
  })

  it('concerns its batch, its runbook, or all', () => {
    const seven = { id: 7, runbookName: 'wave' }
    const eight = { id: 8, runbookName: 'other' }
    const about = (need: Need) => [seven, eight].map((batch) => concerns(need, batch))
    assert.deepEqual(about(EXAMPLES.stuck.need), [true, false])
    assert.deepEqual(about(EXAMPLES.everything_held.need), [true, true])
    const ofRunbook = { batchIds: null, runbookNames: ['wave'] }
    const hold = holdNeed({ ...HOLD, scope: 'runbook', target: 'wave' }, ofRunbook)!
    assert.deepEqual(about(hold), [true, false])
    assert.deepEqual(about(EXAMPLES.rows_left_out.need), [false, false])
  })
})

describe('the verdict', () => {
  const doing = { running: 2, next: null }

  it('names the greatest harm first and rows of a file last', () => {
    const all = Object.values(EXAMPLES).map(({ need }) => need)
    const ordered = byHarm([...all].reverse())
    assert.deepEqual(
      ordered.map(({ kind }) => kind),
      NEED_KINDS,
    )
    assert.equal(byHarm([gateIn(120), EXAMPLES.stuck.need])[0]!.kind, 'stuck', 'it has a day')
    const { headline, severity } = verdictOf(all, doing)
    assert.equal(
      headline,
      `Action needed: ${EXAMPLES.everything_held.text}. And ${NEED_KINDS.length - 1} more things.`,
    )
    assert.equal(severity, 'urgent')
    const rows = verdictOf([EXAMPLES.rows_left_out.need], doing)
    assert.equal(rows.severity, 'later')
  })

  it('says what runs when no action is needed, and what a person holds', () => {
    assert.equal(verdictOf([], doing).headline, 'No action needed: 2 phases are running.')
    assert.equal(
      verdictOf([], { running: 0, next: null }).headline,
      'No action needed: nothing is scheduled.',
    )
    const { headline, needs, planned, isActionNeeded } = verdictOf([held({ heldBy: 'ada' })], {
      running: 1,
      next: null,
    })
    assert.equal(
      headline,
      `No action needed: 1 phase is running. Batch 7 is held by ada since ${HELD}: 3 of 4 failed.`,
    )
    assert.deepEqual([needs.length, planned.length, isActionNeeded], [0, 1, false])
  })
})
