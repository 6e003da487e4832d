// Runs a function against sandbox tenants: the real client over real HTTP, jobs run as the worker runs them, and a clock whose
// waits return at once with the time advanced.

import { CMDLETS } from '../../../sandbox/exchange/cmdlets.ts'
import { hasGraphRoute } from '../../../sandbox/graph/dispatch.ts'
import type { RequestMade } from '../../../sandbox/journal.ts'
import type { RecordedTenant } from '../../../sandbox/replay.ts'
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts'
import { DEFAULT_CLIENT_ID, DEFAULT_SECRET, type Seed } from '../../../sandbox/state.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { tokenEndpointsOf } from '../../../src/base/sign-in/clouds.ts'
import { makeTokens } from '../../../src/base/sign-in/token.ts'
import { type ConnectedTenant, connectTenant } from '../../../src/m365/client/connect.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { catalogueOf, type Permissions } from '../../../src/worker/functions/catalogue.ts'
import type { Secrets } from '../../../src/worker/http/api.ts'
import { RecentNames } from '../../../src/worker/jobs/recent-names.ts'
import type { JobResult } from '../../../src/worker/jobs/result-cache.ts'
import { runJob } from '../../../src/worker/jobs/run-job.ts'
import type { Params } from './cases.ts'
import { PASS_OF_KIM } from './mail-cases.ts'
import { SEED, UNDER_WAY } from './tenants.ts'

export const START = new Date('2030-02-14T08:00:00Z')

export interface LeapingClock extends Clock {
  waitedMs(): number
}

export function leapingClock(): LeapingClock {
  let waitedMs = 0
  return {
    kind: 'virtual',
    now: () => new Date(+START + waitedMs),
    wait: async (ms) => {
      waitedMs += Math.max(0, ms)
    },
    waitedMs: () => waitedMs,
  }
}

export function memorySecrets(kept = new Map<string, string>()): Secrets {
  return {
    put: async (name, value) => {
      kept.set(name, value)
      return name
    },
    get: async (reference) => kept.get(reference)!,
    find: async (name) => (kept.has(name) ? name : null),
  }
}

/** The settings of a worker for the first tenant of a sandbox. */
export function configFor(
  url: string,
  tenantId: string,
  more: Record<string, string> = {},
): Config {
  const read = readConfig({
    MATOOLKIT_TENANT_ID: tenantId,
    MATOOLKIT_ORGANIZATION: 'contoso.onmicrosoft.com',
    MATOOLKIT_APP_ID: DEFAULT_CLIENT_ID,
    MATOOLKIT_LOGIN_URL: url,
    MATOOLKIT_GRAPH_URL: url,
    MATOOLKIT_EXCHANGE_URL: url,
    ...more,
  })
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  return read.config
}

export function connect(
  config: Config,
  clock: Clock,
  secrets: Secrets = memorySecrets(new Map([[PASS_OF_KIM, 'pass-of-kim-1']])),
): ConnectedTenant {
  return connectTenant({
    config,
    clock,
    secrets,
    credential: { secret: DEFAULT_SECRET },
    tokens: makeTokens(clock, tokenEndpointsOf(config)),
    random: () => 0.5,
  })
}

export interface Setting<OfClock extends Clock = LeapingClock> {
  readonly sandbox: Sandbox
  readonly tenant: ConnectedTenant
  readonly clock: OfClock
  /** Runs a job as the worker does. */
  run(functionName: string, params: Params, isPolled?: boolean): Promise<JobResult>
  /** A job of an orchestrator of the earlier system. */
  runForEarlier(functionName: string, params: Params): Promise<JobResult>
  /** The same as a worker of the second tenant, the source. */
  runAtSource(functionName: string, params: Params): Promise<JobResult>
  /** Effects on the tenant, in order, by name. */
  effects(): string[]
}

export type Dialect = NonNullable<Seed['tenants'][number]['dialect']>

/** The worker's app with exactly what a function declares. */
const applicationWith = ({ graph = [], exchange = [] }: Permissions) => ({
  clientId: DEFAULT_CLIENT_ID,
  secret: DEFAULT_SECRET,
  roles: [...graph, ...exchange.slice(0, 1)],
  directoryRoles: exchange.slice(1),
})

const seedOf = ({ dialect = {}, permissions, seeded }: WithinOptions): Seed => {
  const [contoso, fabrikam] = SEED.tenants
  const applications = permissions ? [applicationWith(permissions)] : []
  const target = { ...contoso, migrationBatches: [UNDER_WAY], dialect, applications }
  const seed = structuredClone({ tenants: [target, { ...fabrikam, dialect }] }) as unknown as Seed
  return seeded?.(seed) ?? seed
}

