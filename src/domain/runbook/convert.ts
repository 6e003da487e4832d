// A runbook of the earlier system as this one reads it: only mends that keep what it did there. Everything else stays for a person.
import type { Mend, Span } from './problems.ts'
import { type ReadRunbookOptions, readRunbook } from './read.ts'

export interface Conversion {
  readonly line: number
  readonly code: string
  readonly from: string
  /** Null: removed. */
  readonly to: string | null
}

export interface Converted {
  readonly text: string
  readonly conversions: readonly Conversion[]
}

/** A mend may uncover another, such as the uses of a name. */
const PASSES_MAX = 10

export function convertRunbook(text: string, options: ReadRunbookOptions): Converted {
  let current = text
  const conversions: Conversion[] = []
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const edits = editsFor(current, readRunbook(current, options).mends)
    if (edits.length === 0) break
    // From the end, so that positions before stay true.
    for (const { at, write, mend } of edits.toReversed()) {
      const { line, code } = mend.problem
      const from = current.slice(mend.at.start, mend.at.end).split('\n')[0]!
      conversions.push({ line, code, from, to: mend.write })
      current = current.slice(0, at.start) + write + current.slice(at.end)
    }
  }
  return { text: current, conversions: conversions.toSorted((a, b) => a.line - b.line) }
}

interface Edit {
  readonly at: Span
  readonly write: string
  readonly mend: Mend
}

/** In file order, without overlaps. */
function editsFor(text: string, mends: readonly Mend[]): Edit[] {
  const edits = mends.flatMap((mend) => {
    const at = mend.write === null ? linesOf(text, mend.at) : mend.at
    return at === null ? [] : [{ at, write: mend.write ?? '', mend }]
  })
  edits.sort((a, b) => a.at.start - b.at.start)
  return edits.filter(({ at }, index) => index === 0 || edits[index - 1]!.at.end <= at.start)
}

/** The whole lines of an entry; null when something else stands in them. */
function linesOf(text: string, { start, end }: Span): Span | null {
  const from = text.lastIndexOf('\n', start - 1) + 1
  const next = text.indexOf('\n', Math.max(start, end - 1))
  const to = next < 0 ? text.length : next + 1
  const around = text.slice(from, start) + text.slice(Math.max(end, start), to).replace(/#.*/, '')
  return around.trim() === '' || around.trim() === ':' ? { start: from, end: to } : null
}
