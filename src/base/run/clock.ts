// Time is injected: everything that needs the time or waits uses a Clock, and only this file reads the machine's clock or sets
// timers. Three clocks, one interface: the real one follows the database's time, an accelerated one serves demonstrations, and
// a virtual one stands still until a test or simulation advances it.
// No clock ever goes back: a status that was due stays due, and "created ≤ sent ≤ ended" holds on every row.

export interface Clock {
  readonly kind: 'real' | 'accelerated' | 'virtual'
  /** Of an accelerated one: its seconds per second of the machine. */
  readonly factor?: number
  /** How far the time will soon jump: what is to last from now on must outlast it. */
  comingJumpMs?(): number
  now(): Date
  /** Resolves after `ms` of this clock's time, or when `signal` aborts. Never rejects: check the signal. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

/** Seconds of this clock per second of the machine: a page counts at this rate between two answers. */
export const rateOf = ({ kind, factor = 1 }: Clock): number =>
  kind === 'virtual' ? 0 : kind === 'real' ? 1 : factor

/** The two clocks of a machine, injected so that tests can use a wrong one. */
export interface Machine {
  /** The machine's wall clock. Jumps when a person or NTP sets it. */
  wallMs(): number
  /** Monotonic; never jumps. */
  steadyMs(): number
}

export const MACHINE: Machine = { wallMs: () => Date.now(), steadyMs: () => performance.now() }

/** setTimeout fires at once for longer delays (24.8 days), so longer waits are split. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1

export interface RealClock extends Clock {
  readonly machine: Machine
  /** Sets the time to `ms` at the steady reading `atSteadyMs`. */
  setTime(ms: number, atSteadyMs: number): void
  /** False until the first `setTime`. */
  isSet(): boolean
  /** How far this clock is ahead of the time last set, because it stands still rather than goes back. */
  aheadMs(): number
  /** How far a time is ahead of this clock's true time, at a steady reading. */
  behindMs(ms: number, atSteadyMs: number): number
  /** The next `setTime` will put the clock forward by so much. Returns for how long that has been known. */
  expectJump(ms: number): number
  comingJumpMs(): number
}

/**
 * Starts on the machine's time, then follows `setTime` (db/time.ts passes the database's time). In between it counts by the
 * steady clock, so changes of the machine's clock have no effect. Only the first `setTime` may go back: before it only log
 * lines have read the clock.
 */
export function realClock(machine: Machine = MACHINE): RealClock {
  let offsetMs = machine.wallMs() - machine.steadyMs()
  let isSet = false
  let lastReadMs = Number.NEGATIVE_INFINITY
  let jump: { readonly ms: number; readonly sinceSteadyMs: number } | null = null
  const trueMs = () => machine.steadyMs() + offsetMs
  return {
    kind: 'real',
    machine,
    now: () => {
      lastReadMs = Math.max(lastReadMs, trueMs())
      return new Date(lastReadMs)
    },
    wait: realWait,
    setTime: (ms, atSteadyMs) => {
      if (!isSet) lastReadMs = Number.NEGATIVE_INFINITY
      isSet = true
      jump = null
      offsetMs = ms - atSteadyMs
    },
    behindMs: (ms, atSteadyMs) => ms - atSteadyMs - offsetMs,
    expectJump: (ms) => {
      const steadyMs = machine.steadyMs()
      jump = { ms, sinceSteadyMs: jump?.sinceSteadyMs ?? steadyMs }
      return steadyMs - jump.sinceSteadyMs
    },
    comingJumpMs: () => jump?.ms ?? 0,
    isSet: () => isSet,
    aheadMs: () => Math.max(0, lastReadMs - trueMs()),
  }
}

export interface AcceleratedClockOptions {
  /** Seconds of this clock per real second. */
  readonly factor: number
  readonly startAt: Date
  readonly machine?: Machine
}

/** Runs `factor` times as fast as the machine, from `startAt`. Only for throw-away databases: see `requireClockFits`. */
export function acceleratedClock({
  factor,
  startAt,
  machine = MACHINE,
}: AcceleratedClockOptions): Clock {
  if (!(factor > 0 && Number.isFinite(factor))) throw new RangeError(`clock factor ${factor}`)
  const startSteadyMs = machine.steadyMs()
  return {
    kind: 'accelerated',
    factor,
    now: () => new Date(+startAt + (machine.steadyMs() - startSteadyMs) * factor),
    wait: (ms, signal) => realWait(ms / factor, signal),
  }
}

async function realWait(ms: number, signal?: AbortSignal): Promise<void> {
  for (let leftMs = ms; leftMs > 0 && !signal?.aborted; leftMs -= TIMEOUT_MAX_MS) {
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(leftMs, TIMEOUT_MAX_MS))
      signal?.addEventListener('abort', done)
    })
  }
}

export interface VirtualClock extends Clock {
  /** Advances by `ms`, waking every wait that falls due, in order of time and then of call. */
  advance(ms: number): Promise<void>
  /** When the next wait falls due; null when nothing waits. */
  nextWakeAt(): Date | null
}

interface Waiting {
  readonly dueMs: number
  readonly resolve: () => void
}

/** One turn of the event loop: woken code runs until it waits again. */
const oneTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * Stands still until `advance`. `settle` is awaited after every wake until the woken code is idle; the default suits code
 * without I/O. Only for throw-away databases.
 */
export function virtualClock(startAt: Date, settle: () => Promise<void> = oneTurn): VirtualClock {
  let nowMs = +startAt
  let turning = false
  const waits = new Set<Waiting>()
  const earliest = () => {
    let first: Waiting | undefined
    // A set iterates in insertion order, so equal times keep it.
    for (const wait of waits) if (!first || wait.dueMs < first.dueMs) first = wait
    return first
  }
  const wakeUntil = async (endMs: number) => {
    await settle()
    for (let next = earliest(); next && next.dueMs <= endMs; next = earliest()) {
      nowMs = next.dueMs
      next.resolve()
      await settle()
    }
    nowMs = endMs
  }
  return {
    kind: 'virtual',
    now: () => new Date(nowMs),
    wait: (ms, signal) => {
      if (ms <= 0 || signal?.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          waits.delete(waiting)
          signal?.removeEventListener('abort', done)
          resolve()
        }
        const waiting = { dueMs: nowMs + ms, resolve: done }
        waits.add(waiting)
        signal?.addEventListener('abort', done)
      })
    },
    advance: async (ms) => {
      if (!(ms >= 0)) throw new RangeError(`advance by ${ms} ms: a clock never goes back`)
      if (turning) throw new Error('advance is already running: await it before the next')
      turning = true
      try {
        await wakeUntil(nowMs + ms)
      } finally {
        turning = false
      }
    },
    nextWakeAt: () => {
      const next = earliest()
      return next ? new Date(next.dueMs) : null
    },
  }
}
