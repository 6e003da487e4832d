// Checks a document against the table of keys: unknown and missing keys, wrong types, invalid values. Continues after every
// problem, so that an author sees all of them at once.

import { hintFor, nearest } from '../../base/text/spelling.ts'
import type { Findings, Span } from './problems.ts'
import { chosen, RUNBOOK_SHAPE, type Shape } from './shape.ts'
import type { ShapeFault, TextFormat } from './text-formats.ts'
import type { Entry, ListNode, MapNode, Node, ScalarNode } from './tree.ts'

type Of<Is extends Shape['is']> = Extract<Shape, { is: Is }>

/** Prefix of author's notes, which are never read. */
const OWN_KEY_PREFIX = 'x-'

/** A value's path, and the key at which an empty value is reported. */
interface Place {
  readonly path: string
  readonly key: string
  readonly keySpan: Span
  /** Key and value. */
  readonly whole?: Span
}

export function checkStructure(root: Node, findings: Findings, shape = RUNBOOK_SHAPE): void {
  new StructureCheck(findings).check(root, shape, { path: '', key: '', keySpan: root })
}

class StructureCheck {
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  check(node: Node, shape: Shape, at: Place): void {
    if (shape.is === 'json') this.#json(node, at)
    else if (node.kind === 'scalar' && node.value === null)
      this.#empty(at, expectedOf(shape), shape)
    else if (shape.is === 'map' && node.kind === 'map') this.#map(node, shape, at)
    else if (shape.is === 'named' && node.kind === 'map') this.#named(node, shape, at)
    else if (shape.is === 'list' && node.kind === 'list') this.#list(node, shape, at)
    else if (shape.is === 'integer' && node.kind === 'scalar') this.#integer(node, shape, at)
    else if (shape.is === 'boolean' && node.kind === 'scalar') {
      if (typeof node.value !== 'boolean') this.#wrongType(node, shape, at)
    } else if (shape.is === 'choice' && node.kind === 'scalar') this.#choice(node, shape, at)
    else if (shape.is === 'text' && node.kind === 'scalar') this.#text(node, shape, at)
    else this.#wrongType(node, shape, at)
  }

