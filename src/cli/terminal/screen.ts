// A part of the terminal that is redrawn in place. The cursor is hidden while drawing and restored at the end.

export interface Screen {
  readonly width: number
  readonly height: number
  /** Replaces the last drawing. Lines must fit the width. */
  draw(lines: readonly string[]): void
  /** Keeps the last drawing and restores the cursor. */
  end(): void
}

/** The used part of a terminal such as `process.stdout`. */
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

/** Null if the output is no terminal. */
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
      // A narrower terminal has wrapped the old lines, so their first row is unknown: clear everything.
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
