// Withdrawing jobs that no worker has taken: of what is held, of a cancelled batch, or of members who leave.
import type { Tx } from '../../db/connection/db.ts'
import { type JobFilter, listOutstandingJobs } from '../../db/state/waits.ts'
import { onWithdrawn } from '../../domain/decide/settle.ts'
import { isUnsettled } from '../../domain/state/facts.ts'
import type { BatchTransaction, Engine } from './engine.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'
import { type SentJob, stopJobs } from './stops.ts'

/** Returns how many. Of the whole batch, or of these members, or for this worker. Bounded by the workers' limits on outstanding jobs. */
export async function withdrawJobs(
  batchTx: BatchTransaction,
  why: string,
  filter: JobFilter = {},
): Promise<number> {
  const { tx, draft, engine } = batchTx
  // A job that this transaction has settled is still in the table: its deadline passed, say, and that blew the fuse.
  const outstanding = (await listOutstandingJobs(tx, draft.batch.id, filter)).filter(
    ({ stepId }) => {
      const step = draft.steps.get(stepId)
      return step === undefined || isUnsettled(step)
    },
  )
  if (outstanding.length === 0) return 0
  const withdrawnIds = await takeBack(engine, tx, outstanding, why)
  const withdrawn = outstanding.filter(({ jobId }) => withdrawnIds.has(jobId))
  if (withdrawn.length === 0) return 0
  const members = withdrawn.flatMap(({ memberId }) => (memberId === null ? [] : [memberId]))
  await loadMembersWithSteps(batchTx, members, { stepIds: withdrawn.map(({ stepId }) => stepId) })
  if (members.length < withdrawn.length) await loadBatchSteps(batchTx)
  for (const { stepId } of withdrawn) onWithdrawn(draft, draft.steps.get(stepId)!, why)
  return withdrawn.length
}

/** Returns the ids of the jobs that were withdrawn. Workers whose jobs are at a broker are told not to start them. */
async function takeBack(
  engine: Engine,
  tx: Tx,
  jobs: readonly SentJob[],
  why: string,
): Promise<ReadonlySet<string>> {
  const { storedJobs } = engine.bus
  const ids = jobs.map(({ jobId }) => jobId)
  if (storedJobs) return new Set(await storedJobs.withdrawIn(tx, ids))
  // Also those in the outbox: they may have reached the broker although the relay does not know.
  await stopJobs(engine, tx, jobs, why)
  return new Set()
}
