// Templates: `{{ name }}` inside texts, in one linear pass. Values are inserted and never scanned again, so data that contains
// `{{…}}` stays data. `\{{` is a literal `{{`; backslashes before `{{` pair up, so `C:\\{{Name}}` is a backslash and a name. A
// text that is exactly one template keeps its value's type. Names ignore case and are own properties only: `{{constructor}}` is
// an unknown name. `{{secret:ref}}` becomes a marker for the worker, which alone has a vault; only a runbook's own text can make one.
import type { Json } from '../../base/text/json.ts'
import { nearest } from '../../base/text/spelling.ts'
import { spellingOf } from '../state/member-key.ts'

export interface Scope {
  /** The value, or undefined for an unknown name. */
  lookup(name: string): Json | undefined
  names(): Iterable<string>
}

export interface MissingName {
  readonly name: string
  /** The most similar known name. */
  readonly nearest: string | null
}

export type Resolved = { ok: true; value: Json } | { ok: false; missing: MissingName[] }

export type TemplateFault = 'unclosed' | 'empty' | 'brace-in-name'

export interface Template {
  /** Literal texts, and names to look up. */
  readonly parts: readonly (string | { readonly name: string })[]
  readonly faults: readonly { readonly fault: TemplateFault; readonly text: string }[]
  /** Whether it names a secret. */
  readonly hasSecrets: boolean
}

const SECRET_PREFIX = 'secret:'

/** The key of a marker: `{ "$secret": ["Bearer ", { "ref": "matoolkit-hook" }] }` is a text with secrets. */
export const SECRET_MARK = '$secret'
export type SecretPart = string | { readonly ref: string }

export const isSecretName = (name: string): boolean => name.startsWith(SECRET_PREFIX)

/**
 * `{{person:SendAs}}`: the people whom the variable names, by their names in the tenant that they move to. `{{waiting:SendAs}}`: those who
 * have moved and whose variable names this member.
 */
const PEOPLE_NAME = /^(person|waiting):(.+)$/s

export interface PeopleName {
  readonly kind: 'person' | 'waiting'
  readonly variable: string
}

export function peopleNameIn(name: string): PeopleName | null {
  const [, kind, variable] = PEOPLE_NAME.exec(name) ?? []
  return kind ? { kind: kind as PeopleName['kind'], variable: variable!.trim() } : null
}

/** The variable that a name in a template reads. */
export const variableIn = (name: string): string => peopleNameIn(name)?.variable ?? name

const FAULT_TEXT_MAX = 60

/** Splits a text into literals and names. Never throws; invalid parts are faults. */
export function scanTemplate(text: string): Template {
  const parts: (string | { name: string })[] = []
  const faults: { fault: TemplateFault; text: string }[] = []
  let literal = ''
  let at = 0
  for (;;) {
    const open = text.indexOf('{{', at)
    if (open < 0) break
    let slashes = 0
    while (open - slashes > at && text[open - slashes - 1] === '\\') slashes++
    literal += text.slice(at, open - slashes) + '\\'.repeat(slashes >> 1)
    if (slashes % 2 === 1) {
      literal += '{{'
      at = open + 2
      continue
    }
    const end = nextBrace(text, open + 2)
    const name = text.slice(open + 2, end).trim()
    const closed = text[end] === '}' && text[end + 1] === '}'
    if (closed && name !== '') {
      if (literal !== '') parts.push(literal)
      literal = ''
      parts.push({ name })
    } else {
      const fault = closed ? 'empty' : end === text.length ? 'unclosed' : 'brace-in-name'
      faults.push({ fault, text: text.slice(open, Math.min(end + 2, open + FAULT_TEXT_MAX)) })
    }
    at = closed ? end + 2 : end
  }
  literal += text.slice(at)
  if (literal !== '' || parts.length === 0) parts.push(literal)
  const hasSecrets = parts.some((part) => typeof part === 'object' && isSecretName(part.name))
  return { parts, faults, hasSecrets }
}

function nextBrace(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '{' && text[at] !== '}') at++
  return at
}

// A batch of 10,000 members resolves the same few dozen texts over and over. Long texts are not cached, which bounds the cache.
const CACHED_TEMPLATES_MAX = 5_000
const CACHED_TEXT_CHARS_MAX = 2_000
const cache = new Map<string, Template>()

