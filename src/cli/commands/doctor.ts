// `matoolkit doctor`: checks runtime, configuration, API, sign-in, database and its roles, bus, clock, workers and data sources, one line per check,
// with advice for each problem.

import { messageOf } from '../../base/errors/errors.ts'
import { earlierSettings } from '../../base/settings/config.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import {
  type AnnouncedFunction,
  type FunctionCatalogue,
  isClash,
} from '../../domain/runbook/catalogues.ts'
import type { CommandContext } from '../program/command-context.ts'
import { type Check, showChecks } from '../terminal/show-checks.ts'
import { capital, loadHoldsInForce } from './holds-in-force.ts'
import { type ListedNeed, loadNeeds } from './needs.ts'

export async function examineSystem(context: CommandContext): Promise<void> {
  await showChecks(context.show, context.io, await examine(context))
}

async function examine(context: CommandContext): Promise<Check[]> {
  const api = await apiChecks(context)
  const isReachable = api.every(({ state }) => state !== 'failed')
  return [
    // The program asks for the Node that it needs at its start.
    ok('runtime', `Node ${process.versions.node}`),
    ok(
      'configuration',
      `profile ${context.profile.name}, ${context.client.apiUrl} (${context.profile['api-url'].from})`,
    ),
    ...earlierSettings().map(({ name, advice }) =>
      failed(name, 'is a setting of the earlier system', `${capital(advice)}.`),
    ),
    ...api,
    ...(isReachable ? [...(await serverChecks(context)), ...(await signedInChecks(context))] : []),
  ]
}

const ok = (name: string, about: string): Check => ({ name, state: 'ok', about, advice: '' })
const failed = (name: string, about: string, advice: string): Check => ({
  name,
  about,
  advice,
  state: 'failed',
})
const warning = (name: string, about: string, advice: string): Check => ({
  name,
  about,
  advice,
  state: 'warning',
})

async function apiChecks({ client }: CommandContext): Promise<Check[]> {
  try {
    await client.call('GET /api/health')
    return [ok('API', `${client.apiUrl} answers`)]
  } catch (error) {
    return [failed('API', messageOf(error), 'Start it with "matoolkit up", or set api-url.')]
  }
}

const SERVER_ADVICE: Readonly<Record<string, string>> = {
  server: 'Wait until the server has restarted.',
  database: 'Check DATABASE_URL of the server, and that PostgreSQL runs.',
  schema:
    'Run the same version of matoolkit everywhere. Its owner upgrades the schema: matoolkit db migrate',
  bus: 'Check the log of the orchestrator.',
  clock: 'Synchronize the clock of the server with a time server.',
}

/** The server's own readiness checks. */
async function serverChecks({ client }: CommandContext): Promise<Check[]> {
  const { checks } = await client.call('GET /api/ready', {}, { accepts: [503] })
  return checks.map(({ name, isOk, about }) =>
    isOk
      ? ok(name, about)
      : failed(name, about, SERVER_ADVICE[name] ?? 'Check the log of the server.'),
  )
}

async function signedInChecks(context: CommandContext): Promise<Check[]> {
  const { client } = context
  try {
    const { name, roles } = await client.call('GET /api/me')
    const about = `${name}, ${roles.join(' and ') || 'no role'}`
    return [
      ok('sign-in', about),
      ...(await databaseRoleChecks(context)),
      ...(await holdChecks(context)),
      ...(await workerChecks(context)),
      ...(await sourceChecks(context)),
      ...(await needChecks(context)),
    ]
  } catch (error) {
    return [failed('sign-in', messageOf(error), 'Run "matoolkit auth login".')]
  }
}

const GRANT = 'Run "matoolkit db grant" with the DATABASE_URL of the owner.'

async function databaseRoleChecks({ client }: CommandContext): Promise<Check[]> {
  const { runsAs, isOwner, roles } = await client.call('GET /api/database-roles')
  if (roles.length === 0) return [ok('database roles', `one role for everything: ${runsAs}`)]
  const unfit = roles.flatMap(({ name, missing, excess }) => [
    ...(missing.length > 0
      ? [failed(`database role ${name}`, `lacks ${some(missing)}`, GRANT)]
      : []),
    ...(excess.length > 0
      ? [warning(`database role ${name}`, `has more than it needs: ${some(excess)}`, GRANT)]
      : []),
  ])
  const about = `${runsAs} owns the tables, although roles are set up`
  const advice = "Set DATABASE_URL of the API to the application's role."
  return [
    isOwner ? warning('database role', about, advice) : ok('database role', runsAs),
    ...(unfit.length > 0
      ? unfit
      : [
          ok(
            'database roles',
            `${countText(roles.length, 'role has exactly its rights', 'roles have exactly their rights')}`,
          ),
        ]),
  ]
}

