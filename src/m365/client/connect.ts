// Builds the tenant that functions see from the settings: the URLs of its cloud, sign-in, quotas. A worker has one, and all its
// slots share its gates.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import type { CloudName } from '../../base/settings/worker.ts'
import type { RotatingCertificate } from '../../base/sign-in/rotating-certificate.ts'
import type { TokenRequest, Tokens } from '../../base/sign-in/token.ts'
import type { Secrets } from '../../worker/http/api.ts'
import { type ClientOptions, RETRY_POLICY } from '../../worker/http/client.ts'
import type { ThrottleOptions, ThrottleState } from '../../worker/http/throttle.ts'
import { openWebhooks } from '../../worker/http/webhooks.ts'
import { directoryRolesIn, type GrantedRights, rightsIn } from '../check/rights.ts'
import { ExchangeOnline } from './exchange.ts'
import { openExchangeModule } from './exchange-powershell.ts'
import { Graph } from './graph.ts'
import { countingFor, type M365Tenant } from './tenant.ts'

interface Cloud {
  readonly graph: string
  readonly exchange: string
}

const CLOUDS: Readonly<Record<CloudName, Cloud>> = {
  public: { graph: 'https://graph.microsoft.com', exchange: 'https://outlook.office365.com' },
  usgov: { graph: 'https://graph.microsoft.us', exchange: 'https://outlook.office365.us' },
  usdod: {
    graph: 'https://dod-graph.microsoft.us',
    exchange: 'https://outlook-dod.office365.us',
  },
  china: {
    graph: 'https://microsoftgraph.chinacloudapi.cn',
    exchange: 'https://partner.outlook.cn',
  },
}

/** Where Graph is, and the scope of tokens for it: the cloud's own, even when a sandbox serves it at another URL. */
export const graphEndpointOf = ({ cloud, graphUrl }: Config): { url: string; scope: string } => ({
  url: graphUrl?.replace(/\/+$/, '') ?? CLOUDS[cloud].graph,
  scope: `${CLOUDS[cloud].graph}/.default`,
})

/** How the worker signs in. The caller reads the certificate. */
export type Credential =
  | { readonly certificate: RotatingCertificate }
  | { readonly federatedWith: { readonly clientId: string | null } }
  | { readonly secret: string }

export interface TenantParts {
  readonly config: Config
  readonly credential: Credential
  readonly tokens: Tokens
  readonly secrets: Secrets
  readonly clock: Clock
  /** For tests; default: the machine's. */
  readonly random?: () => number
  readonly timeout?: ClientOptions['timeout']
  readonly onAnswer?: NonNullable<ClientOptions['onAnswer']>
  /** Told when a gate closes and opens. */
  readonly onGate?: NonNullable<ThrottleOptions['onGate']>
  /** False keeps concurrency fixed: to compare. */
  readonly isAdaptive?: boolean
  readonly send?: NonNullable<ClientOptions['send']>
}

export interface ConnectedTenant extends M365Tenant {
  /** Gets a token for each API and returns what they allow. Throws SignInFault. */
  signIn(): Promise<GrantedRights>
  /** Gates and concurrency now. */
  throttles(): ThrottleState[]
  /** Ends the processes of PowerShell, if Exchange is reached through them. */
  close(): void
}

/** Microsoft publishes no number; others begin with four to eight. */
const EXCHANGE_START = 4

export function connectTenant(parts: TenantParts): ConnectedTenant {
  const { config, credential, tokens, clock, secrets } = parts
  const { random = Math.random, timeout = AbortSignal.timeout } = parts
  const tenantId = requireSetting(config.tenantId, 'MATOOLKIT_TENANT_ID')
  const clientId = requireSetting(config.appId, 'MATOOLKIT_APP_ID')
  const organization = requireSetting(config.organization, 'MATOOLKIT_ORGANIZATION')
  const cloud = CLOUDS[config.cloud]
  // The token's audience is the cloud's service, even when a sandbox serves it at another URL.
  const requestFor = (service: string): TokenRequest => ({
    from: 'entra',
    tenantId,
    clientId,
    scope: `${service}/.default`,
    ...credential,
  })
  const { onGate, onAnswer, send, isAdaptive = true } = parts
  const throttling = { isAdaptive, ...(onGate && { onGate }) }
  const told = { ...(onAnswer && { onAnswer }), ...(send && { send }) }
  const shared = { clock, policy: RETRY_POLICY, random, timeout, ...told }
  const forGraph = requestFor(cloud.graph)
  const forExchange = requestFor(cloud.exchange)
  const share = (limit: number) => limit / config.workerReplicas
  const { exchangeUrl, maxParallelism } = config
  const module = exchangeUrl === 'powershell' ? openExchangeModule(config, credential, clock) : null
  // A process of PowerShell has its price: no more of them than jobs.
  const lanesMax = Math.max(1, Math.floor(share(config.exchangeParallelism)))
  const lanes = module ? Math.min(lanesMax, maxParallelism) : lanesMax
  const graph = new Graph({
    ...shared,
    ...throttling,
    replicas: config.workerReplicas,
    url: config.graphUrl ?? cloud.graph,
    token: (refused) => tokens.get(forGraph, refused),
    quota: {
      unitsPerSec: share(config.graphUnitsPerSec),
      writesPerSec: share(config.graphWritesPerSec),
      invitationsPerSec: share(config.invitationsPerSec),
    },
  })
  const exchange = new ExchangeOnline({
    ...shared,
    ...throttling,
    ...(module && { send: module.send }),
    url: module ? cloud.exchange : (exchangeUrl ?? cloud.exchange),
    token: (refused) => tokens.get(forExchange, refused),
    tenantId,
    lanes,
    start: isAdaptive ? Math.min(lanes, EXCHANGE_START) : lanes,
  })
  return {
    id: tenantId,
    organization,
    graph,
    exchange,
    throttles: () => [...graph.throttles(), ...exchange.throttles()],
    secrets,
    webhooks: openWebhooks({ ...shared, hosts: config.webhookHosts }),
    token: (service) => tokens.get(service === 'graph' ? forGraph : forExchange),
    countingFor(jobs) {
      return countingFor(jobs, this)
    },
    signIn: async () => {
      const graphToken = await tokens.get(forGraph)
      const exchangeToken = await tokens.get(forExchange)
      await module?.connect(exchangeToken)
      return {
        graph: rightsIn(graphToken),
        exchange: rightsIn(exchangeToken),
        directoryRoles: directoryRolesIn(graphToken),
      }
    },
    close: () => module?.close(),
  }
}

function requireSetting(value: string | null, name: string): string {
  if (value !== null) return value
  throw new MatoolkitError('WORKER_NOT_CONFIGURED', { problems: `${name} is not set.` })
}
