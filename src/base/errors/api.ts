// Errors of requests to the API. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const API_ERRORS = errorRows({
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
  RATE_LIMITED: {
    http: 429,
    exit: EXIT.unavailable,
    sentence:
      'You sent more than {max} requests in {span}. Wait {seconds seconds} and send the request again.',
  },
  UPLOADS_BUSY: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'Two other uploads are in progress. Try again in a few seconds.',
  },
  RUNBOOKS_BUSY: {
    http: 503,
    exit: EXIT.unavailable,
    sentence: 'Too many other runbooks wait to be read. Try again in a few seconds.',
  },
  RUNBOOK_TOO_COSTLY: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'Reading the runbook takes more than {seconds} s or too much memory. Correct it with "matoolkit runbook validate", or make it smaller.',
  },
  CALLER_BUSY: {
    http: 429,
    exit: EXIT.unavailable,
    sentence:
      'Too many of your requests wait for their answers. Wait for some of them, then send this one again.',
  },
  SEARCH_TOO_SLOW: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The search took more than {seconds} s and was ended. Give a whole key or address: it is found at once.',
  },
  SEARCHES_BUSY: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Too many other searches wait. Give a whole key or address, or try again in a few seconds.',
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
})
