// What `matoolkit batch …` changes. Whatever cannot be taken back is looked at first and asked about; what was seen then goes with
// the request, so that nothing is decided about a batch that has become another meanwhile.
import { basename } from 'node:path'
import type { Json } from '../../../domain/json.ts'
import { MatoolkitError } from '../../../errors.ts'
import { type CommandContext, type Flags, idOf, sayRest, textFlag } from '../../command-context.ts'
import { readBytes } from '../../files.ts'
import { confirm } from '../../terminal/confirm.ts'
import { printable } from '../../terminal/io.ts'
import { type Column, countText, type Row, timeCell } from '../../terminal/show.ts'
import { batchPath, memberPath, showBatch } from './lists.ts'
import { failOnFailedPhase, waitUntilIdle } from './wait.ts'

/** Why: from the flag, else from the person; a script must give it. */
export async function askReason({ io, flags }: CommandContext): Promise<string> {
  const given = textFlag(flags, 'reason') ?? (io.canAsk ? await io.ask('Reason: ') : '')
  if (given.trim() !== '') return given
  throw new MatoolkitError('USAGE', { reason: 'This needs a reason: --reason <text>.' })
}

const CREATED: readonly Column[] = [
  ['batch', 'batchId'],
  ['members', 'memberCount'],
  [
    'phases',
    ({ availablePhases }) => (availablePhases as string[] | undefined)?.join(', ') ?? null,
  ],
  ['dry run', ({ isDryRun }) => (isDryRun ? 'yes: nothing was done' : null)],
]
const ADDED: readonly Column[] = [
  ['batch', 'batchId'],
  ['added', 'addedCount'],
  ['taken back', 'takenBackCount'],
  ['skipped', 'skippedCount'],
  ['dry run', ({ isDryRun }) => (isDryRun ? 'yes: nothing was done' : null)],
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
    context.show.say(`Begin it with: matoolkit batch advance ${Number(body.batchId)}`)
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
  const skipped = body.skipped as unknown as Row[]
  for (const { reason } of skipped) context.show.say(printable(`  skipped: ${String(reason)}`))
  sayRest(context, skipped.length, Number(body.skippedCount), 'batch members shows who is in it')
}

/** The members of a batch that something concerns. */
const membersIn = (batch: Row): number => Number((batch.members as Row).active)

const named = (batch: Row): string => `batch ${Number(batch.id)} of "${String(batch.runbookName)}"`

export async function runRemoveMember(
  context: CommandContext,
  [id, member]: readonly string[],
  flags: Flags,
): Promise<void> {
  const path = await memberPath(context, id, member)
  const { body: story } = await context.client.get<{ member: Row }>(path)
  const who = `${String(story.member.memberKey)} (member ${Number(story.member.id)})`
  const what = `${who} is removed from batch ${id}: open steps are cancelled and removal steps run.`
  await confirm(context, { what, members: 1 })
  const query = { reason: textFlag(flags, 'reason') }
  const { body } = await context.client.delete(path, { query })
  await context.show.one(body, [
    ['batch', 'batchId'],
    ['member', 'memberId'],
    ['status', 'status'],
  ])
}

async function showChanged(context: CommandContext, body: Row): Promise<void> {
  await showBatch(context, body)
  if (body.isDryRun) context.show.say('This was a dry run: nothing was done.')
}

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
    const reason = `Batch ${id} has nothing to be advanced to: its last phase has begun, or its times come from the data source.`
    throw new MatoolkitError('REFUSED', { reason })
  }
  const batch = body.batch as Row
  const dryRun = flags.dryRun === true
  const begins =
    next === 'init' ? `The init of ${named(batch)}` : `Phase "${next}" of ${named(batch)}`
  const what = `${begins} begins for ${countText(membersIn(batch), 'member')}.`
  if (!dryRun) await confirm(context, { what, members: membersIn(batch) })
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
  if (!flags.wait || dryRun) return showChanged(context, done.body)
  await showRest(context, id!)
}

async function showRest(context: CommandContext, id: string): Promise<void> {
  const rest = await waitUntilIdle(context, id)
  await showChanged(context, rest)
  failOnFailedPhase(context, rest)
}

