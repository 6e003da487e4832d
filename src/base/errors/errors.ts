// Every error that a person or a program can get: a stable code, a sentence, an HTTP status and an exit code. A sentence quotes the
// bad value and says what to do next. docs/errors.md is generated from this table.

import { API_ERRORS } from './api.ts'
import { CLI_ERRORS } from './cli.ts'
import { DATABASE_ERRORS } from './database.ts'
import { type ErrorRow, EXIT } from './exit-codes.ts'

export { type ErrorRow, EXIT } from './exit-codes.ts'

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
  SANDBOX_RECORDING_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The recording "{file}" is invalid: {reason}. Make it with "matoolkit tenant check --record <file>".',
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
  NOTIFICATIONS_FILE_INVALID: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The file of notifications has problems. {problems} Correct them and start again; docs/notifications.md explains every key.',
  },
  WINDOWS_FILE_INVALID: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The file of change windows has problems. {problems} Correct them and start again; docs/change-windows.md explains every key.',
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
  MESSAGE_ID_INVALID: {
    http: 422,
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
    http: 422,
    exit: EXIT.failed,
    sentence: 'Message {messageId} was not sent. {reason} Send exactly the fields of its type.',
  },
  MESSAGE_TOO_LARGE: {
    http: 413,
    exit: EXIT.failed,
    sentence:
      'Message {messageId} has {bytes} bytes, more than the limit of {limit}. Shorten the parameters or the result, or pass a reference.',
  },
  BUS_NOT_CONFIGURED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'MATOOLKIT_TRANSPORT is "servicebus" and no namespace is named. Set MATOOLKIT_SERVICEBUS_NAMESPACE, for example to contoso.servicebus.windows.net.',
  },
  WORKER_API_NOT_CONFIGURED: {
    http: 500,
    exit: EXIT.usage,
    sentence: 'MATOOLKIT_TRANSPORT is "https", but {problem} See docs/bus.md.',
  },
  WORKER_API_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The API at {url} did not do as the worker asked: {reason}. It is tried again; check MATOOLKIT_API_URL, the network and the proxy.',
  },
  WORKER_CREDENTIAL_REFUSED: {
    http: 503,
    exit: EXIT.notSignedIn,
    sentence:
      'The API at {url} refuses the credential of this worker: {reason} Run "matoolkit worker credential list" to see those that are valid; it is tried again.',
  },
  BUS_PACKAGE_MISSING: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The package @azure/service-bus cannot be loaded: {reason}. Run npm install without --omit=optional.',
  },
  TELEMETRY_PACKAGE_MISSING: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'The packages for telemetry cannot be loaded: {reason}. Run npm install without --omit=optional, or unset OTEL_EXPORTER_OTLP_ENDPOINT and APPLICATIONINSIGHTS_CONNECTION_STRING.',
  },
  BUS_UNREACHABLE: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'Service Bus did not do as asked ({what}): {reason}. It is tried again. To find out what is wrong, run "matoolkit bus check".',
  },
  BUS_REFUSED: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'Service Bus refuses this process ({what}): {reason}. Give its identity the role that docs/bus.md names; it is tried again by itself. "matoolkit bus check" shows what the identity may do.',
  },
  BUS_ENTITY_MISSING: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'The namespace has no "{entity}". Run "matoolkit bus check --create" with the right to manage it.',
  },
  WORKER_UNTOLD: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'Worker "{workerId}" takes no jobs: the namespace has no "{entity}", so no hold or cancel could stop them. Run "matoolkit bus check --create" with the right to manage it; the worker then continues by itself.',
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
    sentence: 'There is no batch {batchId}. List the batches with "matoolkit batch list".',
  },
  BATCH_EXISTS: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Runbook "{name}" already has a batch that starts at {time}. Add members to that batch, or create a manual one.',
  },
  GATE_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Batch {batchId} has no phase "{phaseName}" with a gate. List its gates with "matoolkit batch gates {batchId}".',
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
  ACTION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no action {actionId}. List the actions with "matoolkit action list".',
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
  MEMORY_TOO_SMALL: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The heap of this process can grow to {limitMb} MB, and its roles ({roles}) need {leastMb} MB. Give it more memory, set NODE_OPTIONS=--max-old-space-size={leastMb}, or run fewer roles in one process.',
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
  ...DATABASE_ERRORS,
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
