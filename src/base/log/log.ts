// Structured logs through pino: one line per event, with a message and fields. Every line passes redact.ts, including fields of child
// loggers and lines from libraries. Times come from the injected clock. A line below the level costs one empty call.
import { type LogFn, type Logger, pino } from 'pino'
import type { Clock } from '../run/clock.ts'
import type { Config } from '../settings/config.ts'
import { printable } from '../text/printable.ts'
import { redact, safeReasonOf } from './redact.ts'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child' | 'isLevelEnabled'>

export interface LogOptions {
  readonly level: Config['logLevel']
  readonly format: Config['logFormat']
  readonly clock: Pick<Clock, 'now'>
  readonly destination: LogDestination
}

/** Receives whole lines with their line ends, as `process.stdout` does. */
export interface LogDestination {
  readonly isTTY?: boolean
  write(line: string): unknown
}

/** A finished line as fields: everything in it is redacted. */
export type LogLine = Readonly<Record<string, unknown>>

interface Tap {
  take: ((line: LogLine) => void) | null
}
const taps = new WeakMap<Log, Tap>()

/** Also gives each line of this log and its children to `take`, which never throws. */
export function tapLog(log: Log, take: (line: LogLine) => void): void {
  const tap = taps.get(log)
  if (tap) tap.take = take
}

export function createLog({ level, format, clock, destination }: LogOptions): Log {
  const isPretty = format === 'pretty' || (format === 'auto' && destination.isTTY === true)
  const tap: Tap = { take: null }
  const log = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${clock.now().toISOString()}"`,
      // `redact` reads errors with causes and fields; pino's serializer would flatten them first.
      serializers: { err: (error: unknown) => error },
      formatters: {
        level: (label) => ({ level: label }),
        // Before pino serializes the fields: a Map or an Error would lose its contents.
        log: (fields) => redact(fields) as Record<string, unknown>,
      },
      hooks: {
        // Arguments of `%s` and `%o` lose their field names in the finished line, so they are redacted here.
        logMethod([first, ...rest], method) {
          const said = rest.length > 0 ? rest.map(redact) : reasonIn(first)
          method.apply(this, [first, ...said] as Parameters<LogFn>)
        },
        streamWrite: (line) => finishLine(line, isPretty, tap),
      },
    },
    { write: (line: string) => void destination.write(line) },
  )
  taps.set(log, tap)
  return log
}

/** pino would take an error's message as it is, without the rules for errors. */
function reasonIn(first: unknown): string[] {
  const { err, msg } = Object(first) as { err?: unknown; msg?: unknown }
  const error = first instanceof Error ? first : err
  return error instanceof Error && msg === undefined ? [safeReasonOf(error)] : []
}

/** Every line passes here; messages and child fields are redacted only now. */
function finishLine(line: string, isPretty: boolean, { take }: Tap): string {
  const safe = redact(JSON.parse(line)) as Record<string, unknown>
  take?.(safe)
  return `${printable(isPretty ? prettyLine(safe) : JSON.stringify(safe))}\n`
}

/** For terminals: `10:00:00.000 INFO  Created batch batchId=7` */
function prettyLine({ level, time, msg, err, ...fields }: Record<string, unknown>): string {
  const parts = [String(time).slice(11, 23), String(level).toUpperCase().padEnd(5)]
  if (msg !== undefined) parts.push(String(msg))
  for (const [name, value] of Object.entries(fields)) parts.push(`${name}=${JSON.stringify(value)}`)
  const { stack } = (err ?? {}) as { stack?: unknown }
  if (err !== undefined) parts.push(`\n${stack ?? JSON.stringify(err)}`)
  return parts.join(' ')
}
