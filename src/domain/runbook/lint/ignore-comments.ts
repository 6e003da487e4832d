// `# matoolkit-ignore ID: reason`: at the end of a line it concerns that line; on a line of its own, what begins on the next one, such
// as a step. Above the first key of the file it concerns all of it. Without a reason or with an unknown id it ignores nothing.
import type { Findings, Span } from '../problems.ts'
import type { Node } from '../tree.ts'
import { isLintRule, type LintRuleId } from './lint-rules.ts'

const COMMENT = /#[ \t]*matoolkit-ignore\b([^\n\r]*)/g
const CONTENT = /^[ \t]*([A-Z][A-Z0-9_]*)[ \t]*:[ \t]*(\S.*)$/

export interface IgnoreComment extends Span {
  readonly id: LintRuleId
  readonly reason: string
  readonly firstLine: number
  readonly lastLine: number
}

/** Reports the incomplete ones. */
export function ignoreCommentsIn(source: string, root: Node, findings: Findings): IgnoreComment[] {
  const found = [...source.matchAll(COMMENT)]
  if (found.length === 0) return []
  const { scalars, blocks } = spansOf(root)
  const lines = source.split('\n')
  return found.flatMap((match) => {
    const start = match.index
    const end = start + match[0].trimEnd().length
    if (scalars.some((scalar) => scalar.start <= start && start < scalar.end)) return []
    const [, id = '', reason = ''] = CONTENT.exec(match[1]!) ?? []
    if (!isLintRule(id) || id.startsWith('IGNORE_')) {
      const why = id === '' ? 'it needs an id and a reason' : `there is no rule "${id}"`
      findings.add('IGNORE_INCOMPLETE', { start, end }, '', { reason: why })
      return []
    }
    const own = findings.lineOf(start)
    const isTrailing = !/^\s*#/.test(lines[own - 1]!)
    const firstLine = isTrailing ? own : nextContent(lines, own)
    const lastLine = isTrailing ? own : lastLineOf(blocks, firstLine, findings)
    return [{ start, end, id, reason: reason.trim(), firstLine, lastLine }]
  })
}

function nextContent(lines: readonly string[], line: number): number {
  let next = line + 1
  while (next <= lines.length && /^\s*(#|$)/.test(lines[next - 1]!)) next++
  return next
}

/** The last line of the longest block that begins on this line. */
function lastLineOf(blocks: readonly Span[], line: number, findings: Findings): number {
  const ends = blocks
    .filter(({ start }) => findings.lineOf(start) === line)
    .map(({ end }) => findings.lineOf(Math.max(0, end - 1)))
  return Math.max(line, ...ends)
}

/** Blocks are maps and entries with their values. Not lists: a comment above the first step is about that step alone. */
function spansOf(root: Node): { scalars: Span[]; blocks: Span[] } {
  const scalars: Span[] = []
  const blocks: Span[] = []
  const collect = (node: Node): void => {
    if (node.kind === 'scalar') scalars.push(node)
    else if (node.kind === 'list') for (const item of node.items) collect(item)
    else {
      blocks.push(node)
      for (const { keySpan, value } of node.entries.values()) {
        blocks.push({ start: keySpan.start, end: value.end })
        collect(value)
      }
    }
  }
  collect(root)
  return { scalars, blocks }
}
