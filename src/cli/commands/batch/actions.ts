// `matoolkit batch …`: the commands that change a batch. Irreversible ones read the batch first and ask for confirmation; the
// request carries the etag that was read, so a batch that changed in between is refused.
import { basename } from 'node:path'
import type { Answer } from '../../../api/client/endpoints.ts'
import { MatoolkitError } from '../../../base/errors/errors.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { readBytes } from '../../input/files.ts'
import { readTime } from '../../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  sayRest,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD } from '../../terminal/show.ts'
import { capital } from '../holds-in-force.ts'
import { warnLost } from '../starts.ts'
import { namedBatch } from './named.ts'
import { showResult, waitAndShow } from './results.ts'

type Batch = Answer<'GET /api/batches/{batchId}'>['batch']
type Created = Pick<Answer<'POST /api/batches'>, 'batchId' | 'memberCount' | 'isDryRun'> &
  Partial<Pick<Answer<'POST /api/batches'>, 'availablePhases'>>

const CREATED: readonly Column<Created>[] = [
  ['batch', 'batchId'],
  ['members', 'memberCount'],
  ['phases', ({ availablePhases }) => availablePhases?.join(', ')],
  DRY_RUN_FIELD,
]
const ADDED: readonly Column<Answer<'POST /api/batches/{batchId}/members'>>[] = [
  ['batch', 'batchId'],
  ['added', 'addedCount'],
  ['taken back', 'takenBackCount'],
  ['skipped', 'skippedCount'],
  DRY_RUN_FIELD,
]

async function formOf(file: string, fields: Readonly<Record<string, string | undefined>>) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value)
  const bytes = new Uint8Array(await readBytes(file))
  form.set('file', new Blob([bytes], { type: 'text/csv' }), basename(file))
  return form
}

function sayWarnings({ io }: CommandContext, warnings: readonly string[]): void {
  for (const warning of warnings) io.err(printable(`warning: ${warning}`))
}

export async function runCreate(
  context: CommandContext,
  [runbook, file]: readonly string[],
  flags: Flags,
): Promise<void> {
  const body = await formOf(file!, { runbookName: runbook, reason: textFlag(flags, 'reason') })
  const query = { dryRun: flags.dryRun === true }
  const created = await context.client.call('POST /api/batches', { query, body })
  sayWarnings(context, created.warnings)
  await context.show.one(created, CREATED)
  if (!flags.dryRun) context.show.say(`Start it with: matoolkit batch advance ${created.batchId}`)
}

export async function runAddMembers(
  context: CommandContext,
  [id, file]: readonly string[],
  flags: Flags,
): Promise<void> {
  const add = async (dryRun: boolean) =>
    context.client.call('POST /api/batches/{batchId}/members', {
      params: namedBatch(id),
      query: { dryRun },
      body: await formOf(file!, { reason: textFlag(flags, 'reason') }),
    })
  const tried = await add(true)
  warnLost(context, tried.approvalsLost)
  if (!flags.dryRun && tried.approvalsLost.length > 0) {
    const people = tried.addedCount + tried.takenBackCount
    const what = `${countText(people, 'person joins', 'people join')} batch ${id}.`
    await confirm(context, { what, members: people })
  }
  const added = flags.dryRun ? tried : await add(false)
  const { skipped, skippedCount, warnings } = added
  sayWarnings(context, warnings)
  await context.show.one(added, ADDED)
  for (const { reason } of skipped) context.show.say(printable(`  skipped: ${reason}`))
  sayRest(context, skipped.length, skippedCount, `for all members: batch members ${id}`)
}

const nameOf = ({ id, runbookName }: Batch): string => `batch ${id} of "${runbookName}"`

