// Input and output of commands: text to a terminal or a pipe, coloured on a terminal only. Commands get an `Io` and never touch
// `process`, so that tests can run them and read the output.

import { styleText } from 'node:util'
import { type Clock, realClock } from '../../base/run/clock.ts'
import { printable } from '../../base/text/printable.ts'
import { withZonedTimes } from '../../base/text/zoned-time.ts'
import type { FunctionCatalogue } from '../../domain/runbook/catalogues.ts'
import type { RunbookStarter } from '../../domain/runbook/starter.ts'

export type Style = 'red' | 'yellow' | 'green' | 'bold' | 'dim'

export interface Io {
  /** Writes the answer to stdout, with a line end. */
  out(text: string): void
  /** Writes errors and notes to stderr, with a line end. */
  err(text: string): void
  /** Colours a text for stdout; unchanged if stdout is no terminal or NO_COLOR is set. */
  paint(style: Style, text: string): string
  /** Columns of stdout; null if it is no terminal. */
  readonly width: number | null
  /** A status line on stderr that replaces itself, on a terminal only. An empty text clears it. */
  progress(text: string): void
  /** Whether a person can answer. */
  readonly canAsk: boolean
  /** Asks on stderr and returns the typed line; empty if the input ends. */
  ask(question: string): Promise<string>
  /** The zone in which people read times; `--zone` changes it. */
  zone: string
  /** Today's times are shown without their date. */
  now(): Date
  /** What the program brings along; read only where a runbook is judged. */
  packagedFunctions(): Promise<FunctionCatalogue>
  runbookStarter(): Promise<RunbookStarter>
  /** The exit code, unless an error sets another. */
  exitCode: number
}

const CLEAR_LINE = '\r\u001b[2K'
const WIDTH_UNKNOWN = 80

/** What a package of functions brings to the command line, each loaded when it is asked for. */
export type Packaged = Pick<Io, 'packagedFunctions' | 'runbookStarter'>

export function processIo(packaged: Packaged, clock: Clock = realClock()): Io {
  const { stdin, stdout, stderr } = process
  // `matoolkit … | head` closes the pipe early; that is not an error.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  let isProgressShown = false
  const clear = () => {
    if (isProgressShown) stderr.write(CLEAR_LINE)
    isProgressShown = false
  }
  return {
    out: (text) => {
      clear()
      stdout.write(`${text}\n`)
    },
    err: (text) => {
      clear()
      stderr.write(`${text}\n`)
    },
    // styleText checks the stream: no colour without a terminal, with NO_COLOR or TERM=dumb.
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    get width() {
      return stdout.isTTY ? stdout.columns || WIDTH_UNKNOWN : null
    },
    progress: (text) => {
      clear()
      if (!stderr.isTTY || text === '') return
      stderr.write(text.slice(0, (stderr.columns || WIDTH_UNKNOWN) - 1))
      isProgressShown = true
    },
    canAsk: stdin.isTTY && stderr.isTTY,
    ...packaged,
    ask: async (question) => {
      clear()
      return askOn(stdin, stderr, question)
    },
    // By TZ, or by the system's setting.
    zone: new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC',
    now: () => clock.now(),
    exitCode: 0,
  }
}

async function askOn(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  question: string,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input, output })
  // Ctrl-C and Ctrl-D mean no.
  const ended = new AbortController()
  lines.once('close', () => ended.abort())
  lines.once('SIGINT', () => lines.close())
  try {
    return (await lines.question(question, { signal: ended.signal })).trim()
  } catch {
    output.write('\n')
    return ''
  } finally {
    lines.close()
  }
}

/** Every instant in the text as the viewer reads it. */
export const inViewersZone = ({ now, zone }: Pick<Io, 'now' | 'zone'>, text: string): string =>
  withZonedTimes(text, now(), zone)

/** Unchanged for a file or a pipe, printable for a terminal. */
export const safeFor = ({ width }: Pick<Io, 'width'>, text: string): string =>
  width === null ? text : printable(text.replaceAll(/\r(?=\n|$)/g, ''))

/** `out` adds the last line end; CSV must end like its other lines. */
export const withoutLineEnd = (text: string): string => text.replace(/\n$/, '')
