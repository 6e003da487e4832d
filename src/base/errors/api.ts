// Errors of the admin API and its sign-in: part of the table in errors.ts.
import { type ErrorRow, EXIT } from './exit-codes.ts'

const rows = <T extends Record<string, ErrorRow>>(table: T): T => table

export const API_ERRORS = rows({
  NOTIFICATION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no message {id}: messages are kept for 30 days. List them with "matoolkit notification list".',
  },
  CHANNEL_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no channel "{channel}"; this API knows {known}. Name one of them, or add it to MATOOLKIT_NOTIFICATIONS_FILE.',
  },
  MESSAGE_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Runbook "{name}" has no message "{message}" to preview. {hint} Check the name under "messages" in the runbook.',
  },
  REHEARSAL_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no rehearsal {id}: only the newest ones are kept. List them with GET /api/rehearsals.',
  },
  REHEARSAL_RUNNING: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Rehearsal {id} is still running here, and one runs at a time. Wait for its end, or cancel it.',
  },
  REHEARSAL_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'This process runs no rehearsals. Use "matoolkit runbook rehearse" instead.',
  },
  EVIDENCE_KEY_MISSING: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This API has no key to sign evidence with. Create one with "openssl genpkey -algorithm ed25519" and set MATOOLKIT_EVIDENCE_KEY to it, for every API the same.',
  },
  EVIDENCE_KEY_UNUSABLE: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'Cannot use the evidence key in {place}: {reason}. It must be an Ed25519 key as PEM, for its owner only; create one with "openssl genpkey -algorithm ed25519".',
  },
  NOT_SIGNED_IN: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'You are not signed in. Send an access token: Authorization: Bearer <token>.',
  },
  TOKEN_REFUSED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'The access token was refused: {reason}. Sign in again and send the new token.',
  },
  NOT_ALLOWED: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence: 'You are signed in, but this needs {what}. Ask your matoolkit administrator.',
  },
  SIGN_IN_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Cannot fetch the keys of the issuer {issuer}: {reason}. Try again in a minute; if it persists, check the issuer and the network.',
  },
  LOCAL_TOKEN_UNFIT: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'Another process uses the local token file "{file}", but it is missing, holds something else, or other users can read it. Stop that process and start again, or set MATOOLKIT_API_TOKEN_FILE to another file.',
  },
  API_EXPOSED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The API must not listen on "{host}" without sign-in, because other machines can reach it. Set MATOOLKIT_OIDC_ISSUERS and MATOOLKIT_OIDC_AUDIENCES, or use 127.0.0.1.',
  },
  ADDRESS_UNUSABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The API cannot listen on {host}, port {port}: {reason}. Stop the process that uses the port, or set MATOOLKIT_API_PORT to another; 0 picks a free one.',
  },
  HOST_REFUSED: {
    http: 421,
    exit: EXIT.usage,
    sentence:
      'The request names the host "{host}", which is not a loopback name. Use http://localhost or http://127.0.0.1.',
  },
  NO_SUCH_ENDPOINT: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no such endpoint. See /api/docs for all endpoints.',
  },
  METHOD_REFUSED: {
    http: 405,
    exit: EXIT.usage,
    sentence: 'This endpoint does not support {method}. Use {allowed}.',
  },
  REQUEST_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence: '{first} Correct {what} and try again.',
  },
  REQUEST_UNREADABLE: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The request is malformed. Send valid HTTP with a JSON body, or a form with each field once.',
  },
  BODY_TOO_LARGE: {
    http: 413,
    exit: EXIT.usage,
    sentence:
      'The request body is too large. Send at most 2 MB of JSON, or a file of at most 50 MB.',
  },
  MEDIA_TYPE_UNKNOWN: {
    http: 415,
    exit: EXIT.usage,
    sentence:
      'This endpoint does not accept the content type of the body. Send application/json, or multipart/form-data for a file.',
  },
  ENCODING_REFUSED: {
    http: 415,
    exit: EXIT.usage,
    sentence: 'The content encoding "{encoding}" is not supported. Send the body unencoded.',
  },
  HEADERS_TOO_LARGE: {
    http: 431,
    exit: EXIT.usage,
    sentence: 'The request headers are too large. Send at most 16 KB.',
  },
  REQUEST_TOO_SLOW: {
    http: 408,
    exit: EXIT.unavailable,
    sentence: 'The request took too long to arrive. Send it again.',
  },
  CURSOR_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The cursor "{cursor}" does not fit this list and sort order. Use "next" of the previous page unchanged, or start without a cursor.',
  },
  WORKER_CREDENTIAL_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'Worker "{workerId}" has no credential "{credentialId}". List them with "matoolkit worker credential list".',
  },
  WORKER_CREDENTIAL_ENDED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The credential "{credentialId}" has ended, so nothing can replace it. Create another with "matoolkit worker credential create {workerId}".',
  },
  WORKER_CREDENTIALS_FULL: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Worker "{workerId}" has {limit} valid credentials already. Run "matoolkit worker credential list" and revoke those that are not used.',
  },
  WORKER_CERTIFICATE_TAKEN: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The certificate {thumbprint} is a credential already. Use another: each proves one worker only.',
  },
  WORKER_CERTIFICATE_UNFIT: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The certificate cannot be a credential: {reason}. Send one certificate in PEM, without its private key.',
  },
  LEASE_OF_ANOTHER: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence: 'A lease is not of worker "{workerId}". Send only leases that it was given.',
  },
  WORKER_IS_ANOTHER: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence:
      'The credential is of worker "{workerId}", not of "{named}". Set MATOOLKIT_WORKER_ID or the credential right.',
  },
  RESULT_OF_ANOTHER: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence:
      'Message {messageId} names the worker "{named}", but the credential is of "{workerId}". Send results in its own name.',
  },
  RATE_LIMITED: {
    http: 429,
    exit: EXIT.unavailable,
    sentence:
      'You sent more than {perMinute} requests in a minute. Wait {seconds seconds} and send the request again.',
  },
  UPLOADS_BUSY: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'Two other uploads are in progress. Try again in a few seconds.',
  },
  TRY_AGAIN: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database connection failed, so the change may or may not be made. Check the state, or send the request again: with the same Idempotency-Key nothing is done twice.',
  },
  KEY_REUSED: {
    http: 422,
    exit: EXIT.usage,
    sentence:
      'The Idempotency-Key "{key}" was used for another request. Use a new key for each request.',
  },
  STATE_CHANGED: {
    http: 412,
    exit: EXIT.conflict,
    sentence: '{subject} has changed since you read it. Read it again, then decide.',
  },
  VARIABLE_RESERVED: {
    http: 422,
    exit: EXIT.usage,
    sentence: 'The variable "{name}" cannot be set: {reason}. Choose another name.',
  },
  SELECTION_CHANGED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The selection has {found} members, but you expected {expected}. Repeat the dry run, then decide.',
  },
  WOULD_BE_OVERDUE: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'With this start, phases of batch {batchId} are overdue and start at once: {phases}. Correct the time, or allow it: --allow-overdue (in the API allowOverdue).',
  },
  LISTENERS_FULL: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This process already serves {count} event streams, its maximum. Close some, or connect to another process.',
  },
  LISTENERS_OF_PERSON_FULL: {
    http: 429,
    exit: EXIT.unavailable,
    sentence:
      'You already have {count} event streams, the maximum for one caller. Close one first.',
  },
  RUNBOOK_NAME_DIFFERS: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The request names the runbook "{given}", but the text names it "{found}". Correct one of them.',
  },
  PREVIEW_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This process runs no scheduler, so it cannot query data sources. Send the request to a process with the roles api and scheduler.',
  },
})
