// Asks a tenant what no document settles, and keeps the answers as they came over the wire, without people, tenants and secrets. Only
// reads. `matoolkit sandbox --replay` answers in the recorded forms.
import type { Json, JsonObject } from '../../base/text/json.ts'
import { isObject } from '../../base/text/json.ts'
import { ApiError } from '../../worker/http/api.ts'
import type { HttpResponse } from '../../worker/http/http.ts'
import type { ConnectedTenant } from '../client/connect.ts'
import { type Probe, type ProbePlan, probesOf } from './probes.ts'
import { Pseudonyms } from './pseudonyms.ts'

/** A recorded call. sandbox/replay.ts reads the same form. */
export interface RecordedAnswer {
  readonly settles: string
  /** `refused`: neither the object nor its absence; a missing right, for example. */
  readonly outcome: 'missing' | 'found' | 'refused'
  readonly request: {
    readonly method: string
    readonly path: string
    readonly cmdlet: string | null
    /** Names of the parameters; values are gone. */
    readonly parameters: readonly string[]
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: Json
  }
}

export interface Recording {
  readonly format: 'matoolkit-tenant-recording'
  readonly version: 1
  readonly recordedAt: string
  readonly side: 'source' | 'target' | null
  readonly answers: readonly RecordedAnswer[]
}

export interface RecordRequest {
  readonly tenant: ConnectedTenant
  readonly answers: WireAnswers
  readonly plan: Omit<ProbePlan, 'organization'>
  readonly now: Date
  readonly signal: AbortSignal
}

/** The latest answer on the wire: the client passes every one to `see`. */
export class WireAnswers {
  #latest: HttpResponse | null = null

  readonly see = (response: HttpResponse): void => {
    this.#latest = response
  }

  take(): HttpResponse | null {
    const taken = this.#latest
    this.#latest = null
    return taken
  }
}

interface Heard {
  readonly probe: Probe
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

/** Also how many answers are not in it because a name was left in them. */
export async function recordAnswers(
  request: RecordRequest,
): Promise<{ recording: Recording; leftOut: number }> {
  const { tenant, plan, now } = request
  const { organization, id: tenantId } = tenant
  const heard: Heard[] = []
  for (const probe of probesOf({ ...plan, organization })) {
    const answer = await ask(request, probe)
    if (answer) heard.push(answer)
  }
  const pseudonyms = new Pseudonyms({ organization, tenantId })
  for (const { body, probe } of heard) pseudonyms.learn(body, probe.identity)
  const all = heard.map((one) => recorded(one, pseudonyms))
  const answers = all.filter((one) => pseudonyms.leftIn(JSON.stringify(one)) === null)
  const recording: Recording = {
    format: 'matoolkit-tenant-recording',
    version: 1,
    recordedAt: now.toISOString(),
    side: plan.side,
    answers,
  }
  return { recording, leftOut: all.length - answers.length }
}

const READS = /^(?:Get|Test)-/

/** Null when no answer came. */
async function ask(
  { tenant, answers, signal }: RecordRequest,
  probe: Probe,
): Promise<Heard | null> {
  answers.take()
  try {
    if (probe.cmdlet) {
      const { name, parameters } = probe.cmdlet
      if (!READS.test(name)) throw new TypeError(`${name} would change the tenant`)
      await tenant.exchange.run(name, parameters, { signal })
    } else await tenant.graph.call({ method: 'GET', path: probe.graph!.path, signal })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
  }
  const response = answers.take()
  if (response === null) return null
  return { probe, status: response.status, headers: response.headers, body: bodyIn(response) }
}

const ITEMS_MAX = 5

function bodyIn({ text, headers }: HttpResponse): Json {
  try {
    const body = JSON.parse(text) as Json
    if (!isObject(body) || !Array.isArray(body.value)) return body
    return { ...body, value: body.value.slice(0, ITEMS_MAX) }
  } catch {
    // Exchange labels bodies as gzip that are nothing.
    return text === '' || headers.get('content-encoding') ? null : text
  }
}

/** How an answer is understood: its form, its exception, how throttled the tenant is. */
const HEADERS =
  /^(?:content-type|content-encoding|retry-after|x-exceptiontype|x-ms-throttle-|x-ms-resource-unit|x-ms-diagnostics|rate-?limit)/i

function recorded({ probe, status, headers, body }: Heard, pseudonyms: Pseudonyms): RecordedAnswer {
  const { identity } = probe
  const kept = [...headers].filter(([name]) => HEADERS.test(name))
  return {
    settles: probe.settles,
    outcome: outcomeOf(probe, status, body),
    request: requestOf(probe),
    response: {
      status,
      headers: Object.fromEntries(
        kept.map(([name, value]) => [name, pseudonyms.sentence(value, identity)]),
      ),
      body: pseudonyms.replaced(body, identity),
    },
  }
}

function requestOf({ cmdlet, graph }: Probe): RecordedAnswer['request'] {
  if (!cmdlet)
    return { method: 'GET', path: `/v1.0${graph!.template}`, cmdlet: null, parameters: [] }
  const path = '/adminapi/beta/{tenant}/InvokeCommand'
  return { method: 'POST', path, cmdlet: cmdlet.name, parameters: Object.keys(cmdlet.parameters) }
}

/** The app may lack a right, or the tenant be busy: that says nothing about the object. */
const SAYS_NOTHING = [401, 403, 429, 502, 503, 504]

function outcomeOf({ asks }: Probe, status: number, body: Json): RecordedAnswer['outcome'] {
  if (SAYS_NOTHING.includes(status)) return 'refused'
  if (asks === 'missing') return 'missing'
  const hasErrors = isObject(body) && Array.isArray((body as JsonObject)['@adminapi.errors'])
  return status < 300 && !hasErrors ? 'found' : 'refused'
}
