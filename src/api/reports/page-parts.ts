// Parts of the pages that people print: the frame with its policy, sections, tables, times. No scripts, no external resources, all text
// escaped. Times are written without text; `withTimes` says them in the reader's zone.

import { type Html, html, htmlText } from '../../base/text/markup.ts'
import { fullTimeText } from '../../base/text/zoned-time.ts'
import { PAGE_STYLE, STYLE_SOURCE } from './page-style.ts'

/** What comes before the body of a page. */
export const pageHead = (title: string): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${STYLE_SOURCE}">
<title>${title}</title>
<style>${PAGE_STYLE}</style>
</head>
`

export const time = (at: Date | null): Html | null =>
  at === null ? null : html`<time datetime="${at.toISOString()}"></time>`

/** Every time in the zone. */
export async function* withTimes(
  parts: AsyncIterable<string>,
  zone: string,
): AsyncGenerator<string> {
  for await (const part of parts)
    yield part.replaceAll(
      /<time datetime="([^"]+)"><\/time>/g,
      (_, iso: string) => `<time datetime="${iso}">${fullTimeText(new Date(iso), zone)}</time>`,
    )
}

/** The heading of a column of numbers. */
export const numberHead = (head: string): Html => html`<th scope="col" class="n">${head}</th>`
export const columns = (...heads: readonly string[]): Html[] =>
  heads.map((head) => html`<th scope="col">${head}</th>`)

/** A table with a caption; its first column has the row headings. */
export function table(caption: string, heads: readonly Html[], rows: readonly Html[]): Html {
  return html`<table><caption>${caption}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${rows}</tbody></table>
`
}

/** A section. It scrolls sideways, so it needs a tabindex for the keyboard. */
export const section = (id: string, title: string, inside: Html): Html =>
  html`<section aria-labelledby="${id}" tabindex="0"><h2 id="${id}">${title}</h2>
${inside}</section>
`

/** A section with a table, as what comes before the rows and after. */
export function emptySection(
  id: string,
  title: string,
  caption: string,
  heads: readonly Html[],
): [begin: string, end: string] {
  const mark = html`<!-- rows -->`
  const [begin, end] = htmlText(section(id, title, table(caption, heads, [mark]))).split(
    htmlText(mark),
  )
  return [begin!, end!]
}
