// The errors of the admin API and of signing in to it: rows of the one table in errors.ts, which was too long for one file.
import { type ErrorRow, EXIT } from './exit.ts'

const rows = <T extends Record<string, ErrorRow>>(table: T): T => table

export const API_ERRORS = rows({
  NOT_SIGNED_IN: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'You are not signed in. Send an access token: Authorization: Bearer <token>.',
  },
  TOKEN_REFUSED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'The access token was refused: {reason}. Send a new one; signing in again gives it.',
  },
  NOT_ALLOWED: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence: 'You are signed in, but this needs {what}. Ask whoever administers matoolkit for it.',
  },
  SIGN_IN_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The keys of the issuer {issuer} cannot be had: {reason}. Try again in a minute; if it lasts, check the issuer and the network.',
  },
  LOCAL_TOKEN_UNFIT: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The file "{file}" is no safe place for the local token: it holds something else, or others may read it. Remove it and start again; a new one is made.',
  },
  API_EXPOSED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The API would listen on "{host}", which others can reach, without knowing who they are. Set MATOOLKIT_OIDC_ISSUERS and MATOOLKIT_OIDC_AUDIENCES, or use 127.0.0.1.',
  },
  ADDRESS_UNUSABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The API cannot listen on {host}, port {port}: {reason}. Stop what uses it, or set MATOOLKIT_API_PORT.',
  },
  HOST_REFUSED: {
    http: 421,
    exit: EXIT.usage,
    sentence:
      'The request was meant for "{host}", which is not this machine’s own name. Use http://localhost or http://127.0.0.1.',
  },
  NO_SUCH_ENDPOINT: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no such endpoint. See /api/docs for those there are.',
  },
  METHOD_REFUSED: {
    http: 405,
    exit: EXIT.usage,
    sentence: 'This endpoint does not know the method {method}. Use {allowed}.',
  },
  REQUEST_INVALID: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The request has {count} mistake(s); the first: {first}. Correct them and send it again.',
  },
  REQUEST_UNREADABLE: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The request cannot be read. Send valid HTTP with a body of valid JSON, or a form with each field once.',
  },
  BODY_TOO_LARGE: {
    http: 413,
    exit: EXIT.usage,
    sentence:
      'The body of the request is too large. Send at most 2 MB of JSON, or a file of at most 50 MB.',
  },
  MEDIA_TYPE_UNKNOWN: {
    http: 415,
    exit: EXIT.usage,
    sentence:
      'The content type of the body is not the one this endpoint reads. Send application/json, or multipart/form-data where a file is expected.',
  },
  ENCODING_REFUSED: {
    http: 415,
    exit: EXIT.usage,
    sentence: 'The body is encoded as "{encoding}", which is not read here. Send it as it is.',
  },
  HEADERS_TOO_LARGE: {
    http: 431,
    exit: EXIT.usage,
    sentence: 'The headers of the request are too large. Send at most 16 KB of them.',
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
      'The cursor "{cursor}" does not belong to this list in this order. Use the value of next as it came, or begin without a cursor.',
  },
  RATE_LIMITED: {
    http: 429,
    exit: EXIT.unavailable,
    sentence:
      'You have asked more than {perMinute} times in a minute. Wait {seconds} seconds and send the request again.',
  },
  UPLOADS_BUSY: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'Two other files are being read at the moment. Try again in a few seconds.',
  },
  TRY_AGAIN: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The database did not answer as it should, so this may or may not be done. Look at it, or send the request again: with the same Idempotency-Key nothing is done twice.',
  },
  KEY_REUSED: {
    http: 422,
    exit: EXIT.usage,
    sentence:
      'The Idempotency-Key "{key}" was used for another request. Give each request a key of its own.',
  },
  STATE_CHANGED: {
    http: 412,
    exit: EXIT.conflict,
    sentence: '{subject} is no longer as you saw it. Look at it again and decide anew.',
  },
  SELECTION_CHANGED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'The selection holds {found} members, not {expected} as you saw. Try it again with dryRun and decide anew.',
  },
  WOULD_BE_OVERDUE: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'With that start these phases of batch {batchId} would begin at once: {phases}. Choose another time, or send allowOverdue if that is meant.',
  },
  LISTENERS_FULL: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This process serves {count} listeners already and takes no more. Close some, or ask another process.',
  },
  RUNBOOK_NAME_DIFFERS: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The request names the runbook "{given}", but its text names it "{found}". Correct one of them.',
  },
  PREVIEW_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'This process has no scheduler beside it and cannot ask data sources. Send the request to one that runs the roles api and scheduler together.',
  },
})
