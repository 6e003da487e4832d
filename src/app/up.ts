// `matoolkit up`: every role in one process on the embedded database and the loopback address, optionally with a sandbox and a
// worker per tenant. It is on the list of running instances while it runs, so that other commands find it.
import { resolve } from 'node:path'
import { realFolder } from '../cli/choose-instance.ts'
import { homeFolder } from '../cli/home.ts'
import { registerInstance } from '../cli/instances.ts'
import type { Io } from '../cli/terminal/io.ts'
import { realClock } from '../clock.ts'
import { type Config, loadConfig, ROLES, readConfig } from '../config.ts'
import { MatoolkitError } from '../errors.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { requireStartable, requireWritable } from './preflight.ts'
import { startSandbox } from './sandbox.ts'
import { logTo, openServe, type ServeHandle } from './serve.ts'

const WORKER_ID = 'local-worker'

export async function openUp(
  { hasSandbox }: { readonly hasSandbox: boolean },
  io: Io,
): Promise<ServeHandle> {
  const loaded = loadConfig()
  const config: Config = {
    ...loaded,
    databaseUrl: null,
    apiHost: '127.0.0.1',
    oidcIssuers: [],
    oidcAudiences: [],
  }
  await requireStartable(config, ROLES)
  requireWritable(homeFolder(), 'MATOOLKIT_HOME')
  io.err('Starting the embedded PostgreSQL …')
  const sandbox = hasSandbox ? await quietSandbox(io) : null
  try {
    const handle = await openServe({
      config,
      roles: ROLES,
      workers: sandbox
        ? workersOf(sandbox, config)
        : [{ ...config, workerId: config.workerId ?? WORKER_ID }],
      makeLog: logTo(io.err, io, config),
      onIdle: () => {},
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

/** `up` prints its own instructions instead of the sandbox's. */
const quietSandbox = (io: Io): Promise<Sandbox> =>
  startSandbox({ port: 0, host: '127.0.0.1', fast: true }, { ...io, out: () => {} })

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
      ...{ tenantId, organization, appId, signIn, appSecret, loginUrl, graphUrl, exchangeUrl },
      workerId: `${tenant.domains[0]!.split('.')[0]}-worker`,
    }
  })
}

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
  io.out(`  database  ${resolve(config.dataDir)}`)
  io.out(`  API       ${url}/api/docs, token in ${resolve(config.apiTokenFile)}`)
  if (sandbox) io.out(`  sandbox   ${sandbox.url}, served by contoso-worker and fabrikam-worker`)
  io.out('Other commands in this folder connect to it, for example: matoolkit batch list')
  io.out('Press Ctrl-C to stop.')
}
