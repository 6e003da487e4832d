// A certified OpenID server with device codes, and a simulated person.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { newKey } from './issuer.ts'

export const AUDIENCE = 'urn:matoolkit:api'
export const CLIENT_ID = 'matoolkit-cli'
export const APP_ID = 'pipeline'
export const APP_SECRET = 'only-for-this-test'
const SCOPE = 'access_as_user'

export interface OpenId {
  readonly issuer: string
  /** Requests per endpoint path. */
  readonly asked: ReadonlyMap<string, number>
  /** The person enters the code and agrees. Ada is an Admin of the API; anyone else has no role. */
  approve(userCode: string, account?: string): Promise<void>
  deny(userCode: string): Promise<void>
  /** An administrator ends every sign-in. */
  endSignIns(): Promise<void>
  close(): Promise<void>
}

const RESOURCE = {
  scope: SCOPE,
  audience: AUDIENCE,
  accessTokenFormat: 'jwt',
  accessTokenTTL: 3_600,
  jwt: { sign: { alg: 'RS256' } },
} as const

async function configuration(): Promise<Configuration> {
  const key = await newKey('provider-key')
  const grant = 'urn:ietf:params:oauth:grant-type:device_code'
  const none = { redirect_uris: [], response_types: [] }
  return {
    jwks: { keys: [{ ...(await exportJWK(key.secret)), kid: key.kid, use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['only for this test'] },
    clients: [
      {
        ...none,
        client_id: CLIENT_ID,
        token_endpoint_auth_method: 'none',
        grant_types: [grant, 'refresh_token'],
      },
      {
        ...none,
        client_id: APP_ID,
        client_secret: APP_SECRET,
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['client_credentials'],
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => RESOURCE,
      },
    },
    ttl: { Grant: 86_400, RefreshToken: 86_400, DeviceCode: 600, IdToken: 3_600 },
    issueRefreshToken: () => true,
    // Each renewal gives a new one; the second use of an old one ends the sign-in.
    rotateRefreshToken: true,
    extraTokenClaims: (_ctx, token) => {
      if (!('accountId' in token)) return { roles: ['Reader'] }
      return token.accountId === 'ada' ? { roles: ['Admin'], name: 'Ada' } : {}
    },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  }
}

export async function openOpenId(): Promise<OpenId> {
  let handle: ReturnType<Provider['callback']> | undefined
  const asked = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]!
    asked.set(path, (asked.get(path) ?? 0) + 1)
    void handle!(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, await configuration())
  handle = provider.callback()
  const grants: InstanceType<Provider['Grant']>[] = []
  const codeOf = async (userCode: string) =>
    (await provider.DeviceCode.findByUserCode(userCode.replaceAll('-', '')))!
  return {
    issuer,
    asked,
    approve: async (userCode, account = 'ada') => {
      const code = await codeOf(userCode)
      const grant = new provider.Grant({ accountId: account, clientId: CLIENT_ID })
      grant.addOIDCScope('openid')
      grant.addResourceScope(AUDIENCE, SCOPE)
      const grantId = await grant.save()
      grants.push(grant)
      const authTime = Math.floor(Date.now() / 1_000)
      const granted = { accountId: account, grantId, authTime, resource: AUDIENCE }
      await Object.assign(code, granted, { scope: `openid ${SCOPE}` }).save()
    },
    deny: async (userCode) => {
      const code = await codeOf(userCode)
      await Object.assign(code, { error: 'access_denied', errorDescription: 'Ada said no' }).save()
    },
    endSignIns: async () => {
      for (const grant of grants.splice(0)) await grant.destroy()
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
