// All randomness of the simulated world, from one seed: the same seed makes the same choices in the same order. Each part of the
// world draws from its own stream, so more faults do not change the operators. Each event restarts the streams, so one statement
// more in the program does not change all later events.
import { seeded } from '../../kit/seeded.ts'

export interface Chance {
  /** An integer from 0 to below `limit`. */
  below(limit: number): number
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** 0 ≤ fraction < 1. */
  fraction(): number
  /** True with this probability. Draws even for 0 or 1, so a rate changes nothing else. */
  happens(probability: number): boolean
  pick<T>(from: readonly T[]): T
  /** One of the keys, by weight. */
  weighed<K extends string>(weights: Readonly<Record<K, number>>): K
  shuffled<T>(list: readonly T[]): T[]
  uuid(): string
  /** A stream of its own, identified by its name. */
  stream(name: string): Chance
  /** Restarts this stream and those derived from it at the seed's values for this moment, however much was drawn before. */
  turnTo(moment: number): void
}

const FRACTION_STEPS = 2 ** 30

export function makeChance(seed: number): Chance {
  let draw = seeded(seed)
  const streams: Chance[] = []
  const below = (limit: number) => draw(limit)
  const fraction = () => below(FRACTION_STEPS) / FRACTION_STEPS
  const chance: Chance = {
    below,
    between: (low, high) => low + below(high - low + 1),
    fraction,
    happens: (probability) => fraction() < probability,
    pick: (from) => from[below(from.length)]!,
    weighed: (weights) => {
      const entries = Object.entries<number>(weights)
      const drawn = fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      let reached = 0
      const found = entries.find(([, weight]) => {
        reached += weight
        return drawn < reached
      })
      return (found ?? entries.at(-1)!)[0] as keyof typeof weights
    },
    shuffled: (list) => {
      const mixed = [...list]
      for (let i = mixed.length - 1; i > 0; i--) {
        const j = below(i + 1)
        ;[mixed[i], mixed[j]] = [mixed[j]!, mixed[i]!]
      }
      return mixed
    },
    uuid: () => {
      const hex = (digits: number) =>
        Array.from({ length: digits }, () => below(16).toString(16)).join('')
      return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`
    },
    stream: (name) => {
      const stream = makeChance(hashOf(`${seed}/${name}`))
      streams.push(stream)
      return stream
    },
    turnTo: (moment) => {
      draw = seeded(hashOf(`${seed}@${moment}`))
      for (const stream of streams) stream.turnTo(moment)
    },
  }
  return chance
}

/** FNV-1a, 32 bits: enough to keep a seed's streams apart. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
