// Every error that a person or a program can get: a stable code, a sentence, an HTTP status and an exit code. A sentence quotes the
// bad value and says what to do next. docs/errors.md is generated from this table.

import { API_ERRORS } from './errors-api.ts'
import { CLI_ERRORS } from './errors-cli.ts'
import { type ErrorRow, EXIT } from './exit.ts'

export { type ErrorRow, EXIT } from './exit.ts'

const table = <T extends Record<string, ErrorRow>>(rows: T): T => rows

export const ERRORS = table({
  INTERNAL: {
    http: 500,
    exit: EXIT.failed,
    sentence: 'Unexpected error: {reason}. Report it with the log of this time.',
  },
  USAGE: {
    http: 400,
    exit: EXIT.usage,
    sentence: '{reason} Run the command with --help to see its arguments and flags.',
  },
  FILE_UNREADABLE: {
    http: 400,
    exit: EXIT.usage,
    sentence: 'Cannot read the file "{file}": {reason}. Check the path and its permissions.',
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
  SANDBOX_SEED_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The sandbox seed "{file}" is invalid: {reason}. Correct it; docs/sandbox.md describes its format.',
  },
  SANDBOX_FAULTS_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The sandbox faults "{faults}" are invalid: {reason}. Correct them; docs/sandbox.md describes their format.',
  },
  DATABASE_FOLDER_IN_USE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" is in use by {owner}. Stop that process, or use a PostgreSQL server (DATABASE_URL) to share one database between processes.',
  },
  DATABASE_FOLDER_BROKEN: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" does not open: {reason}. Restore its newest good snapshot, of {takenAt}, with "matoolkit snapshot restore {name}"; the present files are kept.',
  },
  DATABASE_FOLDER_LOST: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" does not open: {reason}. It has no snapshot. Restore your own backup of the folder, or move it away to start with an empty database.',
  },
  DATABASE_DISK_FULL: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The disk of the embedded database in "{folder}" is full: {reason}. Free some space, then start again; what was acknowledged is kept.',
  },
  DATABASE_STOPPED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" stopped: {reason}. Start again; what was acknowledged is kept.',
  },
  SNAPSHOT_FAILED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Cannot take a snapshot of the embedded database in "{folder}": {reason}. Check the disk; older snapshots are kept.',
  },
  SNAPSHOT_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no snapshot "{name}" in "{folder}". List them with "matoolkit snapshot list".',
  },
  DATABASE_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database does not answer: {reason}. Check DATABASE_URL and that the server is running.',
  },
  DATABASE_RESTORED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database was restored from a backup, and not everything is on hold yet. Try again in a few seconds; start an orchestrator if none runs.',
  },
  DATABASE_TOO_OLD: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database server runs PostgreSQL {version}, which is too old. Use PostgreSQL 15 or newer.',
  },
  DATABASE_NOT_EMPTY: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The database has {tables} tables, so it cannot be marked as throw-away. Use an empty database, or no DATABASE_URL for one in memory.',
  },
  DATABASE_NOT_THROW_AWAY: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'A {clock} clock needs a throw-away database, and this database is not marked as one. Use a database in memory, or the real clock.',
  },
  CONFIG_INVALID: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The configuration has {count errors}. {problems} Correct them and start again; docs/configuration.md lists every setting.',
  },
  SERVICE_STILL_RUNNING: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'The service "{name}" did not stop in time. Its unfinished work is repeated after the next start; check the log for the cause.',
  },
  SCHEMA_NEWER: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database has schema version {found}, but this program supports versions up to {known}. Run the newer matoolkit that migrated it, or restore a backup from before the upgrade.',
  },
  SCHEMA_OLDER: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database has schema version {found}, but this program needs version {known} and may not upgrade it: {why}. Run "matoolkit db migrate" with the DATABASE_URL of the owner.',
  },
  NOT_OWNER: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database role "{role}" does not own the tables. Run the command with the DATABASE_URL of the owner.',
  },
  RIGHTS_MISSING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database role "{role}" lacks what this process needs: {missing}. Run "{command}" with the DATABASE_URL of the owner.',
  },
  DATABASE_ROLE_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'The database has no role "{role}". Create it as an administrator (create role … login), then run the command again.',
  },
  DATABASE_ROLE_TOO_POWERFUL: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The database role "{role}" cannot be limited: {why}. Use a role of its own that has nothing but a login.',
  },
  SCHEMA_EDITED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The migration {file} differs from the one applied to this database. Restore the original file and put the change into a new migration.',
  },
  SCHEMA_UNRELEASED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'An unreleased matoolkit created this database: it has "{found}" where this version has "{file}". It cannot be upgraded; start with an empty database.',
  },
  MESSAGE_ID_INVALID: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The message id "{messageId}" is not 1 to 128 visible ASCII characters. Create ids with messageIdOf or jobIdOf.',
  },
  MESSAGE_UNROUTABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'Cannot deliver message {messageId}: "{workerId}" is not a worker id. Use the worker_id of the step.',
  },
  MESSAGE_BODY_INVALID: {
    http: 500,
    exit: EXIT.failed,
    sentence: 'Message {messageId} was not sent. {reason} Send exactly the fields of its type.',
  },
  MESSAGE_TOO_LARGE: {
    http: 413,
    exit: EXIT.failed,
    sentence:
      'Message {messageId} has {bytes} bytes, more than the limit of {limit}. Shorten the parameters or the result, or pass a reference.',
  },
  DEAD_LETTER_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no dead letter "{id}". List the dead letters to find its id.',
  },
  DEAD_LETTER_DECIDED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Dead letter {id} was already {decision} by {by}. List the dead letters to see which remain.',
  },
  BATCH_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no batch {batchId}. List the batches to find its id.',
  },
  BATCH_EXISTS: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Runbook "{name}" already has a batch that starts at {time}. Add members to that batch, or create a manual one.',
  },
  MEMBER_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'Batch {batchId} has no member {memberId}. List its members to find the id.',
  },
  WORKER_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no worker "{workerId}". List the workers with "matoolkit worker list".',
  },
  STEP_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no step {stepId}. List the steps of the batch to find its id.',
  },
  RUNBOOK_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Runbook "{name}" has no active version. Publish one, or list the runbooks to check the name.',
  },
  RUNBOOK_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no runbook "{name}". Publish it, or list the runbooks to check the name.',
  },
  RUNBOOK_VERSION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'Runbook "{name}" has no version {version}. List its versions to find the number.',
  },
  RUNBOOK_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The runbook has {count errors}; the first: {first} Run "matoolkit runbook validate" to see them all.',
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
  SOURCE_NOT_CONFIGURED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} is not configured: {reason}. Set {wanted}. See docs/sources.md for its value.',
  },
  SOURCE_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'The {source} is unreachable: {reason}. Check {reach}.',
  },
  SOURCE_SIGN_IN_REFUSED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'The {source} refused the sign-in: {reason}. Check {signIn}.',
  },
  SOURCE_QUERY_REFUSED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} refused the query: {reason}. Run the query in the source itself, then correct it in the runbook.',
  },
  SOURCE_TIMED_OUT: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The query of the {source} took longer than {seconds} seconds and was cancelled. Make the query faster, or raise MATOOLKIT_SOURCE_TIMEOUT_SEC.',
  },
  SOURCE_CANCELLED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The query of the {source} was cancelled, and no rows were used. Wait for the next tick, which runs it again.',
  },
  SOURCE_DROPPED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The connection to the {source} was lost after {rows} rows, and no rows were used: {reason}. Check the source and the network; the next tick runs the query again.',
  },
  SOURCE_TRUNCATED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned an incomplete result: {reason}. No rows were used, because missing members would count as leavers. Make the query return fewer rows or columns.',
  },
  SOURCE_COLUMNS_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned unusable columns: {reason}. Name every column once and return all columns that the runbook uses.',
  },
  SOURCE_VALUE_UNREADABLE: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned a value that cannot be converted exactly: {reason}. Cast that column to text in the query.',
  },
  SOURCE_FILE_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} is not a valid CSV file: {reason}. Use UTF-8 and commas, with a first line that names each column once.',
  },
  SOURCE_FILE_MISSING: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} is missing: {reason}. Create it there, or correct "path" in the runbook: it starts at MATOOLKIT_SOURCE_FOLDER, or at the folder in which "matoolkit up" was started.',
  },
  SOURCE_FILE_CHANGING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} is still being written: {reason}. The next tick reads it again; write files under a temporary name and rename them when complete.',
  },
  WORKER_NOT_CONFIGURED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The worker cannot start: {problems} Correct the settings and start again; docs/worker.md describes them.',
  },
  WORKER_CERTIFICATE_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The certificate in {place} is unusable: {reason}. Use a PEM or PFX with its private key, registered with the app in the tenant.',
  },
  WORKER_SIGN_IN_FAILED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The worker cannot sign in to tenant {tenantId}: {reason}. Check the app, its credential and its consent in that tenant.',
  },
  AUDIT_HEADS_UNSENT: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'Cannot send the heads of the audit to "{place}": {reason}. Correct the place, or set MATOOLKIT_AUDIT_HEADS_FILE or MATOOLKIT_AUDIT_HEADS_URL to another; the heads wait until then.',
  },
  JOB_KEY_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'Cannot use the job keys in "{file}": {reason}. Create a key with "openssl rand -base64 32", or set MATOOLKIT_JOB_KEY_FILE to another file.',
  },
  SECRETS_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The secrets folder "{folder}" is unusable: {reason}. Correct it, or set MATOOLKIT_SECRETS_FOLDER to another.',
  },
  SECRET_UNREADABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'Cannot decrypt the secret "{reference}": it was stored with another key, or was changed. Restore MATOOLKIT_SECRETS_KEY, or store the secret again.',
  },
  FOLDER_UNWRITABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Cannot write to the folder "{folder}": {reason}. Change its permissions, start in another folder, or set {setting}.',
  },
  FOLDER_UNSAFE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The folder "{folder}" is not safe: {reason}. {remedy}, or set {setting} to another folder.',
  },
  PORT_UNUSABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'Cannot use port {port} for {purpose}: {reason}. Set {setting} to a free port.',
  },
  FUNCTION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no function "{name}". {hint} Run "matoolkit function list" to see them all.',
  },
  SOURCE_RESULT_REFUSED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The result of the {source} was not used: {reason}. Check the query with "matoolkit query preview" and correct it in the runbook.',
  },
  AUTOMATION_OFF: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The automation of runbook "{name}" is off, so its query does not run. Turn it on with "matoolkit automation enable".',
  },
  TICK_RUNNING: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Another scheduler is running a tick of runbook "{name}". Wait for it to end, then check its result.',
  },
  TICK_TAKEN_OVER: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'This tick of runbook "{name}" took too long, and another scheduler took over. The next tick does the rest; check the log for the cause.',
  },
  TICK_OUTDATED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The result of this tick was not used: during the query, runbook "{name}" got a new version or its automation was turned off. Wait for the next tick.',
  },
  BATCH_OVER: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Batch {batchId} is {status}, so the scheduler adds no members to it. List its reviews and approve the latecomers who must join.',
  },
  REVIEW_CHANGED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      '{count} of the {asked} reviews are no longer open: decided by somebody else, or changed by a newer tick. List the reviews and decide again.',
  },
  ...API_ERRORS,
  ...CLI_ERRORS,
  REFUSED: {
    http: 409,
    exit: EXIT.conflict,
    sentence: '{reason}. Check the current state before you try again.',
  },
})

export type ErrorCode = keyof typeof ERRORS
export type ErrorDetails = Readonly<Record<string, string | number>>

/** An error with a code from the table. Any other thrown error is a bug and is shown as INTERNAL. */
export class MatoolkitError extends Error {
  override readonly name = 'MatoolkitError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(sentenceOf(code, details), options)
    this.code = code
    this.details = details
  }

  get httpStatus(): number {
    return ERRORS[this.code].http
  }

  get exitCode(): number {
    return ERRORS[this.code].exit
  }
}

/** `{name}` becomes the detail, `{count errors}` a number with its noun: 1 error, 2 errors. */
export function sentenceOf(code: ErrorCode, details: ErrorDetails): string {
  const { sentence } = ERRORS[code]
  return sentence.replace(/\{(\w+)(?: (\w+)s)?\}(\.?)/g, (whole, name: string, noun, stop) => {
    if (!Object.hasOwn(details, name)) return whole
    const value = String(details[name])
    if (noun) return `${value} ${noun}${value === '1' ? '' : 's'}${stop}`
    // A reason that is a full sentence has its own full stop.
    return value.endsWith('.') ? value : value + stop
  })
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
