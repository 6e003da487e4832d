// `matoolkit serve`: name and flags. The roles are loaded when it runs.
import type { Command } from 'commander'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Config } from '../../base/settings/config.ts'
import type { Role } from '../../base/settings/process.ts'
import type { Io } from '../../cli/terminal/io.ts'

interface ServeFlags {
  readonly roles?: string
  readonly restored?: true
}

export function addServeCommands(program: Command, io: Io): void {
  program
    .command('serve')
    .description('start chosen roles, for servers')
    .option('--roles <list>', 'scheduler, orchestrator, worker, api; overrides MATOOLKIT_ROLES')
    .option('--restored', 'the database was restored from a backup')
    .addHelpText('after', SERVE_HELP)
    .action(async (flags: ServeFlags) => {
      const [{ loadConfig }, { MACHINE }, { listenForStop, runUntilStopped }] = await Promise.all([
        import('../../base/settings/config.ts'),
        import('../../base/run/clock.ts'),
        import('../roles/shutdown.ts'),
      ])
      const config = loadConfig()
      const roles = await rolesFrom(flags, config)
      const { requireStartable } = await import('../roles/preflight.ts')
      await requireStartable(config, roles)
      const stopping = listenForStop(MACHINE.steadyMs)
      const { openServe, logTo } = await import('../roles/serve.ts')
      const handle = await openServe({
        config,
        roles,
        isRestored: flags.restored === true,
        workers: [config],
        makeLog: logTo(io.out, io, config),
        onIdle: () => stopping.request('idle'),
        stopping: stopping.signal,
        onStopped: (error) => stopping.requestFor(error, io),
      }).catch((error: unknown) => {
        // Asked to stop while it waited for the server, its schema, or a worker's certificate.
        if (error instanceof MatoolkitError && stopping.signal.aborted) return null
        throw error
      })
      if (handle) await runUntilStopped(handle, stopping, io)
    })
}

async function rolesFrom({ roles }: ServeFlags, config: Config): Promise<readonly Role[]> {
  if (roles === undefined) return config.roles
  const { SETTINGS } = await import('../../base/settings/config.ts')
  const read = SETTINGS.roles.read(roles)
  if (read) return read
  const reason = `--roles is "${roles}", but must be ${SETTINGS.roles.mustBe}.`
  throw new MatoolkitError('USAGE', { reason })
}

const SERVE_HELP = `
Settings come from the environment and MATOOLKIT_CONFIG_FILE; docs/reference/settings.md lists them. Processes that share a PostgreSQL
server (DATABASE_URL) share the work. SIGTERM stops gracefully: running jobs finish or are returned to the queue. While the
server is away the process waits, says so, and is not ready; a wrong password or an unknown database ends it.

Exit code: 0 stopped on request, 1 a part did not stop in time, 2 a setting is wrong, 7 the database or port cannot be used,
or the disk of the embedded database is full, 70 an unexpected error, logged and redacted; running jobs finish first.

Examples:
  $ MATOOLKIT_WORKER_ID=contoso-worker matoolkit serve
  $ DATABASE_URL=postgres://matoolkit@db/matoolkit matoolkit serve --roles api,orchestrator,scheduler
  $ MATOOLKIT_WORKER_ID=contoso-worker matoolkit serve --roles worker`
