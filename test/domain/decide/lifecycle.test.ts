// A batch's lifecycle: init, due phases, manual advance, hold, resume, restart, reschedule; and every refusal.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type Advance,
  advanceManual,
  beginBatch,
  dueAt,
  hold,
  onPhaseDue,
  reschedule,
  restart,
  resume,
  startPhase,
} from '../../../src/domain/decide/lifecycle.ts'
import { at, DEMO_YAML, type Facts, runbookOf } from './builders.ts'
import { type Row, stepOf, table } from './table.ts'

const NO_INIT = {
  1: runbookOf(DEMO_YAML.replace(/init:\n(.*\n){2}/, '').replace(/ {2}undo-setup:\n.*\n/, '')),
}
const HELD = { heldAt: at(-9), heldBy: 'olga', heldReason: 'lunch' }

table('starting a batch', [
  {
    name: 'with init: creates its steps and queues the first',
    facts: { batch: 'detected' },
    decide: beginBatch,
    records: {
      events: ['batch dispatch_init detected→init_dispatched: 2 init steps'],
      made: ['-1 init/setup', '-2 init/warm'],
      waits: ['-1 slot'],
    },
    also: ({ batch }) => assert.deepEqual(batch.initDispatchedAt, at(0)),
  },
  {
    name: 'without init: activates it; a manual batch starts now',
    facts: { batch: { status: 'detected', startTime: null, isManual: true }, runbooks: NO_INIT },
    decide: beginBatch,
    records: { events: ['batch activate detected→active: the runbook has no init steps'] },
    also: ({ batch }) => assert.deepEqual([batch.activatedAt, batch.startTime], [at(0), at(0)]),
  },
  { name: 'a repeat finds nothing to do', facts: { batch: 'init_dispatched' }, decide: beginBatch },
])

const ready = (more: Facts = {}): Facts => ({
  phases: { prepare: 'pending', cutover: 'pending' },
  members: { 1: 'active' },
  ...more,
})
const due: Row['decide'] = (draft) => onPhaseDue(draft, draft.phases[0]!)

table('a phase that is due', [
  {
    name: 'starts',
    facts: ready(),
    decide: due,
    records: {
      events: ['phase prepare start pending→dispatched: due at 2026-03-02T08:00:00.000Z'],
    },
    also: ({ phases }) => assert.deepEqual(phases[0]!.dispatchedAt, at(0)),
  },
  {
    name: 'is skipped without active members',
    facts: ready({ members: { 1: 'failed' } }),
    decide: due,
    records: { events: ['phase prepare empty pending→skipped: no active members'] },
    also: ({ phases }) => assert.equal(phases[0]!.skippedBecause, 'empty'),
  },
  {
    name: 'does not start before its time',
    facts: ready({ phases: { prepare: { status: 'pending', dueAt: at(1) } } }),
    decide: due,
    refuses: 'phase prepare is not due before 2026-03-02T08:00:01.000Z',
  },
  {
    name: 'does not start without a time: no message starts a phase of a manual batch',
    facts: ready({ phases: { prepare: { status: 'pending', dueAt: null } } }),
    decide: due,
    refuses: 'phase prepare has no due time: it is advanced by hand',
  },
  {
    name: 'does not start twice',
    facts: ready({ phases: { prepare: 'dispatched' } }),
    decide: due,
    refuses: 'phase prepare is dispatched',
  },
  {
    name: 'does not start before the batch is active',
    facts: ready({ batch: 'init_dispatched' }),
    decide: due,
    refuses: 'batch 7 is init_dispatched',
  },
  {
    name: 'does not start while the batch is held',
    facts: ready({ batch: HELD }),
    decide: (draft) => startPhase(draft, draft.phases[0]!, 'so'),
    refuses: 'batch 7 is held by olga: lunch; end it with "matoolkit resume --batch 7"',
  },
])

const MANUAL = { isManual: true, startTime: null }
const manual = (batch: object, more: Facts = {}): Facts =>
  ready({ ...more, batch: { ...MANUAL, ...batch } })
const advance =
  (expectedPhase: string, more: Partial<Advance> = {}): Row['decide'] =>
  (draft) =>
    advanceManual(draft, { expectedPhase, allowStragglers: false, ...more })
