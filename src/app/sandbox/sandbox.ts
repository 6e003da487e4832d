// Starts the sandbox: reads its seed and faults, and prints how to reach it.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type FaultSettings, faultsSchema, ratesOf } from '../../../sandbox/faults.ts'
import { ReplayFault, recordingIn } from '../../../sandbox/replay.ts'
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts'
import { csvSeed, jsonSeed, problemsOf, SeedFault } from '../../../sandbox/seed.ts'
import type { Seed } from '../../../sandbox/state.ts'
import { FAST_TIMING, USUAL_TIMING } from '../../../sandbox/world.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { CsvFault, decodeCsv, delimiterProblem } from '../../base/files/csv-text.ts'
import { realClock } from '../../base/run/clock.ts'
import { readBytes, readTextFile } from '../../cli/input/files.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { tableText } from '../../cli/terminal/table.ts'
import { portReason } from '../roles/preflight.ts'
import { inspectCommand, keepSandboxToken } from './sandbox-token.ts'

export interface SandboxFlags {
  readonly port: number
  readonly host: string
  /** Separated by commas. */
  readonly allowedHosts?: string
  readonly seed?: string
  readonly faults?: string
  /** A file of `matoolkit doctor tenant --record`. */
  readonly replay?: string
  readonly fast?: true
  /** File for the certificate of its authority. */
  readonly https?: string
}

/** Opens the sandbox and prints how to reach it. */
export async function startSandbox(options: SandboxFlags, io: Io): Promise<Sandbox> {
  const { port, host, allowedHosts = '', seed: seedFile, faults, fast, https, replay } = options
  try {
    const sandbox = await openSandbox({
      clock: realClock(),
      port,
      host,
      names: allowedHosts.split(',').map((name) => name.trim()),
      timing: fast ? FAST_TIMING : USUAL_TIMING,
      ...(https !== undefined && { httpsSince: realClock().now() }),
      ...(seedFile === undefined ? {} : { seed: await seedOf(seedFile) }),
      ...(faults === undefined ? {} : { faults: await faultsOf(faults) }),
      ...(replay === undefined ? {} : { replay: recordingIn(await readTextFile(replay)) }),
    })
    return await withToken(sandbox, https ?? null, io)
  } catch (error) {
    if (error instanceof SeedFault)
      throw new MatoolkitError('SANDBOX_SEED_INVALID', {
        file: seedFile ?? '',
        reason: error.message,
      })
    if (error instanceof ReplayFault)
      throw new MatoolkitError('SANDBOX_RECORDING_INVALID', {
        file: replay ?? '',
        reason: error.message,
      })
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL')
      throw new MatoolkitError('PORT_UNUSABLE', {
        port,
        purpose: 'the sandbox',
        reason: portReason(error, port),
        setting: '--port',
      })
    throw error
  }
}

/** Its token lies in a file until it closes. */
async function withToken(sandbox: Sandbox, authorityFile: string | null, io: Io): Promise<Sandbox> {
  try {
    if (authorityFile !== null && sandbox.authority !== null)
      await writeFile(authorityFile, sandbox.authority)
    const removeToken = keepSandboxToken(sandbox)
    printAccess(sandbox, authorityFile, io)
    return {
      ...sandbox,
      close: () => {
        removeToken()
        return sandbox.close()
      },
    }
  } catch (error) {
    await sandbox.close()
    throw error
  }
}

async function seedOf(file: string): Promise<Seed> {
  const bytes = await readBytes(file)
  return /\.csv$/i.test(file) ? csvSeed(csvText(bytes)) : jsonSeed(bytes.toString('utf8'))
}

function csvText(bytes: Buffer): string {
  try {
    const text = decodeCsv(bytes)
    const [header = ''] = text.split(/\r?\n/, 1)
    const problem = delimiterProblem(header.split(','))
    if (problem !== null) throw new SeedFault(`it ${problem}`)
    return text
  } catch (error) {
    throw error instanceof CsvFault ? new SeedFault(`it ${error.message}`) : error
  }
}

/** Faults from a JSON file, or from rates such as throttle=0.02. */
async function faultsOf(given: string): Promise<FaultSettings> {
  const rates = given.includes('=') ? ratesOf(given) : null
  if (rates) return rates
  if (given.includes('=')) {
    const reason = 'write rates as throttle=0.02,drop-after=0.01, each from 0 to 1'
    throw new MatoolkitError('SANDBOX_FAULTS_INVALID', { faults: given, reason })
  }
  const settings = parsed(await readTextFile(given))
  const read = faultsSchema.safeParse(settings)
  if (read.success) return settings as FaultSettings
  const reason = problemsOf(read.error)
  throw new MatoolkitError('SANDBOX_FAULTS_INVALID', { faults: given, reason })
}

/** Undefined when the text is not JSON; the schema then refuses it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function printAccess(sandbox: Sandbox, authorityFile: string | null, io: Io): void {
  const { tenants } = sandbox.state()
  const rows = tenants.map(({ id, domains, users, groups, applications }) => [
    domains[0]!,
    id,
    applications[0]!.clientId,
    applications[0]!.secret ?? '(certificate)',
    String(users.length),
    String(groups.length),
  ])
  io.out(`The sandbox listens on ${io.paint('bold', sandbox.url)} (sign-in, Graph and Exchange).`)
  io.out('')
  io.out(tableText([['TENANT', 'TENANT ID', 'CLIENT ID', 'SECRET', 'USERS', 'GROUPS'], ...rows]))
  io.out('')
  io.out('Settings of a worker for the first tenant:')
  for (const [name, value] of Object.entries(workerSettings(sandbox))) io.out(`  ${name}=${value}`)
  // Node reads it at its start only.
  if (authorityFile !== null) io.out(`  NODE_EXTRA_CA_CERTS=${resolve(authorityFile)}`)
  io.out('')
  io.out('Inspect it:')
  io.out(`  ${inspectCommand(sandbox, 'state')}`)
  io.out(`  ${inspectCommand(sandbox, 'journal')}`)
  io.out('Ctrl-C stops it; nothing is kept.')
}

/** The settings that point a worker at the sandbox instead of Microsoft 365. */
export function workerSettings({ url, state }: Sandbox): Record<string, string> {
  const [tenant] = state().tenants
  const [application] = tenant!.applications
  return {
    MATOOLKIT_TENANT_ID: tenant!.id,
    MATOOLKIT_ORGANIZATION:
      tenant!.domains.find((domain) => domain.endsWith('.onmicrosoft.com')) ?? tenant!.domains[0]!,
    MATOOLKIT_APP_ID: application!.clientId,
    ...(application!.secret === null
      ? {}
      : { MATOOLKIT_SIGN_IN: 'secret', MATOOLKIT_APP_SECRET: application!.secret }),
    MATOOLKIT_LOGIN_URL: url,
    MATOOLKIT_GRAPH_URL: url,
    MATOOLKIT_EXCHANGE_URL: url,
  }
}
