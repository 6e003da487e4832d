// `matoolkit runbook …`: the commands that read: runbooks, one runbook's text and its versions.
import type { Answer, ListedRow } from '../../../api/client/endpoints.ts'
import type { CommandClient } from '../../connection/client.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  showPages,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { safeFor, withoutLineEnd } from '../../terminal/io.ts'
import type { Column } from '../../terminal/show.ts'
import { heldColumn, sayHeldSystem } from '../holds-in-force.ts'

type Listed = ListedRow<'GET /api/runbooks'>
export type Version = Answer<'GET /api/runbooks/{name}'>

const RUNBOOKS: readonly Column<Listed>[] = [
  ['NAME', 'name', 'whole'],
  ['VERSION', 'version'],
  ['AUTOMATION', ({ isAutomationEnabled }) => (isAutomationEnabled ? 'on' : 'off')],
  ['BATCHES', 'unfinishedBatches'],
  ['PUBLISHED', 'publishedAt', 'spare'],
  ['BY', 'publishedBy', 'spare'],
  ['LAST ERROR', 'lastError'],
]
const VERSIONS: readonly Column<ListedRow<'GET /api/runbooks/{name}/versions'>>[] = [
  ['VERSION', 'version'],
  ['IN USE', 'isActive'],
  ['OVERDUE PHASES', 'overdueBehavior', 'spare'],
  ['RERUN INIT', 'rerunInit', 'spare'],
  ['PUBLISHED', 'publishedAt'],
  ['BY', 'publishedBy'],
]

/** A version, or the one in use. */
export const loadVersion = (
  client: CommandClient,
  name: string,
  version: string | undefined,
): Promise<Version> =>
  version === undefined
    ? client.call('GET /api/runbooks/{name}', { params: { name } })
    : client.call('GET /api/runbooks/{name}/versions/{version}', {
        params: { name, version: idOf('version', version) },
      })

export async function runListRunbooks(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const holds = await sayHeldSystem(context)
  await showPages(context, 'GET /api/runbooks', {
    given: {
      query: {
        search: textFlag(flags, 'search'),
        withInactive: flags.inactive === true ? true : undefined,
      },
    },
    columns: [...RUNBOOKS, heldColumn<Listed>(holds, 'runbook', ({ name }) => name)],
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
  const version = await loadVersion(client, name!, given ?? flag)
  if (show.format === 'table') return io.out(safeFor(io, withoutLineEnd(version.yamlContent)))
  await show.one(version, [...VERSIONS, ['YAML', 'yamlContent']])
}

export const runListVersions = (
  context: CommandContext,
  [name]: readonly string[],
): Promise<void> =>
  showPages(context, 'GET /api/runbooks/{name}/versions', {
    given: { params: { name: name! } },
    columns: VERSIONS,
    empty: 'No versions.',
  })
