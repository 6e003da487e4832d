// How fast workers are, from the run times of their results. Kept in the workers' rows, so that every orchestrator has the same
// picture and a restart forgets nothing; between two writes it is gathered here.
import type { Db } from '../../db/connection/db.ts'
import { addRunTimes, type JobLimitFacts } from '../../db/state/workers.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import { jobLimitOf, jobsShownBy, runTimeOf } from '../../domain/decide/job-limit.ts'

/** Work sent ahead of a worker's slots. */
const AHEAD_MS = 2_000
/** Four writes a second cost nothing; one per chunk of results did. */
const WRITE_EVERY_MS = 250

interface RunTimes {
  jobs: number
  sumMs: number
}

export class WorkerPace {
  readonly #maxOutstanding: number
  readonly #aheadMs: number
  #gathered = new Map<string, RunTimes>()
  #writtenAtMs = Number.NEGATIVE_INFINITY

  /** `aheadMs`: only an accelerated clock needs another. */
  constructor(maxOutstanding: number, { aheadMs = AHEAD_MS } = {}) {
    this.#maxOutstanding = maxOutstanding
    this.#aheadMs = aheadMs
  }

  /** The most jobs that any worker may have outstanding. */
  maxOutstandingOf(worker: Pick<JobLimitFacts, 'maxOutstanding'> | null): number {
    return worker?.maxOutstanding ?? this.#maxOutstanding
  }

  /** The jobs that this worker may have outstanding now. */
  jobLimitOf(worker: Pick<JobLimitFacts, 'maxOutstanding' | 'slots' | 'jobMs'>): number {
    return jobLimitOf(worker, this.maxOutstandingOf(worker), this.#aheadMs)
  }

  /** Call it when the draft is committed. */
  note({ attempts, now }: Draft): void {
    for (const attempt of attempts) {
      const ms = runTimeOf(attempt, now)
      if (ms === null) continue
      const jobs = jobsShownBy(attempt)
      const known = this.#gathered.get(attempt.workerId)
      if (known) {
        known.jobs += jobs
        known.sumMs += ms
      } else this.#gathered.set(attempt.workerId, { jobs, sumMs: ms })
    }
  }

  /** Writes what was gathered, now and then. True when a job limit has risen. */
  async write(db: Db, now: Date): Promise<boolean> {
    if (this.#gathered.size === 0 || +now - this.#writtenAtMs < WRITE_EVERY_MS) return false
    const gathered = this.#gathered
    this.#gathered = new Map()
    this.#writtenAtMs = +now
    const times = [...gathered].map(([workerId, { jobs, sumMs }]) => ({
      workerId,
      jobs,
      meanMs: sumMs / jobs,
    }))
    const changed = await addRunTimes(db, times)
    return changed.some(
      ({ before, ...worker }) =>
        this.jobLimitOf(worker) > this.jobLimitOf({ ...worker, jobMs: before }),
    )
  }
}
