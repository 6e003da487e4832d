// The migration rules of `runbook validate`: what is valid and would still hurt people on the night. Each is a warning with a stable
// id, and can be ignored with a reason. docs/runbook.md is generated from this table.

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
    why: 'Some functions close the way for others: a licence with a mailbox gives an account a new one, and the old one can no longer be moved into it.',
    better: 'Move the step behind the named one.',
  },
  CHANGE_WITHOUT_CHECK: {
    sentence:
      '{function} changes something, has no rollback, and no later step checks it. Add on_failure, or a step with a Test- function on the same worker.',
    why: 'A change that fails half-way or never takes effect would go unnoticed and stay.',
    better:
      'Add an `on_failure` that undoes it, or let a later phase poll a `Test-…` function. A rollback that only sends mail does not count.',
  },
  ROLLBACK_DOES_NOT_UNDO: {
    sentence:
      'The rollback "{rollback}" does not undo {function}. Add a step with {undo}, or choose another rollback.',
    why: 'The rollback runs, the change stays, and people believe that it was undone.',
    better:
      'Add the inverse on the same worker for the same object; [functions](reference/functions.md) names it. Removing the account undoes every change to it. Rollbacks with functions of your own are not judged.',
  },
  ROLLBACK_DELETES_COPY: {
    sentence:
      'Step "{step}" has begun to copy by now, and the rollback "{rollback}" runs {undo}, which throws the copy away. Choose a rollback that tells people, or one that only stops the move.',
    why: 'Copying takes days. A check that fails for a small reason, such as a new department, would cost the person the copy and the place in the wave.',
    better:
      'Once copying has begun, let a failed step stop and send a notice: account and copy stay, and a retry continues there. Remove accounts only in rollbacks of steps before the copy.',
  },
  VARIABLE_MAY_BE_LEFT_OUT: {
    sentence:
      '"{variable}" comes from step "{step}" only, which is left out for some people: then this step fails. Give it the same "when", or one that asks for "{variable}".',
    why: 'A step that is left out sets nothing. A later step that needs its output fails for exactly the people for whom it was left out.',
    better:
      'Repeat the conditions of the step that sets the variable, or write `when: [{ variable: ArchiveGuid, present: true }]`.',
  },
  PEOPLE_OF_OTHER_TENANT: {
    sentence:
      '{parameter} of {function} names people of this tenant, and "{variable}" was read by worker "{worker}" in another one. Look them up with "person:{variable}"; the step is refused otherwise.',
    why: 'Names of one tenant mean nothing in the other, or a stranger: a right would go to the wrong person without an error.',
    better:
      'Say under `people` how members are called in both tenants, and look people up with `{{person:…}}`. Who has not moved yet is left out, and gets the right by their own step with `{{waiting:…}}`.',
  },
  POLL_PAST_NEXT_PHASE: {
    sentence:
      'The poll may last {timeout}, but phase "{phase}" is due {gap} after this one. Use a shorter timeout, or move the phases apart.',
    why: 'A member cannot start the next phase while a step polls, so the cut-over starts late for these people, at an hour that was never announced.',
    better: 'Choose a timeout below the gap, so that a person can still decide.',
  },
  RETRY_NOT_IDEMPOTENT: {
    sentence:
      '{function} is not idempotent, and a retry may do it again after it was done. Set "retry: {max_retries: 0}" on this step.',
    why: 'When the outcome of an attempt is unknown, a retry repeats it: a second mail goes out.',
    better: 'With `max_retries: 0` the step fails with an unknown outcome, and a person decides.',
  },
  NOTICE_AFTER_CUTOVER: {
    sentence:
      'People get their first notice after the cut-over has begun. Add a notice in a phase before T-0.',
    why: 'People who were not told cannot sign in one morning and do not know why.',
    better: 'Send a notice a day or more before the cut-over. A second one afterwards is fine.',
  },
  REMOVAL_DELETES: {
    sentence:
      '{function} deletes, and runs as soon as the source no longer returns a person. Use a step that only closes or disables.',
    why: 'A wrong filter or join makes people disappear from the result, and removal steps run for all of them.',
    better:
      'Disable the account, take licence and groups away, stop the move. Delete by hand once you are certain.',
  },
  REMOVAL_MAY_HIT_OTHERS: {
    sentence:
      '{function} acts on {value}, a name that step "{step}" may have found taken: then it is someone else\'s. Use an output of that step, with "when: [{ variable: …, present: true }]".',
    why: 'If the account was refused because a colleague has the name, the step closes the account of the colleague.',
    better:
      'Use the output of the step that creates it, with `when: [{ variable: AccountId, present: true }]`.',
  },
  SAFEGUARD_OFF: {
    sentence: '"{key}: {value}" switches a safeguard off. Use {better}.',
    why: 'Safeguards stop a wave before a wrong source or a broken step reaches everyone.',
    better:
      'Keep the defaults: 20 % of removals, 30 % of failures, `hold` for removals after the start.',
  },
  IRREVERSIBLE_WITHOUT_HOLD: {
    sentence:
      '{function} cannot be undone, and nothing before it asks people or gives them time. Make it the first change of a phase, and give that phase a gate, such as "gate: {approvals: 2}", or start it at least {gap} after the phase before.',
    why: 'This is the point of no return. Within a phase, steps follow in seconds; between phases people can look at failures and hold the batch or a member.',
    better:
      'Give the phase a `gate` with approvals, or let an earlier phase check everything an hour before, so that `matoolkit hold --batch` stops it in time. A gate guards the start of its phase, so the step must be its first change.',
  },
  GATE_ASKS_NOBODY: {
    sentence:
      'This gate asks for no approval. Set "approvals" to 1 or more, so that a person decides.',
    why: 'A gate without approvals opens without a person. With `ready` it still stops a wave that is not ready; without, it stops nothing.',
    better:
      'Ask for two approvals before what cannot be undone: `gate: { approvals: 2, ready: 95% }`.',
  },
  STEP_PAST_WINDOW: {
    sentence:
      'A job of this step may run {timeout}, and no change window is longer than {window}. Use a shorter timeout, or a longer window.',
    why: 'A job that has begun runs on, at most for its timeout, so it may change the tenant after the window has closed.',
    better:
      'Keep the timeout well below the shortest window. Long work belongs in a poll with a `Test-…` function, which may run at any time.',
  },
  PHASE_OUTSIDE_WINDOW: {
    sentence:
      'No batch that starts inside a change window has this phase inside one. Starting {start}, it is due {due}, and its changes wait {wait}, until {opens}. Choose another offset, or add hours.',
    why: 'The steps of the phase begin long after the announced time, and closer to the next phase.',
    better:
      'Choose an offset that leads from a window into a window, such as `T-7d`, or add hours on that day. `matoolkit runbook plan` shows when changes really begin.',
  },
  NO_WINDOW_BEFORE_NEXT_PHASE: {
    sentence:
      'For a batch that starts {start}, when a change window opens, this phase is due {due}, and no window opens before phase "{next}" is due: its changes wait {wait}, until {opens}. Move the phases apart, or add hours.',
    why: 'The changes of both phases begin in the same minute: there is no time to look at failures, and people who wait for the first start the second late.',
    better:
      'Leave a window between them. If batches never start then, ignore the rule with that reason.',
  },
  OWN_FUNCTION_RUNS: {
    sentence:
      'On worker "{worker}", {function} is a function of your own, not the built-in one. Check that the runbook means it.',
    why: 'Readers expect what the built-in function does: a `Remove-…` of your own may only disable what the built-in one deletes.',
    better: 'Rename your function, or ignore this rule at the step and say why.',
  },
  UNKNOWN_FUNCTION: {
    sentence: '{worker} {has} function "{function}". {hint}',
    why: 'A job for a function that its worker lacks is refused, for every member, on the night.',
    better:
      'Correct the name, or ask the API of a worker that has the function: `--api-url`. A comment that ignores this is never unused.',
  },
  UNKNOWN_PARAMETER: {
    sentence: '{function} has no parameter "{name}". {hint}',
    why: 'The worker refuses the job, or ignores what the parameter was meant for.',
    better: '[Functions](reference/functions.md) lists the parameters of each function.',
  },
  IGNORE_UNUSED: {
    sentence: 'Nothing here is reported as {id}. Remove the comment.',
    why: 'It would hide the next mistake.',
    better: 'Remove it, or move it directly above what it is about.',
  },
  IGNORE_INCOMPLETE: {
    sentence:
      'This comment ignores nothing: {reason}. Write "# matoolkit-ignore ID: reason" with an id of docs/runbook.md.',
    why: 'The next reader needs the reason, and an unknown id is a typing error.',
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
export const lintLinkOf = (id: LintRuleId): string => `docs/runbook.md#${id.toLowerCase()}`
