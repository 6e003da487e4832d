// What `matoolkit runbook …` does with runbooks of the API: publish with the impact told first, list, get, diff, take out of use.
import type { Json } from '../../../domain/json.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  pathSegment,
  sayRest,
  showPages,
  textFlag,
  usageError,
} from '../../command-context.ts'
import { readTextFile } from '../../files.ts'
import { confirm } from '../../terminal/confirm.ts'
import { printable, safeFor, withoutLineEnd } from '../../terminal/io.ts'
import { type Column, countText, type Row } from '../../terminal/show.ts'
import { changesBetween, withContext } from '../../terminal/text-diff.ts'

const LIST: readonly Column[] = [
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
  ['INIT AGAIN', 'rerunInit', 'spare'],
  ['PUBLISHED', 'publishedAt'],
  ['BY', 'publishedBy'],
]

const versionPath = (name: string, version: string): string =>
  `/api/runbooks/${pathSegment(name)}/versions/${idOf('version', version)}`

export const runListRunbooks = (
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> =>
  showPages(context, {
    path: '/api/runbooks',
    query: {
      search: textFlag(flags, 'search'),
      withInactive: flags.inactive === true ? true : undefined,
    },
    rows: 'runbooks',
    columns: LIST,
    empty: 'There are no runbooks. Publish one: matoolkit runbook publish <file>',
  })

/** The text itself, so that it can be redirected into a file; everything else with another format. */
export async function runGetRunbook(
  { client, show, io }: CommandContext,
  [name, version]: readonly string[],
): Promise<void> {
  const path =
    version === undefined ? `/api/runbooks/${pathSegment(name!)}` : versionPath(name!, version)
  const { body } = await client.get<Row>(path)
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
    empty: 'There are no versions.',
  })

interface Published {
  readonly name: string
  readonly version: number
  readonly isNew: boolean
  readonly warnings: readonly { readonly line?: number; readonly message: string }[]
  readonly impact: {
    readonly batches: number
    readonly membersActive: number
    readonly phases: Readonly<Record<string, number>>
    readonly listed: readonly Row[]
    readonly warnings: readonly string[]
  }
}

export async function runPublish(
  context: CommandContext,
  [file]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client } = context
  const reason = textFlag(flags, 'reason')
  const request = {
    yamlContent: await readTextFile(file!),
    overdueBehavior: textFlag(flags, 'overdueBehavior') ?? 'ignore',
    rerunInit: flags.rerunInit === true,
    ...(reason !== undefined && { reason }),
  }
  const body = { ...request, dryRun: true }
  const { body: tried } = await client.post<Published>('/api/runbooks', { body })
  await sayImpact(context, tried)
  if (flags.dryRun) return tellPublished(context, tried)
  const { batches, membersActive } = tried.impact
  if (batches > 0 && tried.isNew) {
    const what = `Version ${tried.version} of "${tried.name}" changes ${countText(batches, 'batch', 'batches')} under way.`
    await confirm(context, { what, members: membersActive })
  }
  const done = await client.post<Published>('/api/runbooks', { body: request, isKeyed: true })
  await tellPublished(context, done.body)
}

async function tellPublished({ show, flags }: CommandContext, published: Published): Promise<void> {
  if (show.format !== 'table') return show.one(published as unknown as Json, PUBLISHED)
  const { name, version, isNew } = published
  if (!isNew) {
    return show.say(
      `Version ${version} of "${name}" is this very text already; nothing was published.`,
    )
  }
  if (!flags.dryRun) return show.say(`Published "${name}" as version ${version}.`, 'green')
  show.say(
    `It would be version ${version} of "${name}". This was a dry run: nothing was published.`,
  )
}

const PUBLISHED: readonly Column[] = [
  ['NAME', 'name'],
  ['VERSION', 'version'],
  ['NEW', 'isNew'],
  ['BATCHES', 'impact.batches'],
]

