// How much room a text takes on a terminal, which is not how many characters it has: Chinese, Japanese and Korean characters and
// most emoji take two places, accents that stand on a letter take none. Texts are cut and padded by what a person sees, and never
// in the middle of it.

/** What nearly every text consists of; one place each. */
const PLAIN = /^[\x20-\x7e]*$/
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Marks and invisible characters without a letter to stand on. */
const NO_PLACE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
/** East Asian wide and full-width blocks, flags, and emoji that are pictures by themselves or because U+FE0F says so. */
const TWO_PLACES =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{RI})|\ufe0f/u

const placesOf = (grapheme: string): number =>
  NO_PLACE.test(grapheme) ? 0 : TWO_PLACES.test(grapheme) ? 2 : 1

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += placesOf(segment)
  return width
}

/** The text, or its beginning with an ellipsis where it would take more room than this. */
export function cutTo(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  const room = Math.max(0, width - 1)
  if (PLAIN.test(text)) return `${text.slice(0, room)}…`
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += placesOf(segment)
    if (used > room) break
    kept += segment
  }
  return `${kept}…`
}

const blanksFor = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - textWidth(text)))

export const padTo = (text: string, width: number): string => text + blanksFor(text, width)
export const padBefore = (text: string, width: number): string => blanksFor(text, width) + text

/** Lines of at most this width, broken at blanks only: a long word stays whole, so that it can be copied. */
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
