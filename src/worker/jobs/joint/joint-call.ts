// One call for several jobs of a function that acts on many. Each job keeps its own deadline, effects and answer. If the call fails and
// one of the jobs may be the reason, halves are tried, down to the one: it fails alone. What concerns nobody in particular, such as
// throttling, an outage or a missing right, fails all of them, and each is retried on its own terms.

import { messageOf } from '../../../base/errors/errors.ts'
import type { Clock } from '../../../base/run/clock.ts'
import type { FunctionCall, OnBehalfOf, WorkerFunction } from '../../functions/catalogue.ts'
import type { Changes, Tenant } from '../../functions/tenant.ts'
import { ApiError, type Secrets } from '../../http/api.ts'
import { abortingClock } from '../aborting-clock.ts'
import { type OwningJob, owningJob, runOwned } from '../owning-job.ts'

export interface JointCallOptions {
  readonly definition: WorkerFunction
  readonly tenant: Tenant
  readonly clock: Clock
  /** False: the worker takes one job per slot, and a higher job limit would only make a queue that no hold stops. */
  readonly takesMany: boolean
}

interface JoinedJob {
  readonly call: FunctionCall<unknown>
  readonly changes: Changes
  readonly owner: OwningJob | undefined
  readonly answer: PromiseWithResolvers<unknown>
}

class UnusableAnswers extends Error {
  override readonly name = 'UnusableResult'
}

/** A job's place in a joint call. */
export interface JointSeat {
  /** The most jobs that such a call takes, for the sender's job limit; null where the worker cannot take as many. */
  readonly togetherMax: number | null
  /** Resolves with the job's own answer. The call begins when every seat has joined or left. */
  join(call: FunctionCall<unknown>, changes: Changes): Promise<unknown>
  /** A job that ended before it joined is not waited for. */
  leave(): void
}

/** A seat for each of the jobs; none for one that is alone. */
export function seatsFor(count: number, options: JointCallOptions): (JointSeat | undefined)[] {
  const joint = count > 1 ? new JointCall(options) : null
  return Array.from({ length: count }, () => joint?.seat())
}

class JointCall {
  readonly #options: JointCallOptions
  /** Seats that have neither joined nor left. */
  readonly #awaited = new Set<JointSeat>()
  readonly #joined = new Map<FunctionCall<unknown>, JoinedJob>()
  readonly #abort = new AbortController()

  constructor(options: JointCallOptions) {
    this.#options = options
  }