const startedBy = (name: string) => ({
  events: [`phase ${name} start pending→dispatched: advanced by olga`],
})

table('advancing a manual batch', [
  {
    name: 'starts init first',
    facts: manual({ status: 'detected' }),
    decide: advance('init'),
    records: {
      events: ['batch dispatch_init detected→init_dispatched: 2 init steps'],
      made: ['-1 init/setup', '-2 init/warm'],
      waits: ['-1 slot'],
    },
  },
  {
    name: 'without init: starts the first phase by time, not by row',
    facts: manual(
      { status: 'detected' },
      { runbooks: NO_INIT, phases: { after: 'pending', cutover: 'pending', prepare: 'pending' } },
    ),
    decide: advance('Prepare'),
    records: {
      events: [
        'batch activate detected→active: the runbook has no init steps',
        ...startedBy('prepare').events,
      ],
    },
    also: ({ batch }) =>
      assert.deepEqual([batch.currentPhase, batch.startTime], ['prepare', at(0)]),
  },
  {
    name: 'starts the last phase, after the start time, which stays',
    facts: manual(
      { startTime: at(-900) },
      { phases: { prepare: 'completed', cutover: 'failed', after: 'pending' } },
    ),
    decide: advance('after'),
    records: startedBy('after'),
    also: ({ batch }) => assert.deepEqual(batch.startTime, at(-900)),
  },
  {
    name: 'leaves stragglers behind when allowed',
    facts: manual({}, { phases: { prepare: 'dispatched', cutover: 'pending' } }),
    decide: advance('cutover', { allowStragglers: true }),
    records: startedBy('cutover'),
  },
  {
    name: 'is refused while the previous phase is open',
    facts: manual({}, { phases: { prepare: 'dispatched', cutover: 'pending' } }),
    decide: advance('cutover'),
    refuses: 'phase prepare is still open; allow stragglers to continue without them',
  },
  {
    name: 'is refused to the second of two operators',
    facts: manual({}, { phases: { prepare: 'completed', cutover: 'pending' } }),
    decide: advance('prepare'),
    refuses: 'the next phase of batch 7 is cutover, not prepare',
  },
  {
    name: 'is refused to a wrong phase, and the batch does not start',
    facts: manual({ status: 'detected' }, { runbooks: NO_INIT }),
    decide: advance('cutover'),
    refuses: 'the next phase of batch 7 is prepare, not cutover',
  },
  {
    name: 'is refused past init',
    facts: manual({ status: 'detected' }),
    decide: advance('prepare'),
    refuses: 'the next step of batch 7 is init, not prepare',
  },
  {
    name: 'is refused during init',
    facts: manual({ status: 'init_dispatched' }),
    decide: advance('prepare'),
    refuses: 'batch 7 is init_dispatched',
  },
  {
    name: 'is refused after the last phase',
    facts: manual({}, { phases: { prepare: 'completed', cutover: 'completed' } }),
    decide: advance('after'),
    refuses: 'batch 7 has no phase left to advance to',
  },
  ...(['completed', 'failed', 'cancelled'] as const).map((status) => ({
    name: `is refused when it is ${status}`,
    facts: manual({ status }),
    decide: advance('prepare'),
    refuses: `batch 7 is ${status}`,
  })),
  {
    name: 'is refused while it is held',
    facts: manual(HELD),
    decide: advance('prepare'),
    refuses: 'batch 7 is held by olga: lunch; end it with "matoolkit resume --batch 7"',
  },
  {
    name: 'is refused for a scheduled batch',
    facts: ready(),
    decide: advance('prepare'),
    refuses: 'batch 7 is not manual: its phases start at their times',
  },
])

