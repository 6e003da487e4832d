// Which job a piece of code runs for, across everything it starts. A custom function may forget to await a promise: when that fails, the
// process finds the job to blame here instead of ending.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { JobTrace } from './job-trace.ts'

export interface OwningJob {
  readonly jobId: string
  readonly functionName: string
  /** Fails the job; false when it has ended already. */
  fail(error: unknown): boolean
  /** The error's reason without the job's secrets. */
  reasonOf(error: unknown): string
  /** Its run in a trace, if it is traced. */
  readonly trace?: Pick<JobTrace, 'context' | 'call'>
  /** The job waits for its turn at a service, until the returned function is called. */
  waits?(): () => void
}

const jobs = new AsyncLocalStorage<OwningJob>()

export const runOwned = <T>(job: OwningJob, run: () => T): T => jobs.run(job, run)

export const owningJob = (): OwningJob | undefined => jobs.getStore()
