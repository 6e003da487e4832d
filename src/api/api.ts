// The admin API as a service: one HTTP server in front of the engine, and the loop that seals the audit each minute, prunes it where
// that is wanted, and forgets old idempotency keys. Without an issuer of tokens it serves this machine only, to whoever can read the token file; asked to
// listen elsewhere it refuses to start. Stopping lets requests end that have begun.
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { sealAudit } from '../db/audit-chain.ts'
import { pruneAudit } from '../db/audit-pruning.ts'
import { forgetKeys } from '../db/idempotency.ts'
import type { ClockReport } from '../db/time.ts'
import type { PreviewQuery } from '../domain/detection/preview.ts'
import type { Engine } from '../engine/engine.ts'
import { MatoolkitError, messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { everyLoop, type Loop, type Service } from '../service.ts'
import { openEventFeed } from './event-feed.ts'
import { FailureCache } from './failure-cache.ts'
import { MemberSearch } from './member-search.ts'
import { type Meter, makeMeter } from './metrics.ts'
import type { ApiBus } from './route.ts'
import { allRoutes } from './routes.ts'
import { buildServer } from './server.ts'
import { isLoopback, localSignIn } from './sign-in/local.ts'
import { entraOf, oidcSignIn } from './sign-in/oidc.ts'
import type { SignInMethod } from './sign-in/sign-in.ts'

const UPKEEP_INTERVAL_MS = 60_000
const DAY_MS = 24 * 3_600_000
const KEYS_KEPT_MS = DAY_MS

export type ApiConfig = Pick<
  Config,
  | 'apiHost'
  | 'apiPort'
  | 'apiTokenFile'
  | 'apiReadsPerMin'
  | 'apiWritesPerMin'
  | 'apiTrustedHops'
  | 'apiCorsOrigins'
  | 'oidcIssuers'
  | 'oidcAudiences'
  | 'oidcScope'
  | 'oidcClientId'
  | 'oidcApps'
  | 'readPolicy'
  | 'auditKeptDays'
>

type ScopeConfig = Pick<ApiConfig, 'oidcIssuers' | 'oidcAudiences' | 'oidcScope'>

export interface ApiOptions {
  readonly config: ApiConfig
  readonly engine: Engine
  readonly bus: ApiBus
  readonly clock: Clock
  readonly log: Log
  readonly preview?: PreviewQuery
  readonly clockReport?: () => ClockReport | null
  /** How many may listen to live events at once. */
  readonly listenersMax?: number
}

export interface Api extends Service {
  /** Resolves with the address once it is listened on; rejects with ADDRESS_UNUSABLE. */
  readonly listening: Promise<string>
}

/** Throws API_EXPOSED or LOCAL_TOKEN_UNFIT before anything is opened. */
export function openApi(options: ApiOptions): Api {
  const { config, engine, clock, log, bus } = options
  const stopping = new AbortController()
  const meter = makeMeter()
  const signIn = signInOf(config, clock)
  const server = buildServer({
    routes: allRoutes({ meter, stopping: stopping.signal, signIn: offerOf(config, signIn) }),
    engine,
    clock,
    log,
    services: {
      bus,
      preview: options.preview ?? null,
      events: openEventFeed({
        db: engine.db,
        clock,
        log,
        ...(options.listenersMax !== undefined && { listenersMax: options.listenersMax }),
      }),
      memberSearch: new MemberSearch(),
      failureLook: new FailureCache(),
      clockReport: options.clockReport ?? (() => null),
    },
    signIn,
    readPolicy: config.readPolicy,
    trustedHops: config.apiTrustedHops,
    corsOrigins: config.apiCorsOrigins,
    limits: { readsPerMin: config.apiReadsPerMin, writesPerMin: config.apiWritesPerMin },
    meter,
    stopping: stopping.signal,
  })
  const upkeep = upkeepLoop(options)
  const listening = Promise.withResolvers<string>()
  // Whoever does not wait for it must not die of it: the log has it too.
  listening.promise.catch(() => {})
  const { apiHost: host, apiPort: port } = config
  return {
    name: 'api',
    listening: listening.promise,
    start: () => {
      upkeep.start()
      server.listen({ host, port }).then(listening.resolve, (error: unknown) => {
        const reason = messageOf(error)
        const said = new MatoolkitError(
          'ADDRESS_UNUSABLE',
          { host, port, reason },
          { cause: error },
        )
        log.error({ err: said }, said.message)
        listening.reject(said)
      })
    },
    stop: async (giveUp) => {
      stopping.abort()
      await Promise.all([upkeep.stop(giveUp), closeServer(server, meter, giveUp)])
    },
  }
}

/**
 * Requests that have begun are let end; with the last of them all connections are cut (server.ts), at `giveUp` in any case. Node
 * closes kept connections by itself, but not those that have sent nothing yet: one of them kept a server from ending for a minute.
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
      scope: config.oidcScope,
      apps: config.oidcApps,
      now: () => clock.now(),
    })
  }
  // An issuer without an audience would accept what was meant for others.
  if (oidcIssuers.length > 0 || !isLoopback(apiHost)) {
    throw new MatoolkitError('API_EXPOSED', { host: apiHost })
  }
  return localSignIn(config.apiTokenFile)
}

const offerOf = (config: ApiConfig, { mode }: SignInMethod) =>
  mode === 'local'
    ? { mode, issuer: null, clientId: null, scope: null }
    : {
        mode,
        issuer: config.oidcIssuers[0]!,
        clientId: config.oidcClientId,
        scope: offeredScope(config),
      }

/** What a client asks the issuer for. Entra ID wants the scope in full, with the identifier of the API that it belongs to. */
export function offeredScope({ oidcIssuers, oidcAudiences, oidcScope }: ScopeConfig): string {
  if (entraOf(oidcIssuers[0]!) === null) return oidcScope
  const api = oidcAudiences.find((name) => name.includes('://')) ?? `api://${oidcAudiences[0]}`
  return `${api}/${oidcScope}`
}

/** The beginning of the first day that is kept. By whole days, so that the audit has one row about it a day and not one a minute. */
export const keptFrom = (now: Date, keptDays: number): Date =>
  new Date(Math.floor((+now - keptDays * DAY_MS) / DAY_MS) * DAY_MS)

function upkeepLoop({ engine, clock, log, config: { auditKeptDays } }: ApiOptions): Loop {
  return everyLoop({
    name: 'audit upkeep',
    clock,
    intervalMs: UPKEEP_INTERVAL_MS,
    runOnce: async (now, signal) => {
      let sealed = await sealAudit(engine.db)
      while (sealed.count > 0 && !signal.aborted) {
        log.info({ sealed: sealed.sealed, head: sealed.hash }, 'The audit was sealed.')
        sealed = await sealAudit(engine.db)
      }
      await forgetKeys(engine.db, new Date(+now - KEYS_KEPT_MS))
      if (auditKeptDays === null) return
      const before = keptFrom(now, auditKeptDays)
      let rows = await pruneAudit(engine.db, before, now)
      while (rows > 0 && !signal.aborted) {
        log.info({ rows, before }, 'Old rows of the audit were taken away.')
        rows = await pruneAudit(engine.db, before, now)
      }
    },
    onError: (err, inARow) => log.error({ err, inARow }, 'The audit could not be looked after.'),
  })
}
