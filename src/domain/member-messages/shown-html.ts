// The HTML of a message for a look at it: its structure and its text, and nothing that loads, runs or leads elsewhere. Only known tags are
// kept, without any attribute; everything else becomes text or is left out. What is sent is not changed.

const KEPT: ReadonlySet<string> = new Set(
  'p br hr b strong i em u s ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr td th div span blockquote pre code sub sup small'.split(
    ' ',
  ),
)
/** Left out with what they hold. */
const DROPPED: ReadonlySet<string> = new Set(
  'script style template noscript iframe object embed svg math title textarea select'.split(' '),
)

/** A tag holds no other: a part that two repetitions may match takes minutes for a page of `<a`. */
const TAG = /<!--[\s\S]*?(?:-->|$)|<(\/?)([a-zA-Z][^\s/<>]*)(?:[\s/][^<>]*)?>/g

export function shownHtml(html: string): string {
  let out = ''
  let at = 0
  let dropping: string | null = null
  for (const match of html.matchAll(TAG)) {
    const text = html.slice(at, match.index)
    at = match.index + match[0].length
    const [, slash, name = ''] = match
    const tag = name.toLowerCase()
    if (dropping !== null) {
      if (slash && tag === dropping) dropping = null
      continue
    }
    out += withoutTags(text)
    if (DROPPED.has(tag) && !slash && !match[0].endsWith('/>')) dropping = tag
    else if (KEPT.has(tag)) out += `<${slash}${tag}>`
  }
  return dropping === null ? out + withoutTags(html.slice(at)) : out
}

/** A tag that nobody closed is text. */
const withoutTags = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const ENDS_LINE = /<\/?(?:p|div|li|tr|h[1-6]|br|hr|table|ul|ol|blockquote)>/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
  '&amp;': '&',
}

/** The text alone, for a terminal. */
export const textOfHtml = (html: string): string =>
  shownHtml(html)
    .replaceAll(ENDS_LINE, '\n')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll(/&(?:lt|gt|quot|#39|nbsp|amp);/g, (entity) => ENTITIES[entity]!)
    .replaceAll(/\n\s*\n+/g, '\n')
