// What can be fuzzed: a target tries one input after another, each made from its own random numbers, and says what went wrong.
import type { seeded } from '../../kit/seeded.ts'

export type Random = ReturnType<typeof seeded>

export interface FuzzTarget {
  /** One input. A sentence for each thing that must not happen, with the input; an exception is a finding too. */
  attempt(random: Random): Promise<readonly string[]>
  close(): Promise<void>
}

export const oneOf = <T>(random: Random, choices: readonly T[]): T =>
  choices[random(choices.length)]!

const SHOWN_MAX = 2_000

/** An input as it can be pasted into a test. */
export function shown(input: string): string {
  const text = JSON.stringify(input)
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}… (${text.length})`
}

/** Processor time, because a machine that is busy with something else must not look like a slow input. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
