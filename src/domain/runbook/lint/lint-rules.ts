// The migration rules of `runbook validate`: what is valid and would still hurt people on the night. Each is a warning with a stable
// id, and can be ignored with a reason. docs/lint.md is generated from this table.

export interface LintRule {
  /** The message: what is wrong here and what to do. `{name}` is filled in. */
  readonly sentence: string
  readonly why: string
  /** What the runbook should have instead. */
  readonly better: string
}

const table = <T extends Record<string, LintRule>>(rows: T): T => rows

export const LINT_RULES = table({
  RUNS_TOO_EARLY: {
    sentence: '{function} runs before step "{step}": {because}',
    why: 'Some functions close the way for others. The functions of each package name what must come first; a licence with a mailbox, for example, gives an account a new one, and the old one can no longer be moved into it.',
    better: 'Move the step behind the one that is named.',
  },
  CHANGE_WITHOUT_CHECK: {
    sentence:
      '{function} changes something, has no rollback, and no later step checks it. Add on_failure, or a step with a Test- function on the same worker.',
    why: 'If it fails half-way or its effect never shows, nothing notices and nothing is taken back.',
    better:
      'Give the step an `on_failure` that undoes it, or let a later phase wait for the effect with a polled `Test-…` function. A rollback that only sends mail is a notice and does not count.',
  },
  ROLLBACK_DOES_NOT_UNDO: {
    sentence:
      'The rollback "{rollback}" does not undo {function}. Add a step with {undo}, or choose another rollback.',
    why: 'When the step fails after it has changed something, the rollback runs and the change stays. People believe that the person is back in the former state.',
    better:
      'Add the function that undoes the step, on the same worker and for the same object; [functions](reference/functions.md) names it for each. Removing the account undoes every change to it. Rollbacks with functions of your own are not judged.',
  },
  ROLLBACK_DELETES_COPY: {
    sentence:
      'Step "{step}" has begun to copy by now, and the rollback "{rollback}" runs {undo}, which throws the copy away. Choose a rollback that tells people, or one that only stops the move.',
    why: 'Copying takes days. A check that fails for a small reason, such as a department that HR has changed, would then cost the person the copy and the place in the wave.',
    better:
      'Once copying has begun, let a failed step stop and tell: the account and the copy stay, a person decides, and a retry continues there. Remove an account only in rollbacks of steps before the copy.',
  },
  POLL_PAST_NEXT_PHASE: {
    sentence:
      'The poll may last {timeout}, but phase "{phase}" is due {gap} after this one. Use a shorter timeout, or move the phases apart.',
    why: 'While a step polls, its phase has not ended, and the member cannot start the next one. The cut-over then starts late for these people, at an hour that nobody announced.',
    better: 'Choose a timeout below the gap to the next phase, so that a person can still decide.',
  },
  RETRY_NOT_IDEMPOTENT: {
    sentence:
      '{function} is not idempotent, and a retry may do it again after it was done. Set "retry: {max_retries: 0}" on this step.',
    why: 'When the outcome of an attempt is unknown, the retry repeats it: a second mail goes out.',
    better:
      'Set `max_retries: 0` on the step. The step then fails with an unknown outcome, and a person decides.',
  },
  NOTICE_AFTER_CUTOVER: {
    sentence:
      'People get their first notice after the cut-over has begun. Add a notice in a phase before T-0.',
    why: 'Somebody who was not told beforehand cannot sign in one morning and does not know why.',
    better:
      'Send the notice a day or more before the cut-over. A second one afterwards is fine and is not reported.',
  },
  REMOVAL_DELETES: {
    sentence:
      '{function} deletes, and runs as soon as the source no longer returns a person. Use a step that only closes or disables.',
    why: 'A mistake in the source, a filter or a join, makes people disappear from its result. Removal steps then run for all of them.',
    better:
      'Disable the account, take the licence and the groups, and stop the move. Delete by hand once it is certain.',
  },
  SAFEGUARD_OFF: {
    sentence: '"{key}: {value}" switches a safeguard off. Use {better}.',
    why: 'Safeguards stop a wave before a wrong source or a broken step reaches everybody.',
    better:
      'Keep the defaults: 20 percent of removals, 30 percent of failures, and `hold` for removals after the start.',
  },
  IRREVERSIBLE_WITHOUT_HOLD: {
    sentence:
      '{function} cannot be undone, and nothing before it asks people or gives them time. Make it the first change of a phase, and give that phase a gate, such as "gate: {approvals: 2}", or start it at least {gap} after the phase before.',
    why: 'It is the point of no return. In the middle of a phase the steps follow within seconds; between phases people look at what failed, and hold the batch or a member.',
    better:
      'Give the phase a `gate` with approvals: it starts only after people have said so, and not over members who are not ready. Or let an earlier phase check everything an hour before; then `matoolkit batch hold` stops it in time. A gate is about the start of its phase, so the step must be its first change.',
  },
  GATE_ASKS_NOBODY: {
    sentence:
      'Nobody has to approve this gate. Set "approvals" to 1 or more, so that a person decides.',
    why: 'A gate without approvals opens by itself. With a share under `ready` it still stops a wave that is not ready; without one it stops nothing.',
    better:
      'Ask for two approvals before what cannot be undone: `gate: { approvals: 2, ready: 95% }`.',
  },
  STEP_PAST_WINDOW: {
    sentence:
      'A job of this step may run {timeout}, and no change window is longer than {window}. Use a shorter timeout, or a longer window.',
    why: 'A job that has begun runs to its end, at most for the timeout. One that needs it changes the tenant after the window has closed, even if it began as the window opened.',
    better:
      'Keep the timeout well below the shortest window. Long work belongs into a poll: start it, then ask with a `Test-…` function, which may run at any time.',
  },
  PHASE_OUTSIDE_WINDOW: {
    sentence:
      'No batch that starts inside a change window has this phase inside one. Starting {start}, it is due {due}, and its changes wait {wait}, until {opens}. Choose another offset, or add hours.',
    why: 'Its steps begin long after the time that the plan tells people, and closer to the next phase.',
    better:
      'Choose an offset that leads from a window into a window, such as `T-7d`, or give the day of the phase hours of its own. A plan shows when changes really begin: `matoolkit runbook plan`.',
  },
  NO_WINDOW_BEFORE_NEXT_PHASE: {
    sentence:
      'For a batch that starts {start}, when a change window opens, this phase is due {due}, and no window opens before phase "{next}" is due: its changes wait {wait}, until {opens}. Move the phases apart, or add hours.',
    why: 'The changes of both phases then begin in the same minute. Nobody has time to look at what failed in the first, and people who wait for it start the second late.',
    better:
      'Let a window lie between the two phases. If batches never start then, say so in a comment that ignores the rule.',
  },
  OWN_FUNCTION_RUNS: {
    sentence:
      'On worker "{worker}", {function} is a function of your own, not the built-in one. Check that the runbook means it.',
    why: 'The name tells everybody what the built-in function does, and this worker does something else: a `Remove-…` of your own may only disable what the built-in one deletes.',
    better:
      'Give the function a name of its own. If it must run instead of the built-in one, ignore this rule at the step and say why.',
  },
  UNKNOWN_FUNCTION: {
    sentence: '{worker} {has} function "{function}". {hint}',
    why: 'A job for a function that its worker lacks is refused, for every member, on the night.',
    better:
      'Correct the name, or start a worker that has the function and ask its API: `--api-url`. A comment about a function of your own is never reported as unused, because an API that runs may know it.',
  },
  UNKNOWN_PARAMETER: {
    sentence: '{function} has no parameter "{name}". {hint}',
    why: 'The worker refuses the job, or does not do what the parameter was meant for.',
    better:
      'Correct the name; [functions](reference/functions.md) lists the parameters of each function.',
  },
  IGNORE_UNUSED: {
    sentence: 'Nothing here is reported as {id}. Remove the comment.',
    why: 'A comment that ignores nothing hides the next mistake.',
    better: 'Remove the comment, or move it directly above what it is about.',
  },
  IGNORE_INCOMPLETE: {
    sentence:
      'This comment ignores nothing: {reason}. Write "# matoolkit-ignore ID: reason" with an id of docs/lint.md.',
    why: 'The next reader needs the reason, and an unknown id is a slip of the pen.',
    better:
      '`# matoolkit-ignore CHANGE_WITHOUT_CHECK: the help line checks this list every morning`.',
  },
})

export type LintRuleId = keyof typeof LINT_RULES

/** They depend on which workers are known: a comment that ignores one may have nothing to ignore where an API runs. */
export const isCatalogueRule = (id: LintRuleId): boolean =>
  id.startsWith('UNKNOWN_') || id === 'OWN_FUNCTION_RUNS'

export const isLintRule = (code: string): code is LintRuleId => Object.hasOwn(LINT_RULES, code)

/** Where the rule is explained. */
export const lintLinkOf = (id: LintRuleId): string => `docs/lint.md#${id.toLowerCase()}`
