// The admin API as a service: an HTTP server in front of the engine, and a loop that seals the audit each minute, prunes it and
// deletes old idempotency keys. Without a token issuer it serves the loopback only and refuses to listen elsewhere. Stopping lets
// running requests finish.
import { MatoolkitError, messageOf } from '../base/errors/errors.ts'
import { isLoopback } from '../base/keys/local-token.ts'
import type { Log } from '../base/log/log.ts'
import { type Clock, realClock } from '../base/run/clock.ts'
import { everyLoop, type Loop, type Service } from '../base/run/service.ts'
import type { Config } from '../base/settings/config.ts'
import { Measures } from '../base/telemetry/measures.ts'
import type { ClockReport } from '../db/connection/time.ts'
import { pruneAudit } from '../db/orders/audit-pruning.ts'
import { findChainHead, sealAudit } from '../db/orders/audit-sealing.ts'
import { forgetKeys } from '../db/orders/idempotency.ts'
import { endLostRehearsals } from '../db/orders/rehearsals.ts'
import type { SchemaVersions } from '../db/schema/migrate.ts'
import type { MeaningOf } from '../domain/needs/error-meaning.ts'
import type { PreviewQuery } from '../domain/sources/preview.ts'
import type { TickNow } from '../domain/sources/tick-report.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import { openEventFeed } from './events/event-feed.ts'
import { openSigningKey } from './evidence/signing-key.ts'
import { dashboardFiles } from './http/dashboard.ts'
import { ReadAudit } from './http/read-audit.ts'
import { buildServer } from './http/server.ts'
import type { ApiBus, Services } from './route.ts'
import { allRoutes } from './routes.ts'
import { makeHeadSender } from './services/audit-heads.ts'
import { FailureCache } from './services/failure-cache.ts'
import { Figures } from './services/figures.ts'
import { MemberSearch } from './services/member-search.ts'
import { createMeter, type Meter } from './services/metrics.ts'
import { REHEARSAL_SEC_MAX, Rehearsals, type RunRehearsal } from './services/rehearsals.ts'
import { RunbookReader } from './services/runbook-reader.ts'
import { TextSearch } from './services/text-search.ts'
import { localSignIn } from './sign-in/local.ts'
import { LookUps } from './sign-in/look-ups.ts'
import { entraOf, oidcSignIn } from './sign-in/oidc.ts'
import type { SignInMethod } from './sign-in/sign-in.ts'

const MAINTENANCE_INTERVAL_MS = 60_000
const KEYS_KEPT_MS = 24 * 3_600_000
/** Long after its limit: nobody runs it. */
const REHEARSAL_LOST_MS = 2 * REHEARSAL_SEC_MAX * 1_000

export type ApiConfig = Pick<
  Config,
  | 'apiHost'
  | 'apiPort'
  | 'apiTokenFile'
  | 'apiReadsPerMin'
  | 'apiTrustedHops'
  | 'apiCorsOrigins'
  | 'apiPublicPath'
  | 'oidcIssuers'
  | 'oidcAudiences'
  | 'oidcClientId'
  | 'oidcApps'
  | 'readPolicy'
  | 'auditKeptDays'
  | 'auditHeadsFile'
  | 'evidenceKey'
  | 'evidenceKeyFile'
  | 'poolSize'
>

/** Of a person's token. */
const SCOPE = 'access_as_user'

type ScopeConfig = Pick<ApiConfig, 'oidcIssuers' | 'oidcAudiences'>

export interface ApiOptions {
  readonly config: ApiConfig
  readonly engine: Engine
  readonly bus: ApiBus
  readonly clock: Clock
  readonly log: Log
  /** What the errors of functions mean; without it only their text is shown. */
  readonly meaningOf?: MeaningOf
  readonly preview?: PreviewQuery
  readonly tickNow?: TickNow
  /** Channels and rules; without them no one is told. */
  readonly notifications?: Services['notifications'] | null
  /** Without it no rehearsal begins. */
  readonly runRehearsal?: RunRehearsal
  readonly clockReport?: () => ClockReport | null
  readonly whyWaiting?: () => string | null
  /** Set when a newer program has upgraded the schema. */
  readonly schemaNewer?: () => SchemaVersions | null
  /** The measures of this process; without them only those of requests are shown. */
  readonly measures?: Measures
  /** Shared with telemetry, so that both ask once. */
  readonly figures?: Pick<Figures, 'lines' | 'isBusThere'>
  /** Maximum number of live event streams. */
  readonly listenersMax?: number
  /** A minute, unless told: tests let days pass. */
  readonly maintenanceIntervalMs?: number
}

