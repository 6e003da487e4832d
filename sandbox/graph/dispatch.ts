// From a request to its row in the table of routes: version, path, method, permissions.

import type { SandboxCall, SandboxResponse } from '../call.ts'
import { isObject } from '../json.ts'
import { decoded } from '../path.ts'
import { GraphRefusal } from '../refusal.ts'
import { batchResponse } from './batch.ts'
import { GRAPH_ROUTES, type GraphRoute } from './routes.ts'

const GRAPH_PATH = /^\/(v1\.0|beta)(\/.+)$/
const BATCH_PATH = /^\/(?:v1\.0|beta)\/\$batch$/

/** The response to one request, which may be a batch of up to twenty. */
export function graphResponse(call: SandboxCall): SandboxResponse {
  const isBatch = BATCH_PATH.test(call.url.pathname) && call.method === 'POST'
  return isBatch ? batchResponse(call, answerTo) : answerTo(call)
}

/** The rows of the table with this path, and the values in it. */
function matchesOf(pathname: string) {
  const [, version, path = ''] = GRAPH_PATH.exec(pathname) ?? []
  const parts = path.split('/').map(decoded)
  const matching = GRAPH_ROUTES.map((route) => ({ route, params: paramsOf(route, parts) })).filter(
    ({ route, params }) => params !== null && (!route.isBeta || version === 'beta'),
  )
  return { matching, path, parts }
}

/** Whether the sandbox has the call. It refuses any other as Graph refuses a path that it does not know. */
export const hasGraphRoute = (method: string, pathname: string): boolean =>
  BATCH_PATH.test(pathname) ||
  matchesOf(pathname).matching.some(({ route }) => route.method === method)

function answerTo(call: SandboxCall): SandboxResponse {
  const { matching, path, parts } = matchesOf(call.url.pathname)
  if (matching.length === 0) {
    throw new GraphRefusal(
      400,
      'BadRequest',
      `Resource not found for the segment '${parts.at(-1)}'.`,
    )
  }
  const found = matching.find(({ route }) => route.method === call.method)
  if (!found)
    throw new GraphRefusal(
      405,
      'Request_BadRequest',
      'Specified HTTP method is not allowed for the request target.',
    )
  const { route, params } = found
  const { roles } = call.application
  const isOpen = route.permissions.length === 0
  if (roles !== null && !isOpen && !route.permissions.some((role) => roles.includes(role)))
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation.',
    )
  requireLifeCycleRight(call, path)
  const response = shapedLike(call, route, route.handle({ ...call, params: params! }))
  const headers = { 'x-ms-resource-unit': String(route.units ?? 1), ...response.headers }
  return { ...response, headers }
}

/** Source: employeeLeaveDateTime in "user resource type" and "Update user" (learn.microsoft.com): a right of its own, to read it too. */
function requireLifeCycleRight(
  { application: { roles }, url, method, body }: SandboxCall,
  path: string,
) {
  if (roles === null || !path.startsWith('/users')) return
  const isWritten = method === 'PATCH' && 'employeeLeaveDateTime' in body
  const isRead = /\bemployeeLeaveDateTime\b/.test(url.searchParams.get('$select') ?? '')
  const rights = [
    'User-LifeCycleInfo.ReadWrite.All',
    ...(isWritten ? [] : ['User-LifeCycleInfo.Read.All']),
  ]
  if ((isWritten || isRead) && !rights.some((right) => roles.includes(right)))
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation.',
    )
}

/** In the forms of a recorded tenant. */
function shapedLike(
  { world }: SandboxCall,
  { method, path }: GraphRoute,
  response: SandboxResponse,
): SandboxResponse {
  const { body } = response
  if (world.replay === null || !isObject(body) || !Array.isArray(body.value)) return response
  if (!body.value.every(isObject)) return response
  const value = world.replay.shaped(`${method} ${path}`, body.value)
  return { ...response, body: { ...body, value: [...value] } }
}

/** The values of the segments in braces; null when the path does not match. */
function paramsOf(route: GraphRoute, given: readonly string[]): Record<string, string> | null {
  const segments = route.path.split('/')
  if (segments.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [at, part] of segments.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name !== undefined) params[name] = given[at]!
    else if (given[at]!.toLowerCase() !== part.toLowerCase()) return null
  }
  return params
}
