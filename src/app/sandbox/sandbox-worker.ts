// What a worker in this process needs to reach a tenant of a sandbox: settings and a vault.

import { DEFAULT_CLIENT_ID } from '../../../sandbox/state.ts'
import { type Config, readConfig } from '../../base/settings/config.ts'
import type { Secrets } from '../../worker/http/api.ts'

/** Settings of a worker that point at the sandbox instead of Microsoft 365. */
export function sandboxConfig(
  url: string,
  tenantId: string,
  organization: string,
  more: Readonly<Record<string, string>> = {},
): Config {
  const read = readConfig({
    MATOOLKIT_TENANT_ID: tenantId,
    MATOOLKIT_ORGANIZATION: organization,
    MATOOLKIT_APP_ID: DEFAULT_CLIENT_ID,
    MATOOLKIT_LOGIN_URL: url,
    MATOOLKIT_GRAPH_URL: url,
    MATOOLKIT_EXCHANGE_URL: url,
    ...more,
  })
  if ('problems' in read) throw new Error(read.problems.join(' '))
  return read.config
}

/** Secrets in memory. */
export function memoryVault(): Secrets {
  const secrets = new Map<string, string>()
  return {
    put: async (name, value) => {
      secrets.set(name, value)
      return name
    },
    get: async (reference) => secrets.get(reference) ?? '',
    find: async (name) => (secrets.has(name) ? name : null),
  }
}
