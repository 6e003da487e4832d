// Random requests generated from the OpenAPI document, half of them with a defect, and what an answer may be. The same seed generates
// the same requests.
import { openApiDocument } from '../../../src/api/openapi.ts'
import { formOf, plain, plainCsv, wave } from '../../api/contract/fixtures.ts'
import { type ApiUnderTest, ROUTES, routeOf } from '../../api/under-test.ts'
import type { seeded } from '../../kit/seeded.ts'
import { people } from '../../stories/world.ts'

/** Nothing takes seconds here; a minute means that it hangs. */
const HANG_MS = 60_000

type Schema = { readonly [key: string]: unknown }
type Random = ReturnType<typeof seeded>

const document = openApiDocument(ROUTES) as unknown as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[]
  readonly requestBody?: { content: Record<string, { schema: Schema }> }
  readonly responses: Record<string, unknown>
}

const oneOf = <T>(random: Random, choices: readonly T[]): T => choices[random(choices.length)]!

/** Texts that are valid somewhere, and texts that are valid nowhere. */
const TEXTS = [
  '1',
  '2',
  '3',
  '17',
  '99999',
  'wave',
  'plain',
  'prepare',
  'cutover',
  'create',
  'true',
]
const MORE_TEXTS = ['2026-03-05T00:00:00Z', 'active,failed', 'batch,phase', 'newest', 'because']
const HOSTILE: readonly string[] = [
  '',
  ' ',
  '\0',
  '\ud800',
  '-1',
  '1e9',
  '0x10',
  '9007199254740993',
  "'; drop table batches; --",
  '%',
  '__proto__',
  '../../etc/passwd',
  '{{constructor}}',
  'ﬀ𝒳\u202e',
  '9'.repeat(5_000),
]
const ODD: readonly unknown[] = [
  null,
  -1,
  1.5,
  1e308,
  true,
  [],
  {},
  [[[[]]]],
  { toString: 1 },
  '\0',
]

const IDS = Array.from({ length: 9 }, (_, n) => String(n + 1))

/** What a parameter's name implies and its schema does not say. */
const BY_NAME: Readonly<Record<string, readonly string[]>> = {
  batchId: IDS,
  memberId: IDS,
  stepId: IDS,
  deadLetterId: IDS,
  name: ['plain', 'wave'],
  runbookName: ['plain', 'wave'],
  yamlContent: [plain(), plain('plain', 'other'), wave()],
  version: ['1', '2'],
  limit: ['2', '50'],
  expectedPhase: ['prepare', 'cutover', 'init'],
  fromStep: ['create', 'switch'],
  startTime: ['2026-03-09T00:00:00Z'],
  status: ['active', 'failed'],
  kind: ['phase', 'removal'],
  entity: ['batch', 'step,member'],
  topic: ['worker-results'],
}

function text(random: Random, schema: Schema, name = ''): string {
  if (Array.isArray(schema.enum)) return String(oneOf(random, schema.enum))
  const hints = BY_NAME[name]
  if (hints && random(10) > 0) return oneOf(random, hints)
  return oneOf(random, [...TEXTS, ...MORE_TEXTS])
}

function resolved(schema: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema
  return document.components.schemas[schema.$ref.split('/').at(-1)!]!
}

/** A value that the schema may accept. Patterns are matched by luck only. */
function fitting(random: Random, given: Schema, depth = 0, name = ''): unknown {
  const schema = resolved(given)
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.anyOf)) return fitting(random, oneOf(random, schema.anyOf), depth, name)
  switch (schema.type) {
    case 'string':
      return text(random, schema, name)
    case 'integer':
    case 'number':
      return random(20)
    case 'boolean':
      return random(2) === 1
    case 'array':
      return Array.from({ length: random(4) }, () =>
        fitting(random, (schema.items ?? {}) as Schema, depth + 1),
      )
    case 'object':
      return objectOf(random, schema, depth)
    default:
      return depth > 3 ? null : oneOf(random, [1, 'x', null, true, { a: [1] }])
  }
}

function objectOf(random: Random, schema: Schema, depth: number): Record<string, unknown> {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Schema>
    required?: string[]
  }
  const made = Object.entries(properties)
    .filter(([name]) => required.includes(name) || random(2) === 1)
    .map(([name, inner]): [string, unknown] => [name, fitting(random, inner, depth + 1, name)])
  return Object.fromEntries(made)
}

