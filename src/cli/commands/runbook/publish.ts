// `matoolkit runbook publish` and `delete`: both state the impact on running batches and ask before anything changes.

import type { Answer } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { phaseWindowText } from '../../../domain/windows/window-text.ts'
import { readTextFile } from '../../input/files.ts'
import {
  type CommandContext,
  choiceFlag,
  type Flags,
  idOf,
  sayRest,
  textFlag,
} from '../../program/command-context.ts'
import { confirm } from '../../terminal/prompt.ts'
import type { Column } from '../../terminal/show.ts'
import { startLines, warnLost } from '../starts.ts'

type Published = Answer<'POST /api/runbooks'>
type Impact = Published['impact']['listed'][number]
type PlannedPhase = Impact['phases'][number]

export async function runPublish(
  context: CommandContext,
  [file]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client } = context
  const reason = textFlag(flags, 'reason')
  const request = {
    yamlContent: await readTextFile(file!),
    overdueBehavior: choiceFlag(flags, 'overdueBehavior', ['ignore', 'rerun']) ?? 'ignore',
    rerunInit: flags.rerunInit === true,
    ...(flags.force === true && { force: true }),
    ...(reason !== undefined && { reason }),
  }
  const body = { ...request, dryRun: true }
  const tried = await client.call('POST /api/runbooks', { body })
  await showImpact(context, tried)
  if (flags.dryRun) return showPublished(context, tried)
  const { batches, membersActive } = tried.impact
  if (batches > 0 && tried.isNew) {
    const what = `Version ${tried.version} of "${tried.name}" changes ${countText(batches, 'running batch', 'running batches')}.`
    await confirm(context, { what, members: membersActive })
  }
  await showPublished(context, await client.call('POST /api/runbooks', { body: request }))
}

async function showPublished({ show, flags }: CommandContext, published: Published): Promise<void> {
  if (show.format !== 'table') return show.one(published, PUBLISHED)
  const { name, version, isNew } = published
  if (!isNew) {
    return show.say(`Version ${version} of "${name}" is identical; nothing was published.`)
  }
  if (!flags.dryRun) return show.say(`Published "${name}" as version ${version}.`, 'green')
  show.say(`Dry run: this would publish version ${version} of "${name}".`)
}

const PUBLISHED: readonly Column<Published>[] = [
  ['NAME', 'name'],
  ['VERSION', 'version'],
  ['NEW', 'isNew'],
  ['BATCHES', 'impact.batches'],
]

async function showImpact(context: CommandContext, { warnings, impact }: Published): Promise<void> {
  const { io, show } = context
  const lines = warnings.map(({ line, message }) => (line ? `line ${line}: ${message}` : message))
  const all = [...lines, ...impact.warnings, ...impact.listed.flatMap(missingVariableLines)]
  for (const line of all) io.err(printable(`warning: ${line}`))
  if (show.format !== 'table' || impact.batches === 0) return
  const batches = countText(impact.batches, 'running batch', 'running batches')
  show.say(`${batches} with ${countText(impact.membersActive, 'active member')}:`)
  for (const batch of impact.listed) show.say(printable(`\n${planOf(batch).join('\n')}`))
  const starts = startLines(impact.startsAtOnce)
  show.say(starts.length === 0 ? '\nNothing starts at once.' : '\nStarts at once:')
  for (const line of starts) show.say(printable(`  ${line}`), 'yellow')
  warnLost(context, impact.approvalsLost)
  sayRest(context, impact.listed.length, impact.batches, '--output json counts all batches')
}

/** Members that lack a variable of the new version: their steps would fail later. */
const missingVariableLines = ({ batchId, lacking }: Impact): string[] =>
  lacking.map(
    ({ variable, members }) =>
      `batch ${batchId}: "${variable}" has no value for ${countText(members, 'member')}; steps that use it would fail`,
  )

const OUTCOMES: Readonly<Record<string, string>> = {
  pending: 'runs',
  rerun: 'runs again',
  skipped: 'is skipped, its time has passed',
  carried_over: 'stays as it is',
  dropped: 'is dropped',
}
const INITS: Readonly<Record<string, string>> = {
  new: '  init runs as in the new version',
  rerun: '  init runs again',
}

/** A batch as a plan: who, from which version, and what becomes of each phase, and when. */
function planOf({ batchId, isHeld, fromVersion, membersActive, init, phases }: Impact): string[] {
  const held = isHeld ? ', held' : ''
  const people = countText(membersActive, 'person', 'people')
  const when = ({ outcome, dueAt, window }: PlannedPhase) =>
    outcome === 'pending' || outcome === 'rerun'
      ? ` ${dueAt ?? 'when advanced'}${window ? `; ${phaseWindowText(window, null)}` : ''}`
      : ''
  return [
    `Batch ${batchId} (${people}${held}), from version ${fromVersion}:`,
    ...(INITS[init] ? [INITS[init]] : []),
    ...phases.map(
      (phase) => `  ${phase.name} ${OUTCOMES[phase.outcome] ?? phase.outcome}${when(phase)}`,
    ),
  ]
}

export async function runDeleteVersion(
  context: CommandContext,
  [name, version]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, show } = context
  const params = { name: name!, version: idOf('version', version) }
  const endpoint = 'GET /api/runbooks/{name}/versions/{version}'
  const { answer, etag } = await client.tagged(endpoint, { params })
  const batches = answer.unfinishedBatches
  const what = `Version ${version} of "${name}" is taken out of use; ${countText(batches, 'running batch', 'running batches')} will finish with it.`
  await confirm(context, { what, members: 0 })
  const query = { reason: textFlag(flags, 'reason') }
  const done = await client.call(
    'DELETE /api/runbooks/{name}/versions/{version}',
    { params, query },
    { ifMatch: flags.yes ? null : etag },
  )
  await show.one(done, [
    ['name', 'name'],
    ['version', 'version'],
    ['in use', 'isActive'],
  ])
}
