// Statuses and events as people say them, in the command line and the dashboard. Programs keep the API's names.
import type { Entity } from './transitions.ts'

const STATUS_WORDS: Readonly<Record<Entity, Readonly<Record<string, string>>>> = {
  step: { dispatched: 'running', poll_timeout: 'timed out', rolled_back: 'rolled back' },
  member: {},
  phase: { dispatched: 'running' },
  batch: { detected: 'new', init_dispatched: 'init running' },
}

export const statusWord = (entity: Entity, status: string): string =>
  STATUS_WORDS[entity][status] ?? status

/** A filter takes the words that tables show. */
export const statusesByWord = (entity: Entity): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(STATUS_WORDS[entity]).map(([status, word]) => [word, status]))

/** A batch or phase says so itself: its table may have no column for it. A member or step has one. */
const EVENT_WORDS: Readonly<Record<string, string>> = {
  'step dispatch': 'sent',
  'step succeed': 'done',
  'step fail': 'failed',
  'step unresolved': 'failed',
  'step init_failed': 'failed',
  'step time_out': 'timed out',
  'step retry': 'to be retried',
  'step repoll': 'polled',
  'step incomplete': 'not done yet',
  'step lost': 'poll without answer',
  'step withdraw': 'taken back',
  'step settled': 'job ended',
  'step skip': 'skipped',
  'step mark_done': 'marked done',
  'step cancel': 'cancelled',
  'step reactivate': 'runs again',
  'step redo': 'runs again',
  'step correct': 'corrects what it told',
  'step need_no_correction': 'needs no correction',
  'step undo': 'to be rolled back',
  'step roll_back': 'rolled back',
  'step rollback_begun': 'rollback started',
  'step rollback_skipped': 'no rollback needed',
  'step rollback_missing': 'rollback missing',
  'step rollback_incomplete': 'rollback failed',
  'step outputs_missing': 'outputs missing',
  'step unexpected_result': 'unexpected result',
  'step late_result': 'late result',
  'step result_before_restore': 'result from before the restore',
  'member fail': 'failed',
  'member retry': 'retried',
  'member remove': 'removed',
  'member join': 'joined',
  'member rejoin': 'rejoined',
  'member readd': 'added again',
  'member move_out': 'moved out',
  'member move_in': 'moved in',
  'member held': 'held',
  'member resumed': 'resumed',
  'member hold_reason': 'reason for the hold',
  'member data_refreshed': 'data updated',
  'member variable_set': 'value set',
  'member removal_ignored': 'removal ignored',
  'member removal_review': 'removal to decide',
  'phase create': 'phase planned',
  'phase start': 'phase started',
  'phase complete': 'phase completed',
  'phase fail': 'phase failed',
  'phase create_overdue': 'phase skipped',
  'phase empty': 'phase skipped',
  'phase reopen': 'phase reopened',
  'phase supersede': 'phase replaced',
  'phase cancel': 'phase cancelled',
  'phase restart': 'phase planned again',
  'phase await': 'phase planned again',
  'phase gate_approved': 'start approved',
  'phase gate_waived': 'readiness waived',
  'phase gate_passed': 'gate passed',
  'phase approval_withdrawn': 'approval withdrawn',
  'phase waiver_withdrawn': 'waiver withdrawn',
  'phase approval_void': 'approval void',
  'phase waiver_void': 'waiver void',
  'phase share_started': 'share started',
  'phase share_ended': 'share ended',
  'phase share_reopened': 'share reopened',
  'phase expanded': 'steps created',
  'phase phase_due_ignored': 'phase not started',
  'batch create': 'batch created',
  'batch dispatch_init': 'init started',
  'batch activate': 'batch started',
  'batch complete': 'batch completed',
  'batch fail': 'batch failed',
  'batch cancel': 'batch cancelled',
  'batch reopen': 'batch reopened',
  'batch restart': 'init restarted',
  'batch hold_reason': 'reason for the hold',
  'batch members_added': 'members added',
  'batch version_changed': 'version changed',
  'batch review_opened': 'review opened',
  'batch review_dismissed': 'review dismissed',
}

/** What happened, in the past tense. */
export const eventWords = (entity: string, event: string): string =>
  EVENT_WORDS[`${entity} ${event}`] ?? `${entity} ${event.replaceAll('_', ' ')}`