export interface Api extends Service {
  /** Resolves with the address once the server listens; rejects with ADDRESS_UNUSABLE. */
  readonly listening: Promise<string>
}

/** Throws API_EXPOSED or LOCAL_TOKEN_UNFIT before it opens anything. */
export function openApi(options: ApiOptions): Api {
  const { config, engine, clock, log, bus } = options
  const stopping = new AbortController()
  const meter = createMeter(options.measures ?? new Measures())
  const signIn = signInOf(config, clock)
  const listening = Promise.withResolvers<string>()
  const rehearsals = new Rehearsals(options.runRehearsal ?? null, { db: engine.db, clock, log })
  const readAudit = new ReadAudit(engine.db)
  const runbookReader = new RunbookReader(realClock())
  const server = buildServer({
    routes: allRoutes({
      meter,
      figures: options.figures ?? new Figures({ db: engine.db, bus, clock }),
      stopping: stopping.signal,
      signIn: signInOffer(config, signIn),
      prove: async (nonce) => signIn.prove?.(await listening.promise, nonce) ?? null,
    }),
    engine,
    clock,
    log,
    services: {
      bus,
      preview: options.preview ?? null,
      tickNow: options.tickNow ?? null,
      events: feedOf(options),
      memberSearch: new MemberSearch(),
      textSearch: new TextSearch(),
      lookUps: new LookUps(engine.db),
      runbookReader,
      rehearsals,
      failureCache: new FailureCache(),
      meaningOf: options.meaningOf ?? (() => null),
      auditKeptDays: config.auditKeptDays,
      signingKey: signingKeyOf(config, signIn),
      ...processReports(options),
    },
    signIn,
    readPolicy: config.readPolicy,
    trustedHops: config.apiTrustedHops,
    corsOrigins: config.apiCorsOrigins,
    limits: limitsOf(config),
    poolSize: config.poolSize,
    meter,
    readAudit,
    dashboard: pageOf(config),
    stopping: stopping.signal,
  })
  const maintenance = maintenanceLoop(options, readAudit)
  // The log has the error too, so an ignored rejection must not end the process.
  listening.promise.catch(() => {})
  const { apiHost: host, apiPort: port } = config
  return {
    name: 'api',
    listening: listening.promise,
    start: () => {
      maintenance.start()
      server.listen({ host: boundHost(host), port }).then(listening.resolve, (error: unknown) => {
        const details = { host, port, reason: messageOf(error) }
        const refusal = new MatoolkitError('ADDRESS_UNUSABLE', details, { cause: error })
        log.error({ err: refusal }, refusal.message)
        listening.reject(refusal)
      })
    },
    stop: async (giveUp) => {
      stopping.abort()
      try {
        await Promise.all([
          maintenance.stop(giveUp),
          closeServer(server, meter, giveUp),
          rehearsals.stop(),
          runbookReader.close(),
        ])
        await readAudit.close()
      } finally {
        signIn.close?.()
      }
    },
  }
}

const pageOf = ({ apiPublicPath: publicPath, oidcIssuers }: ApiConfig) =>
  dashboardFiles({ publicPath, issuer: oidcIssuers[0] ?? null })

/** People and programs look more often than they change. */
const READS_PER_WRITE = 5

const limitsOf = (config: ApiConfig) => ({
  readsPerMin: config.apiReadsPerMin,
  writesPerMin: Math.ceil(config.apiReadsPerMin / READS_PER_WRITE),
})

/**
 * A key that a setting names is read at once, so that a mistake shows at the start. Without one, an API of one machine creates its own
 * when the first pack is asked for.
 */
function signingKeyOf(config: ApiConfig, { mode }: SignInMethod): Services['signingKey'] {
  const open = () => openSigningKey(config, mode === 'local')
  if (config.evidenceKey === null && config.evidenceKeyFile === null) return open
  const key = open()
  return () => key
}

const feedOf = ({ engine: { db }, clock, log, listenersMax }: ApiOptions) =>
  openEventFeed({ db, clock, log, ...(listenersMax !== undefined && { listenersMax }) })

const nothing = () => null

const NO_NOTIFICATIONS: Services['notifications'] = { channels: [], rules: [], urgent: [] }

