// Change windows of batches. Every transaction asks window-state.ts before it sends; here timers tell people once when a window closes
// with work left and when it opens, take back the jobs that no worker has begun, and an operator overrides the windows of a batch.
import {
  countChangesWaiting,
  listNotedBatches,
  listNotedWindows,
  listUnnotedBatches,
  listVersionsInUse,
  writeWindowClosed,
  writeWindowOverride,
} from '../db/change-windows.ts'
import { countText } from '../domain/count-text.ts'
import type { Batch } from '../domain/facts.ts'
import type { Runbook } from '../domain/runbook/read.ts'
import { isBatchEnded } from '../domain/transitions.ts'
import { openingText } from '../domain/windows/window-text.ts'
import { requireAccepted } from './batch-actions.ts'
import type { BatchTransaction, Engine } from './engine.ts'
import { orHoldBatch } from './hold-on-failure.ts'
import { setWindow } from './loading.ts'
import { changeBatch } from './locking.ts'
import { windowStateOf } from './window-state.ts'
import { withdrawJobs } from './withdraw.ts'

/** Tells of windows that have closed or opened since the last look. Returns how many. */
export async function reviewWindows(engine: Engine, actor: string): Promise<number> {
  const now = engine.clock.now()
  const news = await listNews(engine, now)
  for (const batchId of news)
    await orHoldBatch(engine, batchId, actor, () => changeBatch(engine, batchId, actor, tellWindow))
  return news.length
}

/** Batches whose window has opened or moved, and batches with work whose window is closed and that nobody was told of. */
async function listNews(engine: Engine, now: Date): Promise<number[]> {
  const { db } = engine
  const versions = new Map<number, Pick<Runbook, 'windows'>>()
  for (const { runbookId, runbookName, runbookVersion } of await listVersionsInUse(db))
    versions.set(runbookId, await engine.runbooks.windows(db, runbookName, runbookVersion))
  const stateOf = (runbookId: number, windowOverrideUntil: Date | null) =>
    windowStateOf(engine, versions.get(runbookId) ?? NO_WINDOWS, { windowOverrideUntil }, now)
  const news: number[] = []
  for (const noted of await listNotedWindows(db)) {
    const state = stateOf(noted.runbookId, noted.windowOverrideUntil)
    if (state.isOpen || +(noted.windowOpensAt ?? 0) !== +(state.until ?? 0))
      news.push(...(await listNotedBatches(db, noted)))
  }
  const closed = [...versions.keys()].filter((id) => !stateOf(id, null).isOpen)
  if (closed.length > 0) news.push(...(await listUnnotedBatches(db, closed, now)))
  return news
}

const NO_WINDOWS: Pick<Runbook, 'windows'> = { windows: null }

async function tellWindow(batchTx: BatchTransaction): Promise<void> {
  const { tx, draft } = batchTx
  const { batch, window, now } = draft
  if (window.isOpen) {
    if (batch.windowClosedAt === null) return
    if (!hasEnded(batch))
      draft.note('window_opened', 'the change window is open: waiting steps are sent')
    return writeWindowClosed(tx, batch.id, null)
  }
  const isNew = batch.windowClosedAt === null
  await writeWindowClosed(tx, batch.id, { at: batch.windowClosedAt ?? now, opensAt: window.until })
  if (!isNew) return
  await withdrawJobs(batchTx, 'the change window has closed', { mayChange: true })
  const counts = (await countChangesWaiting(tx, [batch.id])).get(batch.id)
  const back = draft.attempts.length
  const steps = countText((counts?.steps ?? 0) + back, 'step waits', 'steps wait')
  const running = (counts?.jobs ?? 0) - back
  const rest =
    running > 0
      ? `; ${countText(running, 'job has begun and ends', 'jobs have begun and end')}`
      : ''
  const freeze = window.freezeReason === null ? '' : `, freeze: ${window.freezeReason}`
  draft.note(
    'window_closed',
    `${steps} for the change window, which ${openingText(window)}${freeze}${rest}`,
  )
}

const hasEnded = ({ status, rollbackOpen, removalOpen }: Batch): boolean =>
  isBatchEnded(status) && rollbackOpen + removalOpen === 0

export interface OverrideOrder {
  readonly batchId: number
  readonly actor: string
  readonly reason: string
  /** Null ends an override. */
  readonly until: Date | null
}

/** Sends steps outside the change windows until then. */
export function overrideWindow(engine: Engine, order: OverrideOrder): Promise<void> {
  const { batchId, actor, reason, until } = order
  return changeBatch(engine, batchId, actor, async ({ tx, draft }) => {
    const { batch, now } = draft
    if (hasEnded(batch)) requireAccepted(`batch ${batchId} is already ${batch.status}`)
    if (until !== null && until <= now)
      requireAccepted(`the override would end at ${until.toISOString()}, which has passed`)
    const former = batch.windowOverrideUntil
    if (until === null && (former === null || former <= now))
      requireAccepted(`batch ${batchId} has no override of its change windows`)
    await writeWindowOverride(tx, batchId, until && { until, by: actor, reason })
    if (until === null) draft.note('window_override_ended', reason)
    else draft.note('window_overridden', `until ${until.toISOString()}: ${reason}`)
    batch.windowOverrideUntil = until
    batch.windowClosedAt = null
    setWindow(engine, draft)
  })
}
