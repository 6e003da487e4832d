// Every pair of a state and an event, of every entity. The table is the specification's, written out here by hand: what it has
// moves, and everything that it does not have is refused.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Entity,
  IllegalTransition,
  statusAfter,
  statusesOf,
  TRANSITIONS,
} from '../../src/domain/transitions.ts'

type Legal = Readonly<Record<string, Readonly<Record<string, string>>>>

/** From: event: to. A state with no way out has an empty row. */
const LEGAL: Readonly<Record<Entity, Legal>> = {
  step: {
    pending: {
      dispatch: 'dispatched',
      unresolved: 'failed',
      cancel: 'cancelled',
      skip: 'skipped',
      mark_done: 'succeeded',
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
      cancel: 'cancelled',
    },
    failed: {
      undone: 'rolled_back',
      reactivate: 'pending',
      skip: 'skipped',
      mark_done: 'succeeded',
    },
    poll_timeout: {
      undone: 'rolled_back',
      reactivate: 'pending',
      skip: 'skipped',
      mark_done: 'succeeded',
    },
    rolled_back: { reactivate: 'pending', skip: 'skipped', mark_done: 'succeeded' },
    cancelled: { reactivate: 'pending', skip: 'skipped', mark_done: 'succeeded' },
    succeeded: { redo: 'pending' },
    skipped: { redo: 'pending' },
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
    skipped: { reopen: 'dispatched' },
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

const move = statusAfter as (entity: Entity, event: string, from: string) => string

/** An event that the code knows and the table does not, or the other way round, is tried too. */
const eventsOf = (entity: Entity): string[] => [
  ...new Set([
    ...Object.keys(TRANSITIONS[entity]),
    ...Object.values(LEGAL[entity]).flatMap(Object.keys),
  ]),
]

describe('moves', () => {
  for (const [entity, legal] of Object.entries(LEGAL) as [Entity, Legal][]) {
    it(`of a ${entity}: its statuses are those of the table`, () => {
      const states = Object.keys(legal).filter((state) => state !== 'none')
      assert.deepEqual(statusesOf(entity), states.toSorted())
    })

    for (const [from, row] of Object.entries(legal)) {
      it(`of a ${entity} that is ${from}`, () => {
        for (const event of eventsOf(entity)) {
          if (Object.hasOwn(row, event)) assert.equal(move(entity, event, from), row[event], event)
          else {
            assert.throws(
              () => move(entity, event, from),
              new IllegalTransition(`a ${entity} that is ${from} cannot ${event}`),
            )
          }
        }
      })
    }

    it(`of a ${entity}: from no other state, and by no other event`, () => {
      for (const event of eventsOf(entity)) {
        for (const from of ['', 'PENDING', 'unknown', 'undefined'])
          assert.throws(() => move(entity, event, from), IllegalTransition)
      }
      for (const from of Object.keys(legal)) {
        for (const event of ['', 'explode', 'constructor', '__proto__'])
          assert.throws(() => move(entity, event, from), IllegalTransition)
      }
    })
  }
})
