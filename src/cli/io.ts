// What a command may say and how: text to the terminal or a pipe, in colour only where a person looks at it. Commands get an `Io`
// as an argument and never touch `process`, so that tests can run them and read what they said.
import { styleText } from 'node:util'

export type Style = 'red' | 'yellow' | 'green' | 'bold' | 'dim'

export interface Io {
  /** Writes a text and a line end to stdout: the answer. */
  out(text: string): void
  /** Writes a text and a line end to stderr: what went wrong, progress. */
  err(text: string): void
  /** Colours a text for stdout; returns it unchanged when stdout is no terminal or NO_COLOR is set. */
  paint(style: Style, text: string): string
  /** What the program will end with, unless an error decides. */
  exitCode: number
}

export function processIo(): Io {
  // `matoolkit … | head` closes the pipe early; that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    // styleText looks at the stream: no terminal, NO_COLOR or TERM=dumb mean no colour.
    paint: (style, text) => styleText(style, text, { stream: process.stdout }),
    exitCode: 0,
  }
}

const CONTROL = /(?![\t\n])\p{Cc}/gu

/** A text from a file or a stranger, safe to show: control characters could move the cursor or change colours. */
export const printable = (text: string): string =>
  text.replaceAll(
    CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Columns padded to the widest cell; the first row is the header. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
