// Jobs without a result: the bus is asked where they are, so that a job which still waits or runs is never given up.
import type { MessagePlace } from '../bus/bus.ts'
import type { DueJob } from '../db/state/waits.ts'
import { awaitUntil, type JobPlace } from '../domain/decide/lost-job.ts'
import { messageIdOf } from '../domain/messages/messages.ts'
import type { BatchTransaction, Engine } from '../engine/transactions/engine.ts'

/** A job of which nothing was seen. `isLapsed`: its message is still there, and must go before the step is tried again. */
export interface LostJob extends DueJob {
  readonly isLapsed: boolean
}

export interface Judgement {
  readonly awaited: readonly (DueJob & { readonly until: Date })[]
  readonly lost: readonly LostJob[]
}

export async function judgeJobs(engine: Engine, due: readonly DueJob[]): Promise<Judgement> {
  const places = await placesOf(engine, due)
  const now = engine.clock.now()
  const awaited: (DueJob & { until: Date })[] = []
  const lost: LostJob[] = []
  for (const [index, job] of due.entries()) {
    const place = places[index]!
    const until = awaitUntil(job, place, now)
    if (until) awaited.push({ ...job, until })
    else lost.push({ ...job, isLapsed: place.is === 'lapsed' })
  }
  return { awaited, lost }
}

/** A job that is gone may have a result that nobody has handled yet: after an outage timers run before the queue is empty. */
async function placesOf({ bus }: Engine, due: readonly DueJob[]): Promise<JobPlace[]> {
  const places: JobPlace[] = await bus.locate(
    'worker-jobs',
    due.map(({ jobId }) => jobId),
  )
  const gone = [...places.keys()].filter((index) => places[index]!.is === 'gone')
  const ids = gone.map((index) => messageIdOf.workerResult(due[index]!.jobId))
  const results = await bus.locate('worker-results', ids)
  for (const [at, index] of gone.entries())
    if (isComing(results[at]!)) places[index] = { is: 'answered' }
  return places
}

const isComing = ({ is }: MessagePlace): boolean =>
  is === 'queued' || is === 'leased' || is === 'lapsed'

/** Takes lapsed jobs out of the queue, where they would run as well as their retries, and returns those of the chunk that are lost now: a worker may have taken one over. */
export async function withdrawLapsed(
  { tx, engine }: BatchTransaction,
  chunk: readonly LostJob[],
): Promise<readonly LostJob[]> {
  const lapsed = chunk.filter(({ isLapsed }) => isLapsed).map(({ jobId }) => jobId)
  if (lapsed.length === 0) return chunk
  const gone = new Set(await engine.bus.storedJobs!.withdrawIn(tx, lapsed, 'lapsed'))
  return chunk.filter(({ jobId, isLapsed }) => !isLapsed || gone.has(jobId))
}
