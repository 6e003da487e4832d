// Every pair of a status and an event, of every entity. The table here is the specification's, written out by hand: whatever it
// lacks is refused.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ENDED_BATCH_STATUSES,
  ENDED_PHASE_STATUSES,
  type Entity,
  FAILED_STEP_STATUSES,
  IllegalTransition,
  OPEN_PHASE_STATUSES,
  OPEN_STEP_STATUSES,
  PASSED_STEP_STATUSES,
  SENT_STEP_STATUSES,
  STARTED_PHASE_STATUSES,
  STATUSES,
  statusAfter,
  TRANSITIONS,
  UNFINISHED_BATCH_STATUSES,
} from '../../../src/domain/state/transitions.ts'

type Legal = Readonly<Record<string, Readonly<Record<string, string>>>>

/** From: event: to. A final status has an empty row. */
const LEGAL: Readonly<Record<Entity, Legal>> = {
  step: {
    pending: {
      dispatch: 'dispatched',
      unresolved: 'failed',
      begin_rollback: 'failed',
      cancel: 'cancelled',
      leave_out: 'skipped',
      skip: 'skipped',
      mark_done: 'succeeded',
      need_no_correction: 'succeeded',
    },
    dispatched: {
      succeed: 'succeeded',
      incomplete: 'polling',
      fail: 'failed',
      retry: 'pending',
      withdraw: 'pending',
      cancel: 'cancelled',
    },
    polling: {
      repoll: 'polling',
      incomplete: 'polling',
      lost: 'polling',
      succeed: 'succeeded',
      retry: 'pending',
      fail: 'failed',
      time_out: 'poll_timeout',
      begin_rollback: 'failed',
      cancel: 'cancelled',
    },
    failed: {
      roll_back: 'rolled_back',
      reactivate: 'pending',
      skip: 'skipped',
      mark_done: 'succeeded',
    },
    poll_timeout: {
      roll_back: 'rolled_back',
      reactivate: 'pending',
      skip: 'skipped',
      mark_done: 'succeeded',
    },
    rolled_back: { reactivate: 'pending', skip: 'skipped', mark_done: 'succeeded' },
    undone: { reactivate: 'pending', skip: 'skipped', mark_done: 'succeeded' },
    cancelled: { reactivate: 'pending', skip: 'skipped', mark_done: 'succeeded' },
    succeeded: { redo: 'pending', begin_rollback: 'failed', undo: 'undone', correct: 'pending' },
    skipped: { redo: 'pending', correct: 'pending' },
  },
  member: {
    none: { join: 'active', move_in: 'active' },
    active: { fail: 'failed', remove: 'removed', move_out: 'removed' },
    failed: { retry: 'active', remove: 'removed' },
    removed: { rejoin: 'active', readd: 'active', move_in: 'active' },
  },
  phase: {
    none: { create: 'pending', create_overdue: 'skipped' },
    pending: {
      start: 'dispatched',
      empty: 'skipped',
      supersede: 'superseded',
      cancel: 'cancelled',
    },
    dispatched: { complete: 'completed', fail: 'failed', empty: 'skipped', cancel: 'cancelled' },
    completed: { reopen: 'dispatched' },
    failed: { reopen: 'dispatched' },
    skipped: { reopen: 'dispatched', await: 'pending' },
    cancelled: { restart: 'pending' },
    superseded: {},
  },
  batch: {
    none: { create: 'detected' },
    detected: { activate: 'active', dispatch_init: 'init_dispatched', cancel: 'cancelled' },
    init_dispatched: { activate: 'active', fail: 'failed', cancel: 'cancelled' },
    active: { complete: 'completed', fail: 'failed', cancel: 'cancelled' },
    completed: { reopen: 'active' },
    failed: { reopen: 'active', restart: 'init_dispatched' },
    cancelled: {},
  },
}

const after = statusAfter as (entity: Entity, event: string, from: string) => string

/** Includes events that only the code or only the table knows. */
const eventsOf = (entity: Entity): string[] => [
  ...new Set([
    ...Object.keys(TRANSITIONS[entity]),
    ...Object.values(LEGAL[entity]).flatMap(Object.keys),
  ]),
]

describe('transitions', () => {
  for (const [entity, legal] of Object.entries(LEGAL) as [Entity, Legal][]) {
    it(`a ${entity} has the statuses of the table`, () => {
      const states = Object.keys(legal).filter((state) => state !== 'none')
      assert.deepEqual(STATUSES[entity].toSorted(), states.toSorted())
    })

    for (const [from, row] of Object.entries(legal)) {
      it(`a ${entity} that is ${from} takes exactly the events of the table`, () => {
        for (const event of eventsOf(entity)) {
          if (Object.hasOwn(row, event)) assert.equal(after(entity, event, from), row[event], event)
          else {
            assert.throws(
              () => after(entity, event, from),
              new IllegalTransition(`a ${entity} that is ${from} cannot ${event}`),
            )
          }
        }
      })
    }

    it(`a ${entity} refuses unknown statuses and events`, () => {
      for (const event of eventsOf(entity)) {
        for (const from of ['', 'PENDING', 'unknown', 'undefined'])
          assert.throws(() => after(entity, event, from), IllegalTransition)
      }
      for (const from of Object.keys(legal)) {
        for (const event of ['', 'explode', 'constructor', '__proto__'])
          assert.throws(() => after(entity, event, from), IllegalTransition)
      }
    })
  }
})

describe('status sets', () => {
  const sets: [string, readonly string[], string[]][] = [
    ['open steps', OPEN_STEP_STATUSES, ['pending', 'dispatched', 'polling']],
    ['sent steps', SENT_STEP_STATUSES, ['dispatched', 'polling']],
    ['passed steps', PASSED_STEP_STATUSES, ['succeeded', 'skipped']],
    ['failed steps', FAILED_STEP_STATUSES, ['failed', 'poll_timeout', 'rolled_back']],
    ['open phases', OPEN_PHASE_STATUSES, ['pending', 'dispatched']],
    ['started phases', STARTED_PHASE_STATUSES, ['dispatched', 'completed', 'failed']],
    [
      'ended phases',
      ENDED_PHASE_STATUSES,
      ['completed', 'failed', 'skipped', 'superseded', 'cancelled'],
    ],
    ['unfinished batches', UNFINISHED_BATCH_STATUSES, ['detected', 'init_dispatched', 'active']],
    ['ended batches', ENDED_BATCH_STATUSES, ['completed', 'failed', 'cancelled']],
  ]
  for (const [name, derived, expected] of sets) {
    it(`derives ${name} from the table`, () => assert.deepEqual(derived, expected))
  }
})
