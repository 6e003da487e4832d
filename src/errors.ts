// Every error a person or a program can meet, in one place: a stable code, the sentence, the HTTP status and the exit code.
// A sentence quotes the bad value and says what to do next. The table in docs/errors.md is generated from this one.

import { API_ERRORS } from './errors-api.ts'
import { CLI_ERRORS } from './errors-cli.ts'
import { type ErrorRow, EXIT } from './exit.ts'

export { type ErrorRow, EXIT } from './exit.ts'

const table = <T extends Record<string, ErrorRow>>(rows: T): T => rows

export const ERRORS = table({
  INTERNAL: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'Something went wrong that matoolkit did not expect: {reason}. Please report it with the log around this time.',
  },
  USAGE: {
    http: 400,
    exit: EXIT.usage,
    sentence: '{reason} Run the command with --help to see how it is used.',
  },
  FILE_UNREADABLE: {
    http: 400,
    exit: EXIT.usage,
    sentence: 'The file "{file}" cannot be read: {reason}. Check the path and its permissions.',
  },
  MEMBER_FILE_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The member file "{file}" has no usable header: {reason}. Give a CSV file in UTF-8 whose first line names each column once.',
  },
  MEMBER_ROWS_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The member file "{file}" has {count} problem(s); the first: row {row}, column {column}: {reason}. Correct the file and try again.',
  },
  SANDBOX_SEED_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The seed "{file}" of the sandbox cannot be used: {reason}. Correct it; docs/sandbox.md describes its shape.',
  },
  SANDBOX_FAULTS_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The faults "{faults}" of the sandbox cannot be used: {reason}. Correct them; docs/sandbox.md describes their shape.',
  },
  DATABASE_FOLDER_IN_USE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The embedded database in "{folder}" is in use by {owner}. Stop that process first, or use a PostgreSQL server (DATABASE_URL) if several processes must share one database.',
  },
  DATABASE_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database does not answer: {reason}. Check DATABASE_URL and that the server is running.',
  },
  DATABASE_TOO_OLD: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database server is PostgreSQL {version}, which is too old. Use PostgreSQL 15 or newer.',
  },
  DATABASE_NOT_EMPTY: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The database holds {tables} tables and cannot be marked as throw-away. Use an empty database, or none at all to get one in memory.',
  },
  DATABASE_NOT_THROW_AWAY: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'A clock that is {clock} may only run on a throw-away database, and this database is not marked as one. Use a database in memory, or the real clock.',
  },
  CONFIG_INVALID: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The configuration has {count} mistake(s). {problems} Correct them and start again; docs/configuration.md lists every setting.',
  },
  SERVICE_STILL_RUNNING: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'The service "{name}" did not stop in time. What it was doing is repeated at the next start; look in the log for what held it up.',
  },
  SCHEMA_NEWER: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database has schema version {found}; this program knows versions up to {known}. Run the newer matoolkit that made it, or restore a backup from before the upgrade.',
  },
  SCHEMA_EDITED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The migration {file} was applied to this database with other contents. Migrations are never edited: add a new one instead.',
  },
  SCHEMA_UNRELEASED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database was made by an unreleased matoolkit: it has "{found}" where this version has "{file}". It cannot be upgraded; start with an empty database.',
  },
  MESSAGE_ID_INVALID: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The message id "{messageId}" is not 1 to 128 visible ASCII characters. Make ids with messageIdOf or jobIdOf.',
  },
  MESSAGE_UNROUTABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The message {messageId} cannot be delivered: "{workerId}" is not a worker id. Give the worker_id of the step.',
  },
  MESSAGE_BODY_INVALID: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The message {messageId} was not sent. {reason} Send every field of its type and no other.',
  },
  MESSAGE_TOO_LARGE: {
    http: 413,
    exit: EXIT.failed,
    sentence:
      'The message {messageId} has {bytes} bytes; the bus carries up to {limit}. Shorten the parameters or the result, or pass a reference.',
  },
  DEAD_LETTER_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no dead letter "{id}". List the dead letters to see which there are.',
  },
  DEAD_LETTER_DECIDED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The dead letter {id} was already {decision} by {by}. List the dead letters to see what is left.',
  },
  BATCH_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no batch {batchId}. List the batches to see which there are.',
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
    sentence: 'Batch {batchId} has no member {memberId}. List its members to see which there are.',
  },
  STEP_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no step {stepId}. List the steps of the batch to see which there are.',
  },
  RUNBOOK_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no active version of a runbook named "{name}". Publish it, or list the runbooks to see their names.',
  },
  RUNBOOK_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'No runbook named "{name}" was ever published. List the runbooks to see their names, or publish it.',
  },
  RUNBOOK_VERSION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Runbook "{name}" has no version {version}. List its versions to see which there are.',
  },
  RUNBOOK_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The runbook has {count} error(s); the first: {first} Run "matoolkit runbook validate" to see them all.',
  },
  MEMBER_KEY_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence: 'The member key "{key}" is empty. Give every member the value of the primary key.',
  },
  MEMBER_REPEATED: {
    http: 422,
    exit: EXIT.failed,
    sentence: 'The member "{key}" is in the list more than once. Give each member once.',
  },
  MEMBER_ELSEWHERE: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      '{count} member(s) are active in another unfinished batch of this runbook: {members}. Move or remove them there first.',
  },
  SOURCE_NOT_CONFIGURED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} is not configured: {reason}. Set an environment variable whose name begins with {prefixes}; docs/sources.md says what it holds.',
  },
  SOURCE_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} cannot be reached: {reason}. Check its address, and that the network lets this machine through.',
  },
  SOURCE_SIGN_IN_REFUSED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} refused the sign-in: {reason}. Check the identity in its connection and what that identity may read.',
  },
  SOURCE_QUERY_REFUSED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} refused the query: {reason}. Try the query in the source itself, then correct it in the runbook.',
  },
  SOURCE_TIMED_OUT: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} did not finish its query within {seconds} seconds, so the query was cancelled. Make the query faster, or raise MATOOLKIT_SOURCE_TIMEOUT_SEC.',
  },
  SOURCE_CANCELLED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The query of the {source} was cancelled before its end. Nothing of it was used; wait for the next tick, which asks again.',
  },
  SOURCE_DROPPED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The connection to the {source} was lost after {rows} rows: {reason}. None of them was used. Check the source and the network between; the next tick asks again.',
  },
  SOURCE_TRUNCATED: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} did not return its whole result: {reason}. Nothing of it was used, because whoever is missing would look as if they had left. Make the query return fewer rows or columns.',
  },
  SOURCE_COLUMNS_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned columns that cannot be used: {reason}. Name every column once, and return all that the runbook names.',
  },
  SOURCE_VALUE_UNREADABLE: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} returned a value that cannot be read without loss: {reason}. Change the query so that it casts that column to text.',
  },
  SOURCE_FILE_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The {source} cannot be used: {reason}. Give it a CSV file in UTF-8 with commas, whose first line names each column once.',
  },
  SOURCE_FILE_CHANGING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The {source} is still being written: {reason}. The next tick reads it again; write files under another name and rename them when they are complete.',
  },
  WORKER_NOT_CONFIGURED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The worker cannot start: {problems} Set what is missing and start again; docs/worker.md says what each is for.',
  },
  WORKER_CERTIFICATE_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The certificate in {place} cannot be used: {reason}. Give one with its private key, as PEM or PFX, that the app in the tenant knows.',
  },
  WORKER_SIGN_IN_FAILED: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The worker cannot sign in to tenant {tenantId}: {reason}. Check the app, its credential and its consent in that tenant.',
  },
  SECRETS_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The folder "{folder}" cannot keep secrets: {reason}. Correct it, or name another in MATOOLKIT_SECRETS_FOLDER.',
  },
  SECRET_UNREADABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The secret "{reference}" cannot be decrypted: it was kept with another key, or changed since. Give MATOOLKIT_SECRETS_KEY as it was, or put the secret in anew.',
  },
  PORT_UNUSABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The port {port} for {purpose} cannot be used: {reason}. Set {setting} to a free one.',
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
      'The result of the {source} was not used: {reason}. Look at the query with "query preview" and correct it in the runbook.',
  },
  AUTOMATION_OFF: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The automation of runbook "{name}" is off, so its data source is not asked. Start the automation first.',
  },
  TICK_RUNNING: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The data source of runbook "{name}" is being asked at this moment by another scheduler. Wait for that tick to end and look at what it did.',
  },
  TICK_TAKEN_OVER: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'This tick of runbook "{name}" took so long that another scheduler took over. What is left of it is done by the next tick; look in the log for what held it up.',
  },
  TICK_OUTDATED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The result of this tick was not used, because runbook "{name}" was published anew or its automation was switched off while the source was asked. Wait for the next tick.',
  },
  BATCH_OVER: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Batch {batchId} is {status}, so the scheduler adds nobody to it. List its reviews and approve the latecomers who must join.',
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
    sentence: '{reason} Look at its state and try again when that has changed.',
  },
})

export type ErrorCode = keyof typeof ERRORS
export type ErrorDetails = Readonly<Record<string, string | number>>

/** An error with a code from the table. Anything else that is thrown is a bug and shown as INTERNAL. */
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

export function sentenceOf(code: ErrorCode, details: ErrorDetails): string {
  return ERRORS[code].sentence.replace(/\{(\w+)\}(\.?)/g, (whole, name: string, stop: string) => {
    if (!Object.hasOwn(details, name)) return whole
    const value = String(details[name])
    // A reason that is a sentence of its own brings its full stop along.
    return value.endsWith('.') ? value : value + stop
  })
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
