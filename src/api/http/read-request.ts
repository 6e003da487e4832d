// Parses path, query and body by the route's schemas and reports all faults at once.
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { isDeeperThan, JSON_DEPTH_MAX } from '../../domain/json.ts'
import type { Route } from '../route.ts'
import { FaultyRequest, type RequestFault } from './problem.ts'
import { faultsOf } from './request-faults.ts'
import { UploadedFile } from './upload.ts'

export interface ParsedRequest {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  /** Of operation, path, query and body; headers do not count. */
  readonly hash: string
}

export function readRequest(route: Route, request: FastifyRequest, form: unknown): ParsedRequest {
  const body = form ?? request.body ?? {}
  const given = { path: request.params, query: request.query, body }
  const faults: RequestFault[] = []
  if (isDeeperThan(body, JSON_DEPTH_MAX)) {
    faults.push({
      path: 'body',
      message: `The body is nested deeper than ${JSON_DEPTH_MAX} levels.`,
    })
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
    const more = faults.length - 1
    const details = {
      first: first.message,
      what: more === 0 ? 'it' : `it and ${more} more`,
    }
    throw new FaultyRequest('REQUEST_INVALID', details, faults)
  }
  return { ...parts, hash: hashOf(route, given) }
}

function parsed(
  schema: z.ZodType,
  value: unknown,
  place: 'path' | 'query' | 'body',
  faults: RequestFault[],
): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  faults.push(...faultsOf(schema, place, value, result.error.issues))
  return undefined
}

/** PostgreSQL stores neither NUL nor half a surrogate pair. Refused here, so that no statement fails. */
function unstorable(value: unknown, path: readonly string[]): RequestFault[] {
  if (typeof value === 'string') {
    const isFine = !value.includes('\0') && value.isWellFormed()
    return isFine
      ? []
      : [
          {
            path: path.join('.'),
            message: `"${path.at(-1)}" contains a character that cannot be stored (NUL or half a surrogate pair).`,
          },
        ]
  }
  // Member files check their own bytes.
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
