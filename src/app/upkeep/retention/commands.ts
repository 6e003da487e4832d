// `matoolkit db purge` and `erase`: retention by hand. They open the database themselves, so an embedded one
// must not be in use; a running system does the same by its settings.

import { userInfo } from 'node:os'
import { openSigningKey } from '../../../api/evidence/signing-key.ts'
import { EXIT, MatoolkitError, messageOf } from '../../../base/errors/errors.ts'
import { realClock } from '../../../base/run/clock.ts'
import { type Config, loadConfig } from '../../../base/settings/config.ts'
import { countText } from '../../../base/text/count-text.ts'
import type { Flags } from '../../../cli/program/command-context.ts'
import type { Io } from '../../../cli/terminal/io.ts'
import { openShow } from '../../../cli/terminal/output.ts'
import { confirm } from '../../../cli/terminal/prompt.ts'
import type { Column, OutputFormat } from '../../../cli/terminal/show.ts'
import { type EndedBatch, listEndedBatches } from '../../../db/orders/retention.ts'
import type { Runtime } from '../../roles/runtime.ts'
import { openIdle } from '../snapshots.ts'
import { openArchivePlace } from './archive-place.ts'
import {
  DAYS_AFTER_END_MIN,
  eraseEnded,
  purgeEnded,
  type RetentionContext,
  whyNotYet,
} from './retain.ts'

export interface RetentionFlags {
  readonly batch?: readonly string[]
  readonly olderThan?: string
  readonly reason?: string
  readonly dryRun?: true
  readonly yes?: true
  readonly output?: OutputFormat
}

export type RetentionAct = 'purge' | 'erase'

/** What became of a batch. */
interface Handled {
  readonly result: string
  readonly rows: number | null
  readonly file: string | null
  readonly reason?: string
}
type BatchRow = ReturnType<typeof shown> & Handled

const COLUMNS: readonly Column<BatchRow>[] = [
  ['BATCH', 'batchId'],
  ['RUNBOOK', 'runbookName'],
  ['STATUS', 'status'],
  ['ENDED', 'endedAt'],
  ['MEMBERS', 'members'],
  ['RESULT', 'result'],
  ['ROWS', 'rows'],
  ['FILE', 'file', 'whole'],
]

const PER_PAGE = 100
const DAY_MS = 86_400_000

const WHAT: Readonly<Record<RetentionAct, string>> = {
  purge:
    'lose their members, steps, attempts and events, after these are written to evidence packs. The counters stay. This cannot be undone',
  erase:
    'lose the personal data of their members. Counts, events and audit stay, and nothing can be done with them any more. This cannot be undone',
}

export async function runRetention(
  act: RetentionAct,
  flags: RetentionFlags,
  io: Io,
): Promise<void> {
  const config = loadConfig()
  const days = daysOf(flags, config)
  const show = openShow(flags.output, io)
  const clock = realClock()
  const runtime = await openIdle(config, clock)
  try {
    const chosen = await choose(runtime, flags, days)
    const open = chosen.filter((batch) => whyNot(act, batch) === null)
    if (!flags.dryRun && open.length > 0)
      await confirm(
        { io, flags: { ...flags } as Flags },
        { what: `${countText(open.length, 'batch', 'batches')} ${WHAT[act]}.`, members: 0 },
      )
    const context: RetentionContext = {
      db: runtime.db,
      clock: runtime.engine.clock,
      place: openArchivePlace(config, clock),
      actor: `local:${userInfo().username}`,
      reason: flags.reason ?? `by "matoolkit db ${act}"`,
      signingKey: () => openSigningKey(config, config.databaseUrl === null),
    }
    const rows: BatchRow[] = []
    for (const batch of chosen) {
      const done = await handle(act, context, batch, flags.dryRun === true)
      rows.push({ ...shown(batch), ...done })
      if (done.result === 'failed') io.exitCode = EXIT.failed
      if (show.format === 'table')
        io.err(`${rows.length} of ${chosen.length}: batch ${batch.batchId} ${done.result}`)
    }
    const empty = `No batch that ended more than ${countText(days, 'day')} ago is left to ${act}.`
    const whole = { act, dryRun: flags.dryRun === true, days, batches: rows }
    await show.list({ whole, rows, columns: COLUMNS, empty })
  } finally {
    await runtime.close()
  }
}

const shown = ({ batchId, runbookName, status, endedAt, members }: EndedBatch) => ({
  batchId,
  runbookName,
  status,
  endedAt: endedAt.toISOString(),
  members,
})

const whyNot = (act: RetentionAct, batch: EndedBatch): string | null => {
  if (act === 'erase' && batch.erasedAt !== null) return null
  return whyNotYet(batch)
}

async function handle(
  act: RetentionAct,
  context: RetentionContext,
  batch: EndedBatch,
  isDryRun: boolean,
): Promise<Handled> {
  const why = whyNot(act, batch)
  const nothing = { rows: null, file: batch.packFile }
  if (why !== null) return { result: `kept: ${why}`, ...nothing }
  if (isDryRun) return { result: `would ${act}`, rows: batch.steps, file: null }
  try {
    if (act === 'erase')
      return { result: 'erased', rows: await eraseEnded(context, batch), file: null }
    return { result: 'purged', ...(await purgeEnded(context, batch)) }
  } catch (error) {
    if (!(error instanceof MatoolkitError)) throw error
    return { result: 'failed', ...nothing, reason: messageOf(error) }
  }
}

async function choose(
  { db, engine }: Runtime,
  flags: RetentionFlags,
  days: number,
): Promise<EndedBatch[]> {
  const batchIds = flags.batch?.map(Number) ?? null
  const endedBefore = new Date(+engine.clock.now() - days * DAY_MS)
  const chosen: EndedBatch[] = []
  for (let afterId = 0; ; ) {
    const page = await listEndedBatches(db, { endedBefore, batchIds, afterId, limit: PER_PAGE })
    chosen.push(...page)
    if (page.length < PER_PAGE) break
    afterId = page.at(-1)!.batchId
  }
  const missing = batchIds?.find((id) => chosen.every(({ batchId }) => batchId !== id))
  if (missing !== undefined) {
    const reason = `batch ${missing} does not exist, has not ended at least ${days} days ago, or is purged`
    throw new MatoolkitError('REFUSED', { reason })
  }
  return chosen
}

function daysOf({ olderThan, batch }: RetentionFlags, config: Config): number {
  const given = olderThan ?? (batch ? String(DAYS_AFTER_END_MIN) : (config.batchesKeptDays ?? ''))
  const days = Number(String(given).replace(/d$/, ''))
  if (String(given) === '' || !Number.isInteger(days) || days < DAYS_AFTER_END_MIN) {
    const reason = `"${String(given)}" is no number of days from ${DAYS_AFTER_END_MIN} on. Name batches with --batch, or their age with --older-than 90d.`
    throw new MatoolkitError('USAGE', { reason })
  }
  return days
}
