// What a benchmark is, and the arithmetic they share. Figures are rates and ratios; nothing here passes or fails.
import { MACHINE } from '../src/base/run/clock.ts'

export interface Bench {
  readonly name: string
  readonly about: string
  /** Logs its progress and findings line by line, and returns the figures. */
  run(say: (line: string) => void): Promise<Record<string, unknown>>
}

export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const start = MACHINE.steadyMs()
  await work()
  return MACHINE.steadyMs() - start
}

export const perSec = (count: number, ms: number): number => Math.round((count / ms) * 1_000)

export const round = (value: number): number => Math.round(value * 100) / 100

/** The median: a checkpoint or a neighbour's burst in one round does not decide the figure. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** An option of the command line, as `--name=value`. */
export const given = (name: string): string | undefined =>
  process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3)
