// From bytes to a tree. Hostile input stops here: size, encoding, depth, node count, tags and several documents are checked
// before anything recursive or quadratic. The parser is fed token by token, so 1 MB of brackets stops at the 51st instead of a
// stack overflow (seen at column 819). Its unique-key check is off: it took 9.9 s for 40,000 keys; tree.ts does it.
import type { Document } from 'yaml'
import { Composer, CST, Lexer, Parser } from 'yaml'
import { type Findings, findingsIn, type Span } from './problems.ts'
import { type Node, RUNBOOK_NODES_MAX, StopReading, stop, treeOf } from './tree.ts'

export const RUNBOOK_BYTES_MAX = 1_048_576
const RUNBOOK_DEPTH_MAX = 50
// A list of 20,000 short texts is 120,000 tokens; the rest allows for comments and blank lines. Counting tokens while lexing
// stops a flood early: 1 MB of commas took the tree builder 6.6 s, 1 MB of line feeds 1.4 s.
const TOKENS_MAX = 10 * RUNBOOK_NODES_MAX
const SYNTAX_ERRORS_MAX = 100

export interface RunbookDocument {
  /** Null when the file is unreadable; the findings say why. */
  readonly root: Node | null
  readonly findings: Findings
  readonly text: string
}

export function readDocument(input: Uint8Array | string): RunbookDocument {
  const { text, fault } = decode(input)
  const findings = findingsIn(text)
  if (fault) findings.add(fault.code, fault.at, '', fault.details)
  if (fault || !hasCleanCharacters(text, findings)) return { root: null, findings, text }
  try {
    const document = parse(text, findings)
    if (!document) return { root: null, findings, text }
    return { root: treeOf(document, text, findings), findings, text }
  } catch (error) {
    if (error instanceof StopReading) return { root: null, findings, text }
    // The parser throws on some malformed escapes and on too many arguments; either way the file is unreadable.
    const reason = error instanceof Error ? error.message : String(error)
    findings.add('YAML_SYNTAX', { start: 0, end: 0 }, '', { reason })
    return { root: null, findings, text }
  }
}

interface Fault {
  readonly code: 'TOO_LARGE' | 'NOT_UTF8'
  readonly at: Span
  readonly details: Record<string, string | number>
}

/** Without Node's Buffer: the dashboard's editor runs this code in a browser. */
const bytesOf = (text: string): number =>
  text.length > RUNBOOK_BYTES_MAX ? text.length : new TextEncoder().encode(text).byteLength

function decode(input: Uint8Array | string): { text: string; fault?: Fault } {
  const bytes = typeof input === 'string' ? bytesOf(input) : input.byteLength
  const start = { start: 0, end: 0 }
  if (bytes > RUNBOOK_BYTES_MAX) {
    return {
      text: '',
      fault: { code: 'TOO_LARGE', at: start, details: { max: RUNBOOK_BYTES_MAX } },
    }
  }
  const notUtf8 = (text: string, at: Span, reason: string) => ({
    text,
    fault: { code: 'NOT_UTF8' as const, at, details: { reason } },
  })
  if (typeof input === 'string') {
    const text = input.startsWith('\uFEFF') ? input.slice(1) : input
    return text.isWellFormed() ? { text } : notUtf8('', start, 'it has half a surrogate pair')
  }
  const [first, second] = input
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return notUtf8('', start, 'it starts with the mark of UTF-16')
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(input) }
  } catch {
    const text = new TextDecoder('utf-8').decode(input)
    const at = Math.max(0, text.indexOf('\uFFFD'))
    return notUtf8(
      text,
      { start: at, end: at + 1 },
      'there are bytes here that UTF-8 does not allow',
    )
  }
}

// Control characters other than tab and line ends. Some could also manipulate a terminal.
const FORBIDDEN = /(?![\t\n\r\u0085])\p{Cc}|[\uFFFE\uFFFF]|\r(?!\n)/u

