// Opens a worker from the settings: vault, sign-in, functions, health, and only then jobs. Any failure ends the start with a
// coded error: a platform restarts the process, whereas a half-open worker would fail its jobs one by one.

import { MatoolkitError, messageOf } from '../base/errors/errors.ts'
import { readJobKeys } from '../base/keys/job-keys.ts'
import type { Log } from '../base/log/log.ts'
import type { Clock } from '../base/run/clock.ts'
import type { Service } from '../base/run/service.ts'
import type { Config } from '../base/settings/config.ts'
import { tokenEndpointsOf } from '../base/sign-in/clouds.ts'
import { makeTokens, SignInFault, type Tokens } from '../base/sign-in/token.ts'
import type { Measures } from '../base/telemetry/measures.ts'
import type { LifecycleEvent, Telemetry } from '../base/telemetry/telemetry.ts'
import type { Bus } from '../bus/bus.ts'
import { logOutage } from '../bus/outage.ts'
import type { WorkerFunction } from './functions/catalogue.ts'
import { discoverFunctions } from './functions/custom-functions.ts'
import { withCustom } from './functions/function-names.ts'
import type { ConnectedPackage, FunctionPackage } from './functions/function-package.ts'
import type { Secrets } from './http/api.ts'
import { RETRY_POLICY } from './http/client.ts'
import type { GateChange } from './http/throttle.ts'
import { Announcement } from './jobs/announcement.ts'
import { Worker } from './jobs/worker.ts'
import { openFolderVault } from './secrets/folder-vault.ts'
import { KeyVault, keyVaultScope } from './secrets/key-vault.ts'

export interface OpenWorkerOptions {
  /** Whose functions it runs. */
  readonly functionPackage: FunctionPackage
  readonly config: Config
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  /** Called once when the idle time is over; without it the worker never exits on its own. */
  readonly onIdle?: () => void
  readonly measures: Measures
  /** Null when telemetry is off. */
  readonly telemetry?: Telemetry | null
  /** Told about every error, besides the log. */
  readonly onError?: (error: unknown) => void
}

export interface OpenedWorker extends Service {
  /** Null when it takes jobs, otherwise the reason. */
  whyNotReady(): string | null
}

/** Two minutes in all; then the platform restarts the process. */
const SIGN_IN_PAUSES_SEC = [2, 5, 15, 30, 60] as const
/** The part of the shutdown grace kept for sending the last results. */
const SEND_GRACE_SEC = 5
/** When no notification arrives. */
const POLL_MS = 1_000

export async function openWorker(given: OpenWorkerOptions): Promise<OpenedWorker> {
  const { functionPackage, config, bus, clock, version, onIdle, measures, telemetry = null } = given
  const { workerId } = config
  if (workerId === null) {
    throw new MatoolkitError('WORKER_NOT_CONFIGURED', {
      problems: 'MATOOLKIT_WORKER_ID is not set.',
    })
  }
  // A process may have several workers.
  const log = given.log.child({ workerId })
  const options = { ...given, log }
  const tokens = makeTokens(clock, tokenEndpointsOf(config))
  const vault = await openVault(config, clock, tokens)
  log.info({ vault: vault.where }, 'Opened the vault')
  const connected = await connectTenant(options, tokens, vault)
  const { functions, close } = await openFunctions(options).catch((error: unknown) => {
    connected?.close?.()
    throw error
  })
  if (connected) tellMissingRights(log, functions, connected)
  const names = new Set(functions.map(({ name }) => name))
  const worker = new Worker({
    workerId,
    version,
    bus,
    clock,
    functions,
    keys: readJobKeys(config),
    telemetry,
    tenant: connected?.tenant ?? functionPackage.noTenant,
    throttles: () => connected?.throttles() ?? [],
    maxParallelism: config.maxParallelism,
    replicas: config.workerReplicas,
    pollMs: POLL_MS,
    drainMs: (config.shutdownGraceSec - SEND_GRACE_SEC) * 1_000,
    ...(onIdle && config.idleExitSec > 0
      ? { idleExit: { afterMs: config.idleExitSec * 1_000, onIdle } }
      : {}),
    onResult: ({ jobId, batchId, functionName, status, durationMs, error, correlationData }) => {
      // A runbook may name any function; a label has only names that exist.
      const known = names.has(functionName) ? functionName : 'unknown'
      const labels = { worker: workerId, function: known, status }
      measures.observe('matoolkit_job_seconds', labels, durationMs)
      const stepId = correlationData?.stepExecutionId ?? correlationData?.initExecutionId
      const job = { jobId, batchId, stepId, functionName, status, durationMs }
      // The failure's text may name people: it stays in the database.
      if (error) log.warn({ ...job, failure: error.type, attempts: error.attempts }, 'Job failed')
      else log.info(job, 'Job finished')
    },
    onRefused: ({ messageId, reason, description }) => {
      measures.count('matoolkit_jobs_refused_total', { worker: workerId, reason })
      log.error({ messageId, reason, description }, 'Refused a job: nothing ran')
    },
    onOutage: (change) => {
      options.onError?.(change.error)
      logOutage(log, `Worker ${workerId}`, change)
    },
    onError: (error) => {
      options.onError?.(error)
      measures.count('matoolkit_errors_total', { role: 'worker' })
      log.error({ err: error }, 'Worker error; the worker keeps running')
    },
  })
  log.info({ slots: config.maxParallelism, functions: functions.length }, 'Worker ready')
  return openedWorker(worker, options, () => {
    close()
    connected?.close?.()
  })
}