async function sayImpact(context: CommandContext, { warnings, impact }: Published): Promise<void> {
  const { io, show } = context
  const lines = warnings.map(({ line, message }) => (line ? `line ${line}: ${message}` : message))
  const all = [...lines, ...impact.warnings, ...impact.listed.flatMap(lackingLines)]
  for (const line of all) io.err(printable(`warning: ${line}`))
  if (show.format !== 'table' || impact.batches === 0) return
  const batches = countText(impact.batches, 'batch', 'batches')
  show.say(`Under way: ${batches} with ${countText(impact.membersActive, 'active member')}.`)
  await show.list({ whole: null, rows: impact.listed, columns: IMPACT, empty: '' })
  sayRest(
    context,
    impact.listed.length,
    impact.batches,
    '--output json counts all by what becomes of them',
  )
}

/** Members without a variable of the new version: their steps would fail when it is too late. */
const lackingLines = ({ batchId, lacking }: Row): string[] =>
  (lacking as unknown as { variable: string; members: number }[]).map(
    ({ variable, members }) =>
      `batch ${Number(batchId)}: nothing provides "${variable}" for ${countText(members, 'member')}; steps that use it would fail`,
  )

const IMPACT: readonly Column[] = [
  ['BATCH', 'batchId'],
  ['STATUS', 'status'],
  ['FROM VERSION', 'fromVersion'],
  ['MEMBERS', 'membersActive'],
  ['INIT', 'init'],
  [
    'PHASES',
    ({ phases }) =>
      (phases as unknown as { name: string; outcome: string }[])
        .map(({ name, outcome }) => `${name}: ${outcome}`)
        .join(', '),
  ],
]

export async function runDeleteVersion(
  context: CommandContext,
  [name, version]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, show } = context
  const path = versionPath(name!, version!)
  const { body, etag } = await client.get<Row>(path)
  const batches = Number(body.unfinishedBatches)
  const what = `Version ${version} of "${name}" is taken out of use; ${countText(batches, 'batch', 'batches')} under way may finish.`
  await confirm(context, { what, members: 0 })
  const query = { reason: textFlag(flags, 'reason') }
  const done = await client.delete(path, { query, ifMatch: flags.yes ? null : etag })
  await show.one(done.body, [
    ['name', 'name'],
    ['version', 'version'],
    ['in use', 'isActive'],
  ])
}

export async function runDiff(
  { client, show, io }: CommandContext,
  [name, from, to]: readonly string[],
  flags: Flags,
): Promise<void> {
  const textOf = async (version: string | undefined) => {
    const path =
      version === undefined ? `/api/runbooks/${pathSegment(name!)}` : versionPath(name!, version)
    return (await client.get<Row>(path)).body
  }
  const file = textFlag(flags, 'file')
  if (file !== undefined && to !== undefined)
    throw usageError('Give either a second version or --file.')
  if (file === undefined && from === undefined) {
    throw usageError(
      'Name a version to compare the one in use with, two versions, or a file: --file <yaml>.',
    )
  }
  const before = await textOf(from)
  const after = file === undefined ? await textOf(to) : null
  const beforeName = `${name} version ${Number(before.version)}`
  const afterName = after ? `${name} version ${Number(after.version)}` : file!
  const changes = changesBetween(
    String(before.yamlContent),
    after ? String(after.yamlContent) : await readTextFile(file!),
  )
  if (show.format !== 'table') {
    const rows = changes.filter(({ kind }) => kind !== 'same').map((change) => ({ ...change }))
    const columns: Column[] = [
      ['KIND', 'kind'],
      ['LINE', 'line'],
    ]
    return show.list({
      whole: { before: beforeName, after: afterName, changes: rows },
      rows,
      columns,
      empty: '',
    })
  }
  if (changes.every(({ kind }) => kind === 'same')) return io.out('They are the same.')
  io.out(io.paint('red', `--- ${beforeName}`))
  io.out(io.paint('green', `+++ ${afterName}`))
  for (const change of withContext(changes)) {
    if (change === null) io.out(io.paint('dim', '…'))
    else if (change.kind === 'same') io.out(` ${change.line}`)
    else if (change.kind === 'added') io.out(io.paint('green', `+${change.line}`))
    else io.out(io.paint('red', `-${change.line}`))
  }
}