function hasCleanCharacters(text: string, findings: Findings): boolean {
  const at = text.search(FORBIDDEN)
  if (at < 0) return true
  findings.add('CONTROL_CHARACTER', { start: at, end: at }, '', { character: nameOf(text, at) })
  return false
}

function nameOf(text: string, at: number): string {
  const code = text.charCodeAt(at)
  if (code === 0) return 'a NUL character'
  if (code === 13) return 'a carriage return without a line feed'
  return `the control character U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

/** The parsed document, or null when the YAML is missing or broken; the findings say so. */
function parse(text: string, findings: Findings): Document.Parsed | null {
  const composer = new Composer({
    uniqueKeys: false,
    stringKeys: true,
    resolveKnownTags: false,
    merge: false,
    version: '1.2',
    prettyErrors: false,
  })
  let document: Document.Parsed | null = null
  for (const next of composer.compose(tokensOf(text, findings), true, text.length)) {
    if (document) {
      const [start] = next.range
      findings.add('SEVERAL_DOCUMENTS', { start, end: text.length }, '')
      return null
    }
    document = next
  }
  if (!document) return null
  reportErrors(document, text, findings)
  for (const { pos, code, message } of document.warnings) {
    const at = { start: pos[0], end: pos[1] }
    if (code === 'TAG_RESOLVE_FAILED') {
      findings.add('YAML_TAG', at, '', { tag: text.slice(at.start, at.end) })
    } else findings.add('YAML_SYNTAX', at, '', { reason: message })
  }
  return document.errors.length === 0 ? document : null
}

function reportErrors({ errors }: Document.Parsed, text: string, findings: Findings): void {
  let templateLine = 0
  for (const { pos, code, message } of errors) {
    const [start, end] = pos
    const line = findings.lineOf(start)
    // A bare template causes more errors in its line; one problem is enough.
    if (line === templateLine) continue
    if (code === 'NON_STRING_KEY' && text.slice(start - 1, start + 1) === '{{') {
      templateLine = line
      const close = text.indexOf('}}', start)
      findings.add(
        'TEMPLATE_NOT_QUOTED',
        { start: start - 1, end: close < 0 ? end : close + 2 },
        '',
      )
    } else {
      const reason = code === 'NON_STRING_KEY' ? 'a key must be plain text' : message
      findings.add('YAML_SYNTAX', { start, end }, '', { reason })
    }
  }
}

function* tokensOf(text: string, findings: Findings): Generator<CST.Token> {
  const parser = new Parser()
  let tokens = 0
  let documents = 0
  let errors = 0
  let type: string | null = null
  for (const lexeme of new Lexer().lex(text)) {
    // The text after a scalar's marker may look like any token.
    type = type === 'scalar' ? null : CST.tokenType(lexeme)
    const at = { start: parser.offset, end: parser.offset + lexeme.length }
    if (type === 'directive-line') stop(findings, 'YAML_DIRECTIVE', at)
    if (type === 'doc-start' && ++documents > 1) stop(findings, 'SEVERAL_DOCUMENTS', at)
    if (++tokens > TOKENS_MAX) stop(findings, 'TOO_MANY_NODES', at, RUNBOOK_NODES_MAX)
    for (const token of parser.next(lexeme)) {
      if (token.type === 'error') errors += 1
      yield token
    }
    // 200 KB of "}" were 200,000 errors, each with a stack of its own: 7 s.
    if (errors > SYNTAX_ERRORS_MAX) {
      findings.add('TOO_MANY_PROBLEMS', at, '', { max: SYNTAX_ERRORS_MAX })
      break
    }
    // The stack holds the document, open collections, and perhaps a scalar.
    const isTooDeep = parser.stack.length > RUNBOOK_DEPTH_MAX + 2
    if (isTooDeep) stop(findings, 'TOO_DEEP', at, RUNBOOK_DEPTH_MAX)
  }
  yield* parser.end()
}