function templateOf(text: string): Template {
  const known = cache.get(text)
  if (known) return known
  const template = scanTemplate(text)
  if (text.length > CACHED_TEXT_CHARS_MAX) return template
  if (cache.size >= CACHED_TEMPLATES_MAX) cache.clear()
  cache.set(text, template)
  return template
}

/**
 * Replaces names by values in every text of a value, but not in keys. Reports all missing names. A text with a fault counts as
 * missing, named by its faulty part: raw braces must never reach a worker.
 */
export function resolveTemplates(value: Json, scope: Scope): Resolved {
  const missing: string[] = []
  const resolved = resolve(value, scope, missing)
  if (missing.length === 0) return { ok: true, value: resolved }
  const names = [...scope.names()]
  return {
    ok: false,
    missing: [...new Set(missing)].map((name) => ({ name, nearest: nearest(name, names) })),
  }
}

function resolve(value: Json, scope: Scope, missing: string[]): Json {
  if (typeof value === 'string') return resolveText(value, scope, missing)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => resolve(item, scope, missing))
  const resolved: { [key: string]: Json } = {}
  for (const key of Object.keys(value)) {
    const item = resolve(value[key]!, scope, missing)
    // Plain assignment of this key would set the prototype.
    if (key === '__proto__') Object.defineProperty(resolved, key, { ...OWN, value: item })
    else resolved[key] = item
  }
  return resolved
}

const OWN = { enumerable: true, configurable: true, writable: true } as const

function resolveText(text: string, scope: Scope, missing: string[]): Json {
  if (!text.includes('{{')) return text
  const { parts, faults, hasSecrets } = templateOf(text)
  for (const fault of faults) missing.push(fault.text)
  if (hasSecrets) return { [SECRET_MARK]: parts.map((part) => secretPart(part, scope, missing)) }
  const only = parts[0]
  if (parts.length === 1 && typeof only === 'object') return lookUp(only.name, scope, missing)
  let out = ''
  for (const part of parts)
    out += typeof part === 'string' ? part : insertedText(lookUp(part.name, scope, missing))
  return out
}

/** Null for an unknown name, and for a value with a marker: member data must never choose a secret. */
function lookUp(name: string, scope: Scope, missing: string[]): Json {
  const value = scope.lookup(name)
  if (value !== undefined && !holdsMark(value)) return value
  missing.push(name)
  return null
}

/** Whether the value contains a secret's marker. */
export function holdsMark(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, SECRET_MARK) || Object.values(value).some(holdsMark)
}

function secretPart(part: Template['parts'][number], scope: Scope, missing: string[]): Json {
  if (typeof part === 'string') return part
  if (isSecretName(part.name)) return { ref: part.name.slice(SECRET_PREFIX.length).trim() }
  return insertedText(lookUp(part.name, scope, missing))
}

/** A value inside a text. */
export function insertedText(value: Json): string {
  if (typeof value === 'string') return value
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** A scope of layers; the first that has a name gives its value. Names ignore case where no layer has the very name. */
export function scopeOf(layers: readonly Readonly<Record<string, Json>>[]): Scope {
  return {
    lookup(name) {
      for (const layer of layers) if (Object.hasOwn(layer, name)) return layer[name]
      for (const layer of layers) {
        const spelling = spellingOf(name, Object.keys(layer))
        if (spelling !== undefined) return layer[spelling]
      }
      return undefined
    },
    *names() {
      for (const layer of layers) yield* Object.keys(layer)
    },
  }
}

/** The distinct names in a value's texts, in order of first use. */
export const variablesOf = (value: Json): string[] => namesOf(value, variableIn)

/** The distinct names in a value's texts, as written. */
export const namesWritten = (value: Json): string[] => namesOf(value, (name) => name)

/** The distinct names of other people in a value's texts. */
export const peopleNamesOf = (value: Json): PeopleName[] =>
  namesWritten(value).flatMap((name) => peopleNameIn(name) ?? [])

function namesOf(value: Json, read: (name: string) => string): string[] {
  const names = new Set<string>()
  collectNames(value, names, read)
  return [...names]
}

function collectNames(value: Json, names: Set<string>, read: (name: string) => string): void {
  if (typeof value === 'string') {
    if (!value.includes('{{')) return
    for (const part of templateOf(value).parts)
      if (typeof part === 'object' && !isSecretName(part.name)) names.add(read(part.name))
  } else if (Array.isArray(value)) {
    for (const item of value) collectNames(item, names, read)
  } else if (value !== null && typeof value === 'object') {
    for (const item of Object.values(value)) collectNames(item, names, read)
  }
}
