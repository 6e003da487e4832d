// The tenant of a Dataverse environment, for a service principal whose connection names none. Its Web API answers a call without a token
// with 401 and the address that signs in for it: `WWW-Authenticate: Bearer authorization_uri=https://login.microsoftonline.com/{tenant}/…`.
import { fetchFault } from '../../base/run/fetch-fault.ts'
import { dropBody } from '../../base/run/read-answer.ts'
import { SourceFault } from './fault.ts'

const TENANT =
  /authorization_uri="?https:\/\/[a-z0-9.-]+\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\//i

/** Throws SourceFault. `ask` is `fetch`. */
export async function tenantOfDataverse(
  host: string,
  signal: AbortSignal,
  ask: typeof fetch = fetch,
): Promise<string> {
  const url = `https://${host}/api/data/v9.2/`
  let answer: Response
  try {
    answer = await ask(url, { signal, redirect: 'error' })
  } catch (error) {
    signal.throwIfAborted()
    throw new SourceFault(
      'unreachable',
      `${host} does not say its tenant: ${fetchFault(error)}`,
      error,
    )
  }
  await dropBody(answer)
  const [, tenantId] = TENANT.exec(answer.headers.get('www-authenticate') ?? '') ?? []
  if (tenantId) return tenantId
  const reason = `${host} does not say its tenant; add Tenant ID to the connection`
  throw new SourceFault('not_configured', reason)
}
