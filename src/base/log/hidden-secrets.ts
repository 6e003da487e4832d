// Hides secrets that we know in texts of others, plain, quoted or encoded: services and servers repeat passwords in their errors.
import type { Json } from '../text/json.ts'

/** Hiding shorter values would mangle ordinary text. */
const HIDDEN_CHARS_MIN = 4
/** A line of a certificate or key file can be quoted alone; shorter lines are often just brackets. */
const LINE_CHARS_MIN = 12

export class HiddenSecrets {
  readonly #seen = new Map<string, string>()

  /** Hides the secret from now on, and shows `instead`. */
  add(secret: string, instead: string): void {
    for (const form of formsOf(secret)) this.#seen.set(form, instead)
  }

  /** The value with all secrets hidden. Call it before cutting: half a secret is not found. */
  hideIn<T extends Json>(value: T): T {
    return this.#seen.size === 0 ? value : (hideIn(value, [...this.#seen]) as T)
  }
}

/** The value as texts show it: plain, quoted, encoded. */
function formsOf(secret: string): Set<string> {
  const lines = secret.split(/\r?\n/).map((line) => line.trim())
  const plain = [secret, secret.trim(), ...lines.filter((line) => line.length >= LINE_CHARS_MIN)]
  const forms = plain
    .filter((text) => text.length >= HIDDEN_CHARS_MIN)
    .flatMap((text) => [text, ...quotedForms(text), ...encodedForms(text)])
  return new Set(forms)
}

function quotedForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const ascii = json.replaceAll(/[^\0-~]|[<>&'+]/g, (unit) => `\\u${hexOf(unit)}`)
  const xml = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const html = xml.replaceAll('"', '&quot;')
  return [
    json,
    ascii,
    ascii.replaceAll(/\\u[\da-f]{4}/g, (code) => code.toUpperCase().replace('U', 'u')),
    // JSON within JSON.
    JSON.stringify(json).slice(1, -1),
    xml,
    html,
    html.replaceAll("'", '&#39;'),
    html.replaceAll("'", '&apos;'),
    // As PowerShell and SQL quote.
    text.replaceAll("'", "''"),
    text.replaceAll('"', '""'),
  ]
}

const hexOf = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, '0')

function encodedForms(text: string): string[] {
  const url = encodeURIComponent(text.toWellFormed())
  const form = new URLSearchParams({ '': text }).toString().slice(1)
  const lower = (escaped: string) => escaped.replaceAll(/%../g, (code) => code.toLowerCase())
  const bytes = [Buffer.from(text), Buffer.from(text, 'utf16le')]
  return [
    url,
    lower(url),
    form,
    lower(form),
    ...bytes.flatMap((each) => [...base64Forms(each), each.toString('hex')]),
    ...bytes.map((each) => each.toString('hex').toUpperCase()),
  ]
}

/**
 * Base64 of a longer text that holds the bytes, such as `user:password`, looks different for each of three positions. Only characters
 * that the secret alone decides belong to the form.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const end = before + bytes.length
    const encoded = Buffer.concat([Buffer.alloc(before), bytes, Buffer.alloc(2)]).toString('base64')
    const form = encoded.slice(Math.ceil((before * 8) / 6), Math.floor((end * 8) / 6))
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

type Seen = readonly (readonly [form: string, instead: string])[]

function hideIn(value: Json, seen: Seen): Json {
  if (typeof value === 'string') return hideInText(value, seen)
  if (typeof value === 'number') {
    const text = String(value)
    const hidden = hideInText(text, seen)
    return hidden === text ? value : hidden
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => hideIn(item, seen))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [hideInText(key, seen), hideIn(item, seen)]),
  )
}

interface Found {
  readonly start: number
  readonly end: number
  readonly instead: string
}

/** Finds all before it replaces any: a short secret inside a longer one, or across its edge, must not leave the rest of it. */
function hideInText(text: string, seen: Seen): string {
  const found = seen.flatMap(([form, instead]) => placesOf(text, form, instead))
  if (found.length === 0) return text
  let hidden = ''
  let at = 0
  for (const { start, end, instead } of joined(found)) {
    hidden += text.slice(at, start) + instead
    at = end
  }
  return hidden + text.slice(at)
}

function placesOf(text: string, form: string, instead: string): Found[] {
  const found: Found[] = []
  for (let start = text.indexOf(form); start >= 0; start = text.indexOf(form, start + 1))
    found.push({ start, end: start + form.length, instead })
  return found
}

/** Places that overlap become one, named after the longest. */
function joined(found: Found[]): Found[] {
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  const runs: Found[] = []
  let longest = 0
  for (const place of found) {
    const last = runs.at(-1)
    const length = place.end - place.start
    if (!last || place.start >= last.end) {
      runs.push(place)
      longest = length
      continue
    }
    const instead = length > longest ? place.instead : last.instead
    longest = Math.max(longest, length)
    runs[runs.length - 1] = { ...last, end: Math.max(last.end, place.end), instead }
  }
  return runs
}
