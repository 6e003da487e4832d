// A tenant as functions see it, put together from the settings: the addresses of its cloud, the sign-in, the quotas. Every worker
// has one; all its slots share its gates.
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import { MatoolkitError } from '../../errors.ts'
import type { SigningCertificate } from '../../sign-in/certificate.ts'
import {
  AZURE_ENDPOINTS,
  type TokenEndpoints,
  type TokenRequest,
  type Tokens,
} from '../../sign-in/token.ts'
import type { CloudName } from '../../worker-settings.ts'
import { openWebhooks } from '../webhooks.ts'
import type { Secrets, Tenant } from './api.ts'
import type { ClientOptions, RetryPolicy } from './client.ts'
import { ExchangeOnline } from './exchange.ts'
import { Graph } from './graph.ts'

interface Cloud {
  readonly login: string
  readonly graph: string
  readonly exchange: string
}

const CLOUDS: Readonly<Record<CloudName, Cloud>> = {
  public: {
    login: AZURE_ENDPOINTS.entra,
    graph: 'https://graph.microsoft.com',
    exchange: 'https://outlook.office365.com',
  },
  usgov: {
    login: 'https://login.microsoftonline.us',
    graph: 'https://graph.microsoft.us',
    exchange: 'https://outlook.office365.us',
  },
  usdod: {
    login: 'https://login.microsoftonline.us',
    graph: 'https://dod-graph.microsoft.us',
    exchange: 'https://outlook-dod.office365.us',
  },
  china: {
    login: 'https://login.partner.microsoftonline.cn',
    graph: 'https://microsoftgraph.chinacloudapi.cn',
    exchange: 'https://partner.outlook.cn',
  },
}

export function tokenEndpointsOf(config: Config): TokenEndpoints {
  const { cloud, loginUrl, identityEndpoint, identityHeader } = config
  return {
    ...AZURE_ENDPOINTS,
    entra: loginUrl?.replace(/\/+$/, '') ?? CLOUDS[cloud].login,
    identity:
      identityEndpoint && identityHeader ? { url: identityEndpoint, header: identityHeader } : null,
  }
}

export const retryPolicyOf = (config: Config): RetryPolicy => ({
  attempts: config.callAttempts,
  baseSec: config.backoffBaseSec,
  maxSec: config.backoffMaxSec,
})

/** How the worker signs in, as far as settings say; the certificate is read by whoever opens the worker. */
export type Credential =
  | { readonly certificate: SigningCertificate }
  | { readonly federatedWith: { readonly clientId: string | null } }
  | { readonly secret: string }

export interface TenantParts {
  readonly config: Config
  readonly credential: Credential
  readonly tokens: Tokens
  readonly secrets: Secrets
  readonly clock: Clock
  /** For tests: chance and real time are the machine's unless given. */
  readonly random?: () => number
  readonly timeout?: ClientOptions['timeout']
  readonly onThrottled?: NonNullable<ClientOptions['onThrottled']>
}

export interface ConnectedTenant extends Tenant {
  /** Gets a token for each API. Throws a SignInFault. */
  signIn(): Promise<void>
}

export function connectTenant(parts: TenantParts): ConnectedTenant {
  const { config, credential, tokens, clock, secrets } = parts
  const { random = Math.random, timeout = AbortSignal.timeout } = parts
  const tenantId = needed(config.tenantId, 'MATOOLKIT_TENANT_ID')
  const clientId = needed(config.appId, 'MATOOLKIT_APP_ID')
  const organization = needed(config.organization, 'MATOOLKIT_ORGANIZATION')
  const cloud = CLOUDS[config.cloud]
  // What a token is for is named after the cloud, also when the service is a sandbox at another address.
  const requestFor = (service: string): TokenRequest => ({
    from: 'entra',
    tenantId,
    clientId,
    scope: `${service}/.default`,
    ...credential,
  })
  const { onThrottled } = parts
  const told = onThrottled ? { onThrottled } : {}
  const care = { clock, policy: retryPolicyOf(config), random, timeout, ...told }
  const forGraph = requestFor(cloud.graph)
  const forExchange = requestFor(cloud.exchange)
  const share = (limit: number) => limit / config.workerReplicas
  return {
    id: tenantId,
    organization,
    graph: new Graph({
      ...care,
      url: config.graphUrl ?? cloud.graph,
      token: (refused) => tokens.get(forGraph, refused),
      quota: {
        unitsPerSec: share(config.graphUnitsPerSec),
        writesPerSec: share(config.graphWritesPerSec),
        invitationsPerSec: share(config.invitationsPerSec),
      },
    }),
    exchange: new ExchangeOnline({
      ...care,
      url: config.exchangeUrl ?? cloud.exchange,
      token: (refused) => tokens.get(forExchange, refused),
      tenantId,
      lanes: Math.max(1, Math.floor(share(config.exchangeParallelism))),
    }),
    secrets,
    webhooks: openWebhooks({ ...care, hosts: config.webhookHosts }),
    signIn: async () => {
      await tokens.get(forGraph)
      await tokens.get(forExchange)
    },
  }
}

function needed(value: string | null, name: string): string {
  if (value !== null) return value
  throw new MatoolkitError('WORKER_NOT_CONFIGURED', { problems: `${name} is not set.` })
}