const catalogue = catalogueOf(STANDARD_FUNCTIONS)
const KNOWN_CMDLETS = new Set(Object.keys(CMDLETS).map((name) => name.toLowerCase()))

/** What the sandbox does not have it refuses, as Microsoft refuses the unknown. A test must not take that for an answer. */
function requireKnown(requests: readonly RequestMade[]): void {
  for (const { method, path, cmdlet } of requests) {
    if (cmdlet !== null && !KNOWN_CMDLETS.has(cmdlet.toLowerCase()))
      throw new Error(`The sandbox has no cmdlet ${cmdlet}: add it to sandbox/exchange/cmdlets.ts`)
    const pathname = path.split('?')[0]!
    if (/^\/(?:v1\.0|beta)\//.test(pathname) && !hasGraphRoute(method, pathname))
      throw new Error(`The sandbox has no ${method} ${pathname}: add it to sandbox/graph/routes.ts`)
  }
}

let jobs = 0

export interface WithinOptions {
  readonly lagSec?: number
  /** How long a mailbox move takes to stop. */
  readonly stopSec?: number
  /** Forms in which Exchange answers. */
  readonly dialect?: Dialect
  /** Exchange and Graph answer in the forms of this tenant. */
  readonly replay?: RecordedTenant
  /** The app has only these; it has all when they are left out. */
  readonly permissions?: Permissions
  /** Changes the two tenants before the start. */
  seeded?(seed: Seed): Seed
  /** The worker has run for long: it knows what it made lately, and waits for no other name. Default: it has just started. */
  readonly hasRunLong?: true
  /** Additional worker settings. */
  readonly env?: Record<string, string>
  /** Puts a proxy between the worker and the two APIs and returns its URL. */
  between?(url: string): Promise<string>
}

/** Opens a fresh sandbox, already signed in, for one test. */
export const within = <Told>(
  options: WithinOptions,
  tell: (setting: Setting) => Promise<Told>,
): Promise<Told> => withinOn(leapingClock(), options, tell)

export async function withinOn<Told, OfClock extends Clock>(
  clock: OfClock,
  options: WithinOptions,
  tell: (setting: Setting<OfClock>) => Promise<Told>,
): Promise<Told> {
  const lag = options.lagSec ?? 0
  const { stopSec = lag } = options
  const timing = {
    replicationLagSec: lag,
    exchangeLagSec: lag,
    mailboxMoveStopSec: stopSec,
  }
  const { replay } = options
  const sandbox = await openSandbox({
    clock,
    seed: seedOf(options),
    timing,
    ...(replay && { replay }),
  })
  const tenantId = sandbox.state().tenants[0]!.id
  const url = (await options.between?.(sandbox.url)) ?? sandbox.url
  const env = { MATOOLKIT_GRAPH_URL: url, MATOOLKIT_EXCHANGE_URL: url, ...options.env }
  const tenant = connect(configFor(sandbox.url, tenantId, env), clock)
  const sourceId = sandbox.state().tenants[1]!.id
  const source = connect(configFor(sandbox.url, sourceId), clock)
  const { signal: stopping } = new AbortController()
  const recent = options.hasRunLong && new RecentNames(clock)
  if (recent) await clock.wait(3_600_000)
  const runAs =
    (as: ConnectedTenant, isOfEarlierSystem = false): Setting['run'] =>
    async (functionName, parameters, isPolled = false) => {
      const job = {
        jobId: `step-${++jobs}`,
        batchId: 1,
        functionName,
        parameters: { ...parameters },
        timeoutSec: null,
        notAfter: null,
        isOfEarlierSystem,
        correlation: null,
        isRepeated: false,
        isPolled,
      }
      const worker = { workerId: 'w', catalogue, clock, tenant: as, stopping }
      const result = await runJob(job, { ...worker, ...(recent && { recent }) })
      requireKnown(sandbox.journal.requests)
      return result!
    }
  const setting: Setting<OfClock> = {
    sandbox,
    tenant,
    clock,
    run: runAs(tenant),
    runForEarlier: runAs(tenant, true),
    runAtSource: runAs(source),
    effects: () => sandbox.journal.effects.map(({ what }) => what),
  }
  try {
    await tenant.signIn()
    return await tell(setting)
  } finally {
    tenant.close()
    await sandbox.close()
  }
}
