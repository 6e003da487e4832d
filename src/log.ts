// Structured logs: one line an event, a sentence and its fields, through pino. Whatever reaches the writer has passed redact.ts,
// also what came by way of a child's fields or of a library that was handed the log; there is no other way out. Times are the
// injected clock's, so a rehearsal's lines carry the rehearsal's time. A line below the level costs one empty call.
import { type LogFn, type Logger, pino } from 'pino'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import { redact } from './redact.ts'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child' | 'isLevelEnabled'>

export interface LogOptions {
  readonly level: Config['logLevel']
  readonly format: Config['logFormat']
  readonly clock: Pick<Clock, 'now'>
  readonly destination: LogDestination
}

/** Takes whole lines, each with its line end. `process.stdout` and `process.stderr` are destinations. */
export interface LogDestination {
  readonly isTTY?: boolean
  write(line: string): unknown
}

export function createLog({ level, format, clock, destination }: LogOptions): Log {
  const isPretty = format === 'pretty' || (format === 'auto' && destination.isTTY === true)
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${clock.now().toISOString()}"`,
      // `redact` reads errors itself, causes and fields included; pino's own serializer would flatten them first.
      serializers: { err: (error: unknown) => error },
      formatters: {
        level: (label) => ({ level: label }),
        // Before pino turns the fields into text: a Map or an Error would lose what it holds.
        log: (fields) => redact(fields) as Record<string, unknown>,
      },
      hooks: {
        // What is put into the message by `%s` and `%o` is text by the time the line is finished, its field names gone.
        logMethod([first, ...rest], method) {
          method.apply(this, [first, ...rest.map(redact)] as Parameters<LogFn>)
        },
        streamWrite: (line) => finishLine(line, isPretty),
      },
    },
    { write: (line: string) => void destination.write(line) },
  )
}

/** The gate that every line passes: messages and fields of children have not been redacted before. */
function finishLine(line: string, isPretty: boolean): string {
  const safe = redact(JSON.parse(line)) as Record<string, unknown>
  return `${isPretty ? prettyLine(safe) : JSON.stringify(safe)}\n`
}

/** `10:00:00.000 INFO  The batch was created. batchId=7`: what a person reads on a terminal. */
function prettyLine({ level, time, msg, err, ...fields }: Record<string, unknown>): string {
  const parts = [String(time).slice(11, 23), String(level).toUpperCase().padEnd(5)]
  if (msg !== undefined) parts.push(String(msg))
  for (const [name, value] of Object.entries(fields)) parts.push(`${name}=${JSON.stringify(value)}`)
  const { stack } = (err ?? {}) as { stack?: unknown }
  if (err !== undefined) parts.push(`\n${stack ?? JSON.stringify(err)}`)
  return parts.join(' ')
}
