import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  noteClosed,
  noteOpened,
  overrideWindows,
} from '../../../src/domain/decide/change-window.ts'
import { at, draftOf, NOW } from './builders.ts'

const CLOSED = {
  isOpen: false,
  until: at(3_600),
  timeZone: 'UTC',
  freezeReason: null,
} as const
const eventsOf = ({ events }: ReturnType<typeof draftOf>) => events.map(({ event }) => event)

it('a closed window is news once, and its next opening is kept up to date', () => {
  const draft = draftOf({})
  draft.window = CLOSED
  assert.equal(noteClosed(draft, false), true)
  assert.deepEqual([draft.batch.windowClosedAt, draft.batch.windowOpensAt], [NOW, at(3_600)])

  const known = draftOf({ batch: { windowClosedAt: at(-60), windowOpensAt: at(10) } })
  known.window = CLOSED
  assert.equal(noteClosed(known, false), false)
  assert.deepEqual([known.batch.windowClosedAt, known.batch.windowOpensAt], [at(-60), at(3_600)])
})

it('a window that opened and closed unseen is news again', () => {
  const draft = draftOf({ batch: { windowClosedAt: at(-9_000) } })
  draft.window = CLOSED
  assert.equal(noteClosed(draft, true), true)
  assert.deepEqual(draft.batch.windowClosedAt, NOW)
})

it('only people who were told of the close hear of the opening, and nobody does of a batch that is over', () => {
  const open = draftOf({})
  noteOpened(open)
  assert.deepEqual([eventsOf(open), open.isBatchChanged], [[], false])

  const told = draftOf({ batch: { windowClosedAt: at(-60), windowOpensAt: at(0) } })
  noteOpened(told)
  assert.deepEqual(eventsOf(told), ['window_opened'])
  assert.deepEqual([told.batch.windowClosedAt, told.batch.windowOpensAt], [null, null])

  const over = draftOf({ batch: { status: 'cancelled', windowClosedAt: at(-60) } })
  noteOpened(over)
  assert.deepEqual([eventsOf(over), over.batch.windowClosedAt], [[], null])
})

it('an override is for a batch under way and a time to come, and says who gave it', () => {
  const draft = draftOf({ batch: { windowClosedAt: at(-60), windowOpensAt: at(9_000) } })
  assert.equal(overrideWindows(draft, at(3_600), 'urgent'), null)
  const { windowClosedAt, windowOpensAt, windowOverrideUntil } = draft.batch
  assert.deepEqual([windowClosedAt, windowOpensAt, windowOverrideUntil], [null, null, at(3_600)])
  assert.deepEqual(
    [draft.batch.windowOverrideBy, draft.batch.windowOverrideReason],
    ['olga', 'urgent'],
  )
  assert.equal(overrideWindows(draft, null, 'done'), null)
  assert.deepEqual([draft.batch.windowOverrideUntil, draft.batch.windowOverrideBy], [null, null])
  assert.deepEqual(eventsOf(draft), ['window_overridden', 'window_override_ended'])
})

it('an override is refused with what is wrong', () => {
  assert.match(
    overrideWindows(draftOf({ batch: 'cancelled' }), at(60), 'x')!,
    /batch 7 is already cancelled/,
  )
  assert.match(overrideWindows(draftOf({}), NOW, 'x')!, /which has passed/)
  assert.match(overrideWindows(draftOf({}), null, 'x')!, /has no override/)
  const undoing = draftOf({ batch: { status: 'cancelled', undoOpen: 1 } })
  assert.equal(overrideWindows(undoing, at(60), 'x'), null)
})
