// Withdrawing jobs that no worker has taken: of what is held, of a cancelled batch, or of members who leave.
import { type JobFilter, listOutstandingJobs } from '../db/waits.ts'
import { onWithdrawn } from '../domain/decide/settle.ts'
import { isUnsettled } from '../domain/facts.ts'
import type { BatchTransaction } from './engine.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'
import { stopJobs } from './stops.ts'

/** Returns how many. Of the whole batch, or of these members, or for this worker. Bounded by the workers' limits on outstanding jobs. */
export async function withdrawJobs(
  batchTx: BatchTransaction,
  why: string,
  filter: JobFilter = {},
): Promise<number> {
  const { tx, draft, engine } = batchTx
  const { withdrawIn } = engine.bus
  // A job that this transaction has settled is still in the table: its deadline passed, say, and that blew the fuse.
  const outstanding = (await listOutstandingJobs(tx, draft.batch.id, filter)).filter(
    ({ stepId }) => {
      const step = draft.steps.get(stepId)
      return step === undefined || isUnsettled(step)
    },
  )
  if (outstanding.length === 0) return 0
  if (!withdrawIn) {
    await stopJobs(engine, tx, outstanding, why)
    return 0
  }
  const withdrawnIds = new Set(
    await withdrawIn(
      tx,
      'worker-jobs',
      outstanding.map(({ jobId }) => jobId),
    ),
  )
  const withdrawn = outstanding.filter(({ jobId }) => withdrawnIds.has(jobId))
  if (withdrawn.length === 0) return 0
  const members = withdrawn.flatMap(({ memberId }) => (memberId === null ? [] : [memberId]))
  await loadMembersWithSteps(batchTx, members, { stepIds: withdrawn.map(({ stepId }) => stepId) })
  if (members.length < withdrawn.length) await loadBatchSteps(batchTx)
  for (const { stepId } of withdrawn) onWithdrawn(draft, draft.steps.get(stepId)!, why)
  return withdrawn.length
}
