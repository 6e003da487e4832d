// `matoolkit doctor`: what works between this machine and a migration, one line a check, and what to do about what does not:
// runtime, configuration, API, sign-in, database, bus, clock, workers, sources.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import { EXIT, messageOf } from '../../errors.ts'
import type { CommandContext } from '../command-context.ts'
import { type Io, printable } from '../terminal/io.ts'
import type { Column, Row } from '../terminal/show.ts'
import { addVerb } from './verb.ts'

export interface Check {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly about: string
  /** What to do; empty when nothing need be done. */
  readonly advice: string
}

const CHECKS: readonly Column[] = [
  ['CHECK', 'name', 'whole'],
  ['STATE', 'state'],
  ['ABOUT', 'about'],
  ['WHAT TO DO', 'advice'],
]
const NODE_MIN = 24

export function addDoctorCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'doctor',
    about: 'check everything between this machine and a migration, and say what to do',
    more: 'Exit code: 0 nothing has failed (warnings are allowed), 1 something has.',
    examples: ['doctor', 'doctor --output json'],
    run: async (context) => {
      const checks = await examine(context, process.versions.node)
      const isOk = checks.every(({ state }) => state !== 'failed')
      const rows = checks as unknown as Row[]
      const whole: Json = { isOk, checks: rows as unknown as Json }
      const { show, io: own } = context
      // On a terminal the advice stands below in full: in a column it would be cut.
      const columns = show.format === 'table' ? CHECKS.slice(0, -1) : CHECKS
      await show.list({ whole, rows, columns, empty: '' })
      for (const { name, about, advice } of checks.filter((check) => check.advice !== '')) {
        show.say(printable(`\n${name}: ${about}\n  ${advice}`))
      }
      if (!isOk) own.exitCode = EXIT.failed
    },
  })
}

export async function examine(context: CommandContext, nodeVersion: string): Promise<Check[]> {
  const api = await apiChecks(context)
  const isThere = api.every(({ state }) => state !== 'failed')
  return [
    runtimeCheck(nodeVersion),
    ok(
      'configuration',
      `profile ${context.profile.name}, ${context.client.apiUrl} (${context.profile['api-url'].from})`,
    ),
    ...api,
    ...(isThere ? [...(await serverChecks(context)), ...(await signedInChecks(context))] : []),
  ]
}

const ok = (name: string, about: string): Check => ({ name, state: 'ok', about, advice: '' })
const bad = (name: string, about: string, advice: string): Check => ({
  ...{ name, about, advice },
  state: 'failed',
})
const hmm = (name: string, about: string, advice: string): Check => ({
  ...{ name, about, advice },
  state: 'warning',
})

function runtimeCheck(version: string): Check {
  const isNew = Number(version.split('.')[0]) >= NODE_MIN
  return isNew
    ? ok('runtime', `Node ${version}`)
    : bad('runtime', `Node ${version}`, `Use Node ${NODE_MIN} or newer.`)
}

async function apiChecks({ client }: CommandContext): Promise<Check[]> {
  try {
    await client.get('/api/health')
    return [ok('API', `${client.apiUrl} answers`)]
  } catch (error) {
    return [bad('API', messageOf(error), 'Start it with "matoolkit up", or set api-url.')]
  }
}

interface Readiness {
  readonly checks: readonly {
    readonly name: string
    readonly isOk: boolean
    readonly about: string
  }[]
}

const SERVER_ADVICE: Readonly<Record<string, string>> = {
  server: 'Wait until it has started again.',
  database: 'Check DATABASE_URL of the server and that PostgreSQL runs.',
  schema: 'Run the same version of matoolkit everywhere; the newest start brings the schema up.',
  bus: 'Look in the log of the orchestrator.',
  clock: 'Set the clock of the server; let it follow a time server.',
}

/** What the server says of itself. */
async function serverChecks({ client }: CommandContext): Promise<Check[]> {
  const { body } = await client.get<Readiness>('/api/ready', {}, { accepts: [503] })
  return body.checks.map(({ name, isOk, about }) =>
    isOk ? ok(name, about) : bad(name, about, SERVER_ADVICE[name] ?? 'Look in its log.'),
  )
}

interface Me {
  readonly name: string
  readonly roles: readonly string[]
}

async function signedInChecks(context: CommandContext): Promise<Check[]> {
  const { client } = context
  try {
    const { body } = await client.get<Me>('/api/me')
    const about = `${body.name}, ${body.roles.join(' and ') || 'no role'}`
    return [
      ok('sign-in', about),
      ...(await workerChecks(context)),
      ...(await sourceChecks(context)),
    ]
  } catch (error) {
    return [bad('sign-in', messageOf(error), 'Run "matoolkit auth login".')]
  }
}

interface Workers {
  readonly workers: readonly {
    readonly workerId: string
    readonly isKnown: boolean
    readonly isSilent: boolean
    readonly waiting: number
  }[]
}

async function workerChecks({ client }: CommandContext): Promise<Check[]> {
  const { workers } = (await client.get<Workers>('/api/workers')).body
  if (workers.length === 0) {
    return [hmm('workers', 'none has announced itself', 'Start one: serve --roles worker.')]
  }
  const name = (one: { readonly workerId: string }) => `worker ${one.workerId}`
  return workers.map((one) => {
    if (!one.isKnown) {
      const about = `${one.waiting} steps wait for it and nobody knows it`
      return bad(name(one), about, 'Start it, or correct worker_id in the runbook.')
    }
    return one.isSilent
      ? hmm(
          name(one),
          'has not been heard of for minutes',
          'It may be scaled to nothing; else look at it.',
        )
      : ok(name(one), 'is there')
  })
}

interface Runbooks {
  readonly runbooks: readonly { readonly name: string; readonly lastError: string | null }[]
}

async function sourceChecks({ client }: CommandContext): Promise<Check[]> {
  const { runbooks } = (await client.get<Runbooks>('/api/runbooks', { limit: 500 })).body
  const failing = runbooks.filter(({ lastError }) => lastError !== null)
  if (failing.length === 0) return [ok('sources', `${runbooks.length} runbooks, no failed tick`)]
  return failing.map(({ name, lastError }) =>
    bad(`source of ${name}`, lastError!, `Try it: matoolkit query preview ${name}`),
  )
}
