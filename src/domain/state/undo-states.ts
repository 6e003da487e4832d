// The states of a change in the undo ledger, as programs and people say them. docs/cut-over-night.md has the table.
export const UNDO_STATES = [
  'to_undo',
  'undoing',
  'undone',
  'skipped',
  'rolled_back',
  'goes_with',
  'beyond',
  'irreversible',
  'unknown',
] as const

/**
 * `beyond`: done before the point of no return. `goes_with`: its object goes by another undo. `rolled_back`: the runbook's rollback took
 * it back. `skipped`: a person passed its undo.
 */
export type UndoState = (typeof UNDO_STATES)[number]

interface StateWords {
  /** In a plan, after the name of the step. */
  readonly plan: string
  /** Where the note of a change says nothing. */
  readonly meaning: string
}

export const UNDO_WORDS: Readonly<Record<UndoState, StateWords>> = {
  to_undo: { plan: 'is undone', meaning: 'An undo takes it back.' },
  undoing: { plan: 'is being undone already', meaning: 'Its undo step is open.' },
  undone: { plan: 'was undone before', meaning: 'An undo took it back.' },
  skipped: { plan: 'stays: its undo was skipped', meaning: 'Its undo was skipped.' },
  rolled_back: { plan: 'was rolled back before', meaning: 'The rollback took it back.' },
  goes_with: { plan: 'goes with its object', meaning: 'It goes with its object.' },
  beyond: { plan: 'stays', meaning: 'It was done before the point of no return.' },
  irreversible: { plan: 'cannot be undone', meaning: 'Nothing takes it back.' },
  unknown: { plan: 'is unknown', meaning: 'What it changed is unknown: check the tenant.' },
}
