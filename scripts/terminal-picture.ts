// Renders a captured terminal frame (text with ANSI colours) as an SVG with real text, for the tutorial. The same frame always gives
// the same picture. Capture a frame with `tmux capture-pane -e -p`, then run
// `node scripts/run.mjs scripts/terminal-picture.ts docs/images/npm-start.ansi docs/images/npm-start.svg "npm start"`.
import { readFileSync, writeFileSync } from 'node:fs'

interface Style {
  readonly color: string
  readonly isBold: boolean
  readonly isDim: boolean
}

/** Neighbouring characters of one style. */
interface Run {
  readonly column: number
  readonly text: string
  readonly style: Style
}

const PLAIN: Style = { color: '#d6deeb', isBold: false, isDim: false }
const COLORS: Readonly<Record<number, string>> = {
  31: '#ff6b68',
  32: '#5fd38d',
  33: '#f0c674',
  34: '#6cb6ff',
  39: PLAIN.color,
}
/** Blocks of a progress bar are drawn as rectangles: fonts leave gaps between them. */
const BLOCK_OPACITY: Readonly<Record<string, number>> = { '█': 1, '▓': 1, '▒': 0.55, '░': 0.22 }

const CELL_WIDTH = 8.4
const LINE_HEIGHT = 19
const FONT_SIZE = 14
const PADDING = 18
const BAR_HEIGHT = 34
const BASELINE = 14
const DIM_OPACITY = 0.6

function styleAfter(style: Style, code: number): Style {
  if (code === 0) return PLAIN
  if (code === 1) return { ...style, isBold: true }
  if (code === 2) return { ...style, isDim: true }
  if (code === 22) return { ...style, isBold: false, isDim: false }
  const color = COLORS[code]
  return color === undefined ? style : { ...style, color }
}

/** A line as runs; the next line starts with the style of its end. */
function runsOf(line: string, first: Style): { runs: Run[]; style: Style } {
  const runs: Run[] = []
  let style = first
  let column = 0
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI sequences begin with ESC
  for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
    const [, codes] = /^\u001b\[([\d;]*)m$/.exec(part) ?? []
    if (codes !== undefined) {
      for (const code of codes.split(';')) style = styleAfter(style, Number(code))
      continue
    }
    for (const [text] of part.matchAll(/[█▓▒░]+|[^█▓▒░]+/g)) {
      runs.push({ column, text, style })
      column += [...text].length
    }
  }
  return { runs, style }
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const number = (value: number): string => String(Number(value.toFixed(2)))

function runSvg({ column, text, style }: Run, row: number): string {
  const x = PADDING + column * CELL_WIDTH
  const y = BAR_HEIGHT + PADDING + row * LINE_HEIGHT
  const width = [...text].length * CELL_WIDTH
  const block = BLOCK_OPACITY[text[0] ?? '']
  if (block !== undefined) {
    const parts = [...text.matchAll(/(.)\1*/gu)].map((part) => {
      const at = x + [...text.slice(0, part.index)].length * CELL_WIDTH
      const opacity = BLOCK_OPACITY[part[1]!]!
      return `<rect x="${number(at)}" y="${number(y + 3)}" width="${number([...part[0]].length * CELL_WIDTH)}" height="12" fill="${style.color}" opacity="${opacity}"/>`
    })
    return parts.join('')
  }
  if (text.trim() === '') return ''
  const lead = text.length - text.trimStart().length
  const shown = text.trim()
  const weight = style.isBold ? ' font-weight="bold"' : ''
  const opacity = style.isDim ? ` opacity="${DIM_OPACITY}"` : ''
  const length = number(width - (text.length - shown.length) * CELL_WIDTH)
  return `<text x="${number(x + lead * CELL_WIDTH)}" y="${number(y + BASELINE)}" textLength="${length}" lengthAdjust="spacingAndGlyphs" fill="${style.color}"${weight}${opacity}>${escaped(shown)}</text>`
}

export function terminalPicture(frame: string, title: string): string {
  const lines = frame.trimEnd().split('\n')
  const rows: string[] = []
  let style = PLAIN
  let columns = 0
  for (const [row, line] of lines.entries()) {
    const read = runsOf(line, style)
    style = read.style
    for (const { column, text } of read.runs) {
      columns = Math.max(columns, column + [...text.trimEnd()].length)
    }
    rows.push(read.runs.map((run) => runSvg(run, row)).join(''))
  }
  const width = Math.ceil(columns * CELL_WIDTH + 2 * PADDING)
  const height = BAR_HEIGHT + lines.length * LINE_HEIGHT + 2 * PADDING
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (color, at) => `<circle cx="${20 + at * 20}" cy="17" r="6" fill="${color}"/>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)} in a terminal" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}" xml:space="preserve">
<rect width="${width}" height="${height}" rx="10" fill="#0f1720"/>
<path d="M0 ${BAR_HEIGHT}V10a10 10 0 0 1 10-10h${width - 20}a10 10 0 0 1 10 10v${BAR_HEIGHT - 10}z" fill="#1d2733"/>
${dots.join('')}<text x="${number(width / 2)}" y="22" text-anchor="middle" fill="#8b98a9" font-size="13">${escaped(title)}</text>
${rows.filter((row) => row !== '').join('\n')}
</svg>
`
}

const [frameFile, pictureFile, title = ''] = process.argv.slice(2)
if (import.meta.main && frameFile && pictureFile) {
  writeFileSync(pictureFile, terminalPicture(readFileSync(frameFile, 'utf8'), title))
}
