// OpenID discovery as Entra serves it: Microsoft's clients look up a tenant's endpoints before they sign in.
// Source: "OpenID Connect on the Microsoft identity platform" (learn.microsoft.com), section on the configuration document.

import { ok, type SandboxResponse } from './call.ts'
import type { Json } from './json.ts'
import type { SandboxTenant } from './tenant.ts'

const CONFIGURATION_PATH = /^\/([^/]+)(?:\/v2\.0)?\/\.well-known\/openid-configuration$/
const KEYS_PATH = /^\/([^/]+)\/discovery\/v2\.0\/keys$/
const INSTANCE_PATH = '/common/discovery/instance'

/** Null when the path is none of discovery. */
export function discoveryResponse(
  url: URL,
  tenantOf: (name: string) => SandboxTenant | undefined,
): SandboxResponse | null {
  const { pathname, origin, host } = url
  if (pathname === INSTANCE_PATH) return ok(instanceOf(origin, host, url.searchParams))
  // Tokens are signed with a secret of the sandbox: only its own services validate them.
  if (KEYS_PATH.test(pathname)) return ok({ keys: [] })
  const name = CONFIGURATION_PATH.exec(pathname)?.[1]
  if (name === undefined) return null
  const tenant = tenantOf(decodeURIComponent(name))
  return tenant ? ok(configurationOf(origin, tenant.id)) : unknownTenant(name)
}

const configurationOf = (origin: string, tenantId: string): Json => {
  const login = `${origin}/${tenantId}`
  return {
    issuer: `${login}/v2.0`,
    authorization_endpoint: `${login}/oauth2/v2.0/authorize`,
    token_endpoint: `${login}/oauth2/v2.0/token`,
    device_authorization_endpoint: `${login}/oauth2/v2.0/devicecode`,
    end_session_endpoint: `${login}/oauth2/v2.0/logout`,
    jwks_uri: `${login}/discovery/v2.0/keys`,
    token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'],
    response_types_supported: ['code', 'id_token', 'code id_token', 'id_token token'],
    subject_types_supported: ['pairwise'],
    id_token_signing_alg_values_supported: ['RS256'],
    tenant_region_scope: 'EU',
    cloud_instance_name: 'microsoftonline.com',
  }
}

function instanceOf(origin: string, host: string, query: URLSearchParams): Json {
  const asked = URL.parse(query.get('authorization_endpoint') ?? '')?.pathname.split('/')[1]
  return {
    tenant_discovery_endpoint: `${origin}/${asked || 'common'}/v2.0/.well-known/openid-configuration`,
    'api-version': '1.1',
    metadata: [{ preferred_network: host, preferred_cache: host, aliases: [host] }],
  }
}

const unknownTenant = (name: string): SandboxResponse => ({
  status: 400,
  body: {
    error: 'invalid_tenant',
    error_description: `AADSTS90002: Tenant '${name}' not found.`,
    error_codes: [90002],
  },
})