const SOME_MAX = 3

const some = (all: readonly string[]): string =>
  all.length <= SOME_MAX
    ? all.join(', ')
    : `${all.slice(0, SOME_MAX).join(', ')} and ${all.length - SOME_MAX} more`

async function holdChecks(context: CommandContext): Promise<Check[]> {
  const { holds, total } = await loadHoldsInForce(context, { limit: 1 })
  const [first] = holds
  if (total === 0) return [ok('holds', 'nothing is held')]
  const about = `${countText(total, 'hold is', 'holds are')} in force; ${first!.name} since ${first!.heldAt}: ${first!.reason}`
  const advice =
    total === 1 ? `End it with "${first!.endsWith}".` : 'List them with "matoolkit hold list".'
  return [warning('holds', printable(about), printable(advice))]
}

async function workerChecks({ client }: CommandContext): Promise<Check[]> {
  const { workers } = await client.call('GET /api/workers')
  if (workers.length === 0) {
    return [
      warning('workers', 'no worker has reported', 'Start one: matoolkit serve --roles worker'),
    ]
  }
  const name = (worker: { readonly workerId: string }) => `worker ${worker.workerId}`
  const catalogues: FunctionCatalogue[] = []
  for await (const one of client.each('GET /api/catalogues')) catalogues.push(one)
  return workers.map((worker) => {
    const announced = catalogues.find(({ workerId }) => workerId === worker.workerId)?.functions
    const clashes = announced?.filter((one) => isClash(one, catalogues)) ?? []
    if (clashes.length > 0) {
      const about = `has functions of its own with the names of built-in ones, and does not start: ${some(clashes.map(nameOf))}`
      return failed(name(worker), about, CLASH_ADVICE)
    }
    if (!worker.isKnown) {
      const about = `${countText(worker.waiting, 'step waits', 'steps wait')} for this worker, which has never reported`
      return failed(name(worker), about, 'Start it, or correct worker_id in the runbook.')
    }
    return worker.isSilent
      ? warning(
          name(worker),
          'has not reported for minutes',
          'Normal if it is scaled to zero; otherwise check it.',
        )
      : ok(name(worker), `is running${overridesText(announced ?? [])}`)
  })
}

const CLASH_ADVICE = 'Rename them, or write "overrides: true" in those that are to run instead.'

const nameOf = ({ name }: { readonly name: string }): string => name

function overridesText(announced: readonly AnnouncedFunction[]): string {
  const own = announced.filter(({ facts }) => facts?.overrides).map(nameOf)
  return own.length === 0
    ? ''
    : `, with functions of its own instead of built-in ones: ${some(own)}`
}

async function sourceChecks({ client }: CommandContext): Promise<Check[]> {
  const { runbooks } = await client.call('GET /api/runbooks', { query: { limit: 500 } })
  const failing = runbooks.filter(({ lastError }) => lastError !== null)
  if (failing.length === 0)
    return [ok('sources', `${countText(runbooks.length, 'runbook')}, no failed tick`)]
  return failing.map(({ name, lastError }) =>
    failed(`source of ${name}`, lastError!, `Try it: matoolkit query preview ${name}`),
  )
}

/** Holds, workers and failing sources have checks of their own. */
const CHECKED_ABOVE: readonly ListedNeed['kind'][] = [
  'everything_held',
  'batch_held',
  'worker_silent',
  'source_failing',
]

async function needChecks(context: CommandContext): Promise<Check[]> {
  const needs = (await loadNeeds(context)).filter(({ kind }) => !CHECKED_ABOVE.includes(kind))
  if (needs.length === 0) return [ok('decisions', 'nothing waits for a person')]
  return needs.map((need) => warning(placeOf(need), printable(need.text), adviceOf(need)))
}

function placeOf({ kind, batchId, runbookNames }: ListedNeed): string {
  if (batchId !== null) return `batch ${batchId}`
  return runbookNames?.length === 1 ? `source of ${runbookNames[0]}` : kind.replaceAll('_', ' ')
}

const adviceOf = ({ command, decide }: ListedNeed): string =>
  [`See ${command}`, ...decide.map((one) => `or decide: ${one}`)].join('\n  ')