/** The worker as a service, which tells telemetry of its beginning and end. */
function openedWorker(
  worker: Worker,
  { config, clock, telemetry = null }: OpenWorkerOptions,
  close: () => void,
): OpenedWorker {
  const tell = (name: LifecycleEvent['name']) =>
    telemetry?.event({ name, at: clock.now(), attributes: { WorkerId: config.workerId! } })
  return {
    name: worker.name,
    start: () => {
      worker.start()
      tell('WorkerStarted')
    },
    whyNotReady: () => worker.whyNotReady(clock.now()),
    stop: async (giveUp) => {
      try {
        await worker.stop(giveUp)
      } finally {
        tell('WorkerStopped')
        close()
      }
    },
  }
}

interface Vault {
  readonly secrets: Secrets
  /** Where it is, for the log. */
  readonly where: string
  /** Set when it may also hold the certificate. */
  readonly keyVault: KeyVault | null
}

async function openVault(config: Config, clock: Clock, tokens: Tokens): Promise<Vault> {
  const { secretsFolder, secretsKey } = config
  const keyVault = openKeyVault(config, clock, tokens)
  if (keyVault !== null) return { secrets: keyVault, where: config.keyVaultUrl!, keyVault }
  const key = secretsKey === null ? null : Buffer.from(secretsKey, 'base64')
  const secrets = await openFolderVault({ folder: secretsFolder, key })
  return { secrets, where: 'local folder', keyVault }
}

/** Null when the settings name none. */
export function openKeyVault(config: Config, clock: Clock, tokens: Tokens): KeyVault | null {
  const { keyVaultUrl, identityClientId } = config
  if (keyVaultUrl === null) return null
  const request = {
    from: 'machine',
    clientId: identityClientId,
    scope: keyVaultScope(keyVaultUrl),
  } as const
  return new KeyVault({
    clock,
    url: keyVaultUrl,
    token: (refused) => tokens.get(request, refused),
    policy: RETRY_POLICY,
    random: Math.random,
    timeout: AbortSignal.timeout,
  })
}