table('hold and resume', [
  {
    name: 'a hold records who and why',
    facts: {},
    decide: (draft) => hold(draft, 'lunch'),
    records: { events: ['batch held: lunch'] },
    also: ({ batch }) =>
      assert.deepEqual([batch.heldAt, batch.heldBy, batch.heldReason], [at(0), 'olga', 'lunch']),
  },
  {
    name: 'a second hold is refused',
    facts: { batch: HELD },
    decide: (draft) => hold(draft, 'dinner'),
    refuses: 'batch 7 is already held: lunch',
  },
  {
    name: 'a hold of an ended batch is refused',
    facts: { batch: 'completed' },
    decide: (draft) => hold(draft, 'lunch'),
    refuses: 'batch 7 is completed',
  },
  {
    name: 'a resume acknowledges the failures so far',
    facts: {
      batch: HELD,
      phases: { prepare: 'dispatched', cutover: 'dispatched' },
      members: { 1: 'failed' },
      steps: { 11: '1 prepare/create failed' },
    },
    decide: (draft) => resume(draft, 'lunch is over'),
    records: { events: ['batch resumed: lunch is over'] },
    also: ({ batch, phases, changedPhases }) => {
      assert.deepEqual([batch.heldAt, batch.heldBy, batch.heldReason], [null, null, null])
      assert.deepEqual(
        phases.map(({ fuseAcknowledged }) => fuseAcknowledged),
        [1, 0],
      )
      assert.equal(changedPhases.size, 1)
    },
  },
  {
    name: 'a resume is refused without a hold',
    facts: {},
    decide: (draft) => resume(draft, 'so'),
    refuses: 'batch 7 is not held',
  },
])

const FAILED_IN_INIT: Facts = {
  batch: { status: 'failed', failedInInit: true },
  phases: { prepare: 'cancelled', cutover: 'cancelled' },
  steps: {
    1: '- init/setup succeeded',
    2: ['- init/warm rolled_back', { attempt: 2, retryCount: 1 }],
  },
}

table('restarting', [
  {
    name: 'reopens the init steps that have not passed, and the phases',
    facts: FAILED_IN_INIT,
    decide: (draft) => restart(draft, 'fixed'),
    records: {
      events: [
        'batch restart failed→init_dispatched: fixed',
        'step 2 reactivate rolled_back→pending: fixed',
        'phase prepare restart cancelled→pending: fixed',
        'phase cutover restart cancelled→pending: fixed',
      ],
      waits: ['2 slot'],
    },
    also: (draft) => {
      const { attempt, retryCount } = stepOf(draft, 2)
      assert.deepEqual({ attempt, retryCount }, { attempt: 3, retryCount: 0 })
      const { failedInInit, endedAt, initDispatchedAt } = draft.batch
      assert.deepEqual([failedInInit, endedAt, initDispatchedAt], [false, null, at(0)])
    },
  },
  {
    name: 'is refused before the rollback of init has ended',
    facts: { ...FAILED_IN_INIT, batch: { status: 'failed', failedInInit: true, rollbackOpen: 1 } },
    decide: (draft) => restart(draft, 'fixed'),
    refuses: 'the rollback of init in batch 7 has not ended',
  },
  ...(['failed', 'active'] as const).map((status) => ({
    name: `is refused for a batch that is ${status} and did not fail in init`,
    facts: { batch: status },
    decide: ((draft) => restart(draft, 'fixed')) as Row['decide'],
    refuses: `batch 7 is ${status}; only a batch that failed in init can be restarted`,
  })),
])

table('rescheduling', [
  {
    name: 'moves the times of pending phases',
    facts: { phases: { prepare: 'dispatched', cutover: 'pending', after: 'pending' } },
    decide: (draft) => reschedule(draft, at(3600), 'fog'),
    records: {
      events: ['batch rescheduled: from 2026-03-03T08:00:00.000Z to 2026-03-02T09:00:00.000Z: fog'],
    },
    also: ({ phases, batch }) => {
      assert.deepEqual(batch.startTime, at(3600))
      assert.deepEqual(
        phases.map((phase) => phase.dueAt),
        [at(0), at(3600), at(3600 + 7 * 86_400)],
      )
    },
  },
  {
    name: 'is refused for a manual batch',
    facts: { batch: MANUAL },
    decide: (draft) => reschedule(draft, at(1), 'fog'),
    refuses: 'batch 7 is manual: it has no schedule',
  },
  {
    name: 'is refused for an ended batch',
    facts: { batch: 'cancelled' },
    decide: (draft) => reschedule(draft, at(1), 'fog'),
    refuses: 'batch 7 is cancelled',
  },
])

it('computes the due time from minutes before or after the start', () => {
  assert.deepEqual(dueAt(at(0), 60), at(-3600))
  assert.deepEqual(dueAt(at(0), -10_080), at(7 * 86_400))
})
