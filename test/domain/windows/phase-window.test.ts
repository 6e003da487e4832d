// Whether a phase is due inside its windows, and what a plan says about it.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { WEEKDAYS } from '../../../src/domain/notifications/quiet-hours.ts'
import { planNotes } from '../../../src/domain/plan/plan-notes.ts'
import { type FunctionFacts, factsFrom } from '../../../src/domain/runbook/function-facts.ts'
import type { RunbookStep } from '../../../src/domain/runbook/model.ts'
import type { ChangeWindows } from '../../../src/domain/windows/change-windows.ts'
import { phaseWindow } from '../../../src/domain/windows/phase-window.ts'

const NIGHT: ChangeWindows = {
  timeZone: 'Europe/Berlin',
  hours: [{ days: WEEKDAYS, fromMin: 22 * 60, toMin: 6 * 60 }],
  freezes: [{ from: '2026-12-19', to: '2027-01-06', reason: 'year-end closing' }],
}
const phaseOf = (...functions: string[]) => ({
  steps: functions.map((name) => ({ workerId: 'w', function: name }) as RunbookStep),
})
const declared = (name: string, effect: FunctionFacts['effect']) => ({
  name,
  parameters: {},
  facts: { effect, isIdempotent: true, undoneBy: [] },
})
const FACTS_OF = factsFrom([
  {
    workerId: null,
    functions: [
      declared('Test-EntraLicense', 'reads'),
      declared('Send-Notification', 'tells'),
      declared('New-EntraUser', 'changes'),
    ],
  },
])
const CHANGE = phaseOf('Test-EntraLicense', 'New-EntraUser')

/** What a plan says of a phase that is due then. */
function notesAt(dueAt: string, windows = [NIGHT], overrideUntil: Date | null = null) {
  const at = new Date(dueAt)
  const window = phaseWindow(CHANGE, FACTS_OF, { windows, overrideUntil, at })
  const nothing = { isOverdue: false, gate: null, ramp: null, noReturnSteps: [] }
  return planNotes({ ...nothing, dueAt: at, window })
}

it('tells how long changes wait, also through a freeze and the change of the clocks', () => {
  assert.deepEqual(notesAt('2026-06-01T12:00:00Z'), [
    'changes wait 8h for the change window, which opens Mon 01 Jun 2026 22:00 CEST (Europe/Berlin)',
  ])
  assert.deepEqual(notesAt('2026-12-20T22:00:00Z'), [
    'changes wait 17d 1h for the change window, which opens Thu 07 Jan 2027 00:00 CET (Europe/Berlin) (freeze: year-end closing)',
  ])
  // 29 March 2026: 02:00 becomes 03:00, and the night is an hour shorter.
  assert.deepEqual(notesAt('2026-03-28T23:00:00Z'), [
    'due inside the change window, which closes Sun 29 Mar 2026 06:00 CEST (Europe/Berlin)',
  ])
  const never = { ...NIGHT, freezes: [{ from: '2026-01-01', to: '2028-12-31', reason: 'sold' }] }
  assert.deepEqual(notesAt('2026-06-01T12:00:00Z', [never]), [
    'changes wait for a change window, and none opens within a year (freeze: sold)',
  ])
})

it('counts an override, and says nothing where nothing waits', () => {
  const at = new Date('2026-06-01T12:00:00Z')
  const overrideUntil = new Date('2026-06-01T13:00:00Z')
  assert.deepEqual(notesAt('2026-06-01T12:00:00Z', [NIGHT], overrideUntil), [
    'due inside the change window, which closes Mon 01 Jun 2026 15:00 CEST (Europe/Berlin)',
  ])
  assert.equal(phaseWindow(CHANGE, FACTS_OF, { windows: [], at }), null)
  assert.equal(phaseWindow(CHANGE, FACTS_OF, { windows: [NIGHT], at: null }), null)
  const reads = phaseOf('Test-EntraLicense', 'Send-Notification')
  assert.equal(phaseWindow(reads, FACTS_OF, { windows: [NIGHT], at }), null)
  // A custom function, and one that a member's data names, may change anything.
  for (const name of ['Our-Function', '{{Action}}'])
    assert.equal(phaseWindow(phaseOf(name), FACTS_OF, { windows: [NIGHT], at })!.isOpen, false)
})
