// `matoolkit runbook …`: the commands that read: runbooks, one runbook's text, its versions and its ticks.
import type { Json } from '../../../base/text/json.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  pathSegment,
  showPages,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { safeFor, withoutLineEnd } from '../../terminal/io.ts'
import type { Column, Row } from '../../terminal/show.ts'
import { heldColumn, sayHeldSystem } from '../holds-in-force.ts'
import { tickText } from '../tick-text.ts'

const RUNBOOKS: readonly Column[] = [
  ['NAME', 'name', 'whole'],
  ['VERSION', 'version'],
  ['AUTOMATION', ({ isAutomationEnabled }) => (isAutomationEnabled ? 'on' : 'off')],
  ['BATCHES', 'unfinishedBatches'],
  ['PUBLISHED', 'publishedAt', 'spare'],
  ['BY', 'publishedBy', 'spare'],
  ['LAST ERROR', 'lastError'],
]
const VERSIONS: readonly Column[] = [
  ['VERSION', 'version'],
  ['IN USE', 'isActive'],
  ['OVERDUE PHASES', 'overdueBehavior', 'spare'],
  ['RERUN INIT', 'rerunInit', 'spare'],
  ['PUBLISHED', 'publishedAt'],
  ['BY', 'publishedBy'],
]

const TICKS: readonly Column[] = [
  ['ID', 'id', 'spare'],
  ['STARTED', 'startedAt'],
  ['BY', 'startedBy', 'spare'],
  ['OUTCOME', 'outcome'],
  ['ROWS', 'rowCount'],
  ['GROUPS', 'groupCount', 'spare'],
  ['WHAT IT DID', ({ counts }) => tickText(counts as Row)],
  ['ERROR', 'error'],
]

/** The path of a version, or of the runbook with its version in use. */
export const versionPath = (name: string, version: string | undefined): string => {
  const path = `/api/runbooks/${pathSegment(name)}`
  return version === undefined ? path : `${path}/versions/${idOf('version', version)}`
}

export async function runListRunbooks(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const holds = await sayHeldSystem(context)
  await showPages(context, {
    path: '/api/runbooks',
    query: {
      search: textFlag(flags, 'search'),
      withInactive: flags.inactive === true ? true : undefined,
    },
    rows: 'runbooks',
    columns: [...RUNBOOKS, heldColumn(holds, 'runbook', 'name')],
    empty: 'No runbooks. Publish one: matoolkit runbook publish <file>',
  })
}

/** Prints the YAML, so that it can be redirected into a file; other formats have all fields. */
export async function runGetRunbook(
  { client, show, io }: CommandContext,
  [name, given]: readonly string[],
  flags: Flags,
): Promise<void> {
  const flag = textFlag(flags, 'version')
  if (given !== undefined && flag !== undefined && given !== flag) {
    throw usageError(`Name one version, not both ${given} and ${flag}.`)
  }
  const version = given ?? flag
  const { body } = await client.get<Row>(versionPath(name!, version))
  if (show.format === 'table') return io.out(safeFor(io, withoutLineEnd(String(body.yamlContent))))
  await show.one(body as Json, [...VERSIONS, ['YAML', 'yamlContent']])
}

export const runListVersions = (
  context: CommandContext,
  [name]: readonly string[],
): Promise<void> =>
  showPages(context, {
    path: `/api/runbooks/${pathSegment(name!)}/versions`,
    rows: 'versions',
    columns: VERSIONS,
    empty: 'No versions.',
  })

export const runListTicks = (context: CommandContext, [name]: readonly string[]): Promise<void> =>
  showPages(context, {
    path: `/api/runbooks/${pathSegment(name!)}/ticks`,
    rows: 'ticks',
    columns: TICKS,
    empty: 'The data source has not been queried yet.',
  })
