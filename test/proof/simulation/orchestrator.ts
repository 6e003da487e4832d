// Orchestrators: the real consumers, handlers and timers over a faulty database and bus. A crashed one is replaced by a new one
// that knows only the database.
import {
  LEASE_MS,
  ORCHESTRATOR_EVENTS,
  type Subscription,
  WORKER_RESULTS,
} from '../../../src/bus/bus.ts'
import { makeConsumer } from '../../../src/bus/consumer.ts'
import { makeHandler } from '../../../src/orchestrator/orchestrator.ts'
import { makeProcess, type Process } from './process.ts'
import { attempt, connect, expectTransient, type Orchestrator, type World } from './world.ts'

const CHUNK = 8

export function startOrchestrator(world: World, place: number): Orchestrator {
  const process = makeProcess(`orchestrator ${place + 1}`)
  const { engine, bus } = connect(world, process)
  const handler = makeHandler(engine)
  const handle = async (...given: Parameters<typeof handler>) => {
    if (world.faults.strikes('consumer stalled past its lease')) await stall(world, process)
    return handler(...given)
  }
  const consumer = (subscription: Subscription) =>
    makeConsumer({
      name: process.name,
      bus,
      subscription,
      handle,
      clock: world.clock,
      chunk: CHUNK,
      onError: (error) => expectTransient(world, process.name, error),
    })
  return {
    process,
    engine,
    events: consumer(ORCHESTRATOR_EVENTS),
    results: consumer(WORKER_RESULTS),
  }
}

let isStalling = false

/** Pauses between taking messages and handling them; meanwhile the lease ends, and the other one handles them. */
async function stall(world: World, process: Process): Promise<void> {
  if (isStalling) return
  isStalling = true
  try {
    world.clock.turn(LEASE_MS + 1_000)
    for (const place of world.orchestrators.keys()) {
      if (world.orchestrators[place]!.process === process) continue
      await asOrchestrator(world, place, async ({ events, results }) => {
        await events.runOnce()
        await results.runOnce()
      })
    }
  } finally {
    isStalling = false
  }
}

/** Runs work as the orchestrator of that place, and replaces it when it crashes. */
export async function asOrchestrator(
  world: World,
  place: number,
  work: (orchestrator: Orchestrator) => Promise<unknown>,
): Promise<void> {
  const orchestrator = world.orchestrators[place]!
  const end = await attempt(world, orchestrator.process, () => work(orchestrator))
  if (end === 'crashed') world.orchestrators[place] = startOrchestrator(world, place)
}
