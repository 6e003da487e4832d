// When each transition happens, for docs/reference/transitions.md. The compiler asks for a line per event.
import type { Entity, TRANSITIONS } from '../src/domain/state/transitions.ts'

export const TRANSITION_REASONS: {
  readonly [E in Entity]: Readonly<Record<keyof (typeof TRANSITIONS)[E], string>>
} = {
  step: {
    dispatch: 'its turn came and its worker had a free slot',
    succeed: 'the result says success; a polled step is `complete`',
    incomplete: 'a polled step is not `complete` yet',
    repoll: 'the poll interval is over',
    lost: 'the job of a poll is lost or did not start; the next interval polls again',
    retry: 'an attempt failed and a retry is left',
    withdraw: 'no worker had started the job: a hold took it back, or its time was over',
    unresolved: 'a template names a variable that the member lacks; nothing was sent',
    fail: 'the attempt failed and no retry is left',
    time_out: 'the poll timeout is over',
    begin_rollback: '`batch rollback`',
    undo: '`batch undo`',
    roll_back: 'every step of its rollback passed',
    cancel: 'the batch was cancelled, or the member failed, was removed or moved away',
    reactivate: '`batch retry`, or the member came back',
    redo: '`batch retry --again`, or the member came back after its cleanup',
    correct:
      'the member was told a start time that is no longer true; the step sends its correction',
    need_no_correction:
      'the start is again the one that the member was told, or the member moves and the other batch corrects it',
    leave_out: 'a condition of its `when` does not hold for the member',
    skip: '`batch skip`',
    mark_done: '`batch skip --done`, or passed in the batch that the member came from',
  },
  member: {
    join: 'a row of the source, a member file, or `batch add-members`',
    fail: 'a step failed for good',
    retry: '`batch retry` or `batch skip`',
    remove: '`batch remove-member`, or gone from the source',
    rejoin: 'back in the source',
    readd: '`batch readd-member`',
    move_out: 'another date in the source, or `batch move-member`',
    move_in: 'the same, in the batch that takes the member',
  },
  phase: {
    create: 'the batch was created, or a version replaced or reran the phase',
    start: 'its time came; manual: `batch advance`',
    complete: 'no step is open, and at least one member passed',
    fail: 'no step is open, a member failed and none passed',
    create_overdue: 'a version was published after its time, with `ignore`',
    empty: 'there is no active member',
    reopen: 'a member joined late, or was retried',
    await: 'it has a gate or a ramp, was empty at its time, and has members again',
    supersede: 'a newer version replaced it before it started',
    cancel: '`batch cancel`, or init failed',
    restart: '`batch retry --init`',
  },
  batch: {
    create: 'a new date in the source, or `batch create`',
    dispatch_init: 'the runbook has init steps',
    activate: 'init passed, or there is none',
    complete: 'nothing is open, and a phase completed or nothing failed',
    fail: 'init failed, or phases failed and none completed',
    cancel: '`batch cancel`',
    reopen: 'a member joined late, was retried or came back',
    restart: '`batch retry --init` after a failed init',
  },
}
