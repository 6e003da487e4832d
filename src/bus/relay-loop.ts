// The loop that forwards the outbox to a broker: at once when messages are stored, and every second in case a hint is lost.
import type { Clock } from '../base/run/clock.ts'
import { everyLoop, type Service } from '../base/run/service.ts'
import type { Relay } from './bus.ts'

const FORWARD_INTERVAL_MS = 1_000

export interface RelayLoopOptions {
  readonly relay: Relay
  readonly clock: Clock
  /** Called after each round that had no error. */
  readonly onForwarded?: () => void
  /** The loop continues. */
  readonly onError: (error: unknown) => void
}

export function makeRelayLoop({ relay, clock, onForwarded, onError }: RelayLoopOptions): Service {
  const loop = everyLoop({
    name: 'relay',
    clock,
    intervalMs: FORWARD_INTERVAL_MS,
    runOnce: async () => {
      await relay.forward()
      onForwarded?.()
    },
    onError,
  })
  let unlisten: Promise<(() => Promise<void>) | undefined> | undefined
  return {
    name: loop.name,
    start: () => {
      loop.start()
      unlisten = relay.listen(loop.nudge).catch((error: unknown) => {
        onError(error)
        return undefined
      })
    },
    stop: async (giveUp) => {
      await loop.stop(giveUp)
      const stopListening = await unlisten
      unlisten = undefined
      await stopListening?.()
    },
  }
}