async function connectTenant(
  { functionPackage, config, clock, log, measures }: OpenWorkerOptions,
  tokens: Tokens,
  { secrets, keyVault }: Vault,
): Promise<ConnectedPackage | null> {
  const { tenantId } = config
  const onGate = ({ name: service, isClosed, isNew, ...facts }: GateChange) => {
    if (!isClosed) return log.info({ service, ...facts }, 'The gate of the service is open again')
    const labels = { worker: config.workerId ?? '', service }
    measures.count('matoolkit_throttled_total', labels)
    measures.count('matoolkit_throttled_seconds_total', labels, facts.seconds)
    if (isNew) log.warn({ service, ...facts }, 'Throttled: the gate of the service closes')
  }
  const parts = { config, clock, log, tokens, secrets, keyVault, onGate }
  const connected = await functionPackage.connect(parts)
  if (connected === null) {
    log.warn('No tenant configured: functions that need one will fail')
    return null
  }
  try {
    await signInWhenReachable(connected, clock, log)
    log.info({ tenantId, signIn: config.signIn }, 'Signed in to the tenant')
    return connected
  } catch (error) {
    connected.close?.()
    const reason = messageOf(error)
    throw new MatoolkitError(
      'WORKER_SIGN_IN_FAILED',
      { tenantId: tenantId ?? '', reason },
      { cause: error },
    )
  }
}

/** A sign-in service that does not answer for a moment must not end the worker; a refusal does. */
async function signInWhenReachable(
  connected: ConnectedPackage,
  clock: Clock,
  log: Log,
): Promise<void> {
  for (const waitSec of SIGN_IN_PAUSES_SEC) {
    try {
      return await connected.signIn()
    } catch (error) {
      if (!(error instanceof SignInFault) || error.kind !== 'unreachable') throw error
      log.warn({ reason: error.message, waitSec }, 'Cannot sign in yet: trying again')
      await clock.wait(waitSec * 1_000)
    }
  }
  return connected.signIn()
}

/** Not an error: a worker need not be allowed to run every function. */
function tellMissingRights(
  log: Log,
  functions: readonly WorkerFunction[],
  connected: ConnectedPackage,
) {
  for (const [right, names] of connected.missingRights(functions))
    log.warn({ right, functions: names }, 'The app lacks a right: these functions will be refused')
}

interface OpenFunctions {
  readonly functions: readonly WorkerFunction[]
  close(): void
}

const PROBLEMS_TOLD_MAX = 10

async function openFunctions(options: OpenWorkerOptions): Promise<OpenFunctions> {
  const { functionPackage, config, clock, log } = options
  const { functionsFolder: folder, pwsh: program, cloud } = config
  const { functions: standard, kit } = functionPackage
  if (folder === null) return { functions: standard, close: () => {} }
  const onSeveralObjects = (functionName: string, outputs: number) =>
    log.warn(
      { functionName, outputs },
      'A PowerShell function wrote several objects: only the last counts',
    )
  const powerShell = { program, cloud, onSeveralObjects }
  const found = await discoverFunctions({ folder, standard, kit, clock, powerShell })
  for (const problem of found.problems) log.error({ problem }, 'A custom function is unusable')
  const functions = withCustom(standard, found.functions)
  if (found.problems.length > 0) {
    found.close()
    await announceRefused(options, functions)
    const problems = found.problems.slice(0, PROBLEMS_TOLD_MAX).join(' ')
    throw new MatoolkitError('FUNCTIONS_UNUSABLE', { folder, problems })
  }
  const overriding = found.functions.filter(({ overrides }) => overrides).map(({ name }) => name)
  if (overriding.length > 0)
    log.warn({ functions: overriding }, 'Custom functions run instead of the built-in ones')
  log.info({ functions: found.functions.map(({ name }) => name) }, 'Loaded custom functions')
  return { functions, close: found.close }
}

/** Without it, nobody but the reader of this log would learn why its jobs wait: checks of runbooks and `doctor` name the functions. */
async function announceRefused(
  { config, bus, clock, log, version }: OpenWorkerOptions,
  functions: readonly WorkerFunction[],
): Promise<void> {
  const announced = {
    workerId: config.workerId!,
    version,
    bus,
    maxParallelism: config.maxParallelism,
  }
  const catalogue = new Map(functions.map((one) => [one.name.toLowerCase(), one]))
  const slots = config.maxParallelism
  const announcement = new Announcement(announced, catalogue, () => slots)
  await announcement
    .send(clock.now())
    .catch((error: unknown) => log.warn({ err: error }, 'Could not tell which functions clash'))
}
