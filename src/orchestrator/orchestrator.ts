// The orchestrator: two subscriptions and the timers drive the engine. Any number of orchestrators may run at once.

import type { Clock } from '../base/run/clock.ts'
import { everyLoop, type Service } from '../base/run/service.ts'
import { sameName } from '../base/text/same-name.ts'
import { WORKER_ID } from '../base/text/worker-id.ts'
import type { Bus, ReceivedMessage } from '../bus/bus.ts'
import { ORCHESTRATOR_EVENTS, WORKER_RESULTS } from '../bus/bus.ts'
import { type Handler, type MessageOutcome, makeConsumer } from '../bus/consumer.ts'
import { makeOutage, type OutageChange, reportingTo } from '../bus/outage.ts'
import { vacuumEmbedded } from '../db/schema/vacuum.ts'
import { type Message, readMessage } from '../domain/messages/messages.ts'
import type { Need } from '../domain/needs/needs.ts'
import { noteDeadLetters, replayExhausted } from '../engine/needs/dead-letters.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import { tellMisses } from './forecast-misses.ts'
import { handleMessages } from './messages.ts'
import { makeTimers } from './timer-loops.ts'
import { fillWorkers } from './timers.ts'

const UPKEEP_INTERVAL_MS = 5_000
const DEAD_LETTER_INTERVAL_MS = 60_000
const FORECAST_INTERVAL_MS = 60_000
/** While one lane has its batch locked, the other receives and acknowledges. */
const RESULT_LANES = 2
/** Characters of a sender that is none. */
const SHOWN_MAX = 80

export interface OrchestratorOptions {
  readonly engine: Engine
  readonly bus: Bus
  readonly clock: Clock
  readonly chunk: number
  /** Called once per change of the number of dead letters, while there are any. */
  readonly onDeadLetters?: (need: Need) => void
  /** Called when the orchestrator begins to wait for the database, when the cause changes, and when it continues; else `onError` is. */
  readonly onOutage?: (change: OutageChange) => void
  readonly onError: (error: unknown) => void
}

export interface Orchestrator extends Service {
  /** Why it waits for the database; null while it works. */
  whyWaiting(): string | null
}

/** Handles the readable messages of a chunk and dead-letters the others. `onSlots`: see handleMessages. */
export async function handleChunk(
  engine: Engine,
  received: readonly ReceivedMessage[],
  onSlots?: () => void,
): Promise<MessageOutcome[]> {
  const outcomes: MessageOutcome[] = received.map(() => 'ack')
  const readable: { index: number; message: Message }[] = []
  for (const [index, { type, topic, body, properties }] of received.entries()) {
    const read = readMessage(type, body, topic === 'worker-results' ? 'worker-result' : null)
    const message = read.ok ? inTheNameOf(properties.WorkerId, read.message) : null
    if (read.ok && topic === 'worker-results' && !isOfWorker(read.message))
      outcomes[index] = wrongTopic(read.message)
    else if (message) readable.push({ index, message })
    else if (read.ok) outcomes[index] = wrongSender(properties.WorkerId!, read.message)
    else outcomes[index] = { deadLetter: 'Unreadable', description: read.reason }
  }
  const verdicts = await handleMessages(
    engine,
    readable.map(({ message }) => message),
    onSlots,
  )
  for (const [place, { index }] of readable.entries()) outcomes[index] = verdicts[place]!
  return outcomes
}

const isOfWorker = (
  message: Message,
): message is Message<'worker-result'> | Message<'worker-hello'> =>
  message.messageType === 'worker-result' || message.messageType === 'worker-hello'

/** Every worker may send to this topic: an event there would begin a phase or remove a member in our name. */
const wrongTopic = ({ messageType }: Message): MessageOutcome => ({
  deadLetter: 'WrongTopic',
  description: `A ${messageType} came with the results of workers.`,
})

/**
 * A worker, named by the property that its database role cannot forge, sends results and hellos in its own name; null for anything else.
 * A result that names nobody is the sender's.
 */
