// How fast workers are, from their results. Kept in the workers' rows, so that every orchestrator has the same
// picture and a restart forgets nothing; between two writes it is gathered here.
import type { Db } from '../../db/connection/db.ts'
import { type JobLimitFacts, notePaces } from '../../db/state/workers.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import { jobLimitOf, jobsShownBy, leastOf, onWayMsOf, runTimeOf } from '../../domain/decide/pace.ts'

/** Work sent ahead of a worker's slots. */
const AHEAD_MS = 150
/** Four writes a second cost nothing; one per chunk of results did. */
const WRITE_EVERY_MS = 250

interface Gathered {
  /** Results, and the jobs that they stand for. */
  results: number
  jobs: number
  sumMs: number
  onWayMs: number | null
}

export class WorkerPace {
  readonly #maxOutstanding: number
  readonly #aheadMs: number
  #gathered = new Map<string, Gathered>()
  readonly #full = new Set<string>()
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
  jobLimitOf(worker: Pick<JobLimitFacts, 'maxOutstanding' | 'slots' | 'jobMs' | 'pace'>): number {
    return jobLimitOf(worker, this.maxOutstandingOf(worker), this.#aheadMs)
  }

  /** Steps wait for the worker, and it has all jobs that it may have. */
  noteFull(workerId: string): void {
    this.#full.add(workerId)
  }

  /** Call it when the draft is committed. */
  note({ attempts, now }: Draft): void {
    for (const attempt of attempts) {
      const ms = runTimeOf(attempt, now)
      if (ms === null) continue
      const { workerId } = attempt
      const known = this.#gathered.get(workerId) ?? { results: 0, jobs: 0, sumMs: 0, onWayMs: null }
      known.results += 1
      known.jobs += jobsShownBy(attempt)
      known.sumMs += ms
      known.onWayMs = leastOf(known.onWayMs, onWayMsOf(attempt, now))
      this.#gathered.set(workerId, known)
    }
  }

  /** Writes what was gathered, now and then. True when a job limit has risen. */
  async write(db: Db, now: Date): Promise<boolean> {
    if (this.#gathered.size === 0 || +now - this.#writtenAtMs < WRITE_EVERY_MS) return false
    const gathered = this.#gathered
    this.#gathered = new Map()
    this.#writtenAtMs = +now
    const seen = [...gathered].map(([workerId, { results, jobs, sumMs, onWayMs }]) => ({
      workerId,
      jobs,
      meanMs: sumMs / jobs,
      onWayMs,
      isFull: this.#full.delete(workerId),
      isJoint: jobs > results,
    }))
    const changed = await notePaces(db, seen, (worker) => this.jobLimitOf(worker), +now)
    return changed.some(({ before, after }) => this.jobLimitOf(after) > this.jobLimitOf(before))
  }
}