/** Breaks one thing: a value, a key, or the whole body. */
function spoiled(random: Random, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || random(4) === 0) return oneOf(random, ODD)
  const entries = Object.entries(value)
  const which = random(entries.length + 1)
  if (which === entries.length) entries.push([oneOf(random, HOSTILE), 1])
  else entries[which]![1] = random(2) ? spoiled(random, entries[which]![1]) : oneOf(random, HOSTILE)
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
}

export interface Made {
  readonly path: string
  readonly init: RequestInit
}

function requestOf(random: Random, path: string, method: string, operation: Operation): Made {
  const isSpoiled = random(2) === 1
  const query = new URLSearchParams()
  let url = path
  const headers: Record<string, string> = {}
  for (const { name, in: place, required, schema } of operation.parameters ?? []) {
    const value = isSpoiled && random(4) === 0 ? oneOf(random, HOSTILE) : text(random, schema, name)
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value.toWellFormed()))
    else if (place === 'query' && (required || random(6) === 0)) query.append(name, value)
    else if (place === 'header' && random(8) === 0) headers[name] = '"seen"'
  }
  if (isSpoiled && random(5) === 0)
    query.append(oneOf(random, ['unknown', 'limit', '__proto__']), 'x')
  const content = operation.requestBody?.content ?? {}
  const init: RequestInit = { method: method.toUpperCase(), headers }
  if (content['application/json']) {
    const value = fitting(random, content['application/json'].schema)
    const body = JSON.stringify(isSpoiled ? spoiled(random, value) : value)
    headers['content-type'] = 'application/json'
    init.body = isSpoiled && random(8) === 0 ? body.slice(0, -1) : body
  } else if (content['multipart/form-data']) {
    const csv = oneOf(random, [
      plainCsv(`fuzz${random(1_000)}@x.example`),
      '',
      '"',
      '\ufeffUpn\r\n\0',
    ])
    init.body = formOf(
      random(5) ? csv : null,
      path.endsWith('members') ? {} : { runbookName: 'plain' },
    )
  }
  const search = query.size > 0 ? `?${query}` : ''
  return { path: url + search, init }
}

/** One request for each operation of the document. */
export function* randomRequests(random: Random): Generator<Made> {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods))
      yield requestOf(random, path, method, operation)
  }
}

/** Runbooks, and batches of both kinds in every state that a random request may meet. */
export async function fillWithBatches({ world }: ApiUnderTest): Promise<void> {
  await world.publish(plain())
  await world.publish(wave())
  world.answer = ({ functionName }) =>
    functionName === 'Switch-Thing' ? { fail: 'no' } : { ok: 1 }
  const members = people(12)
  for (const [index, member] of members.entries()) {
    const options =
      index % 3 === 0
        ? { manual: true }
        : { startsInMin: index % 3 === 1 ? 10 + index : 3_000 + index }
    await world.batch(index % 4 === 3 ? 'wave' : 'plain', [member], options)
  }
  await world.pass(600)
}

export interface Asked {
  /** The operation that answered with success; null for a refusal. */
  readonly succeeded: string | null
  /** What no caller may get: an internal error, or a status that the document does not list. */
  readonly finding: string | null
}

export async function ask({ url, token }: ApiUnderTest, { path, init }: Made): Promise<Asked> {
  const method = init.method!
  const headers = { ...init.headers, authorization: `Bearer ${token}` }
  const gone = new AbortController()
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(HANG_MS)])
  const response = await fetch(url + path, { ...init, headers, signal })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const text = isStream ? '' : await response.text()
  gone.abort()
  const { status } = response
  const declared = routeOf(method, path)
  const known = declared && document.paths[declared.path]![method.toLowerCase()]!.responses
  // A random path may not belong to an endpoint any more.
  const isListed = known ? String(status) in known : [400, 404, 405, 414].includes(status)
  const about = `${method} ${path} ${String(init.body)}\n${status} ${text}`
  return {
    succeeded: response.ok ? (declared?.operation ?? null) : null,
    finding: isListed && status !== 500 ? null : about,
  }
}
