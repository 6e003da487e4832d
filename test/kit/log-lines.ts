// A log for tests that keeps its lines.

import { createLog, type Log, type LogOptions } from '../../src/base/log/log.ts'
import { virtualClock } from '../../src/base/run/clock.ts'

export interface CollectedLog {
  readonly log: Log
  /** Everything written so far, as it would stand on the terminal. */
  text(): string
  /** The same, one object a line; only for format json. */
  lines(): Record<string, unknown>[]
}

type CollectOptions = Partial<Pick<LogOptions, 'level' | 'format'>> & { readonly isTTY?: boolean }

export function collectLog(options: CollectOptions = {}): CollectedLog {
  const written: string[] = []
  const log = createLog({
    level: options.level ?? 'debug',
    format: options.format ?? 'json',
    clock: virtualClock(new Date('2026-03-01T10:00:00Z')),
    destination: { write: (line) => written.push(line), isTTY: options.isTTY === true },
  })
  return {
    log,
    text: () => written.join(''),
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}
