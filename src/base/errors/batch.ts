// Errors of batches, their members and steps, and what operators do with them. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const BATCH_ERRORS = errorRows({
  BATCH_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no batch {batchId}. List the batches with "matoolkit batch list".',
  },
  BATCH_EXISTS: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Runbook "{name}" already has a batch that starts at {time}. Add members to that batch, or create a manual one.',
  },
  BATCH_OVER: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Batch {batchId} is {status}, so the scheduler adds no members to it. List its reviews and approve the latecomers who must join.',
  },
  GATE_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Batch {batchId} has no phase "{phaseName}" with a gate. List its gates with "matoolkit batch get {batchId} --gates".',
  },
  MEMBER_FILE_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The member file "{file}" has no usable header: {reason}. Use a UTF-8 CSV file whose first line names each column once.',
  },
  MEMBER_ROWS_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The member file "{file}" has {count problems}; the first: row {row}, column {column}: {reason}. Correct the file and try again.',
  },
  MEMBER_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'Batch {batchId} has no member {memberId}. List its members to find the id.',
  },
  MEMBER_KEY_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The member key "{key}" is empty. Give every member a value in the primary key column.',
  },
  MEMBER_REPEATED: {
    http: 422,
    exit: EXIT.failed,
    sentence: 'The member "{key}" is listed more than once. List each member once.',
  },
  MEMBER_ELSEWHERE: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Other unfinished batches of this runbook have {count members} of this list: {members}. Move or remove them there first.',
  },
  MEMBER_NOT_IN_FILE: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'The member file "{file}" has no usable row for {member}. Name another person.',
  },
  STEP_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no step {stepId}. List the steps of the batch to find its id.',
  },
  ACTION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no action {actionId}. List the actions with "matoolkit actions".',
  },
  WOULD_BE_OVERDUE: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'With this start, phases of batch {batchId} are overdue and start at once: {phases}. Correct the time, or allow it: --allow-overdue (in the API allowOverdue).',
  },
  SELECTION_CHANGED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The selection has {found} members, but you expected {expected}. Repeat the dry run, then decide.',
  },
  STATE_CHANGED: {
    http: 412,
    exit: EXIT.conflict,
    sentence: '{subject} has changed since you read it. Read it again, then decide.',
  },
})
