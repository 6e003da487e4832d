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
  /** How many characters a line of stdout has room for; null when stdout is no terminal. */
  readonly width: number | null
  /** Shows that something is under way: one line on stderr that replaces itself, on a terminal only. An empty text clears it. */
  progress(text: string): void
  /** Whether there is a person who can be asked. */
  readonly canAsk: boolean
  /** Asks on stderr and returns the line that was typed; empty when the input ends. */
  ask(question: string): Promise<string>
  /** What the program will end with, unless an error decides. */
  exitCode: number
}

const CLEAR_LINE = '\r\u001b[2K'
const WIDTH_UNKNOWN = 80

export function processIo(): Io {
  const { stdin, stdout, stderr } = process
  // `matoolkit … | head` closes the pipe early; that is no failure.
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
    // styleText looks at the stream: no terminal, NO_COLOR or TERM=dumb mean no colour.
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
    ask: async (question) => {
      clear()
      return askOn(stdin, stderr, question)
    },
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
  // Ctrl-C and Ctrl-D both mean no.
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

/** Control characters, and those that turn the direction of a text around. */
const CONTROL = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu

/** A text from a file or a stranger, safe to show: it could move the cursor, change colours or make a name look like another. */
export const printable = (text: string): string =>
  text.replaceAll(
    CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** A text as it stands for a file or a pipe, and safe to show on a terminal. */
export const safeFor = ({ width }: Pick<Io, 'width'>, text: string): string =>
  width === null ? text : printable(text.replaceAll(/\r(?=\n|$)/g, ''))

/** A whole text for `out`, which writes the last line end: CSV must end as its other lines do. */
export const withoutLineEnd = (text: string): string => text.replace(/\n$/, '')
