// Answers in the forms of a real tenant, from a file of `matoolkit tenant check --record`: how it says "not found", which properties it
// has and in which form, what it refuses. What happens in the tenants stays the sandbox's own.
import { z } from 'zod'
import type { SandboxResponse } from './call.ts'
import { isObject, type Json, type JsonObject } from './json.ts'
import { problemsOf } from './seed.ts'

const answerSchema = z.object({
  settles: z.string(),
  outcome: z.enum(['missing', 'found', 'refused']),
  request: z.object({
    method: z.string(),
    path: z.string(),
    cmdlet: z.string().nullable(),
    parameters: z.array(z.string()),
  }),
  response: z.object({
    status: z.int().min(200).max(599),
    headers: z.record(z.string().regex(/^[\w-]+$/), z.string().regex(/^[\x20-\x7e]*$/)),
    body: z.json(),
  }),
})

const ANSWERS_MAX = 1_000

const recordingSchema = z.object({
  format: z.literal('matoolkit-tenant-recording'),
  version: z.literal(1),
  answers: z.array(answerSchema).min(1).max(ANSWERS_MAX),
})

export type RecordedTenant = z.output<typeof recordingSchema>
type Answer = RecordedTenant['answers'][number]

/** The recording is invalid. The message completes "… is invalid: …". */
export class ReplayFault extends Error {
  override readonly name = 'ReplayFault'
}

export function recordingIn(text: string): RecordedTenant {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ReplayFault('it is not JSON')
  }
  const read = recordingSchema.safeParse(value)
  if (!read.success) throw new ReplayFault(problemsOf(read.error))
  return read.data
}

export interface Asked {
  /** A cmdlet, or a method and the template of a path: "GET /users/{user}". */
  readonly call: string
  readonly identity: string
  readonly organization: string
}

/** The sandbox makes these itself. */
const OWN_HEADERS = /^(?:content-type|retry-after|date|rate-?limit|x-ms-throttle-)/i

export class Replay {
  readonly #answers: ReadonlyMap<string, readonly Answer[]>
  readonly #forms: ReadonlyMap<string, Forms>

  constructor({ answers }: RecordedTenant) {
    this.#answers = Map.groupBy(answers, ({ request: { cmdlet, method, path } }) =>
      (cmdlet ?? `${method} ${path.replace(/^\/(?:v1\.0|beta)/, '')}`).toLowerCase(),
    )
    this.#forms = new Map(
      [...this.#answers].flatMap(([call, given]) => {
        const items = given.filter(({ outcome }) => outcome === 'found').flatMap(itemsOf)
        return items.length > 0 ? [[call, formsOf(items)] as const] : []
      }),
    )
  }

  /** The tenant's "not found" for this call, or for another of the same API; null when none was recorded. */
  missing({ call, ...fill }: Asked): SandboxResponse | null {
    const isGraph = call.includes(' ')
    const all = [...this.#answers].flatMap(([name, answers]) =>
      name.includes(' ') === isGraph ? answers : [],
    )
    const found = [...(this.#answers.get(call.toLowerCase()) ?? []), ...all].find(isNotFound)
    return found ? filled(found, fill) : null
  }

  /** What Get-MigrationBatch and the like return for an unknown name; null when the recording does not tell. */
  unknownName(cmdlet: string): 'all' | 'none' | 'refused' | null {
    const answers = this.#answers.get(cmdlet.toLowerCase()) ?? []
    const missing = answers.find(({ outcome }) => outcome === 'missing')
    if (!missing) return null
    if (isNotFound(missing)) return 'refused'
    if (itemsOf(missing).length > 0) return 'all'
    // Nothing at all in an empty tenant says nothing.
    const hasSome = answers.some((one) => one.outcome === 'found' && itemsOf(one).length > 0)
    return hasSome ? 'none' : null
  }

  /** A test of the tenant itself that it refuses with these parameters; null for every other call. */
  refusal(cmdlet: string, parameters: readonly string[], organization: string) {
    // What it says about one person says nothing about another.
    if (!/^Test-/i.test(cmdlet) || parameters.some((name) => ABOUT_ONE.test(name))) return null
    const names = namesOf(parameters)
    const found = this.#answers
      .get(cmdlet.toLowerCase())
      ?.find(
        ({ outcome, request, response }) =>
          outcome === 'refused' &&
          !SAYS_NOTHING.includes(response.status) &&
          namesOf(request.parameters) === names,
      )
    return found ? filled(found, { identity: '', organization }) : null
  }

  /** The sandbox's items with the properties of the tenant, in its forms. */
  shaped(call: string, items: readonly JsonObject[]): readonly JsonObject[] {
    const forms = this.#forms.get(call.toLowerCase())
    return forms ? items.map((item) => shapedItem(item, forms)) : items
  }
}

const ABOUT_ONE = /^(?:Identity|TestMailbox)$/i
/** A missing right, or a busy tenant. */
const SAYS_NOTHING = [401, 403, 429, 502, 503, 504]

const namesOf = (parameters: readonly string[]): string =>
  parameters
    .map((name) => name.toLowerCase())
    .sort()
    .join()

const errorsIn = (body: Json): boolean =>
  isObject(body) && Array.isArray(body['@adminapi.errors']) && body['@adminapi.errors'].length > 0

const isNotFound = ({ outcome, response: { status, body } }: Answer): boolean =>
  outcome === 'missing' && (status >= 400 || errorsIn(body))

function itemsOf({ response: { body } }: Answer): JsonObject[] {
  if (!isObject(body) || !Array.isArray(body.value)) return []
  return body.value.filter(isObject)
}

function filled(
  { response: { status, headers, body } }: Answer,
  { identity, organization }: Omit<Asked, 'call'>,
): SandboxResponse {
  const fill = (value: Json): Json => {
    if (typeof value === 'string')
      return value
        .replaceAll('<identity>', () => identity)
        .replaceAll('<organization>', () => organization)
    if (Array.isArray(value)) return value.map(fill)
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]))
  }
  const kept = Object.entries(headers).filter(([name]) => !OWN_HEADERS.test(name))
  return { status, headers: Object.fromEntries(kept), body: fill(body) }
}

