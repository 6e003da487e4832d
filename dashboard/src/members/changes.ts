// What an operator can do to members, one or many: the words for it. The API decides what is possible.

export type MembersChange =
  | 'retry'
  | 'skip'
  | 'done'
  | 'hold'
  | 'resume'
  | 'remove'
  | 'readd'
  | 'move'
  | 'rollback'
  | 'undo'

interface ChangeWords {
  /** On the button; the dialog adds whom. */
  readonly verb: string
  /** What happens, in the present tense. */
  readonly effect: string
  readonly isDanger?: true
  readonly reason: 'required' | 'optional'
}

export const CHANGES: Readonly<Record<MembersChange, ChangeWords>> = {
  retry: {
    verb: 'Retry',
    effect: 'The failed step runs again with current data; after a success the rest follows.',
    reason: 'required',
  },
  skip: {
    verb: 'Skip the step',
    effect: 'The failed step is left out for good. What comes after it continues.',
    reason: 'required',
  },
  done: {
    verb: 'Mark as done',
    effect: 'The failed step counts as done by hand. What comes after it continues.',
    reason: 'required',
  },
  hold: {
    verb: 'Hold',
    effect:
      'Nothing new starts. Jobs that no worker has started are withdrawn, running ones finish. Nothing is undone.',
    reason: 'optional',
  },
  resume: {
    verb: 'Resume',
    effect: 'The hold ends. Time on hold does not count for retries and polls.',
    reason: 'required',
  },
  remove: {
    verb: 'Remove',
    effect: 'Open steps are cancelled and the removal steps of the runbook run.',
    isDanger: true,
    reason: 'required',
  },
  readd: {
    verb: 'Add again',
    effect: 'The member takes part again, with the steps passed before.',
    reason: 'required',
  },
  move: {
    verb: 'Move',
    effect: 'The member goes to the other batch with data, outputs and passed steps.',
    reason: 'required',
  },
  rollback: {
    verb: 'Roll back',
    effect:
      'What was done is undone, the last step first. The member ends as failed and can be retried.',
    isDanger: true,
    reason: 'required',
  },
  undo: {
    verb: 'Undo',
    effect:
      'What our jobs changed is taken back, the last change first. A value that someone changed since is left alone, and the undo stops there. The member ends as failed and can be retried.',
    isDanger: true,
    reason: 'required',
  },
}
