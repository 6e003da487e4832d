// On which pages of a printed PDF the rows of its tables stand, by the PDF's structure tree: a browser writes it for screen readers.

export interface PrintedRows {
  readonly pages: number
  /** Of each row in the body of a table, the pages on which it has text. */
  readonly rows: readonly (readonly string[])[]
}

export function printedRows(pdf: Buffer): PrintedRows {
  const text = pdf.toString('latin1')
  const objects = new Map(
    [...text.matchAll(/(?:^|\n)(\d+) 0 obj\n([\s\S]*?)\nendobj/g)].map(([, id, body]) => [
      id!,
      body!,
    ]),
  )
  const kindOf = (body: string | undefined) => /\/S \/(\w+)/.exec(body ?? '')?.[1]
  const kidsOf = (body: string) => {
    const kids = /\/K (\d+ 0 R|\[[^\]]*\])/.exec(body)?.[1] ?? ''
    return [...kids.matchAll(/(?<!\/Pg )\b(\d+) 0 R/g)].map(([, id]) => objects.get(id!) ?? '')
  }
  const pagesOf = (body: string): string[] => [
    ...[...body.matchAll(/\/Pg (\d+) 0 R/g)].map(([, id]) => id!),
    ...kidsOf(body).flatMap(pagesOf),
  ]
  // Headings of columns are repeated on every page.
  const isHead = (body: string) => kidsOf(body).some((cell) => cell.includes('/Scope /Column'))
  const rows = [...objects.values()].filter((body) => kindOf(body) === 'TR' && !isHead(body))
  return {
    pages: text.match(/\/Type \/Page\n/g)?.length ?? 0,
    rows: rows.map((row) => [...new Set(pagesOf(row))]),
  }
}