export async function runAdvance(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client } = context
  const params = namedBatch(id)
  const seen = await client.tagged('GET /api/batches/{batchId}', { params })
  const { batch, nextPhase } = seen.answer
  const next = textFlag(flags, 'phase') ?? nextPhase
  if (next === null) {
    const reason = `Batch ${id} cannot be advanced: its last phase has started, or its times come from the data source.`
    throw new MatoolkitError('REFUSED', { reason })
  }
  const dryRun = flags.dryRun === true
  const { active } = batch.members
  const part =
    next === 'init' ? `The init of ${nameOf(batch)}` : `Phase "${next}" of ${nameOf(batch)}`
  const what = `${part} starts for ${countText(active, 'member')}.`
  if (!dryRun) await confirm(context, { what, members: active })
  const reason = textFlag(flags, 'reason')
  const body = {
    expectedPhase: next,
    allowStragglers: flags.allowStragglers === true,
    dryRun,
    ...(reason !== undefined && { reason }),
  }
  const ifMatch = flags.yes ? null : seen.etag
  const done = await client.call(
    'POST /api/batches/{batchId}/advance',
    { params, body },
    { ifMatch },
  )
  if (!flags.wait || dryRun) return showResult(context, done)
  await waitAndShow(context, id!)
}

/** An action on the whole batch. `warns` states the consequence of an irreversible one. */
interface BatchAction {
  readonly endpoint: 'POST /api/batches/{batchId}/cancel' | 'POST /api/batches/{batchId}/restart'
  readonly warns?: (batch: Batch) => string
}

const batchAction =
  ({ endpoint, warns }: BatchAction) =>
  async (context: CommandContext, [id]: readonly string[], flags: Flags): Promise<void> => {
    const { client } = context
    const params = namedBatch(id)
    let ifMatch: string | null = null
    // A script is told at once of both that it lacks.
    if (!context.io.canAsk) await askReason(context)
    if (warns && !flags.dryRun) {
      const { answer, etag } = await client.tagged('GET /api/batches/{batchId}', { params })
      const { batch } = answer
      await confirm(context, { what: warns(batch), members: batch.members.active })
      if (!flags.yes) ifMatch = etag
    }
    const body = { reason: await askReason(context), dryRun: flags.dryRun === true }
    const done = await client.call(endpoint, { params, body }, { ifMatch })
    if (!flags.wait || flags.dryRun) return showResult(context, done)
    await waitAndShow(context, id!)
  }

export const runCancel = batchAction({
  endpoint: 'POST /api/batches/{batchId}/cancel',
  warns: (batch) =>
    `${capital(nameOf(batch))} ends for its ${batch.members.active} active members. This cannot be undone.`,
})
/** Sends steps outside the change windows until a time that the person names. */
export async function runOverrideWindow(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const typed = textFlag(flags, 'until')
  if ((typed === undefined) === (flags.end !== true))
    throw usageError('Give either --until with a time such as +2h or 06:00, or --end.')
  const until = typed === undefined ? null : readTime(context, typed)
  const { client, show } = context
  const params = namedBatch(id)
  const seen = await client.tagged('GET /api/batches/{batchId}', { params })
  const { batch } = seen.answer
  const dryRun = flags.dryRun === true
  const what = `Steps of ${nameOf(batch)} change tenants outside the change windows until ${until}.`
  if (until !== null && !dryRun) await confirm(context, { what, members: batch.members.active })
  const body = { until, reason: await askReason(context), dryRun }
  const ifMatch = flags.yes || dryRun ? null : seen.etag
  const endpoint = 'POST /api/batches/{batchId}/override-window'
  const done = await client.call(endpoint, { params, body }, { ifMatch })
  await showResult(context, done)
  const steps = countText(done.waitingSteps, 'step waits', 'steps wait')
  const jobs = countText(done.outstandingJobs, 'job is out', 'jobs are out')
  show.say(
    until === null
      ? `${steps} for the window; ${jobs}. Outside a window, jobs that no worker has begun are taken back.`
      : `${steps} and may be sent now; ${jobs}.`,
  )
}

export const runRestart = batchAction({ endpoint: 'POST /api/batches/{batchId}/restart' })

export async function runClone(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const statuses = textFlag(flags, 'members')?.split(',') as
    | ('active' | 'failed' | 'removed')[]
    | undefined
  const body = {
    reason: await askReason(context),
    dryRun: flags.dryRun === true,
    ...(statuses && { statuses }),
  }
  const given = { params: namedBatch(id), body }
  const cloned = await context.client.call('POST /api/batches/{batchId}/clone', given)
  await context.show.one<Created>(cloned, CREATED)
}
