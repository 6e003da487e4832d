// Whether a job without a result is still on its way. Waiting in the queue is no reason to give a job up, and neither is a long run:
// it is lost only when nothing has been seen of it for its timeout and the grace.

/** A result may still be on its way this long after the timeout. */
const GRACE_SEC = 120

/** Where the bus sees a job, or its result. */
export type JobPlace =
  | { readonly is: 'queued' | 'leased' | 'answered' | 'dead' | 'gone' | 'unknown' }
  | { readonly is: 'lapsed'; readonly renewedAt: Date }

export interface AwaitedJob {
  readonly timeoutSec: number
  /** No worker starts it later. */
  readonly deadlineAt: Date
  /** When its worker last announced itself; null when it never did. */
  readonly workerSeenAt: Date | null
}

/** How long after its last sign of life a job is lost, in seconds. */
export const waitAfterSign = (timeoutSec: number): number => timeoutSec + GRACE_SEC

/**
 * How long to wait for the job's result; null when it is lost. Call it when the time has come that was set at its last sign of life:
 * a job that is gone has then been silent for its timeout and the grace.
 */
export function awaitUntil(job: AwaitedJob, place: JobPlace, now: Date): Date | null {
  const since = lastSign(job, place, now)
  if (since === null) return null
  const until = new Date(+since + waitAfterSign(job.timeoutSec) * 1_000)
  return until > now ? until : null
}

function lastSign(
  { deadlineAt, workerSeenAt }: AwaitedJob,
  place: JobPlace,
  now: Date,
): Date | null {
  switch (place.is) {
    case 'queued':
    case 'leased':
    case 'answered':
    // The engine settles dead letters with their reason, which this would hide.
    case 'dead':
      return now
    case 'lapsed':
      // Its worker died, and the next one with a free slot takes the job over.
      return workerSeenAt !== null && workerSeenAt > place.renewedAt
        ? workerSeenAt
        : place.renewedAt
    case 'unknown':
      // It may be queued to its last moment.
      return deadlineAt
    case 'gone':
      return null
  }
}
