// Why an address does not answer, in words for people.
import { messageOf } from '../../base/errors/errors.ts'

/** fetch hides the reason in the cause. */
export function reasonOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } }
  if (name === 'TimeoutError') return 'the request timed out'
  const code = cause?.code ?? ''
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ENOTFOUND') return 'unknown host'
  if (code === 'EAI_AGAIN') return 'the host name cannot be resolved; check the network'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'the connection timed out'
  // OpenSSL's own message names one of its source files.
  if (code === 'EPROTO' || code.startsWith('ERR_SSL'))
    return 'the server does not use TLS; try http'
  return cause?.message || code || messageOf(error)
}
