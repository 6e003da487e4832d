// The loop of every subscriber: receive a chunk, call the handler, ack, abandon or dead-letter each message as it says. Leases are
// renewed while the handler runs, and at most lanes × chunk messages are in flight.
//
// Stopping is graceful: nothing more is received, the handlers' `stopping` signal aborts, and abandoned messages are free at once.
// A handler that does not return keeps its leases until they lapse; abandoning for it would run its work twice at the same time.
import type { Clock } from '../clock.ts'
import { everyLoop, type Service } from '../service.ts'
import type { Bus, ReceivedMessage, Subscription } from './bus.ts'

export type MessageOutcome =
  | 'ack'
  | 'abandon'
  | { readonly deadLetter: string; readonly description: string }

export interface HandlerSignals {
  /** The consumer stops: start nothing, return `abandon` for what is not started. */
  readonly stopping: AbortSignal
  /** A lease of this chunk is lost: another consumer may receive the message. */
  readonly leaseLost: AbortSignal
}

/** Returns one outcome per message, in order. When it throws, the whole chunk is abandoned. */
export type Handler = (
  messages: readonly ReceivedMessage[],
  signals: HandlerSignals,
) => Promise<readonly MessageOutcome[]>

export interface ConsumerOptions {
  readonly name: string
  readonly bus: Bus
  readonly subscription: Subscription
  readonly handle: Handler
  readonly clock: Clock
  /** The most messages of one handler call. */
  readonly chunk: number
  /** Concurrent handler calls. */
  readonly lanes?: number
  readonly pollIntervalMs?: number
  /** The handler threw, or the bus did not answer. The consumer continues. */
  readonly onError: (error: unknown) => void
  /** Handled messages whose lease was lost: they are delivered again. */
  readonly onLost?: (messages: readonly ReceivedMessage[]) => void
}

export interface Consumer extends Service {
  /** Receives and handles one chunk. Returns its number of messages. */
  runOnce(stopping?: AbortSignal): Promise<number>
}

const POLL_INTERVAL_MS = 1_000
/** Two renewals may fail before the lease ends. */
const RENEWALS_PER_LEASE = 3
const RETRY_AFTER_MS = 500
const BACKOFF_MIN_MS = 100
const BACKOFF_MAX_MS = 20_000

/** How long an abandoned message waits. Ten deliveries take about 45 s, so a short outage dead-letters nothing. */
export function backoffMs(deliveryCount: number): number {
  return Math.min(BACKOFF_MIN_MS * 2 ** (deliveryCount - 1), BACKOFF_MAX_MS)
}

export function makeConsumer(options: ConsumerOptions): Consumer {
  const { name, bus, subscription, clock, onError } = options
  const lanes = Array.from({ length: options.lanes ?? 1 }, (_, lane) =>
    everyLoop({
      name: `${name} lane ${lane + 1}`,
      clock,
      intervalMs: options.pollIntervalMs ?? POLL_INTERVAL_MS,
      runOnce: async (_now, stopping) => {
        while (!stopping.aborted && (await runOnce(options, stopping)) > 0);
      },
      onError,
    }),
  )
  let unlisten: Promise<(() => Promise<void>) | undefined> | undefined
  const nudgeAll = () => {
    for (const lane of lanes) lane.nudge()
  }
  return {
    name,
    runOnce: (stopping = new AbortController().signal) => runOnce(options, stopping),
    start: () => {
      for (const lane of lanes) lane.start()
      // Without hints the consumer polls every second, so a failure to listen is only reported.
      unlisten = bus.listen?.(subscription, nudgeAll).catch((error: unknown) => {
        onError(error)
        return undefined
      })
    },
    stop: async (giveUp) => {
      await Promise.all(lanes.map((lane) => lane.stop(giveUp)))
      const stopListening = await unlisten
      unlisten = undefined
      await stopListening?.()
    },
  }
}

async function runOnce(options: ConsumerOptions, stopping: AbortSignal): Promise<number> {
  const messages = await options.bus.receive(options.subscription, options.chunk)
  if (messages.length === 0) return 0
  const outcomes = await handleUnderLease(options, messages, stopping)
  await carryOut(options, messages, outcomes, stopping)
  return messages.length
}

/** Runs the handler and renews the leases meanwhile. */
async function handleUnderLease(
  options: ConsumerOptions,
  messages: readonly ReceivedMessage[],
  stopping: AbortSignal,
): Promise<readonly MessageOutcome[]> {
  const done = new AbortController()
  const leaseLost = new AbortController()
  const renewing = keepRenewing(options, messages, done.signal, leaseLost)
  try {
    const outcomes = await options.handle(messages, { stopping, leaseLost: leaseLost.signal })
    if (outcomes.length === messages.length) return outcomes
    throw new Error(`${options.name}: ${outcomes.length} outcomes for ${messages.length} messages`)
  } catch (error) {
    options.onError(error)
    return messages.map(() => 'abandon')
  } finally {
    done.abort()
    await renewing
  }
}

async function keepRenewing(
  { bus, clock, onError }: ConsumerOptions,
  messages: readonly ReceivedMessage[],
  done: AbortSignal,
  leaseLost: AbortController,
): Promise<void> {
  let leased = messages
  for (;;) {
    await clock.wait(bus.leaseMs / RENEWALS_PER_LEASE, done)
    if (done.aborted || leased.length === 0) return
    try {
      const lost = new Set(await bus.renew(leased))
      if (lost.size > 0) leaseLost.abort()
      leased = leased.filter((message) => !lost.has(message))
    } catch (error) {
      onError(error)
    }
  }
}

/**
 * Retries calls to the bus for as long as a lease lasts. A database restarts within a second; without retries the chunk stayed
 * leased for the rest of its minute.
 */
function retryingOn({ bus, clock, onError }: ConsumerOptions, stopping: AbortSignal) {
  const untilMs = clock.now().getTime() + bus.leaseMs
  return async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (stopping.aborted || clock.now().getTime() >= untilMs) throw error
        onError(error)
        await clock.wait(RETRY_AFTER_MS, stopping)
      }
    }
  }
}

async function carryOut(
  options: ConsumerOptions,
  messages: readonly ReceivedMessage[],
  outcomes: readonly MessageOutcome[],
  stopping: AbortSignal,
): Promise<void> {
  const { bus, onLost } = options
  const retrying = retryingOn(options, stopping)
  const handled = messages.filter((_, index) => outcomes[index] === 'ack')
  const lost = handled.length > 0 ? await retrying(() => bus.ack(handled)) : []
  if (lost.length > 0) onLost?.(lost)
  if (handled.length === messages.length) return
  const others = messages.map((message, index) => ({
    message,
    outcome: outcomes[index]!,
    delayMs: stopping.aborted ? 0 : backoffMs(message.deliveryCount),
  }))
  const groups = Map.groupBy(others, ({ outcome, delayMs }) => JSON.stringify([outcome, delayMs]))
  for (const [first, ...rest] of groups.values()) {
    const { outcome, delayMs } = first!
    const same = [first!, ...rest].map(({ message }) => message)
    if (outcome === 'abandon') await retrying(() => bus.abandon(same, delayMs))
    else if (outcome !== 'ack') {
      await retrying(() => bus.deadLetter(same, outcome.deadLetter, outcome.description))
    }
  }
}
