// Waking by the clock: early, late and twice do no harm.
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
    name: 'a step that waits for nothing',
    facts: one('1 prepare/check pending'),
    decide: wake(12),
  },
  { name: 'too early', facts: one('1 prepare/check pending retry+1'), decide: wake(12) },
  { name: 'a step in the queue', facts: one('1 prepare/check pending slot'), decide: wake(12) },
  {
    name: 'a retry that is due enters the queue',
    facts: one('1 prepare/check pending retry+0'),
    decide: wake(12),
    records: { waits: ['12 slot'] },
  },
  {
    name: 'a retry after polling is not woken again by the time of the poll',
    facts: one('1 prepare/check pending retry+0', {
      pollStartedAt: at(-700),
      pollTimeoutAt: at(-100),
    }),
    decide: wake(12),
    records: { waits: ['12 slot'] },
  },
  {
    name: 'a poll that is due enters the queue, and still times out there',
    facts: one('1 prepare/check polling poll+0'),
    decide: wake(12),
    records: { waits: ['12 slot +510'] },
  },
  {
    name: 'a poll that is due in the queue at its timeout',
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
    name: 'a poll at its timeout',
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
    name: 'a job past its deadline and the grace',
    facts: one('1 prepare/check dispatched job+0'),
    decide: wake(12),
    records: {
      events: ['step 12 retry dispatched→pending: retry 1 of 1 in 60 s: no result in time'],
      attempts: ['step-12 lost no result in time'],
      waits: ['12 retry +60'],
    },
  },
  {
    name: 'a job past its deadline in a held batch: deadlines run on',
    facts: one('1 prepare/check dispatched job+0', {}, HELD),
    decide: wake(12),
    records: {
      events: ['step 12 retry dispatched→pending: retry 1 of 1 in 60 s: no result in time'],
      attempts: ['step-12 lost no result in time'],
      waits: ['12 retry +60'],
    },
  },
  {
    name: 'a retry of a held batch stays',
    facts: one('1 prepare/check pending retry+0', {}, HELD),
    decide: wake(12),
  },
  {
    name: 'a poll of a held batch stays, even past its timeout',
    facts: one('1 prepare/check polling poll+0', { pollTimeoutAt: at(-5) }, HELD),
    decide: wake(12),
  },
  {
    name: 'a retry that is not the next any more waits its turn',
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
    name: 'a retry of init',
    facts: { batch: 'init_dispatched', steps: { 1: '- init/setup pending retry+0' } },
    decide: wake(1),
    records: { waits: ['1 slot'] },
    also: (draft) => assert.deepEqual(stepOf(draft, 1).wait?.since, at(0)),
  },
])
