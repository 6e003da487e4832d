// Waking by the clock: an early, late or second wake does no harm.
import assert from 'node:assert/strict'
import { onWake } from '../../../src/domain/decide/wake.ts'
import { at, type Facts } from './builders.ts'
import { type Row, stepOf, table } from './table.ts'

const wake =
  (stepId: number): Row['decide'] =>
  (draft) =>
    onWake(draft, stepOf(draft, stepId))
const one = (line: string, change: object = {}, more: Facts = {}): Facts => ({
  phases: { prepare: 'dispatched' },
  members: { 1: 'active' },
  steps: { 12: [line, change] },
  ...more,
})
const HELD = { batch: { heldAt: at(-10), heldBy: 'olga', heldReason: 'wait' } }

table('waking', [
  {
    name: 'ignores a step that waits for nothing',
    facts: one('1 prepare/check pending'),
    decide: wake(12),
  },
  { name: 'too early', facts: one('1 prepare/check pending retry+1'), decide: wake(12) },
  { name: 'a step in the queue', facts: one('1 prepare/check pending slot'), decide: wake(12) },
  {
    name: 'queues a due retry',
    facts: one('1 prepare/check pending retry+0'),
    decide: wake(12),
    records: { waits: ['12 slot'] },
  },
  {
    name: "does not wake a retry after polling again at the poll's time",
    facts: one('1 prepare/check pending retry+0', {
      pollStartedAt: at(-700),
      pollTimeoutAt: at(-100),
    }),
    decide: wake(12),
    records: { waits: ['12 slot'] },
  },
  {
    name: 'queues a due poll, which can still time out in the queue',
    facts: one('1 prepare/check polling poll+0'),
    decide: wake(12),
    records: { waits: ['12 slot +510'] },
  },
  {
    name: 'times out a queued poll',
    facts: one('1 prepare/check polling slot+0', { pollTimeoutAt: at(0) }),
    decide: wake(12),
    records: {
      events: [
        'step 12 time_out polling→poll_timeout: not complete after 600 s of polling',
        'member 1 fail active→failed: step check of phase prepare failed',
      ],
      waits: ['12 nothing'],
    },
  },
  {
    name: 'times out a poll',
    facts: one('1 prepare/check polling poll+0', { pollTimeoutAt: at(0) }),
    decide: wake(12),
    records: {
      events: [
        'step 12 time_out polling→poll_timeout: not complete after 600 s of polling',
        'member 1 fail active→failed: step check of phase prepare failed',
      ],
      waits: ['12 nothing'],
    },
  },
  {
    name: 'gives up no job: the bus must be asked first',
    facts: one('1 prepare/check dispatched job+0'),
    decide: wake(12),
  },
  {
    name: 'leaves a retry of a held batch',
    facts: one('1 prepare/check pending retry+0', {}, HELD),
    decide: wake(12),
  },
  {
    name: 'leaves a poll of a held batch, even past its timeout',
    facts: one('1 prepare/check polling poll+0', { pollTimeoutAt: at(-5) }, HELD),
    decide: wake(12),
  },
  {
    name: 'takes a retry that is no longer next out of the queue',
    facts: one(
      '1 prepare/check pending retry+0',
      {},
      {
        steps: { 12: '1 prepare/check pending retry+0', 11: '1 prepare/create dispatched job' },
      },
    ),
    decide: wake(12),
    records: { waits: ['12 nothing'] },
  },
  {
    name: 'queues a due retry of init',
    facts: { batch: 'init_dispatched', steps: { 1: '- init/setup pending retry+0' } },
    decide: wake(1),
    records: { waits: ['1 slot'] },
    also: (draft) => assert.deepEqual(stepOf(draft, 1).wait?.since, at(0)),
  },
])
