// A piece of the terminal that is drawn over and over. Without a terminal there is none, and whoever draws writes plain lines.
// The cursor is hidden while drawing and always given back.

export interface Screen {
  readonly width: number
  readonly height: number
  /** Replaces what was drawn last. Lines must fit the width. */
  draw(lines: readonly string[]): void
  /** Leaves the last drawing where it is and gives the cursor back. */
  end(): void
}

/** What is needed of a terminal; `process.stdout` is one. */
export interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  write(text: string): unknown
}

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'
const CLEAR_LINE = '\u001b[2K'
const CLEAR_BELOW = '\u001b[0J'
const CLEAR_ALL = '\u001b[2J\u001b[H'
const WIDTH_UNKNOWN = 80
const HEIGHT_UNKNOWN = 24

/** Null when the output is no terminal. */
export function openScreen(terminal: Terminal): Screen | null {
  if (!terminal.isTTY) return null
  let drawn = 0
  let widthDrawn = 0
  const width = () => terminal.columns || WIDTH_UNKNOWN
  return {
    get width() {
      return width()
    },
    get height() {
      return terminal.rows || HEIGHT_UNKNOWN
    },
    draw: (lines) => {
      // A narrower terminal has wrapped the old lines, so nobody knows how far up they begin.
      const isResized = drawn > 0 && width() !== widthDrawn
      const up = isResized ? CLEAR_ALL : drawn > 0 ? `\u001b[${drawn}A\r` : ''
      const text = lines.map((line) => `${CLEAR_LINE}${line}\n`).join('')
      terminal.write(`${HIDE_CURSOR}${up}${text}${CLEAR_BELOW}`)
      drawn = lines.length
      widthDrawn = width()
    },
    end: () => {
      if (drawn > 0) terminal.write(SHOW_CURSOR)
      drawn = 0
    },
  }
}
