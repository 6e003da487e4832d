// Change windows of batches. Every transaction asks window-state.ts before it sends; here timers tell people once when a window closes
// with work left and when it opens, take back the jobs that no worker has begun, and an operator overrides the windows of a batch.

import { countText } from '../../base/text/count-text.ts'
import {
  countChangesWaiting,
  listNotedBatches,
  listNotedWindows,
  listUnnotedBatches,
  listVersionsInUse,
} from '../../db/orders/change-windows.ts'
import { listOutstandingJobs } from '../../db/state/waits.ts'
import { noteClosed, noteOpened, overrideWindows } from '../../domain/decide/change-window.ts'
import { messageIdOf } from '../../domain/messages/messages.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { isUnsettled } from '../../domain/state/facts.ts'
import { openingText } from '../../domain/windows/window-text.ts'
import type { BatchTransaction, Engine } from '../transactions/engine.ts'
import { orHoldBatch } from '../transactions/hold-on-failure.ts'
import { setWindow } from '../transactions/loading.ts'
import { changeBatch } from '../transactions/locking.ts'
import { windowStateOf } from '../transactions/window-state.ts'
import { withdrawJobs } from '../transactions/withdraw.ts'
import { requireAccepted } from './batch-actions.ts'

/** Tells of windows that have closed or opened since the last look. Returns how many. */
export async function reviewWindows(engine: Engine, actor: string): Promise<number> {
  const now = engine.clock.now()
  const news = await listNews(engine, now)
  for (const { batchId, hasOpenedSince } of news)
    await orHoldBatch(engine, batchId, actor, () =>
      changeBatch(engine, batchId, actor, (batchTx) => tellWindow(batchTx, hasOpenedSince)),
    )
  return news.length
}

interface WindowNews {
  readonly batchId: number
  /** It was open since it was noted as closed, and nobody looked meanwhile. */
  readonly hasOpenedSince: boolean
}

/** Batches whose window has opened or moved, and batches with work whose window is closed and that nobody was told of. */
async function listNews(engine: Engine, now: Date): Promise<WindowNews[]> {
  const { db } = engine
  const versions = new Map<number, Pick<Runbook, 'windows'>>()
  for (const { runbookId, runbookName, runbookVersion } of await listVersionsInUse(db))
    versions.set(runbookId, await engine.runbooks.windows(db, runbookName, runbookVersion))
  const stateOf = (runbookId: number, windowOverrideUntil: Date | null) =>
    windowStateOf(engine, versions.get(runbookId) ?? NO_WINDOWS, { windowOverrideUntil }, now)
  const news: WindowNews[] = []
  const add = (batchIds: readonly number[], hasOpenedSince: boolean) =>
    news.push(...batchIds.map((batchId) => ({ batchId, hasOpenedSince })))
  for (const noted of await listNotedWindows(db)) {
    const { runbookId, windowOpensAt, windowOverrideUntil } = noted
    const state = stateOf(runbookId, windowOverrideUntil)
    if (state.isOpen || +(windowOpensAt ?? 0) !== +(state.until ?? 0))
      add(await listNotedBatches(db, noted), windowOpensAt !== null && windowOpensAt <= now)
  }
  const closed = [...versions.keys()].filter((id) => !stateOf(id, null).isOpen)
  if (closed.length > 0) add(await listUnnotedBatches(db, closed, now), false)
  return news
}

const NO_WINDOWS: Pick<Runbook, 'windows'> = { windows: null }

async function tellWindow(batchTx: BatchTransaction, hasOpenedSince: boolean): Promise<void> {
  const { tx, draft } = batchTx
  const { batch, window } = draft
  if (window.isOpen) return noteOpened(draft)
  if (!noteClosed(draft, hasOpenedSince)) return
  await withdrawJobs(batchTx, 'the change window has closed', { mayChange: true })
  const counts = (await countChangesWaiting(tx, [batch.id])).get(batch.id)
  const begun = await whatHasBegun(batchTx)
  const waiting = (counts?.steps ?? 0) + (counts?.jobs ?? 0) - begun.count
  const steps = countText(waiting, 'step waits', 'steps wait')
  const rest =
    begun.count > 0
      ? `; ${begun.isExact ? '' : 'at most '}${countText(begun.count, 'job has begun and ends', 'jobs have begun and end')}`
      : ''
  const freeze = window.freezeReason === null ? '' : `, freeze: ${window.freezeReason}`
  draft.note(
    'window_closed',
    `${steps} for the change window, which ${openingText(window)}${freeze}${rest}`,
  )
}

/**
 * Jobs that a worker took before the close. One that it took and did not begin comes back within moments, and one that it answered is
 * not with it any more: counting all jobs without a result once told of 33 where 6 had begun.
 */
async function whatHasBegun({
  tx,
  draft,
  engine: { bus },
}: BatchTransaction): Promise<{ readonly count: number; readonly isExact: boolean }> {
  const jobs = await listOutstandingJobs(tx, draft.batch.id, { mayChange: true })
  const out = jobs.flatMap(({ stepId, jobId }) => {
    const step = draft.steps.get(stepId)
    return step === undefined || isUnsettled(step) ? [jobId] : []
  })
  // A broker does not tell which of them a worker has.
  if (!bus.storedJobs) return { count: out.length, isExact: false }
  const results = out.map(messageIdOf.workerResult)
  return { count: await bus.storedJobs.countRunningIn(tx, out, results), isExact: true }
}

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
  return changeBatch(engine, batchId, actor, async ({ draft }) => {
    requireAccepted(overrideWindows(draft, until, reason))
    setWindow(engine, draft)
  })
}
