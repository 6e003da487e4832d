// One quota of a service, as the service scopes it: a gate that closes when a call is throttled, and places for so many calls at once as
// the service bears. Calls go first come first served, and an aborted one leaves nothing behind. Usage keeps accruing while a tenant is
// throttled, so each early call would make the throttling longer for everyone.
import type { Clock } from '../../base/run/clock.ts'
import { owningJob } from '../jobs/owning-job.ts'
import {
  afterAnswer,
  afterRefusal,
  type Concurrency,
  concurrencyOf,
  pressureIn,
} from './concurrency.ts'

/** A gate opened or closed, or a refusal met it closed. */
export interface GateChange {
  /** Such as `Microsoft Graph directory`. */
  readonly name: string
  readonly isClosed: boolean
  /** False for a further refusal. */
  readonly isNew: boolean
  /** By how much it closes, or how long it was closed. */
  readonly seconds: number
  /** Calls that may go at once from now on. */
  readonly concurrency: number
}

/** What operators see of a quota. */
export interface ThrottleState {
  readonly name: string
  /** Null while the gate is open. */
  readonly closedUntil: Date | null
  /** Calls that may go at once. */
  readonly concurrency: number
  /** Calls under way. */
  readonly calls: number
  /** Calls that wait for the gate or for a place. */
  readonly queued: number
  /** How often the service throttled a call. */
  readonly throttled: number
  /** How long the gate has been closed in all, including what is left. */
  readonly throttledSec: number
}

export interface ThrottleOptions {
  readonly clock: Clock
  readonly name: string
  /** Concurrent calls at the start; default: the maximum. */
  readonly start?: number
  /** Default: no limit. */
  readonly max?: number
  /** False keeps the concurrency at the start value: to compare. */
  readonly isAdaptive?: boolean
  readonly onGate?: (change: GateChange) => void
}

/** A call under way. It ends once; what is told after its end changes nothing. */
interface Passage {
  /** Answered: the service had room for it. */
  answered(headers: Headers): void
  /** Throttled: closes the gate for so long, for the kind of calls that the scope names. */
  refused(waitMs: number, scope: string | null): void
  /** Ended without an answer that says anything about the quota. */
  leave(): void
}

type CallKind = 'read' | 'write'

interface Waiter {
  readonly kind: CallKind
  readonly turn: PromiseWithResolvers<Passage>
}

export class Throttle {
  readonly #options: ThrottleOptions
  readonly #max: number
  #concurrency: Concurrency
  readonly #closedUntilMs: Record<CallKind, number> = { read: -Infinity, write: -Infinity }
  /** In the order in which they came. */
  readonly #queue = new Set<Waiter>()
  #calls = 0
  /** Answers to calls from before the latest overload say nothing new. */
  #overloads = 0
  /** The most calls at once since then. */
  #peak = 0
  #opening: { readonly atMs: number; readonly timer: AbortController } | null = null
  #throttled = 0
  #throttledMs = 0
  #closedSinceMs: number | null = null

  constructor(options: ThrottleOptions) {
    const { max = Infinity, start = max } = options
    this.#options = options
    this.#max = max
    this.#concurrency = concurrencyOf(Math.min(start, max))
  }

