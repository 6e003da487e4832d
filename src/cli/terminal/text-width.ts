// The width of a text on a terminal, which differs from its length: East Asian characters and most emoji take two columns, combining
// marks none. Texts are cut and padded by width, never inside a grapheme.

/** Nearly every text; one column per character. */
const PLAIN = /^[\x20-\x7e]*$/
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Combining marks and invisible characters. */
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
/** East Asian wide and full-width blocks, flags, and emoji, also those marked by U+FE0F. */
const DOUBLE_WIDTH =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{RI})|\ufe0f/u

const columnsOf = (grapheme: string): number =>
  ZERO_WIDTH.test(grapheme) ? 0 : DOUBLE_WIDTH.test(grapheme) ? 2 : 1

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += columnsOf(segment)
  return width
}

/** The text, or its beginning with an ellipsis if it is wider. */
export function cutTo(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  const space = Math.max(0, width - 1)
  if (PLAIN.test(text)) return `${text.slice(0, space)}…`
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += columnsOf(segment)
    if (used > space) break
    kept += segment
  }
  return `${kept}…`
}

const blanksFor = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - textWidth(text)))

export const padTo = (text: string, width: number): string => text + blanksFor(text, width)
export const padBefore = (text: string, width: number): string => blanksFor(text, width) + text

/** Lines of at most this width, broken at blanks only: long words stay whole, so that they can be copied. */
export function wrapped(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text]
  const lines: string[] = []
  let [line = '', ...words] = text.split(' ')
  for (const word of words) {
    const longer = `${line} ${word}`
    if (line.trim() !== '' && textWidth(longer) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}
