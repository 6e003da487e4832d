// What a received message is to this worker, decided stage by stage: can it be read, is the job here already, is it done already, and is it
// done together with others. It changes nothing; `JobExecutor` acts on the answer.
import type { JobKeys } from '../../base/keys/job-keys.ts'
import type { ReceivedMessage } from '../../bus/bus.ts'
import type { Catalogue } from '../functions/catalogue.ts'
import { type Job, type RefusedJob, readJob, whyTooLate } from './job.ts'
import { type Companions, companionsOf } from './joint/companions.ts'
import type { LeasedJob, LeasedJobs } from './leased-jobs.ts'
import { digestOfJob, type JobDigest, type JobResult, type ResultCache } from './result-cache.ts'

export type Arrival =
  | { readonly is: 'recall' }
  | { readonly is: 'refused'; readonly refused: RefusedJob }
  /** Delivered again while it is here: only its lease is new. */
  | { readonly is: 'redelivered'; readonly leased: LeasedJob }
  /** Delivered again after it has run. */
  | { readonly is: 'answered'; readonly digest: JobDigest; readonly result: JobResult }
  | {
      readonly is: 'companion'
      readonly digest: JobDigest
      readonly job: Job
      readonly companions: Companions
    }
  /** Needs a slot of its own. */
  | { readonly is: 'single'; readonly digest: JobDigest; readonly job: Job }

/** What the worker knows when a message comes. */
export interface Knowledge {
  readonly workerId: string
  readonly keys?: JobKeys | null
  readonly leased: LeasedJobs
  readonly results: ResultCache
  readonly catalogue: Catalogue
}

export function arrivalOf(received: ReceivedMessage, known: Knowledge, now: Date): Arrival {
  if (received.type === 'worker-recall') return { is: 'recall' }
  const job = readJob(received, known.workerId, known.keys)
  if ('reason' in job) return { is: 'refused', refused: job }
  const digest = digestOfJob(received.body)
  const leased = known.leased.get(digest)
  if (leased) return { is: 'redelivered', leased }
  const result = known.results.get(digest)
  if (result) return { is: 'answered', digest, result }
  // A job that came too late is given back alone, at once.
  const companions = whyTooLate(job, now) === null ? companionsOf(job, known.catalogue) : null
  return companions ? { is: 'companion', digest, job, companions } : { is: 'single', digest, job }
}
