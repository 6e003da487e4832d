// The loop of every subscriber: receive a chunk, call the handler, ack, abandon or dead-letter each message as it says. Leases are
// renewed while the handler runs, and at most lanes × chunk messages are in flight.
//
// While the database refuses for the moment (its disk is full, it restarts), all lanes wait together and no delivery is counted: the
// messages go back as if nobody had received them, as soon as that can be written. Good results once went to the dead letters in 45 s.
//
// Stopping is graceful: nothing more is received, the handlers' `stopping` signal aborts, and abandoned messages are free at once.
// A handler that does not return keeps its leases until they lapse; abandoning for it would run its work twice at the same time.

import { isCollision } from '../base/errors/transient.ts'
import type { Clock } from '../base/run/clock.ts'
import { everyLoop, type Service } from '../base/run/service.ts'
import type { Bus, ReceivedMessage, Subscription } from './bus.ts'
import { makeOutage, type Outage, reportingTo } from './outage.ts'

export type MessageOutcome =
  | 'ack'
  | 'abandon'
  | { readonly deadLetter: string; readonly description: string }

/** `release`: no delivery, for reasons outside the message. */
type Outcome = MessageOutcome | 'release'

export interface HandlerSignals {
  /** The consumer stops: start nothing, return `abandon` for what is not started. */
  readonly stopping: AbortSignal
  /** A lease of this chunk is lost: another consumer may receive the message. */
  readonly leaseLost: AbortSignal
}

/**
 * Returns one outcome per message, in order. When it throws, the whole chunk is abandoned, or released if the database refuses for the
 * moment.
 */
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
  /** Shared with others that wait for the same database. Without it, the beginning of an outage goes to `onError`. */
  readonly outage?: Outage
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

/** How long an abandoned message waits: ten deliveries take about 45 s. */
export function backoffMs(deliveryCount: number): number {
  return Math.min(BACKOFF_MIN_MS * 2 ** (deliveryCount - 1), BACKOFF_MAX_MS)
}

interface Running extends ConsumerOptions {
  readonly outage: Outage
}

export function makeConsumer(given: ConsumerOptions): Consumer {
  const { name, bus, subscription, clock, onError } = given
  const outage = given.outage ?? makeOutage(clock, reportingTo(onError))
  const options: Running = { ...given, outage }
  const lanes = Array.from({ length: options.lanes ?? 1 }, (_, lane) =>
    everyLoop({
      name: `${name} lane ${lane + 1}`,
      clock,
      intervalMs: options.pollIntervalMs ?? POLL_INTERVAL_MS,
      runOnce: (_now, stopping) => emptyQueue(options, stopping),
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
      unlisten = bus.listen(subscription, nudgeAll).catch((error: unknown) => {
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

/** Until nothing is visible. During an outage it stays here and tries again. */
async function emptyQueue(options: Running, stopping: AbortSignal): Promise<void> {
  const { outage } = options
  while (!stopping.aborted) {
    await outage.pause(stopping)
    if (stopping.aborted) return
    try {
      if ((await runOnce(options, stopping)) === 0) return
    } catch (error) {
      if (!outage.note(error)) throw error
    }
  }
}

async function runOnce(options: Running, stopping: AbortSignal): Promise<number> {
  const { bus, outage } = options
  const messages = await bus.receive(options.subscription, options.chunk)
  if (messages.length === 0) {
    outage.endIfQuiet()
    return 0
  }
  const outcomes = await handleUnderLease(options, messages, stopping)
  await carryOut(options, messages, outcomes, stopping)
  if (!outcomes.includes('release')) outage.end()
  return messages.length
}

/** Runs the handler and renews the leases meanwhile. */
async function handleUnderLease(
  options: Running,
  messages: readonly ReceivedMessage[],
  stopping: AbortSignal,
): Promise<readonly Outcome[]> {
  const done = new AbortController()
  const leaseLost = new AbortController()
  const renewing = keepRenewing(options, messages, done.signal, leaseLost)
  try {
    const outcomes = await options.handle(messages, { stopping, leaseLost: leaseLost.signal })
    if (outcomes.length === messages.length) return outcomes
    throw new Error(`${options.name}: ${outcomes.length} outcomes for ${messages.length} messages`)
  } catch (error) {
    if (options.outage.note(error)) return messages.map(() => 'release')
    options.onError(error)
    return messages.map(() => (isCollision(error) ? 'release' : 'abandon'))
  } finally {
    done.abort()
    await renewing
  }
}

async function keepRenewing(
  { bus, clock, onError, outage }: Running,
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
      if (!outage.note(error)) onError(error)
    }
  }
}

/**
 * Retries calls to the bus for as long as an outage or a lease lasts. Without retries the chunk stayed leased for the rest of its
 * minute, and then counted as delivered.
 */
function retryingOn({ bus, clock, onError, outage }: Running, stopping: AbortSignal) {
  const untilMs = clock.now().getTime() + bus.leaseMs
  return async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (stopping.aborted) throw error
        if (outage.note(error)) await outage.pause(stopping)
        else if (clock.now().getTime() >= untilMs) throw error
        else {
          onError(error)
          await clock.wait(RETRY_AFTER_MS, stopping)
        }
      }
    }
  }
}

async function carryOut(
  options: Running,
  messages: readonly ReceivedMessage[],
  outcomes: readonly Outcome[],
  stopping: AbortSignal,
): Promise<void> {
  const { bus, onLost, outage } = options
  const retrying = retryingOn(options, stopping)
  const handled = messages.filter((_, index) => outcomes[index] === 'ack')
  const lost = handled.length > 0 ? await retrying(() => bus.ack(handled)) : []
  if (lost.length > 0) onLost?.(lost)
  if (handled.length === messages.length) return
  const others = messages.map((message, index) => ({
    message,
    outcome: outcomes[index]!,
    delayMs: stopping.aborted ? 0 : Math.max(backoffMs(message.deliveryCount), outage.pauseMs()),
  }))
  const groups = Map.groupBy(others, ({ outcome, delayMs }) => JSON.stringify([outcome, delayMs]))
  for (const [first, ...rest] of groups.values()) {
    const { outcome, delayMs } = first!
    const same = [first!, ...rest].map(({ message }) => message)
    if (outcome === 'abandon') await retrying(() => bus.abandon(same, delayMs))
    else if (outcome === 'release') await retrying(() => bus.release(same, delayMs))
    else if (outcome !== 'ack') {
      await retrying(() => bus.deadLetter(same, outcome.deadLetter, outcome.description))
    }
  }
}
