// `matoolkit batch …`: the commands that change a batch. Irreversible ones read the batch first and ask for confirmation; the
// request carries the etag that was read, so a batch that changed in between is refused.
import { basename } from 'node:path'
import { MatoolkitError } from '../../../base/errors/errors.ts'
import { countText } from '../../../base/text/count-text.ts'
import type { Json } from '../../../base/text/json.ts'
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
import { type Column, DRY_RUN_FIELD, type Row, rowsIn } from '../../terminal/show.ts'
import { heldBatch, holdThenAsk } from '../hold-first.ts'
import { capital } from '../holds-in-force.ts'
import { batchPath } from './paths.ts'
import { showResult, waitAndShow } from './results.ts'

const CREATED: readonly Column[] = [
  ['batch', 'batchId'],
  ['members', 'memberCount'],
  [
    'phases',
    ({ availablePhases }) => (availablePhases as string[] | undefined)?.join(', ') ?? null,
  ],
  DRY_RUN_FIELD,
]
const ADDED: readonly Column[] = [
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

function sayWarnings({ io }: CommandContext, body: Row): void {
  for (const warning of (body.warnings ?? []) as string[]) io.err(printable(`warning: ${warning}`))
}

export async function runCreate(
  context: CommandContext,
  [runbook, file]: readonly string[],
  flags: Flags,
): Promise<void> {
  const form = await formOf(file!, { runbookName: runbook, reason: textFlag(flags, 'reason') })
  const query = { dryRun: flags.dryRun === true }
  const { body } = await context.client.post<Row>('/api/batches', { form, query, isKeyed: true })
  sayWarnings(context, body)
  await context.show.one(body as Json, CREATED)
  if (!flags.dryRun)
    context.show.say(`Start it with: matoolkit batch advance ${Number(body.batchId)}`)
}

export async function runAddMembers(
  context: CommandContext,
  [id, file]: readonly string[],
  flags: Flags,
): Promise<void> {
  const form = await formOf(file!, { reason: textFlag(flags, 'reason') })
  const query = { dryRun: flags.dryRun === true }
  const path = `${batchPath(id)}/members`
  const { body } = await context.client.post<Row>(path, { form, query, isKeyed: true })
  sayWarnings(context, body)
  await context.show.one(body as Json, ADDED)
  const skipped = rowsIn(body, 'skipped')
  for (const { reason } of skipped) context.show.say(printable(`  skipped: ${String(reason)}`))
  sayRest(
    context,
    skipped.length,
    Number(body.skippedCount),
    `for all members: batch members ${id}`,
  )
}

const activeMembersOf = (batch: Row): number => Number((batch.members as Row).active)

const nameOf = (batch: Row): string => `batch ${Number(batch.id)} of "${String(batch.runbookName)}"`

export async function runAdvance(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client } = context
  const path = batchPath(id)
  const { body, etag } = await client.get<Row>(path)
  const next = textFlag(flags, 'phase') ?? (body.nextPhase as string | null)
  if (next === null) {
    const reason = `Batch ${id} cannot be advanced: its last phase has started, or its times come from the data source.`
    throw new MatoolkitError('REFUSED', { reason })
  }
  const batch = body.batch as Row
  const dryRun = flags.dryRun === true
  const part =
    next === 'init' ? `The init of ${nameOf(batch)}` : `Phase "${next}" of ${nameOf(batch)}`
  const what = `${part} starts for ${countText(activeMembersOf(batch), 'member')}.`
  if (!dryRun) await confirm(context, { what, members: activeMembersOf(batch) })
  const reason = textFlag(flags, 'reason')
  const done = await client.post<Row>(`${path}/advance`, {
    body: {
      expectedPhase: next,
      allowStragglers: flags.allowStragglers === true,
      dryRun,
      ...(reason !== undefined && { reason }),
    },
    ifMatch: flags.yes ? null : etag,
  })
  if (!flags.wait || dryRun) return showResult(context, done.body)
  await waitAndShow(context, id!)
}

/** An action on the whole batch. `warns` states the consequence of an irreversible one. */
interface BatchAction {
  readonly verb: string
  readonly warns?: (batch: Row) => string
}

const batchAction =
  ({ verb, warns }: BatchAction) =>
  async (context: CommandContext, [id]: readonly string[], flags: Flags): Promise<void> => {
    const path = batchPath(id)
    let ifMatch: string | null = null
    if (warns && !flags.dryRun) {
      const seen = await context.client.get<Row>(path)
      const batch = seen.body.batch as Row
      await confirm(context, { what: warns(batch), members: activeMembersOf(batch) })
      if (!flags.yes) ifMatch = seen.etag
    }
    const reason = await askReason(context)
    const body: Json = { reason, dryRun: flags.dryRun === true }
    const done = await context.client.post<Row>(`${path}/${verb}`, { body, ifMatch })
    if (!flags.wait || flags.dryRun) return showResult(context, done.body)
    await waitAndShow(context, id!)
  }

export const runCancel = batchAction({
  verb: 'cancel',
  warns: (batch) =>
    `${capital(nameOf(batch))} ends for its ${activeMembersOf(batch)} active members. This cannot be undone.`,
})
/** Holds at once and asks for the reason afterwards: people are being cut over. */
export async function runHold(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  if (!flags.dryRun) return showResult(context, await holdThenAsk(context, heldBatch(id)))
  const reason = textFlag(flags, 'reason')
  const body: Json = { dryRun: true, ...(reason !== undefined && { reason }) }
  const done = await context.client.post<Row>(`${batchPath(id)}/hold`, { body })
  await showResult(context, done.body)
}

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
  const path = batchPath(id)
  const seen = await context.client.get<Row>(path)
  const batch = seen.body.batch as Row
  const dryRun = flags.dryRun === true
  const what = `Steps of ${nameOf(batch)} change tenants outside the change windows until ${until}.`
  if (until !== null && !dryRun) await confirm(context, { what, members: activeMembersOf(batch) })
  const body: Json = { until, reason: await askReason(context), dryRun }
  const ifMatch = flags.yes || dryRun ? null : seen.etag
  const done = await context.client.post<Row>(`${path}/override-window`, { body, ifMatch })
  await showResult(context, done.body)
  const steps = countText(Number(done.body.waitingSteps), 'step waits', 'steps wait')
  const jobs = countText(Number(done.body.outstandingJobs), 'job is out', 'jobs are out')
  context.show.say(
    until === null
      ? `${steps} for the window; ${jobs}. Outside a window, jobs that no worker has begun are taken back.`
      : `${steps} and may be sent now; ${jobs}.`,
  )
}

export const runRestart = batchAction({ verb: 'restart' })

export async function runClone(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const statuses = textFlag(flags, 'members')?.split(',')
  const body: Json = {
    reason: await askReason(context),
    dryRun: flags.dryRun === true,
    ...(statuses && { statuses }),
  }
  const done = await context.client.post(`${batchPath(id)}/clone`, { body, isKeyed: true })
  await context.show.one(done.body, CREATED)
}
