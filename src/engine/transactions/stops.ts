// Holds and cancels of jobs that are at a broker: workers are told, with the change itself, which jobs they must not start any more, and told
// again at each hello. A worker gives such a job back unrun, and its step waits as if the job had been withdrawn.

import { chunksOf } from '../../base/run/chunks.ts'
import type { OutgoingMessage } from '../../bus/bus.ts'
import { enqueue } from '../../bus/outbox.ts'
import type { Tx } from '../../db/connection/db.ts'
import { listStoppedJobs } from '../../db/state/waits.ts'
import { messageIdOf, STOPPED_MAX } from '../../domain/messages/messages.ts'
import type { Engine } from './engine.ts'

export interface SentJob {
  readonly workerId: string
  readonly jobId: string
}

/** Also of jobs that run already: their worker ignores it. */
export async function stopJobs(
  { clock }: Engine,
  tx: Tx,
  jobs: readonly SentJob[],
  because: string,
): Promise<void> {
  const now = clock.now()
  const messages: OutgoingMessage[] = []
  for (const [workerId, same] of Map.groupBy(jobs, (job) => job.workerId)) {
    const ids = same.map(({ jobId }) => jobId)
    for (const jobIds of chunksOf(ids, STOPPED_MAX))
      messages.push({
        topic: 'worker-jobs',
        messageId: messageIdOf.workerStop(workerId, now, messages.length),
        type: 'worker-stop',
        workerId,
        body: { workerId, jobIds: [...jobIds], because },
      })
  }
  if (messages.length > 0) await enqueue(tx, messages, now)
}

/** A worker that has just started, or missed a message, learns it now. */
export async function repeatStops(engine: Engine, tx: Tx, workerId: string): Promise<void> {
  // Those of its jobs that nobody has taken were withdrawn; it has no others but those it runs.
  if (engine.bus.storedJobs) return
  const jobIds = await listStoppedJobs(tx, workerId, STOPPED_MAX)
  const jobs = jobIds.map((jobId) => ({ workerId, jobId }))
  await stopJobs(engine, tx, jobs, 'it is held or cancelled')
}