/** The forms in which the tenant showed a property. */
type Forms = ReadonlyMap<string, ReadonlySet<Form>>
type Form =
  | 'list'
  | 'text'
  | 'number'
  | 'boolean'
  | 'null'
  | 'object'
  | 'time'
  | 'time without zone'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/

function formOf(value: Json): Form {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value !== 'string') return typeof value as Form
  const time = TIME.exec(value)
  if (!time) return 'text'
  return time[1] === undefined ? 'time without zone' : 'time'
}

function formsOf(items: readonly JsonObject[]): Forms {
  const forms = new Map<string, Set<Form>>()
  for (const item of items)
    for (const [name, value] of Object.entries(item)) {
      const seen = forms.get(name.toLowerCase()) ?? new Set()
      forms.set(name.toLowerCase(), seen.add(formOf(value)))
    }
  return forms
}

function shapedItem(item: JsonObject, forms: Forms): JsonObject {
  return Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) => {
      const [property, annotation] = name.split('@')
      const seen = forms.get(property!.toLowerCase())
      if (!seen) return []
      const shaped = inForm(value, seen)
      // The type of a list does not fit a text.
      if (annotation !== undefined && property !== '' && !seen.has('list')) return []
      return [[name, annotation === undefined ? shaped : value]]
    }),
  )
}

/** Unchanged where the tenant has shown this form too, or no form that it could take. */
function inForm(value: Json, seen: ReadonlySet<Form>): Json {
  const form = formOf(value)
  if (seen.has(form)) return value
  if (form === 'list' && seen.has('text')) return (value as Json[]).map(String).join(', ')
  if (form === 'list' && seen.has('null')) return (value as Json[]).length === 0 ? null : value
  if (form === 'text' && seen.has('list')) return value === '' ? [] : [value]
  if (form === 'text' && seen.has('null')) return value === '' ? null : value
  if (form === 'null') return seen.has('text') ? '' : seen.has('list') ? [] : value
  if (form === 'number' && seen.has('text')) return String(value)
  if (form === 'boolean' && seen.has('text')) return value ? 'True' : 'False'
  if (form === 'time' && seen.has('time without zone')) return String(value).replace(/Z$/, '')
  return value
}
