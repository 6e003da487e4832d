// The document as a small tree with positions, copied from the parser's nodes. Refuses what no runbook may contain: too many
// nodes, duplicate keys, reserved names, aliases, and values that JSON or PostgreSQL cannot store.
import type { Document, YAMLMap } from 'yaml'
import { isAlias, isMap, isNode, isScalar, isSeq } from 'yaml'
import { RESERVED_NAMES } from '../../base/text/json.ts'
import type { Findings, ProblemCode, Span } from './problems.ts'

export const RUNBOOK_NODES_MAX = 20_000

export interface ScalarNode extends Span {
  readonly kind: 'scalar'
  readonly value: null | boolean | number | string
  /** As written, quotes included. */
  readonly source: string
}

export interface ListNode extends Span {
  readonly kind: 'list'
  readonly items: readonly Node[]
}

export interface Entry {
  readonly key: string
  readonly keySpan: Span
  readonly value: Node
}

export interface MapNode extends Span {
  readonly kind: 'map'
  /** The first entry of each key, in file order. */
  readonly entries: ReadonlyMap<string, Entry>
}

export type Node = ScalarNode | ListNode | MapNode

/** A limit was exceeded and reading stops; the finding has been added. */
export class StopReading extends Error {}

export function stop(findings: Findings, code: ProblemCode, at: Span, max = 0): never {
  findings.add(code, at, '', { max })
  throw new StopReading()
}

/** The root, or null when nothing more can be checked. Recursive, so the depth must be bounded before. */
export function treeOf(document: Document.Parsed, text: string, findings: Findings): Node | null {
  const { contents } = document
  const start = { start: 0, end: 0 }
  if (contents === null || (isScalar(contents) && contents.value === null)) {
    findings.add('EMPTY_DOCUMENT', start, '')
    return null
  }
  const reader = new TreeReader(text, findings)
  const root = reader.read(contents, '', start)
  // An alias's value is unknown here, so further problems could be false.
  return reader.hasAliases ? null : root
}

class TreeReader {
  readonly #text: string
  readonly #findings: Findings
  #nodes = 0
  hasAliases = false

  constructor(text: string, findings: Findings) {
    this.#text = text
    this.#findings = findings
  }

  read(node: unknown, path: string, fallback: Span): Node {
    const span = spanOf(node, fallback)
    if (++this.#nodes > RUNBOOK_NODES_MAX) {
      stop(this.#findings, 'TOO_MANY_NODES', span, RUNBOOK_NODES_MAX)
    }
    if (isMap(node)) return { kind: 'map', entries: this.#entries(node, path, span), ...span }
    if (isSeq(node)) {
      const items = node.items.map((item, index) => this.read(item, `${path}[${index}]`, span))
      return { kind: 'list', items, ...span }
    }
    if (isAlias(node)) this.#refuseAlias(span, path)
    return this.#scalar(node, path, span)
  }

  #entries(map: YAMLMap, path: string, span: Span): Map<string, Entry> {
    const entries = new Map<string, Entry>()
    for (const { key: keyNode, value: valueNode } of map.items) {
      this.#nodes++
      const keySpan = spanOf(keyNode, span)
      const key = isScalar(keyNode) ? String(keyNode.value ?? '') : ''
      const keyPath = path === '' ? key : `${path}.${key}`
      const value = this.read(valueNode, keyPath, keySpan)
      this.#checkCharacters(key, keySpan, path)
      const former = entries.get(key)
      if (isAlias(keyNode)) this.#refuseAlias(keySpan, path)
      else if (RESERVED_NAMES.includes(key)) {
        this.#findings.add('RESERVED_NAME', keySpan, keyPath, { name: key })
      } else if (former) {
        const first = this.#findings.lineOf(former.keySpan.start)
        // In the earlier system the last one counted.
        const at = { start: former.keySpan.start, end: former.value.end }
        this.#findings.add('DUPLICATE_KEY', keySpan, keyPath, { key, first }, { at, write: null })
      } else entries.set(key, { key, keySpan, value })
    }
    return entries
  }

  #scalar(node: unknown, path: string, span: Span): ScalarNode {
    const value = isScalar(node) ? jsonScalar(node.value) : null
    const source = this.#text.slice(span.start, span.end)
    if (typeof value === 'number' && !isExact(value)) {
      this.#findings.add('NUMBER_NOT_EXACT', span, path, { value: source })
    }
    if (typeof value === 'string') this.#checkCharacters(value, span, path)
    return { kind: 'scalar', value, source, ...span }
  }

  /** Escapes such as "\0" and "\ud800" produce characters that PostgreSQL cannot store. */
  #checkCharacters(text: string, span: Span, path: string): void {
    const hasNul = text.includes('\0')
    if (!hasNul && text.isWellFormed()) return
    const character = hasNul ? 'a NUL character' : 'half a surrogate pair'
    this.#findings.add('CONTROL_CHARACTER', span, path, { character })
  }

  #refuseAlias(span: Span, path: string): void {
    this.hasAliases = true
    this.#findings.add('YAML_ALIAS', span, path)
  }
}

const isExact = (value: number): boolean =>
  Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))

const jsonScalar = (value: unknown): ScalarNode['value'] =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : null

function spanOf(node: unknown, fallback: Span): Span {
  const range = isNode(node) ? node.range : null
  return range ? { start: range[0], end: range[1] } : fallback
}
