// JSON batching: up to twenty requests in one, each answered on its own. Source: "Combine multiple HTTP requests using JSON batching"
// (Graph documentation): ids are unique, a request waits for those in `dependsOn`, and one that failed gives 424 to its dependants.

import { ok, type SandboxCall, type SandboxResponse } from '../call.ts'
import type { JsonObject } from '../json.ts'
import { badRequest, GraphRefusal, graphRefusalResponse } from '../refusal.ts'

const REQUESTS_MAX = 20

interface BatchRequest {
  readonly id: string
  readonly method: string
  readonly url: string
  readonly body?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  readonly dependsOn?: readonly string[]
}

export function batchResponse(
  call: SandboxCall,
  answerTo: (call: SandboxCall) => SandboxResponse,
): SandboxResponse {
  const statuses = new Map<string, number>()
  const responses = requestsOf(call.body).map((request) => {
    const isBlocked = (request.dependsOn ?? []).some((id) => (statuses.get(id) ?? 500) >= 400)
    const response = isBlocked ? FAILED_DEPENDENCY : answered(innerCall(call, request), answerTo)
    statuses.set(request.id, response.status)
    const { status, headers = {}, body = null } = response
    return { id: request.id, status, headers: { ...headers }, body }
  })
  return ok({ responses })
}

function requestsOf({ requests }: JsonObject): BatchRequest[] {
  if (!Array.isArray(requests) || requests.length === 0)
    throw badRequest("The batch request must hold 'requests'.")
  if (requests.length > REQUESTS_MAX)
    throw badRequest(`Number of batch request steps exceeds the maximum value of ${REQUESTS_MAX}.`)
  const read = requests as unknown as BatchRequest[]
  if (new Set(read.map(({ id }) => String(id).toLowerCase())).size < read.length)
    throw badRequest('Request ids of a batch must be unique.')
  return read
}

function innerCall(call: SandboxCall, { method, url, body, headers }: BatchRequest): SandboxCall {
  const version = call.url.pathname.split('/')[1]
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  return {
    ...call,
    method,
    url: new URL(`/${version}/${url.replace(/^\//, '')}`, call.url.origin),
    headers: { ...call.headers, ...Object.fromEntries(given) },
    body: body ?? {},
  }
}

function answered(
  call: SandboxCall,
  answerTo: (call: SandboxCall) => SandboxResponse,
): SandboxResponse {
  try {
    return answerTo(call)
  } catch (error) {
    if (error instanceof GraphRefusal) return graphRefusalResponse(error, call.now, call.ids)
    throw error
  }
}

const FAILED_DEPENDENCY: SandboxResponse = {
  status: 424,
  body: { error: { code: 'FailedDependency', message: 'A request it depends on failed.' } },
}