  /** Take all seats before the first one joins. */
  seat(): JointSeat {
    const { definition, takesMany } = this.#options
    const seat: JointSeat = {
      togetherMax: takesMany ? definition.together!.limit : null,
      join: (call, changes) => {
        const answer = Promise.withResolvers<unknown>()
        // A job that timed out does not wait for it.
        answer.promise.catch(() => {})
        this.#joined.set(call, { call, changes, owner: owningJob(), answer })
        call.signal.addEventListener('abort', () => this.#abortIfAlone(call.signal.reason))
        seat.leave()
        return answer.promise
      },
      leave: () => {
        if (this.#awaited.delete(seat) && this.#awaited.size === 0) this.#begin()
      },
    }
    this.#awaited.add(seat)
    return seat
  }

  #begin(): void {
    const jobs = [...this.#joined.values()]
    const [first] = jobs
    if (!first) return
    const owner: OwningJob = {
      jobId: first.call.jobId,
      functionName: this.#options.definition.name,
      reasonOf: (error) => first.owner?.reasonOf(error) ?? messageOf(error),
      fail: (error) => jobs.map((job) => job.owner?.fail(error)).includes(true),
      // They share a slot, so one speaks for all.
      ...(first.owner?.waits ? { waits: first.owner.waits } : {}),
      ...traceFor(jobs),
    }
    void runOwned(owner, () => this.#run(jobs))
  }

  /** The call continues while anybody waits for it. */
  #abortIfAlone(reason: unknown): void {
    for (const { call } of this.#joined.values()) if (!call.signal.aborted) return
    this.#abort.abort(reason)
  }

  async #run(jobs: readonly JoinedJob[]): Promise<void> {
    const failure = await this.#attempt(jobs)
    if (failure !== null && jobs.length > 1) await this.#split(jobs)
  }

  /** Answers the jobs and returns null. Several jobs of which one may be at fault stay unanswered, and the failure is returned. */
  async #attempt(jobs: readonly JoinedJob[]): Promise<unknown> {
    const open = jobs.filter(({ call }) => !call.signal.aborted)
    for (const { call, answer } of jobs) if (call.signal.aborted) answer.reject(call.signal.reason)
    if (open.length === 0) return null
    try {
      if (open.length === 1) await answerAlone(this.#options.definition, open[0]!)
      else await this.#answer(open)
      return null
    } catch (error) {
      const isShared = this.#abort.signal.aborted || !mayConcernOne(error)
      if (open.length > 1 && !isShared) return error
      for (const { answer } of open) answer.reject(error)
      return open.length > 1 ? null : error
    }
  }

  async #answer(jobs: readonly JoinedJob[]): Promise<void> {
    const { definition, tenant, clock } = this.#options
    const { signal } = this.#abort
    const base = Object.create(tenant, { secrets: { value: NO_VAULT } }) as Tenant
    const onBehalfOf: OnBehalfOf = (calls) => ({
      tenant: base.countingFor(calls.map((call) => this.#joined.get(call)!.changes)),
      signal,
      clock: abortingClock(clock, signal),
      isRecent: calls.some(({ isRecent }) => isRecent !== false),
    })
    const calls = jobs.map(({ call }) => call)
    const answers: unknown = await definition.together!.run(calls, onBehalfOf)
    if (!Array.isArray(answers) || answers.length !== jobs.length) {
      const given = Array.isArray(answers) ? answers.length : 0
      const unusable = new UnusableAnswers(
        `${definition.name} ran for ${jobs.length} jobs and gave ${given} answers. Check in the tenant what was done, and correct the function.`,
      )
      for (const { answer } of jobs) answer.reject(unusable)
      return
    }
    for (const [at, { answer }] of jobs.entries())
      if (answers[at] instanceof Error) answer.reject(answers[at])
      else answer.resolve(answers[at])
  }

  /** Both halves and one job alone fail the same way: then nobody in particular is at fault, and the others need not try. */
  async #split(jobs: readonly JoinedJob[]): Promise<void> {
    const middle = Math.ceil(jobs.length / 2)
    let left = jobs.slice(0, middle)
    const right = jobs.slice(middle)
    let onLeft = await this.#attempt(left)
    const onRight = await this.#attempt(right)
    if (left.length > 1 && onLeft !== null && isSameFailure(onLeft, onRight)) {
      const alone = await this.#attempt(left.slice(0, 1))
      left = left.slice(1)
      if (isSameFailure(alone, onLeft)) {
        for (const { answer } of [...left, ...(right.length > 1 ? right : [])])
          answer.reject(onLeft)
        return
      }
      onLeft = left.length > 1 ? onLeft : await this.#attempt(left)
    }
    if (left.length > 1 && onLeft !== null) await this.#split(left)
    if (right.length > 1 && onRight !== null) await this.#split(right)
  }
}

/** The call is in the first job's trace, with links to the others. */
function traceFor(jobs: readonly JoinedJob[]): Pick<OwningJob, 'trace'> {
  const [trace, ...others] = jobs.flatMap(({ owner }) => owner?.trace ?? [])
  if (!trace) return {}
  const contexts = others.map(({ context }) => context)
  return { trace: { context: trace.context, call: (call) => trace.call(call, contexts) } }
}

const refuseVault = async (): Promise<never> => {
  throw new ApiError({
    status: null,
    code: 'SecretRefused',
    message:
      'A call for several jobs reads no secrets. Use the tenant of the job that names the secret.',
  })
}
const NO_VAULT: Secrets = { put: refuseVault, get: refuseVault, find: refuseVault }

async function answerAlone(
  { run }: WorkerFunction,
  { call, answer, owner }: JoinedJob,
): Promise<void> {
  const running = () => run(call)
  answer.resolve(await (owner ? runOwned(owner, running) : running()))
}

/** An error that another set of jobs might not meet. */
function mayConcernOne(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  const { status, isThrottled, isOutcomeUnknown, attempts } = error
  if (status === null || isThrottled || isOutcomeUnknown) return false
  return status < 500 ? status !== 401 && status !== 403 : attempts === 1
}

const isSameFailure = (one: unknown, other: unknown): boolean =>
  one !== null && other !== null && sayFailure(one) === sayFailure(other)

const sayFailure = (error: unknown): string =>
  error instanceof Error
    ? `${error.name} ${error.message.replace(/ \(request id [^)]*\)/, '')}`
    : String(error)
