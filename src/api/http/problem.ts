// Error answers as `application/problem+json` (RFC 9457): a stable code, a sentence, and a list of faults where there are several.
// Only coded errors reach the caller. The text of any other error goes to the log alone.
import { z } from 'zod'
import {
  ERRORS,
  type ErrorCode,
  type ErrorDetails,
  MatoolkitError,
  sentenceOf,
} from '../../base/errors/errors.ts'
import { isTransient } from '../../base/errors/transient.ts'

/** One fault in a request, a runbook or a member file. */
export const faultSchema = z
  .strictObject({
    path: z.string().optional().meta({ description: 'Place in the request.' }),
    line: z.int().optional(),
    row: z.int().optional().meta({ description: 'Spreadsheet row; the header is row 1.' }),
    column: z.union([z.string(), z.int()]).optional(),
    code: z.string().optional(),
    severity: z.enum(['error', 'warning']).optional(),
    message: z.string(),
  })
  .meta({ id: 'Fault' })
export type RequestFault = z.input<typeof faultSchema>

export const problemSchema = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string().meta({ description: 'Stable; docs/reference/errors.md lists them all.' }),
    detail: z.string().meta({ description: 'What happened and what to do next.' }),
    requestId: z.string(),
    details: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    faults: z.array(faultSchema).optional(),
    faultCount: z
      .int()
      .optional()
      .meta({ description: 'Number of faults; `faults` lists the first of them.' }),
  })
  .meta({ id: 'Problem' })
export type HttpProblem = z.input<typeof problemSchema>

export const FAULTS_LISTED_MAX = 100

/** A coded error with a list of faults. */
export class FaultyRequest extends MatoolkitError {
  readonly faults: readonly RequestFault[]
  readonly faultCount: number

  constructor(
    code: ErrorCode,
    details: ErrorDetails,
    faults: readonly RequestFault[],
    count?: number,
  ) {
    super(code, details)
    this.faults = faults.slice(0, FAULTS_LISTED_MAX)
    this.faultCount = count ?? faults.length
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Too slow',
  409: 'Conflict',
  412: 'State has changed',
  413: 'Too large',
  415: 'Unsupported media type',
  421: 'Misdirected request',
  422: 'Cannot be processed',
  429: 'Too many requests',
  431: 'Headers too large',
  500: 'Internal error',
  503: 'Not available',
}

export function problemOf(error: MatoolkitError, requestId: string): HttpProblem {
  const { code, details } = error
  const { http } = ERRORS[code]
  return {
    type: `urn:matoolkit:error:${code}`,
    title: TITLES[http] ?? 'Error',
    status: http,
    code,
    detail: sentenceOf(code, details),
    requestId,
    ...(Object.keys(details).length > 0 && { details }),
    ...(error instanceof FaultyRequest && {
      faults: [...error.faults],
      faultCount: error.faultCount,
    }),
  }
}

/** Refusals by Fastify, by its codes. */
const FASTIFY_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'BODY_TOO_LARGE',
  FST_REQ_FILE_TOO_LARGE: 'BODY_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'MEDIA_TYPE_UNKNOWN',
  FST_INVALID_MULTIPART_CONTENT_TYPE: 'MEDIA_TYPE_UNKNOWN',
}

/** The coded error to answer with. */
export function codedError(thrown: unknown): MatoolkitError {
  if (thrown instanceof MatoolkitError) return thrown
  const { code = '', statusCode = 500 } = thrown as { code?: string; statusCode?: number }
  const known = FASTIFY_CODES[code]
  if (known) return new MatoolkitError(known, {}, { cause: thrown })
  if (statusCode >= 400 && statusCode < 500) {
    return new MatoolkitError('REQUEST_UNREADABLE', {}, { cause: thrown })
  }
  if (isTransient(thrown)) return new MatoolkitError('TRY_AGAIN', {}, { cause: thrown })
  return new MatoolkitError(
    'INTERNAL',
    { reason: 'the log has the details under this request id' },
    { cause: thrown },
  )
}
