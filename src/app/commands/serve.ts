// `matoolkit serve`: what it is called and takes. The roles and all they need are loaded when it is run.
import type { Command } from 'commander'
import type { Io } from '../../cli/terminal/io.ts'
import type { Config, Role } from '../../config.ts'
import { MatoolkitError } from '../../errors.ts'

interface ServeFlags {
  readonly roles?: string
}

export function addServeCommands(program: Command, io: Io): void {
  program
    .command('serve')
    .description('run some or all roles of matoolkit in this process, until it is stopped')
    .option('--roles <list>', 'scheduler, orchestrator, worker, api; wins over MATOOLKIT_ROLES')
    .addHelpText('after', SERVE_HELP)
    .action(async (flags: ServeFlags) => {
      const [{ loadConfig }, { MACHINE }, { listenForStop, runUntilStopped }] = await Promise.all([
        import('../../config.ts'),
        import('../../clock.ts'),
        import('../shutdown.ts'),
      ])
      const config = loadConfig()
      const roles = await rolesFrom(flags, config)
      const stopping = listenForStop(MACHINE.steadyMs)
      const [{ openServe }, { logTo }] = await Promise.all([
        import('../serve.ts'),
        import('../serve-log.ts'),
      ])
      const served = await openServe({
        config,
        roles,
        workers: [config],
        makeLog: logTo(io.out, io, config),
        onIdle: () => stopping.ask('nothing to do'),
      })
      await runUntilStopped(served, stopping, io)
    })
}

async function rolesFrom({ roles }: ServeFlags, config: Config): Promise<readonly Role[]> {
  if (roles === undefined) return config.roles
  const { SETTINGS } = await import('../../config.ts')
  const read = SETTINGS.roles.read(roles)
  if (read) return read
  const reason = `--roles is "${roles}", but must be ${SETTINGS.roles.mustBe}.`
  throw new MatoolkitError('USAGE', { reason })
}

const SERVE_HELP = `
Settings come from the environment and MATOOLKIT_CONFIG_FILE; docs/configuration.md lists them. Several processes share the work
when they share a PostgreSQL server (DATABASE_URL). SIGTERM stops in good order: running jobs are ended or given back.

Exit code: 0 it was asked to stop and did, 1 something did not stop in time, 2 a setting is wrong, 7 the database or port cannot
be used.

Examples:
  $ MATOOLKIT_WORKER_ID=contoso-worker matoolkit serve
  $ DATABASE_URL=postgres://matoolkit@db/matoolkit matoolkit serve --roles api,orchestrator,scheduler
  $ MATOOLKIT_WORKER_ID=contoso-worker matoolkit serve --roles worker`
