// `matoolkit sandbox`: a small Microsoft 365 on this machine, until Ctrl-C. What it is made of is loaded when it is run.
import { once } from 'node:events'
import { type Command, InvalidArgumentError } from 'commander'
import { readTextFile } from '../../cli/files.ts'
import { interruptible } from '../../cli/terminal/interrupt.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { tableText } from '../../cli/terminal/table.ts'
import { realClock } from '../../clock.ts'
import { MatoolkitError, messageOf } from '../../errors.ts'
import type { FaultSettings } from '../../sandbox/faults.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { Seed } from '../../sandbox/state.ts'

export interface SandboxFlags {
  readonly port: number
  readonly host: string
  readonly seed?: string
  readonly faults?: string
  readonly fast?: true
}

const PORT_DEFAULT = 4365

export function addSandboxCommands(program: Command, io: Io): void {
  program
    .command('sandbox')
    .description('run a small Microsoft 365 on this machine, to rehearse against')
    .option('--port <number>', 'where it listens; 0 takes a free one', portOf, PORT_DEFAULT)
    .option(
      '--host <address>',
      'on which address; anybody who reaches it can do anything',
      '127.0.0.1',
    )
    .option('--seed <file>', 'who is in it: a CSV file of people, or JSON')
    .option('--faults <file or rates>', 'what goes wrong: JSON, or rates such as throttle=0.02')
    .option('--fast', 'nothing lags, and mailboxes move within seconds')
    .addHelpText('after', SANDBOX_HELP)
    .action((flags: SandboxFlags) =>
      interruptible(async (interrupted) => {
        const sandbox = await startSandbox(flags, io)
        if (!interrupted.aborted) await once(interrupted, 'abort')
        await sandbox.close()
      }),
    )
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
}

/** Opens it and says how to reach it. */
export async function startSandbox(flags: SandboxFlags, io: Io): Promise<Sandbox> {
  const { openSandbox } = await import('../../sandbox/sandbox.ts')
  const { FAST_TIMING, USUAL_TIMING } = await import('../../sandbox/world.ts')
  const { SeedFault } = await import('../../sandbox/seed.ts')
  const { port, host, seed: seedFile, faults } = flags
  try {
    const sandbox = await openSandbox({
      clock: realClock(),
      port,
      host,
      timing: flags.fast ? FAST_TIMING : USUAL_TIMING,
      ...(seedFile === undefined ? {} : { seed: await seedOf(seedFile) }),
      ...(faults === undefined ? {} : { faults: await faultsOf(faults) }),
    })
    introduce(sandbox, io)
    return sandbox
  } catch (error) {
    if (error instanceof SeedFault)
      throw new MatoolkitError('SANDBOX_SEED_INVALID', {
        file: seedFile ?? '',
        reason: error.message,
      })
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL')
      throw new MatoolkitError('PORT_UNUSABLE', {
        port,
        purpose: 'the sandbox',
        reason: messageOf(error),
        setting: '--port',
      })
    throw error
  }
}

async function seedOf(file: string): Promise<Seed> {
  const { csvSeed, jsonSeed } = await import('../../sandbox/seed.ts')
  const text = await readTextFile(file)
  return /\.csv$/i.test(file) ? csvSeed(text) : jsonSeed(text)
}

/** A file, or rates written out. */
async function faultsOf(given: string): Promise<FaultSettings> {
  const { faultsSchema, ratesOf } = await import('../../sandbox/faults.ts')
  const { problemsOf } = await import('../../sandbox/seed.ts')
  const rates = given.includes('=') ? ratesOf(given) : null
  if (rates) return rates
  if (given.includes('=')) {
    const reason = 'rates are such as throttle=0.02,drop-after=0.01, with shares from 0 to 1'
    throw new MatoolkitError('SANDBOX_FAULTS_INVALID', { faults: given, reason })
  }
  const settings = parsed(await readTextFile(given))
  const read = faultsSchema.safeParse(settings)
  if (read.success) return settings as FaultSettings
  const reason = problemsOf(read.error)
  throw new MatoolkitError('SANDBOX_FAULTS_INVALID', { faults: given, reason })
}

/** Undefined for what is no JSON, which fits no shape. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function introduce(sandbox: Sandbox, io: Io): void {
  const { tenants } = sandbox.state()
  const rows = tenants.map(({ id, domains, users, groups, applications }) => [
    domains[0]!,
    id,
    applications[0]!.clientId,
    applications[0]!.secret ?? '(certificate)',
    String(users.length),
    String(groups.length),
  ])
  io.out(
    `A small Microsoft 365 is at ${io.paint('bold', sandbox.url)} (sign-in, Graph and Exchange).`,
  )
  io.out('')
  io.out(tableText([['TENANT', 'TENANT ID', 'CLIENT ID', 'SECRET', 'USERS', 'GROUPS'], ...rows]))
  io.out('')
  io.out('A worker of the first tenant has these settings:')
  for (const [name, value] of Object.entries(workerSettings(sandbox))) io.out(`  ${name}=${value}`)
  io.out('')
  io.out(
    `${sandbox.url}/_sandbox/state, /_sandbox/journal and /_sandbox/requests show what is in it and what was done to it.`,
  )
  io.out('Ctrl-C ends it, and nothing of it stays.')
}

/** By which a worker takes it for Microsoft 365. */
export function workerSettings({ url, state }: Sandbox): Record<string, string> {
  const [tenant] = state().tenants
  const [application] = tenant!.applications
  return {
    MATOOLKIT_TENANT_ID: tenant!.id,
    MATOOLKIT_ORGANIZATION:
      tenant!.domains.find((one) => one.endsWith('.onmicrosoft.com')) ?? tenant!.domains[0]!,
    MATOOLKIT_APP_ID: application!.clientId,
    ...(application!.secret === null
      ? {}
      : { MATOOLKIT_SIGN_IN: 'secret', MATOOLKIT_APP_SECRET: application!.secret }),
    MATOOLKIT_LOGIN_URL: url,
    MATOOLKIT_GRAPH_URL: url,
    MATOOLKIT_EXCHANGE_URL: url,
  }
}

const SANDBOX_HELP = `
Answers as Microsoft 365 does: sign-in with secret or certificate, Microsoft Graph and Exchange for what matoolkit's functions
call. docs/sandbox.md lists every call, every rule, the shape of seeds and how to make things go wrong.

Examples:
  $ matoolkit sandbox --fast
  $ matoolkit sandbox --seed examples/full-migration.csv --faults throttle=0.02,drop-after=0.01
  $ matoolkit sandbox --port 0 --seed state.json`
