// Faults of a request as people read them: the name, the value they gave, and what is allowed. `query.status.0: Invalid option` says
// none of it.
import type { z } from 'zod'
import { didYouMean, hintFor } from '../../base/text/spelling.ts'
import type { RequestFault } from './problem.ts'

type Place = 'path' | 'query' | 'body'
type Issue = z.core.$ZodIssue

const VALUE_CHARS_MAX = 60
const PATH_CHARS_MAX = 500
/** Each unknown key is compared with the known ones. */
const KEYS_MAX = 1_001
const SAID: Record<Place, string> = { path: 'path', query: 'parameter', body: 'key' }

export function faultsOf(
  schema: z.ZodType,
  place: Place,
  given: unknown,
  issues: readonly Issue[],
) {
  return issues.flatMap((issue) => faultsOfIssue(schema, place, given, issue))
}

function faultsOfIssue(
  schema: z.ZodType,
  place: Place,
  given: unknown,
  issue: Issue,
): RequestFault[] {
  const path = [place, ...issue.path].join('.').slice(0, PATH_CHARS_MAX)
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 ? Object.keys(shapeOf(schema)) : []
    return issue.keys.slice(0, KEYS_MAX).map((key) => ({
      path: `${path}.${key}`.slice(0, PATH_CHARS_MAX),
      message: sentence(`Unknown ${SAID[place]} "${shortened(key)}"`, hintFor(key, known, 'Use')),
    }))
  }
  const name = shortened(nameOf(issue.path))
  const value = valueAt(given, issue.path)
  if (value === undefined) {
    const what = name === '' ? `The ${place} is missing` : `The ${SAID[place]} "${name}" is missing`
    return [{ path, message: sentence(what, '') }]
  }
  const bad = `Invalid ${name || place} ${shown(value)}`
  return [{ path, message: sentence(bad, wantedBy(issue, value)) }]
}

const sentence = (what: string, hint: string): string =>
  hint === '' ? `${what}.` : `${what}. ${hint}`

/** "Use one of …" for a choice, else the rule that it breaks. */
function wantedBy(issue: Issue, value: unknown): string {
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String)
    const near = typeof value === 'string' ? didYouMean(value, allowed) : ''
    const all = `Allowed: ${allowed.join(', ')}.`
    return near === '' ? all : `${near} ${all}`
  }
  const rule = issue.message.replace(/^(Invalid input: |Invalid |Too small: |Too big: )/, '')
  return `It ${/^(must|is|has|holds)\b/.test(rule) ? rule : `must be: ${rule}`}.`
}

/** `members[2].key`; the place in a comma-separated list has no name of its own. */
function nameOf(path: readonly PropertyKey[]): string {
  let name = ''
  for (const part of path) {
    if (typeof part === 'number') {
      if (path.length > 2) name += `[${part}]`
    } else name += `${name === '' ? '' : '.'}${String(part)}`
  }
  return name
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  let value = given
  for (const part of path) {
    if (typeof value === 'string' && typeof part === 'number') value = value.split(',')[part]
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, part))
      value = (value as Record<PropertyKey, unknown>)[part]
    else return undefined
  }
  return value
}

const shapeOf = (schema: z.ZodType): object =>
  'shape' in schema && typeof schema.shape === 'object' && schema.shape !== null ? schema.shape : {}

function shown(value: unknown): string {
  if (typeof value === 'string') return `"${shortened(value)}"`
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? '(a list)' : '(an object)'
}

const shortened = (text: string): string =>
  text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text
