// Telemetry from the settings: none unless a collector is named. Then the packages are loaded, and a process sends its traces, events and the
// measures that `/metrics` shows.
import { hostname } from 'node:os'
import manifest from '../../../package.json' with { type: 'json' }
import { processFamilies } from '../../api/services/figures.ts'
import { type Log, tapLog } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import { quietExporters } from '../../base/settings/config.ts'
import type { Role } from '../../base/settings/process.ts'
import { azureCredential } from '../../base/sign-in/azure-credential.ts'
import { tokenEndpointsOf } from '../../base/sign-in/clouds.ts'
import { makeTokens } from '../../base/sign-in/token.ts'
import { type Collector, openAzureMonitor, openOtlp } from '../../base/telemetry/exporters.ts'
import { type Exporting, exportTo } from '../../base/telemetry/exporting.ts'
import type { Measures } from '../../base/telemetry/measures.ts'
import type { MetricFamily } from '../../base/telemetry/metric-family.ts'
import type { LifecycleEvent } from '../../base/telemetry/telemetry.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { loadDatabaseMark } from '../../db/schema/database-mark.ts'
import { type CommitWatch, watchCommits } from '../../engine/transactions/commit-watch.ts'

export interface TelemetryOptions {
  readonly config: Config
  readonly roles: readonly Role[]
  readonly clock: Clock
  readonly log: Log
  readonly measures: Measures
  /** The work that there is, from a process that may read it. */
  readonly figures?: () => Promise<readonly MetricFamily[]>
}

/** Null when no setting names a collector. */
export async function openTelemetry(options: TelemetryOptions): Promise<Exporting | null> {
  const { config, roles, clock, log, measures, figures } = options
  const collectors = await collectorsOf(config, clock)
  if (collectors.length === 0) return null
  const { resourceFromAttributes } = await import('@opentelemetry/resources')
  const { version } = manifest
  const resource = resourceFromAttributes({
    'service.name': config.serviceName,
    'service.version': version,
    'service.instance.id': `${hostname()}-${process.pid}`,
    'matoolkit.roles': roles.join(','),
  })
  log.info({ to: collectors.map(({ name }) => name) }, 'Telemetry is on')
  const exporting = exportTo({
    collectors,
    clock,
    measures,
    ratio: config.traceRatio,
    sender: { resource, scope: { name: 'matoolkit', version } },
    messagingSystem: config.transport === 'postgres' ? 'postgresql' : config.transport,
    families: async () => [
      ...processFamilies(process.memoryUsage(), process.uptime()),
      ...((await figures?.()) ?? []),
    ],
    onError: (err, collector) =>
      log.warn({ err, collector }, 'Telemetry does not arrive; work continues without it'),
  })
  tapLog(log, (line) => exporting.logLine(line))
  return tellingLife(exporting, clock, roles)
}

/** The first event of a process, and its last. */
function tellingLife(exporting: Exporting, clock: Clock, roles: readonly Role[]): Exporting {
  const tell = (name: LifecycleEvent['name']) =>
    exporting.event({ name, at: clock.now(), attributes: { Roles: roles.join(',') } })
  return {
    ...exporting,
    start: () => {
      exporting.start()
      tell('ProcessStarted')
    },
    stop: (giveUp) => {
      tell('ProcessStopped')
      return exporting.stop(giveUp)
    },
  }
}

const MONITOR_SCOPE = 'https://monitor.azure.com/.default'

async function collectorsOf(config: Config, clock: Clock): Promise<Collector[]> {
  const { otlpEndpoint: endpoint, otlpHeaders, insightsConnection, insightsSignIn } = config
  const collectors: Collector[] = []
  if (endpoint !== null)
    collectors.push(await openOtlp({ endpoint, headers: headersOf(otlpHeaders) }))
  if (insightsConnection !== null) {
    quietExporters()
    const clientId = /ClientId=([0-9a-f-]{36})/i.exec(insightsSignIn ?? '')?.[1]
    const request = {
      from: 'machine',
      scope: MONITOR_SCOPE,
      clientId: clientId ?? config.identityClientId,
    } as const
    const credential =
      insightsSignIn === null
        ? null
        : azureCredential(makeTokens(clock, tokenEndpointsOf(config)), request, clock)
    collectors.push(await openAzureMonitor({ connectionString: insightsConnection, credential }))
  }
  return collectors
}

const headersOf = (text: string | null): Record<string, string> =>
  Object.fromEntries(
    (text ?? '')
      .split(',')
      .filter(Boolean)
      .map((pair) => [
        pair.slice(0, pair.indexOf('=')),
        decodeURIComponent(pair.slice(pair.indexOf('=') + 1)),
      ]),
  )

/** What the engine tells: counts always, traces when telemetry is on. */
export async function watchOf(
  { measures, clock }: Pick<TelemetryOptions, 'measures' | 'clock'>,
  db: Queryable,
  telemetry: Exporting | null,
): Promise<CommitWatch> {
  const traces = telemetry && { telemetry, database: await loadDatabaseMark(db) }
  return watchCommits({ measures, clock, traces })
}