  #map(node: MapNode, shape: Of<'map'>, at: Place): void {
    const { keys, called } = shape
    for (const entry of node.entries.values()) {
      const field = Object.hasOwn(keys, entry.key) ? keys[entry.key] : undefined
      if (field) this.check(entry.value, field.shape, placeOf(entry, at.path))
      else if (!entry.key.startsWith(OWN_KEY_PREFIX)) this.#unknownKey(entry, shape, at)
    }
    for (const [key, { required }] of Object.entries(keys)) {
      if (!required || node.entries.has(key)) continue
      this.#findings.add('MISSING_KEY', node, at.path, { place: capital(called), key })
    }
  }

  #unknownKey(entry: Entry, { keys, called }: Of<'map'>, at: Place): void {
    const { key, keySpan } = entry
    const { path } = placeOf(entry, at.path)
    if (key === 'on_failure' && called === 'a rollback or removal step') {
      const condition = 'on rollback and removal steps'
      const mend = { at: wholeOf(entry), write: null }
      this.#findings.add('CONFLICTING_KEYS', keySpan, path, { key, condition }, mend)
    } else {
      const names = Object.keys(keys)
      const details = () => ({ key, place: called, hint: hintFor(key, names, 'Use one of') })
      // The earlier system ignored it; what looks like a slip is for a person.
      const isNote = /^[\w-]+$/.test(key) && nearest(key, names) === null
      const mend = isNote ? { write: `${OWN_KEY_PREFIX}${key}` } : undefined
      this.#findings.add('UNKNOWN_KEY', keySpan, path, details, mend)
    }
  }

  #named(node: MapNode, { key: format, item }: Of<'named'>, at: Place): void {
    for (const entry of node.entries.values()) {
      const place = placeOf(entry, at.path)
      this.#format(entry.key, format, entry.keySpan, { ...place, key: 'A key' })
      this.check(entry.value, item, place)
    }
  }

  #list(node: ListNode, { item, min }: Of<'list'>, at: Place): void {
    if (node.items.length < min) {
      this.#findings.add('EMPTY_LIST', at.keySpan, at.path, { key: at.key })
    }
    for (const [index, child] of node.items.entries()) {
      const place = `[${index}]`
      this.check(child, item, { path: at.path + place, key: at.key + place, keySpan: child })
    }
  }

  #integer(node: ScalarNode, shape: Of<'integer'>, at: Place): void {
    const { value, source } = node
    const { min, max } = shape
    if (typeof value !== 'number') this.#wrongType(node, shape, at)
    else if (!Number.isInteger(value) || value < min || value > max) {
      this.#findings.add('BAD_NUMBER', node, at.path, { value: source, min, max })
    }
  }

  #choice(node: ScalarNode, shape: Of<'choice'>, at: Place): void {
    const value = String(node.value)
    if (chosen(shape, value) !== null) return
    this.#findings.add('UNKNOWN_VALUE', node, at.path, {
      value,
      hint: hintFor(value, shape.of, 'Use one of'),
    })
  }

  #text(node: ScalarNode, shape: Of<'text'>, at: Place): void {
    const { value, source } = node
    if (typeof value === 'string') this.#format(value, shape.format, node, at)
    else {
      // YAML reads a duration without unit as a number; the format's own message helps more than "this is a number".
      const fault = shape.format.pattern === undefined ? null : shape.format.check(source)
      if (fault) this.#fault(fault, node, at.path, source)
      else this.#wrongType(node, shape, at)
    }
  }

  #format(text: string, format: TextFormat, span: Span, at: Place): void {
    if (text.trim() === '') this.#empty(at, format.expected)
    else {
      const fault = format.check(text)
      if (fault) this.#fault(fault, span, at.path, text)
    }
  }

  #json(node: Node, at: Place): void {
    if (node.kind === 'list') {
      for (const [index, item] of node.items.entries()) {
        this.#json(item, { ...at, path: `${at.path}[${index}]` })
      }
    } else if (node.kind === 'map') {
      for (const entry of node.entries.values()) this.#json(entry.value, placeOf(entry, at.path))
    } else this.#bareWord(node, at.path)
  }

  /** Two traps of YAML: former booleans such as `yes`, and texts that look like numbers, such as `007`, `+49123` and `1.10`. */
  #bareWord(node: ScalarNode, path: string): void {
    const { source, value } = node
    const meant = FORMER_BOOLEANS.get(source.toLowerCase())
    if (meant) this.#findings.add('NOT_A_BOOLEAN', node, path, { value: source, meant })
    if (typeof value === 'number' && /^[-+\d.]+$/.test(source) && String(value) !== source)
      this.#findings.add('NUMBER_REWRITTEN', node, path, { value: source, number: value })
  }

  #wrongType(node: Node, shape: Shape, at: Place): void {
    const details = {
      found: foundOf(node),
      expected: expectedOf(shape),
      hint: typeHint(node, shape),
    }
    this.#findings.add('WRONG_TYPE', node, at.path, details)
  }

  #empty({ key, keySpan, path, whole }: Place, expected: string, shape?: Shape): void {
    // A section without entries; what is required stays for a person.
    const isSection = shape?.is === 'named' || (shape?.is === 'list' && shape.min === 0)
    const mend = isSection && whole ? { at: whole, write: null } : undefined
    this.#findings.add('EMPTY_VALUE', keySpan, path, { key, expected }, mend)
  }

  #fault({ code, details, write }: ShapeFault, at: Span, path: string, value: string): void {
    // Jobs go to a worker by its id: another one is for a person to choose.
    const mend = write !== undefined && code !== 'BAD_WORKER_ID' ? { write } : undefined
    this.#findings.add(code, at, path, { value, ...details }, mend)
  }
}

const FORMER_BOOLEANS = new Map([
  ['yes', 'true'],
  ['on', 'true'],
  ['no', 'false'],
  ['off', 'false'],
])

const placeOf = (entry: Entry, parent: string): Place => ({
  path: parent === '' ? entry.key : `${parent}.${entry.key}`,
  key: entry.key,
  keySpan: entry.keySpan,
  whole: wholeOf(entry),
})

const wholeOf = ({ keySpan, value }: Entry): Span => ({
  start: keySpan.start,
  end: Math.max(keySpan.end, value.end),
})

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function expectedOf(shape: Shape): string {
  switch (shape.is) {
    case 'text':
      return shape.format.expected
    case 'boolean':
      return 'true or false'
    case 'integer':
      return `a whole number from ${shape.min} to ${shape.max}`
    case 'choice':
      return `one of ${shape.of.join(', ')}`
    case 'list':
      return 'a list'
    default:
      return 'a map of keys and values'
  }
}

function foundOf(node: Node): string {
  if (node.kind !== 'scalar') return node.kind === 'list' ? 'a list' : 'a map'
  if (typeof node.value === 'string') return 'text'
  return typeof node.value === 'number' ? 'a number' : 'a boolean'
}

function typeHint(node: Node, shape: Shape): string {
  if (node.kind !== 'scalar') return ''
  if (shape.is === 'text') return `Put it in quotes: "${node.source}".`
  if (shape.is === 'list') return 'Start each entry on its own line with "- ".'
  const isQuoted = typeof node.value === 'string' && /^[0-9]+$/.test(node.value)
  return shape.is === 'integer' && isQuoted ? 'Remove the quotes.' : ''
}