function inTheNameOf(sender: string | undefined, message: Message): Message | null {
  if (sender === undefined) return message
  // Any other text would become the actor of an event: one with a NUL failed its transaction and put the batch on hold.
  if (!WORKER_ID.test(sender)) return null
  if (!isOfWorker(message)) return null
  const { workerId } = message
  if (!workerId) return { ...message, workerId: sender }
  return sameName(workerId, sender) ? message : null
}

const wrongSender = (sender: string, message: Message): MessageOutcome => ({
  deadLetter: 'WrongSender',
  description: WORKER_ID.test(sender)
    ? `Worker ${sender} sent a ${message.messageType} that is not its own.`
    : `The property WorkerId of a ${message.messageType} names no worker: ${JSON.stringify(sender.slice(0, SHOWN_MAX))}.`,
})

/** The handler of both subscriptions. `fill` is called when slots may be free. */
export function makeHandler(
  engine: Engine,
  fill: () => unknown = () => fillWorkers(engine),
): Handler {
  return async (messages) => {
    let hasSlots = false
    const outcomes = await handleChunk(engine, messages, () => {
      hasSlots = true
    })
    const hasGrown = await engine.pace.write(engine.db, engine.clock.now())
    // Finished members left slots, or a worker is faster than thought: fill now instead of at the next timer run, up to a second later.
    if (hasSlots || hasGrown) await fill()
    return outcomes
  }
}

const upkeepLoop = ({ engine, bus, clock, onError }: OrchestratorOptions): Service =>
  everyLoop({
    name: 'upkeep',
    clock,
    intervalMs: UPKEEP_INTERVAL_MS,
    runOnce: async () => {
      await bus.sweep()
      await vacuumEmbedded(engine.db)
    },
    onError,
  })

const forecastLoop = ({ engine, clock, onError }: OrchestratorOptions): Service =>
  everyLoop({
    name: 'forecasts',
    clock,
    intervalMs: FORECAST_INTERVAL_MS,
    runOnce: async () => {
      await tellMisses(engine)
    },
    onError,
  })

const deadLetterLoop = ({ engine, clock, onDeadLetters, onError }: OrchestratorOptions): Service =>
  everyLoop({
    name: 'dead letters',
    clock,
    intervalMs: DEAD_LETTER_INTERVAL_MS,
    runOnce: async () => {
      while ((await replayExhausted(engine)) > 0);
      for (const item of await noteDeadLetters(engine)) onDeadLetters?.(item)
    },
    onError,
  })

export function makeOrchestrator(options: OrchestratorOptions): Orchestrator {
  const { engine, bus, clock, chunk } = options
  const outage = makeOutage(clock, options.onOutage ?? reportingTo(options.onError))
  const onError = (error: unknown) => {
    if (!outage.note(error)) options.onError(error)
  }
  const timers = makeTimers(engine, clock, onError)
  const handle = makeHandler(engine, timers.fill)
  const services: Service[] = [
    makeConsumer({
      name: 'orchestrator events',
      bus,
      subscription: ORCHESTRATOR_EVENTS,
      handle: async (messages, signals) => {
        const outcomes = await handle(messages, signals)
        // A batch created at its cut-over has a phase due at once; without the nudge it began up to a second late.
        timers.nudge()
        return outcomes
      },
      clock,
      chunk,
      outage,
      onError,
    }),
    makeConsumer({
      name: 'worker results',
      bus,
      subscription: WORKER_RESULTS,
      lanes: RESULT_LANES,
      handle,
      clock,
      chunk,
      outage,
      onError,
    }),
    ...timers.loops,
    upkeepLoop({ ...options, onError }),
    deadLetterLoop({ ...options, onError }),
    forecastLoop({ ...options, onError }),
  ]
  let unlisten: Promise<(() => Promise<void>) | undefined> | undefined
  return {
    name: 'orchestrator',
    whyWaiting: outage.why,
    start: () => {
      for (const service of services) service.start()
      // Without hints the timers run every second, so a failure to listen is only reported.
      unlisten = bus.listen(ORCHESTRATOR_EVENTS, timers.nudge).catch((error: unknown) => {
        onError(error)
        return undefined
      })
    },
    stop: async (giveUp) => {
      await Promise.all(services.map((service) => service.stop(giveUp)))
      const stopListening = await unlisten
      unlisten = undefined
      await stopListening?.()
    },
  }
}
