// `matoolkit up`: every role in one process on the embedded database and the loopback address, optionally with a sandbox and a
// worker per tenant. It is on the list of running instances while it runs, so that other commands find it.
import { resolve } from 'node:path'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { readPrivateFile } from '../../base/files/private-files.ts'
import { ownJobKeyFile } from '../../base/keys/job-keys.ts'
import { dashboardLink } from '../../base/keys/local-token.ts'
import { realClock } from '../../base/run/clock.ts'
import { type Config, loadConfig, readConfig } from '../../base/settings/config.ts'
import { ROLES } from '../../base/settings/process.ts'
import { realFolder } from '../../cli/connection/choose-instance.ts'
import { homeFolder } from '../../cli/connection/home.ts'
import { registerInstance } from '../../cli/connection/instances.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { type SandboxFlags, startSandbox } from '../sandbox/sandbox.ts'
import { requireStartable, requireUsable } from './preflight.ts'
import { logTo, openServe, type ServeHandle } from './serve.ts'
import type { StopRequest } from './shutdown.ts'

const WORKER_ID = 'local-worker'

export interface UpFlags {
  readonly sandbox?: true
  readonly seed?: string
  readonly replay?: string
  readonly restored?: true
}

export async function openUp(flags: UpFlags, io: Io, stopping: StopRequest): Promise<ServeHandle> {
  const loaded = loadConfig()
  const config: Config = {
    ...loaded,
    databaseUrl: null,
    apiHost: '127.0.0.1',
    oidcIssuers: [],
    oidcAudiences: [],
    // Files of csv sources are found where the person is.
    sourceFolder: loaded.sourceFolder ?? process.cwd(),
    jobKeyFile: jobKeyFileOf(loaded),
  }
  await requireStartable(config, ROLES)
  requireUsable(homeFolder(), { setting: 'MATOOLKIT_HOME', mayBeListed: true })
  const sandbox = await sandboxOf(flags, io)
  io.err('Starting the embedded PostgreSQL …')
  try {
    const handle = await openServe({
      config,
      roles: ROLES,
      workers: sandbox
        ? workersOf(sandbox, config)
        : [{ ...config, workerId: config.workerId ?? WORKER_ID }],
      makeLog: logTo(io.err, io, config),
      isRestored: flags.restored === true,
      onIdle: () => {},
      stopping: stopping.signal,
      onStopped: (error) => stopping.requestFor(error, io),
    })
    const url = handle.url!
    const unregister = registerInstance({
      folder: realFolder(process.cwd()),
      url,
      pid: process.pid,
      tokenFile: resolve(config.apiTokenFile),
      startedAt: realClock().now().toISOString(),
    })
    printAccess(url, config, sandbox, io)
    return {
      ...handle,
      stop: async () => {
        unregister()
        await handle.stop()
        await sandbox?.close()
      },
    }
  } catch (error) {
    await sandbox?.close()
    throw error
  }
}

/** Jobs are signed without any set-up. */
const jobKeyFileOf = ({ jobKeys, jobKeyFile, secretsFolder }: Config): string | null =>
  jobKeyFile ?? (jobKeys.length > 0 ? null : ownJobKeyFile(secretsFolder))

/** `up` prints its own instructions instead of the sandbox's. */
async function sandboxOf({ sandbox, seed, replay }: UpFlags, io: Io): Promise<Sandbox | null> {
  if (!sandbox && (seed ?? replay) !== undefined) {
    const flag =
      seed === undefined ? '--replay says how the sandbox answers' : '--seed names its people'
    throw new MatoolkitError('USAGE', { reason: `${flag}. Add --sandbox.` })
  }
  if (!sandbox) return null
  const settings: SandboxFlags = {
    port: 0,
    host: '127.0.0.1',
    fast: true,
    ...(seed !== undefined && { seed }),
    ...(replay !== undefined && { replay }),
  }
  const opened = await startSandbox(settings, { ...io, out: () => {} })
  const names = opened.state().tenants.map(workerOf)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice === undefined) return opened
  await opened.close()
  const reason = `"${twice}" would serve two tenants; give them domains that begin differently`
  throw new MatoolkitError('SANDBOX_SEED_INVALID', { file: seed ?? '', reason })
}

/** One worker per tenant, named after it as in the examples: contoso.example gets contoso-worker. */
function workersOf(sandbox: Sandbox, config: Config): Config[] {
  return sandbox.state().tenants.map((tenant) => {
    const read = readConfig(settingsOf(sandbox.url, tenant))
    if ('problems' in read)
      throw new MatoolkitError('INTERNAL', { reason: read.problems.join(' ') })
    const { tenantId, organization, appId, signIn, appSecret } = read.config
    const { loginUrl, graphUrl, exchangeUrl } = read.config
    return {
      ...config,
      tenantId,
      organization,
      appId,
      signIn,
      appSecret,
      loginUrl,
      graphUrl,
      exchangeUrl,
      workerId: workerOf(tenant),
    }
  })
}

const workerOf = ({ domains }: SandboxTenant): string => `${domains[0]!.split('.')[0]}-worker`

type SandboxTenant = ReturnType<Sandbox['state']>['tenants'][number]

function settingsOf(url: string, tenant: SandboxTenant): Record<string, string> {
  const application = tenant.applications.find(({ secret }) => secret !== null)
  return {
    MATOOLKIT_TENANT_ID: tenant.id,
    MATOOLKIT_ORGANIZATION:
      tenant.domains.find((domain) => domain.endsWith('.onmicrosoft.com')) ?? '',
    MATOOLKIT_APP_ID: application?.clientId ?? '',
    MATOOLKIT_SIGN_IN: 'secret',
    MATOOLKIT_APP_SECRET: application?.secret ?? '',
    MATOOLKIT_LOGIN_URL: url,
    MATOOLKIT_GRAPH_URL: url,
    MATOOLKIT_EXCHANGE_URL: url,
  }
}

function printAccess(url: string, config: Config, sandbox: Sandbox | null, io: Io): void {
  io.out(`matoolkit is up: ${url}`)
  const token = readPrivateFile(config.apiTokenFile)?.trim() ?? ''
  io.out(`  dashboard ${dashboardLink(url, token)}`)
  io.out(`  database  ${resolve(config.dataDir)}`)
  io.out(`  API       ${url}/api/docs, token in ${resolve(config.apiTokenFile)}`)
  io.out(`  sources   CSV files in ${resolve(config.sourceFolder!)}`)
  for (const tenant of sandbox?.state().tenants ?? []) {
    const count = tenant.users.length
    const people = count === 1 ? '1 person' : `${count} people`
    io.out(`  sandbox   ${tenant.domains[0]} with ${people}, served by ${workerOf(tenant)}`)
  }
  io.out('Other commands in this folder connect to it, for example: matoolkit batch list')
  io.out('Press Ctrl-C to stop.')
}
