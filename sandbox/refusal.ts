// Refusals: status, code and message as Microsoft 365 gives them. api.ts renders them in the shape of the called API.

import type { CallIds, SandboxResponse } from './call.ts'
import type { Json } from './json.ts'

export interface RefusalDetail {
  readonly code: string
  readonly target: string
  readonly message: string
}

export class GraphRefusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly code: string
  readonly details: readonly RefusalDetail[]
  /** The unknown name, where this says that there is no such object. */
  readonly missing: string | null

  constructor(
    status: number,
    code: string,
    message: string,
    details: readonly RefusalDetail[] = [],
    missing: string | null = null,
  ) {
    super(message)
    this.missing = missing
    this.status = status
    this.code = code
    this.details = details
  }
}

export const badRequest = (message: string): GraphRefusal =>
  new GraphRefusal(400, 'Request_BadRequest', message)

/** The same message whether the object or a linked one is missing. */
export const notFound = (id: string): GraphRefusal =>
  new GraphRefusal(
    404,
    'Request_ResourceNotFound',
    `Resource '${id}' does not exist or one of its queried reference-property objects are not present.`,
    [],
    id,
  )

export function objectConflict(property: string, value: string, owner: string): GraphRefusal {
  const message = `Another object with the same value for property ${property} already exists.`
  const details = [
    { code: 'ObjectConflict', target: property, message },
    ...(property === 'proxyAddresses'
      ? [{ code: 'ConflictingObjects', target: owner, message: `${value} is in use.` }]
      : []),
  ]
  return new GraphRefusal(400, 'Request_BadRequest', message, details)
}

const CODES: Readonly<Record<number, string>> = { 404: 'NotFound', 500: 'InternalServerError' }

/** A cmdlet's .NET exception and text, wrapped as Exchange's REST endpoint does; without an exception, the bare text. */
export class CmdletRefusal extends Error {
  override readonly name = 'CmdletRefusal'
  readonly status: number
  readonly code: string
  readonly exception: string
  /** As in GraphRefusal. */
  readonly missing: string | null

  constructor(status: number, exception: string, message: string, missing: string | null = null) {
    super(message)
    this.missing = missing
    this.status = status
    this.code = CODES[status] ?? 'BadRequest'
    this.exception = exception
  }
}

/** The body of a Microsoft Graph error. */
const graphErrorBody = (
  refusal: Pick<GraphRefusal, 'code' | 'message' | 'details'>,
  ids: { readonly date: string; readonly requestId: string; readonly clientRequestId: string },
): Json => ({
  error: {
    code: refusal.code,
    message: refusal.message,
    ...(refusal.details.length > 0
      ? { details: refusal.details.map((detail) => ({ ...detail })) }
      : {}),
    innerError: {
      date: ids.date,
      'request-id': ids.requestId,
      'client-request-id': ids.clientRequestId,
    },
  },
})

/** The body of a cmdlet error: the reason is the third part of the detail's message. */
export const cmdletErrorBody = (refusal: CmdletRefusal, mark: string): Json => ({
  error: {
    code: refusal.code,
    message: 'Error executing cmdlet',
    details: [{ code: 'Client', target: '', message: detailOf(refusal, mark) }],
    innererror: {
      message: 'Error executing cmdlet',
      type: 'Microsoft.Exchange.Admin.OData.Core.ODataServiceException',
      stacktrace: '',
      internalexception: { message: refusal.message, type: refusal.exception, stacktrace: '' },
    },
  },
})

const detailOf = ({ exception, message }: CmdletRefusal, mark: string): string =>
  exception === '' ? message : `${mark}|${exception}|${message}`

/** A refusal as Graph sends it. */
export function graphRefusalResponse(
  refusal: GraphRefusal,
  now: Date,
  { requestId, clientRequestId }: CallIds,
): SandboxResponse {
  const date = now.toISOString().slice(0, 19)
  const ids = { date, requestId, clientRequestId: clientRequestId ?? requestId }
  return { status: refusal.status, body: graphErrorBody(refusal, ids) }
}
