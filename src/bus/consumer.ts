// The loop of every subscriber: take a chunk, hand it to the handler, do with each message what the handler says. Leases are
// renewed while the handler runs. A lane takes the next chunk only when it is done with the last, so at most lanes × chunk
// messages are in flight, however long the queue. Everything is in `runOnce`; the loops around it come from service.ts.
//
// Stopping is graceful: no new chunk is taken, the handlers' `stopping` signal aborts, and what they then give back goes to
// others at once. A handler that does not return keeps its leases until they end by themselves: giving its messages away
// while it still works on them would have two consumers do the same thing at the same time.
import type { Clock } from '../clock.ts'
import { everyLoop, type Service } from '../service.ts'
import type { Bus, ReceivedMessage, Subscription } from './bus.ts'

export type MessageOutcome =
  | 'ack'
  | 'abandon'
  | { readonly deadLetter: string; readonly description: string }

export interface HandlerSignals {
  /** The consumer is asked to stop: begin nothing new, answer `abandon` for what was not begun. */
  readonly stopping: AbortSignal
  /** A message of this chunk is no longer ours: somebody else may be given it. */
  readonly leaseLost: AbortSignal
}

/** One outcome per message, in their order. Throwing gives the whole chunk back. */
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
  /** Messages handed to one call of the handler. */
  readonly chunk: number
  /** Calls of the handler at the same time. */
  readonly lanes?: number
  readonly pollIntervalMs?: number
  /** A handler that threw, a bus that did not answer. The consumer carries on. */
  readonly onError: (error: unknown) => void
  /** Messages that were handled, but whose lease had ended: they will be handled again. */
  readonly onLost?: (messages: readonly ReceivedMessage[]) => void
}

export interface Consumer extends Service {
  /** Takes one chunk and sees it through. Returns how many messages there were. */
  runOnce(stopping?: AbortSignal): Promise<number>
}

const POLL_INTERVAL_MS = 1_000
/** Two renewals may fail before the lease ends. */
const RENEWALS_A_LEASE = 3
const ASK_AGAIN_AFTER_MS = 500
const BACKOFF_MIN_MS = 100
const BACKOFF_MAX_MS = 20_000

/** How long a message that could not be handled stays away. Ten tries take about 45 s, so a short outage kills nothing. */
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
      // Without hints the consumer is a second slower and otherwise the same, so failing to get them is only reported.
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

/** Runs the handler and keeps the leases alive meanwhile. A handler that throws has given every message back. */
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
  let held = messages
  for (;;) {
    await clock.wait(bus.leaseMs / RENEWALS_A_LEASE, done)
    if (done.aborted || held.length === 0) return
    try {
      const lost = new Set(await bus.renew(held))
      if (lost.size > 0) leaseLost.abort()
      held = held.filter((message) => !lost.has(message))
    } catch (error) {
      onError(error)
    }
  }
}

/**
 * Asks a bus that does not answer again, for as long as a lease lasts. A database that restarts is away for a second; without
 * asking again the chunk in hand then stayed away for the rest of its minute.
 */
function insistingOn({ bus, clock, onError }: ConsumerOptions, stopping: AbortSignal) {
  const untilMs = clock.now().getTime() + bus.leaseMs
  return async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (stopping.aborted || clock.now().getTime() >= untilMs) throw error
        onError(error)
        await clock.wait(ASK_AGAIN_AFTER_MS, stopping)
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
  const insist = insistingOn(options, stopping)
  const settled = messages.filter((_, index) => outcomes[index] === 'ack')
  const lost = settled.length > 0 ? await insist(() => bus.ack(settled)) : []
  if (lost.length > 0) onLost?.(lost)
  if (settled.length === messages.length) return
  const others = messages.map((message, index) => ({
    message,
    outcome: outcomes[index]!,
    delayMs: stopping.aborted ? 0 : backoffMs(message.deliveryCount),
  }))
  const groups = Map.groupBy(others, ({ outcome, delayMs }) => JSON.stringify([outcome, delayMs]))
  for (const [first, ...rest] of groups.values()) {
    const { outcome, delayMs } = first!
    const same = [first!, ...rest].map(({ message }) => message)
    if (outcome === 'abandon') await insist(() => bus.abandon(same, delayMs))
    else if (outcome !== 'ack') {
      await insist(() => bus.deadLetter(same, outcome.deadLetter, outcome.description))
    }
  }
}
