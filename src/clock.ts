// Time as a thing that is handed in. Everything that needs the time or must wait asks a Clock; this is the only file that reads
// the machine's clock or sets a timer for it. Three clocks, one interface: the real one, which follows the database's time; an
// accelerated one for demonstrations; and a virtual one that stands still until a test, rehearsal or simulation turns it.
//
// No clock ever goes back: a status that was due stays due, and "created ≤ sent ≤ ended" holds on every row.

export interface Clock {
  readonly kind: 'real' | 'accelerated' | 'virtual'
  now(): Date
  /** Resolves after `ms` of this clock's time, or as soon as `signal` aborts. Never rejects: ask the signal which it was. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

/** The two clocks of a machine. Injected so that a test can be a machine whose clock is wrong. */
export interface Machine {
  /** What the machine believes the time to be. Jumps when somebody, or NTP, sets it. */
  wallMs(): number
  /** Counts evenly from some start and never jumps. */
  steadyMs(): number
}

export const MACHINE: Machine = { wallMs: () => Date.now(), steadyMs: () => performance.now() }

/** setTimeout fires at once when asked for more than this (24.8 days), so longer waits are made of several. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1

export interface RealClock extends Clock {
  readonly machine: Machine
  /** From now on the time is `ms` at the steady reading `atSteadyMs`. */
  setTime(ms: number, atSteadyMs: number): void
  /** False until the first `setTime`. */
  isSet(): boolean
  /** How far this clock runs ahead of the time last set, because it had to stand still rather than go back. */
  aheadMs(): number
}

/**
 * Starts on the machine's time and then follows whatever `setTime` says (db/time.ts says the database's). Between two settings
 * it counts by the steady clock, so somebody setting the machine's clock in between moves nothing. Only the first setting may
 * go back: before it nothing but log lines can have read the clock, and a fast machine must not stay fast for their sake.
 */
export function realClock(machine: Machine = MACHINE): RealClock {
  let offsetMs = machine.wallMs() - machine.steadyMs()
  let isSet = false
  let lastReadMs = Number.NEGATIVE_INFINITY
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
      offsetMs = ms - atSteadyMs
    },
    isSet: () => isSet,
    aheadMs: () => Math.max(0, lastReadMs - trueMs()),
  }
}

export interface AcceleratedClockOptions {
  /** Seconds of this clock in one real second. */
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
  /** Turns the clock on by `ms`, waking every wait that falls due on the way, in order of time and then of asking. */
  advance(ms: number): Promise<void>
  /** When the next wait falls due, or null when nobody waits. */
  nextWakeAt(): Date | null
}

interface Waiting {
  readonly dueMs: number
  readonly resolve: () => void
}

/** One turn of the event loop: what was just woken has run until it waits for something again. */
const oneTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * Stands still until `advance`. `settle` is awaited after every wake and decides when the woken code has come to rest; the
 * default suits code without I/O, anything that talks to a database must give its own. Only for throw-away databases.
 */
export function virtualClock(startAt: Date, settle: () => Promise<void> = oneTurn): VirtualClock {
  let nowMs = +startAt
  let turning = false
  const waits = new Set<Waiting>()
  const earliest = () => {
    let first: Waiting | undefined
    // A set iterates in order of asking, so equal times keep that order.
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