  /** Resolves when the call may be sent. Throws the signal's reason once it aborts. */
  async enter(signal: AbortSignal, kind: CallKind): Promise<Passage> {
    signal.throwIfAborted()
    const waiter: Waiter = { kind, turn: Promise.withResolvers() }
    this.#queue.add(waiter)
    this.#letIn()
    if (!this.#queue.has(waiter)) return waiter.turn.promise
    const resume = owningJob()?.waits?.()
    const giveUp = () => {
      if (!this.#queue.delete(waiter)) return
      waiter.turn.reject(signal.reason)
      this.#awaitOpening()
    }
    signal.addEventListener('abort', giveUp)
    try {
      const passage = await waiter.turn.promise
      if (signal.aborted) passage.leave()
      signal.throwIfAborted()
      return passage
    } finally {
      signal.removeEventListener('abort', giveUp)
      resume?.()
    }
  }

  /** The only place where a call begins: after every change that may make room or open the gate. */
  #letIn(): void {
    for (const waiter of this.#queue) {
      if (this.#calls >= Math.floor(this.#concurrency.limit)) break
      if (this.#isClosed(waiter.kind)) continue
      this.#queue.delete(waiter)
      waiter.turn.resolve(this.#begin())
    }
    this.#awaitOpening()
  }

  #begin(): Passage {
    this.#noteOpen()
    this.#calls += 1
    this.#peak = Math.max(this.#peak, this.#calls)
    const sentDuring = this.#overloads
    let isUnderWay = true
    const end = (learn: () => void) => {
      if (!isUnderWay) return
      isUnderWay = false
      this.#calls -= 1
      learn()
      this.#letIn()
    }
    return {
      leave: () => end(() => undefined),
      answered: (headers) => end(() => this.#learn(headers, sentDuring)),
      refused: (waitMs, scope) =>
        end(() => {
          this.#shrink(sentDuring)
          this.#close(waitMs, kindsIn(scope))
        }),
    }
  }

  #learn(headers: Headers, sentDuring: number): void {
    const { clock, isAdaptive = true } = this.#options
    if (!isAdaptive || sentDuring < this.#overloads) return
    const pressure = pressureIn(headers, this.#concurrency.limit)
    const answer = { pressure, isFelt: this.#queue.size > 0, atMs: +clock.now() }
    this.#concurrency = afterAnswer(this.#concurrency, answer, this.#max)
  }

  #shrink(sentDuring: number): void {
    const { clock, isAdaptive = true } = this.#options
    const isFirst = sentDuring === this.#overloads
    const refusal = { peak: this.#peak, left: this.#calls, isFirst, atMs: +clock.now() }
    if (isAdaptive) this.#concurrency = afterRefusal(this.#concurrency, refusal)
    this.#throttled += 1
    if (!isFirst) return
    this.#overloads += 1
    this.#peak = this.#calls
  }

  #isClosed(kind: CallKind): boolean {
    return this.#closedUntilMs[kind] > +this.#options.clock.now()
  }

  #close(waitMs: number, kinds: readonly CallKind[]): void {
    this.#noteOpen()
    const nowMs = +this.#options.clock.now()
    const wasUntilMs = this.#latestMs()
    // Never shortens an earlier closing.
    for (const kind of kinds)
      this.#closedUntilMs[kind] = Math.max(this.#closedUntilMs[kind], nowMs + waitMs)
    const addedMs = Math.max(0, this.#latestMs() - Math.max(nowMs, wasUntilMs))
    this.#throttledMs += addedMs
    const isNew = waitMs > 0 && this.#closedSinceMs === null
    if (isNew) this.#closedSinceMs = nowMs
    this.#tell({ isClosed: true, isNew }, addedMs)
  }

  #latestMs(): number {
    return Math.max(this.#closedUntilMs.read, this.#closedUntilMs.write)
  }

  /** One timer for all that wait at the gate, and none when nobody does: a stopping worker must not wait for it. */
  #awaitOpening(): void {
    const { clock } = this.#options
    const nowMs = +clock.now()
    const closings = Object.values(this.#closedUntilMs).filter((untilMs) => untilMs > nowMs)
    const atMs = this.#queue.size > 0 && closings.length > 0 ? Math.min(...closings) : null
    if (this.#opening?.atMs === atMs) return
    this.#opening?.timer.abort()
    this.#opening = null
    if (atMs === null) return
    const timer = new AbortController()
    this.#opening = { atMs, timer }
    void clock.wait(atMs - nowMs, timer.signal).then(() => {
      if (timer.signal.aborted) return
      this.#opening = null
      this.#letIn()
    })
  }

  #noteOpen(): void {
    if (this.#closedSinceMs === null || this.#latestMs() > +this.#options.clock.now()) return
    const closedMs = this.#latestMs() - this.#closedSinceMs
    this.#closedSinceMs = null
    this.#tell({ isClosed: false, isNew: true }, closedMs)
  }

  #tell(change: Pick<GateChange, 'isClosed' | 'isNew'>, ms: number): void {
    const { name, onGate } = this.#options
    const concurrency = Math.floor(this.#concurrency.limit)
    onGate?.({ ...change, name, seconds: ms / 1_000, concurrency })
  }

  /** Nobody uses it, and it has nothing to remember. */
  isIdle(): boolean {
    return this.#calls === 0 && this.#queue.size === 0 && this.state().closedUntil === null
  }

  state(): ThrottleState {
    this.#noteOpen()
    const untilMs = this.#latestMs()
    return {
      name: this.#options.name,
      closedUntil: untilMs > +this.#options.clock.now() ? new Date(untilMs) : null,
      concurrency: Math.floor(this.#concurrency.limit),
      calls: this.#calls,
      queued: this.#queue.size,
      throttled: this.#throttled,
      throttledSec: this.#throttledMs / 1_000,
    }
  }
}

const BOTH: readonly CallKind[] = ['read', 'write']

/**
 * `x-ms-throttle-scope: Tenant_Application/ReadWrite/{app}/{tenant}`; the second part is Read, Write or ReadWrite. Source: "Microsoft
 * Graph service-specific throttling limits" (learn.microsoft.com/graph/throttling-limits), identity and access. Without it, both close.
 */
function kindsIn(scope: string | null): readonly CallKind[] {
  const limit = scope?.split('/')[1]?.toLowerCase()
  return limit === 'read' || limit === 'write' ? [limit] : BOTH
}
