// The tenants of a rehearsal: a sandbox in this process, called without sockets. A call takes as long as one of Microsoft's usually
// does, by the rehearsal's clock; how long depends on the seed and the call alone, so two runs are alike.

import type { FaultSettings } from '../../../sandbox/faults.ts'
import { chanceOf } from '../../../sandbox/identity.ts'
import { makeSandboxCore, type SandboxCore, wireText } from '../../../sandbox/sandbox-core.ts'
import { DEFAULT_SECRET, type Seed, type State } from '../../../sandbox/state.ts'
import type { Timing } from '../../../sandbox/world.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { tokenEndpointsOf } from '../../base/sign-in/clouds.ts'
import { makeTokens, type RequestByHttp } from '../../base/sign-in/token.ts'
import { sameName } from '../../base/text/same-name.ts'
import { connectTenant } from '../../m365/client/connect.ts'
import type { M365Tenant } from '../../m365/client/tenant.ts'
import { ConnectionLost, type HttpRequest, type HttpResponse } from '../../worker/http/http.ts'
import { memoryVault, sandboxConfig } from '../sandbox/sandbox-worker.ts'
import type { CalledService, CallMeter } from './call-meter.ts'
import { labelOf } from './expected-tenants.ts'

const ORIGIN = 'http://127.0.0.1'
const WEBHOOK_HOSTS_MAX = 20

export interface RehearsalTenantsOptions {
  readonly clock: Clock
  readonly seed: Seed
  /** Chooses how long each call takes, and which ones meet faults. */
  readonly seedNumber: number
  readonly workerIds: readonly string[]
  readonly timing?: Partial<Timing>
  readonly faults?: FaultSettings
  readonly webhookHosts: readonly string[]
  readonly meter: CallMeter
}

export interface RehearsalTenants {
  /** By worker id in lower case. */
  readonly byWorker: ReadonlyMap<string, M365Tenant>
  state(): State
  setFaults(settings: FaultSettings): void
}

export function openRehearsalTenants(options: RehearsalTenantsOptions): RehearsalTenants {
  const { clock, seed, timing, faults, workerIds } = options
  const core = makeSandboxCore(
    { clock, seed, ...(timing && { timing }), ...(faults && { faults }) },
    'no control',
  )
  const { tenants } = core.state()
  const byWorker = new Map(
    workerIds.map((workerId) => {
      const tenant = tenantFor(workerId, tenants)
      return [workerId.toLowerCase(), connected(tenant, core, options)] as const
    }),
  )
  return { byWorker, state: core.state, setFaults: core.setFaults }
}

type TenantState = State['tenants'][number]

/** The tenant with the worker's name, such as `contoso` for `contoso-worker`; a single tenant serves all. */
function tenantFor(workerId: string, tenants: readonly TenantState[]): TenantState {
  const label = labelOf(workerId)
  const found = tenants.find(
    ({ displayName, domains }) =>
      sameName(displayName, label) || domains.some((one) => one.split('.')[0] === label),
  )
  if (found) return found
  if (tenants.length === 1) return tenants[0]!
  throw new MatoolkitError('REHEARSAL_TENANT_MISSING', {
    worker: workerId,
    label,
    tenants: tenants.map(({ displayName }) => displayName).join(', '),
  })
}

function connected(
  { id, domains }: TenantState,
  core: SandboxCore,
  { clock, seedNumber, meter, webhookHosts }: RehearsalTenantsOptions,
): M365Tenant {
  const organization = domains.find((one) => one.endsWith('.onmicrosoft.com')) ?? domains[0]!
  const hosts = webhookHosts.slice(0, WEBHOOK_HOSTS_MAX).join(',')
  const config = sandboxConfig(ORIGIN, id, organization, {
    ...(hosts !== '' && { MATOOLKIT_WEBHOOK_HOSTS: hosts }),
  })
  const neverAborts = new AbortController().signal
  return connectTenant({
    config,
    clock,
    secrets: memoryVault(),
    credential: { secret: DEFAULT_SECRET },
    tokens: makeTokens(clock, tokenEndpointsOf(config), tokensIn(core)),
    random: () => 0.5,
    timeout: () => neverAborts,
    send: senderTo(core, clock, seedNumber, meter),
    onGate: ({ name, isClosed, seconds }) => {
      if (isClosed) meter.throttled(serviceOf(name), `${id} ${name}`, seconds, clock.now())
    },
  })
}

const tokensIn =
  ({ apis }: SandboxCore): RequestByHttp =>
  async (url, { method = 'POST', body }) => {
    const signal = new AbortController().signal
    const request = { method, url: new URL(url), headers: {}, text: String(body ?? '') }
    const response = await apis.respond(request, signal)
    if (response === null) throw new TypeError('the connection was cut')
    const { status } = response
    return {
      ok: status < 300,
      status,
      body: new Response(JSON.stringify(response.body ?? null)).body,
    }
  }

type Send = (request: HttpRequest) => Promise<HttpResponse>

function senderTo(core: SandboxCore, clock: Clock, seed: number, meter: CallMeter): Send {
  let calls = 0
  return async ({ method, url, headers, body, signal }) => {
    const address = new URL(url)
    const { service, operation } = operationOf(method, address, body)
    calls += 1
    meter.count(service, operation, clock.now())
    await clock.wait(durationMs(service, method, chanceOf(seed, operation, calls)), signal)
    if (signal.aborted) throw new ConnectionLost(true, signal.reason)
    if (service === 'webhooks') return { status: 200, headers: new Headers(), text: '' }
    const lowered = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const request = { method, url: address, headers: lowered, text: body ?? '' }
    const response = await core.apis.respond(request, signal)
    if (response === null) throw new ConnectionLost(true, new Error('the connection was cut'))
    const wire = wireText(response)
    return { status: response.status, headers: new Headers(wire.headers), text: wire.text ?? '' }
  }
}

/** What calls usually take: Graph tenths of a second, cmdlets a second or two. In steps, so that many end at the same moment. */
function durationMs(service: string, method: string, chance: number): number {
  const [least, most] =
    service === 'Exchange Online' ? [400, 1_600] : method === 'GET' ? [100, 300] : [200, 600]
  return Math.round((least + chance * (most - least)) / 100) * 100
}

/** Each quota of a service has its own gate. */
const serviceOf = (gate: string): CalledService =>
  gate.startsWith('Exchange') ? 'Exchange Online' : 'Microsoft Graph'

function operationOf(method: string, { origin, pathname }: URL, body: string | null) {
  if (origin !== ORIGIN) return { service: 'webhooks', operation: `${method} webhook` } as const
  if (/\/InvokeCommand$/i.test(pathname)) {
    const cmdlet = /"CmdletName"\s*:\s*"([^"]+)"/.exec(body ?? '')?.[1] ?? 'cmdlet'
    return { service: 'Exchange Online', operation: cmdlet } as const
  }
  const path = pathname
    .split('/')
    .map((part) => (/@|%40|[0-9a-f]{8}-[0-9a-f]{4}-/i.test(part) ? '*' : part))
    .join('/')
  return { service: 'Microsoft Graph', operation: `${method} ${path}` } as const
}
