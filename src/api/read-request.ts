// From a request to what a handler is asked: parameters, query and body read by the route's schemas, all mistakes at once.
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { isDeeperThan, JSON_DEPTH_MAX } from '../domain/json.ts'
import { ManyFaults, type RequestFault } from './problem.ts'
import type { Route } from './route.ts'
import { UploadedFile } from './upload.ts'

export interface ParsedRequest {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  /** The same for the same request, whatever its headers. */
  readonly hash: string
}

export function readRequest(route: Route, request: FastifyRequest, form: unknown): ParsedRequest {
  const body = form ?? request.body ?? {}
  const given = { path: request.params, query: request.query, body }
  const faults: RequestFault[] = []
  if (isDeeperThan(body, JSON_DEPTH_MAX)) {
    faults.push({ path: 'body', message: `is nested deeper than ${JSON_DEPTH_MAX} levels` })
  } else {
    faults.push(...unstorable(given, []))
  }
  const parts =
    faults.length > 0
      ? null
      : {
          params: parsed(route.params, given.path, 'path', faults),
          query: parsed(route.query, given.query, 'query', faults),
          body: parsed(route.body, given.body, 'body', faults),
        }
  if (parts === null || faults.length > 0) {
    const first = faults[0]!
    const said = `${first.path} ${first.message}`
    throw new ManyFaults('REQUEST_INVALID', { count: faults.length, first: said }, faults)
  }
  return { ...parts, hash: hashOf(route, given) }
}

function parsed(schema: z.ZodType, value: unknown, place: string, faults: RequestFault[]): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  for (const { path, message } of result.error.issues) {
    faults.push({ path: [place, ...path].join('.'), message })
  }
  return undefined
}

/** PostgreSQL keeps neither NUL nor half of a surrogate pair; better said here than by a failing statement. */
function unstorable(value: unknown, path: readonly string[]): RequestFault[] {
  if (typeof value === 'string') {
    const isFine = !value.includes('\0') && value.isWellFormed()
    return isFine
      ? []
      : [{ path: path.join('.'), message: 'holds a character that cannot be kept' }]
  }
  // A file says for itself what is wrong with its bytes.
  if (typeof value !== 'object' || value === null || value instanceof UploadedFile) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...unstorable(key, path),
    ...unstorable(inner, [...path, key]),
  ])
}

const hashOf = (route: Route, given: object): string =>
  createHash('sha256')
    .update(JSON.stringify([route.operation, given]))
    .digest('hex')
