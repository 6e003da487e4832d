// Fake token endpoints after their documentation: Microsoft Entra ID, the metadata service of virtual machines, the identity
// endpoint of Container Apps, and Databricks OAuth. One HTTP server for all; tests choose its failures.
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { AZURE_ENDPOINTS, type TokenEndpoints } from '../../../src/base/sign-in/token.ts'

export const CLIENT_SECRET = 'client-secret-7Q~x'
const IDENTITY_HEADER = 'identity-header-853b'

export interface TokenServer {
  readonly url: string
  readonly endpoints: TokenEndpoints
  /** The requests, as `entra client-1 https://…/.default`. */
  readonly asked: string[]
  /** While set, responses have this status and body instead of a token. */
  fault: { status: number; body: string } | null
  expiresInSec: number
  close(): Promise<void>
}

interface Reply {
  readonly status: number
  readonly body: object
}

export async function startTokenServer(): Promise<TokenServer> {
  const server = createServer(async (request, response) => {
    const { status, body } = await replyTo(request, state)
    const { fault } = state
    response.writeHead(fault?.status ?? status, { 'content-type': 'application/json' })
    response.end(fault?.body ?? JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const state: TokenServer = {
    url,
    endpoints: {
      ...AZURE_ENDPOINTS,
      entra: url,
      machine: `${url}/metadata/identity/oauth2/token`,
    },
    asked: [],
    fault: null,
    expiresInSec: 3_600,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return state
}

export const identityOf = (server: TokenServer): TokenEndpoints => ({
  ...server.endpoints,
  identity: { url: `${server.url}/msi/token`, header: IDENTITY_HEADER },
})

async function replyTo(request: IncomingMessage, state: TokenServer): Promise<Reply> {
  const url = new URL(request.url ?? '', state.url)
  const form = new URLSearchParams(await text(request))
  const number = state.asked.length + 1
  const granted = (life: object): Reply => ({
    status: 200,
    body: { token_type: 'Bearer', access_token: `token-${number}`, ...life },
  })
  const resource = url.searchParams.get('resource')
  const clientId = url.searchParams.get('client_id') ?? 'own'
  if (url.pathname.endsWith('/oauth2/v2.0/token')) {
    const tenant = url.pathname.split('/')[1]
    state.asked.push(`entra ${tenant} ${form.get('client_id')} ${form.get('scope')}`)
    if (form.get('client_secret') === CLIENT_SECRET)
      return granted({ expires_in: state.expiresInSec })
    const description = `AADSTS7000215: Invalid client secret provided: '${form.get('client_secret')}'.\r\nTrace ID: 1`
    return { status: 401, body: { error: 'invalid_client', error_description: description } }
  }
  if (url.pathname === '/oidc/v1/token') {
    const [user, secret] = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64')
      .toString()
      .split(':')
    state.asked.push(`databricks ${user} ${form.get('scope')}`)
    if (secret === CLIENT_SECRET) return granted({ expires_in: state.expiresInSec })
    return { status: 401, body: { error: 'invalid_client' } }
  }
  if (url.pathname === '/metadata/identity/oauth2/token' && request.headers.metadata === 'true') {
    state.asked.push(`machine ${clientId} ${resource} ${url.searchParams.get('api-version')}`)
    return granted({ expires_in: String(state.expiresInSec) })
  }
  if (url.pathname === '/msi/token' && request.headers['x-identity-header'] === IDENTITY_HEADER) {
    state.asked.push(`identity ${clientId} ${resource} ${url.searchParams.get('api-version')}`)
    // Only seconds since 1970.
    return granted({ expires_on: String(Date.UTC(2026, 0, 1) / 1000 + state.expiresInSec) })
  }
  return { status: 400, body: { error: 'invalid_request' } }
}