/** What the process knows about itself. */
const processReports = (options: ApiOptions) => ({
  notifications: options.notifications ?? NO_NOTIFICATIONS,
  clockReport: options.clockReport ?? nothing,
  whyWaiting: options.whyWaiting ?? nothing,
  schemaNewer: options.schemaNewer ?? nothing,
})

/** For `localhost` Fastify opens a second server for its other address, which has none of our limits. */
const boundHost = (host: string): string => (host === 'localhost' ? '127.0.0.1' : host)

/**
 * Waits for running requests; after the last one server.ts cuts all connections, at `giveUp` in any case. Node closes idle connections
 * but not those that never sent a byte: one of these kept a server from stopping for a minute.
 */
async function closeServer(
  server: ReturnType<typeof buildServer>,
  meter: Meter,
  giveUp: AbortSignal | undefined,
): Promise<void> {
  let isCut = false
  const cut = () => {
    isCut = true
    server.server.closeAllConnections()
  }
  if (giveUp?.aborted) cut()
  giveUp?.addEventListener('abort', cut)
  try {
    const closed = server.close()
    if (meter.inFlight() === 0) server.server.closeAllConnections()
    await closed
  } finally {
    giveUp?.removeEventListener('abort', cut)
  }
  if (isCut) throw new MatoolkitError('SERVICE_STILL_RUNNING', { name: 'api' })
}

function signInOf(config: ApiConfig, clock: Clock): SignInMethod {
  const { oidcIssuers, oidcAudiences, apiHost } = config
  if (oidcIssuers.length > 0 && oidcAudiences.length > 0) {
    return oidcSignIn({
      issuers: oidcIssuers,
      audiences: oidcAudiences,
      scope: SCOPE,
      apps: config.oidcApps,
      clientId: config.oidcClientId,
      now: () => clock.now(),
    })
  }
  // An issuer without an audience accepts tokens issued for other APIs.
  if (oidcIssuers.length > 0 || !isLoopback(apiHost)) {
    throw new MatoolkitError('API_EXPOSED', { host: apiHost })
  }
  return localSignIn(config.apiTokenFile)
}

const signInOffer = (config: ApiConfig, { mode }: SignInMethod) =>
  mode === 'local'
    ? { mode, issuer: null, clientId: null, scope: null }
    : {
        mode,
        issuer: config.oidcIssuers[0]!,
        clientId: config.oidcClientId,
        scope: offeredScope(config),
      }

/** The scope that clients request. Entra ID expects it with the API's identifier in front. */
export function offeredScope({ oidcIssuers, oidcAudiences }: ScopeConfig): string {
  if (entraOf(oidcIssuers[0]!) === null) return SCOPE
  const api = oidcAudiences.find((name) => name.includes('://')) ?? `api://${oidcAudiences[0]}`
  return `${api}/${SCOPE}`
}

function maintenanceLoop(options: ApiOptions, readAudit: ReadAudit): Loop {
  const { engine, clock, log, config, schemaNewer } = options
  const { auditKeptDays: keptDays } = config
  const heads = makeHeadSender(config)
  let isFirst = true
  return everyLoop({
    name: 'audit maintenance',
    clock,
    intervalMs: options.maintenanceIntervalMs ?? MAINTENANCE_INTERVAL_MS,
    runOnce: async (now, signal) => {
      if (schemaNewer?.()) return
      await readAudit.writeDue(now)
      // Who sealed it may have died before sending it, and nothing may have been sealed since.
      if (isFirst) heads.note(await findChainHead(engine.db), now)
      isFirst = false
      let sealed = await sealAudit(engine.db)
      while (sealed.count > 0 && !signal.aborted) {
        log.info({ sealed: sealed.sealed, head: sealed.hash }, 'Sealed audit rows')
        heads.note(sealed, now)
        sealed = await sealAudit(engine.db)
      }
      await heads.send()
      await forgetKeys(engine.db, new Date(+now - KEYS_KEPT_MS))
      await endLostRehearsals(engine.db, new Date(+now - REHEARSAL_LOST_MS), now)
      if (keptDays === null) return
      let rows = await pruneAudit(engine.db, { keptDays, now })
      while (rows > 0 && !signal.aborted) {
        log.info({ rows, keptDays }, 'Pruned old audit rows')
        rows = await pruneAudit(engine.db, { keptDays, now })
      }
    },
    onError: (err, inARow) => log.error({ err, inARow }, 'Audit maintenance failed'),
  })
}