/** A decision about the whole batch. `warns` says what it means for its members, where that cannot be taken back. */
interface Decision {
  readonly verb: string
  readonly warns?: (batch: Row) => string
  readonly fields?: (flags: Flags) => Record<string, Json>
}

export const batchAction =
  ({ verb, warns, fields }: Decision) =>
  async (context: CommandContext, [id]: readonly string[], flags: Flags): Promise<void> => {
    const path = batchPath(id)
    let ifMatch: string | null = null
    if (warns && !flags.dryRun) {
      const seen = await context.client.get<Row>(path)
      const batch = seen.body.batch as Row
      await confirm(context, { what: warns(batch), members: membersIn(batch) })
      if (!flags.yes) ifMatch = seen.etag
    }
    const reason = await askReason(context)
    const body: Json = { reason, dryRun: flags.dryRun === true, ...fields?.(flags) }
    const done = await context.client.post<Row>(`${path}/${verb}`, { body, ifMatch })
    const overdue = (done.body.overdue ?? []) as unknown as Row[]
    for (const { phaseName, dueAt } of overdue) {
      context.io.err(
        `warning: phase ${String(phaseName)}, due at ${timeCell(String(dueAt))}, begins at once`,
      )
    }
    if (!flags.wait || flags.dryRun) return showChanged(context, done.body)
    await showRest(context, id!)
  }

export const runCancel = batchAction({
  verb: 'cancel',
  warns: (batch) =>
    `${capital(named(batch))} ends for its ${membersIn(batch)} active members. It cannot be taken up again.`,
})
export const runHold = batchAction({ verb: 'hold' })
export const runResume = batchAction({ verb: 'resume' })
export const runRestart = batchAction({ verb: 'restart' })
export const runReschedule = (
  context: CommandContext,
  [id, start]: readonly string[],
  flags: Flags,
) =>
  batchAction({
    verb: 'reschedule',
    fields: () => ({ startTime: start!, allowOverdue: flags.allowOverdue === true }),
  })(context, [id!], flags)

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

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

const STEP_FIELDS: readonly Column[] = [
  ['step', 'step.id'],
  ['batch', 'step.batchId'],
  ['member', 'step.memberKey'],
  ['phase', 'step.phaseName'],
  ['name', 'step.stepName'],
  ['status', 'step.status'],
  ['dry run', ({ isDryRun }) => (isDryRun ? 'yes: nothing was done' : null)],
]

/** A decision about one step, named by its id. */
export const stepAction =
  (verb: 'skip' | 'done' | 'accept-late') =>
  async (context: CommandContext, [stepId]: readonly string[], flags: Flags): Promise<void> => {
    const path = `/api/steps/${idOf('step', stepId)}`
    const { body: seen, etag } = await context.client.get<Row>(path)
    const { stepName, memberKey, status } = seen.step as Row
    const what = `Step "${String(stepName)}" of ${String(memberKey ?? 'the batch')}, ${String(status)}: ${STEP_WORDS[verb]}.`
    if (!flags.dryRun) await confirm(context, { what, members: 1 })
    const outputs = verb === 'done' ? { outputs: outputsFrom(flags) } : {}
    const body: Json = {
      reason: await askReason(context),
      dryRun: flags.dryRun === true,
      ...outputs,
    }
    const done = await context.client.post(`${path}/${verb}`, { body, ifMatch: etag })
    await context.show.one(done.body, STEP_FIELDS)
  }

const STEP_WORDS = {
  skip: 'it need not be done, and its member goes on after it',
  done: 'it counts as done by hand, and its member goes on after it',
  'accept-late': 'the success that came too late counts after all',
} as const

/** `--outputs name=value,…`: what the step would have put out. */
function outputsFrom(flags: Flags): Record<string, Json> {
  const text = textFlag(flags, 'outputs')
  if (text === undefined) return {}
  const pairs = text.split(',').map((pair) => /^([^=]+)=(.*)$/s.exec(pair))
  if (pairs.includes(null)) {
    const reason = `--outputs is "${text}", but must be such as UserId=4711,Mail=ada@contoso.com.`
    throw new MatoolkitError('USAGE', { reason })
  }
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]))
}
