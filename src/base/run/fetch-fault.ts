// Why a request got no answer, in words for people. fetch says only "fetch failed" and hides the reason in the cause.
import { messageOf } from '../errors/errors.ts'

const SAYINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'the host name cannot be resolved; check the network',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  EPROTO: 'the server does not use TLS; try http',
}

export function fetchFault(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } }
  if (name === 'TimeoutError') return 'the request timed out'
  const code = cause?.code ?? ''
  // OpenSSL's own message names one of its source files.
  const said = SAYINGS[code.startsWith('ERR_SSL') ? 'EPROTO' : code]
  if (said !== undefined) return said
  // A name with several addresses: none of them answered.
  if (cause instanceof AggregateError && cause.message === '') return messageOf(cause.errors[0])
  return cause?.message || code || messageOf(error)
}
