// A Microsoft 365 tenant as functions see it: Graph and Exchange besides what every tenant has.
import type { JsonObject } from '../../base/text/json.ts'
import {
  type Changes,
  changeCounter,
  countedWebhooks,
  NO_TENANT,
  refuseWithoutTenant,
  type Tenant,
} from '../../worker/functions/tenant.ts'
import type { RestApi } from '../../worker/http/api.ts'

export interface M365Tenant extends Tenant {
  readonly graph: RestApi
  readonly exchange: Exchange
  /** A token of `graph` or `exchange`. Prefer the two above. */
  token(service: string): Promise<string>
  countingFor(jobs: readonly Changes[]): M365Tenant
}

export interface ExchangeOptions {
  readonly signal: AbortSignal
  /** Return only these properties. */
  readonly select?: readonly string[]
  /** As in RestRequest. Default: Get-, Test- and Set- cmdlets. */
  readonly isIdempotent?: boolean
}

export interface Exchange {
  /** Runs a cmdlet and returns all pages of its output, without keys that contain an "@". */
  run(
    cmdlet: string,
    parameters: JsonObject,
    options: ExchangeOptions,
  ): Promise<readonly JsonObject[]>
}

/** A quoted text for an OData expression: `userPrincipalName eq ${odataText(upn)}`. */
export const odataText = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** PowerShell's `@{Add=…; Remove=…}` for a multi-valued property. */
export const changeOfList = (change: {
  readonly add?: readonly string[]
  readonly remove?: readonly string[]
}): JsonObject => ({
  '@odata.type': '#Exchange.GenericHashTable',
  ...(change.add ? { Add: [...change.add] } : {}),
  ...(change.remove ? { Remove: [...change.remove] } : {}),
})

/** Of Graph everything counts but reads, of Exchange every cmdlet but Get- and Test-. */
export function countingFor(jobs: readonly Changes[], tenant: M365Tenant): M365Tenant {
  const change = changeCounter(jobs)
  const graph: RestApi = {
    call: (request) => {
      const isRead = request.method === 'GET' || request.isRead === true
      return isRead ? tenant.graph.call(request) : change(() => tenant.graph.call(request))
    },
    list: (request) => tenant.graph.list(request),
    urlOf: (path) => tenant.graph.urlOf(path),
  }
  const exchange: Exchange = {
    run: (cmdlet, parameters, options) => {
      const run = () => tenant.exchange.run(cmdlet, parameters, options)
      return /^(get|test)-/i.test(cmdlet) ? run() : change(run)
    },
  }
  return Object.create(tenant, {
    graph: { value: graph, enumerable: true },
    exchange: { value: exchange, enumerable: true },
    webhooks: { value: countedWebhooks(tenant.webhooks, change), enumerable: true },
  }) as M365Tenant
}

/** Of a worker without a tenant. */
export const NO_M365_TENANT: M365Tenant = Object.create(NO_TENANT, {
  graph: {
    value: {
      call: async () => refuseWithoutTenant(),
      list: () => refuseWithoutTenant(),
      urlOf: () => refuseWithoutTenant(),
    } satisfies RestApi,
  },
  exchange: { value: { run: async () => refuseWithoutTenant() } satisfies Exchange },
  countingFor: {
    value(this: M365Tenant, jobs: readonly Changes[]) {
      return countingFor(jobs, this)
    },
  },
}) as M365Tenant
