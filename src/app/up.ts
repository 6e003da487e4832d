// `matoolkit up`: all roles in one process on the embedded database and the loopback, and if asked a sandbox with a worker for
// each of its tenants. Leaves a note in the person's own folder of where the API is, so that other commands find it.
import { resolve } from 'node:path'
import { saveLocalApi } from '../cli/local-api.ts'
import type { Io } from '../cli/terminal/io.ts'
import { type Config, loadConfig, ROLES, readConfig } from '../config.ts'
import { MatoolkitError } from '../errors.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { UpFlags } from './commands/up.ts'
import { openServe, type ServeHandle } from './serve.ts'
import { logTo } from './serve-log.ts'

const WORKER_ID = 'local-worker'

export async function openUp({ sandbox: hasSandbox }: UpFlags, io: Io): Promise<ServeHandle> {
  const given = loadConfig()
  const config: Config = {
    ...given,
    databaseUrl: null,
    apiHost: '127.0.0.1',
    oidcIssuers: [],
    oidcAudiences: [],
  }
  io.err('Starting PostgreSQL inside this process …')
  const sandbox = hasSandbox ? await sandboxOn(io) : null
  try {
    const served = await openServe({
      config,
      roles: ROLES,
      workers: sandbox
        ? workersOf(sandbox, config)
        : [{ ...config, workerId: config.workerId ?? WORKER_ID }],
      makeLog: logTo(io.err, io, config),
      onIdle: () => {},
    })
    const url = served.url!
    saveLocalApi({ url, tokenFile: resolve(config.apiTokenFile) })
    introduce(url, config, sandbox, io)
    return {
      ...served,
      stop: async () => {
        await served.stop()
        await sandbox?.close()
      },
    }
  } catch (error) {
    await sandbox?.close()
    throw error
  }
}

async function sandboxOn(io: Io): Promise<Sandbox> {
  const { startSandbox } = await import('./commands/sandbox.ts')
  // What it would say of itself is for whoever starts it alone.
  return startSandbox({ port: 0, host: '127.0.0.1', fast: true }, { ...io, out: () => {} })
}

/** One for each tenant, called after it: contoso.example has contoso-worker, as in the examples. */
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
    MATOOLKIT_ORGANIZATION: tenant.domains.find((one) => one.endsWith('.onmicrosoft.com')) ?? '',
    MATOOLKIT_APP_ID: application?.clientId ?? '',
    MATOOLKIT_SIGN_IN: 'secret',
    MATOOLKIT_APP_SECRET: application?.secret ?? '',
    MATOOLKIT_LOGIN_URL: url,
    MATOOLKIT_GRAPH_URL: url,
    MATOOLKIT_EXCHANGE_URL: url,
  }
}

function introduce(url: string, config: Config, sandbox: Sandbox | null, io: Io): void {
  io.out(`matoolkit is up: ${url}`)
  io.out(`  database  ${resolve(config.dataDir)}`)
  io.out(`  API       ${url}/api/docs; its token is in ${resolve(config.apiTokenFile)}`)
  if (sandbox) io.out(`  sandbox   ${sandbox.url}; contoso-worker and fabrikam-worker work on it`)
  io.out('Other commands on this machine find it by themselves, such as: matoolkit batch list')
  io.out('Ctrl-C ends it.')
}
