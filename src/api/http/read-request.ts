// Parses path, query and body by the route's schemas and reports all faults at once.
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { isDeeperThan, JSON_DEPTH_MAX } from '../../base/text/json.ts'
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
    findUnstorable(given, [], faults)
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
    throw new FaultyRequest(
      'REQUEST_INVALID',
      { first: first.message, what: whatToCorrect(faults.length - 1) },
      faults,
    )
  }
  return { ...parts, hash: hashOf(route, given) }
}

/** Bounded work per request: 200,000 faults in one body were too many to collect at once. */
const FAULTS_MAX = 1_000

function whatToCorrect(more: number): string {
  if (more === 0) return 'it'
  return more >= FAULTS_MAX ? `it and at least ${more} more` : `it and ${more} more`
}

function parsed(
  schema: z.ZodType,
  value: unknown,
  place: 'path' | 'query' | 'body',
  faults: RequestFault[],
): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  // One more than the limit shows that there are more.
  const issues = result.error.issues.slice(0, FAULTS_MAX + 1)
  for (const fault of faultsOf(schema, place, value, issues)) {
    if (faults.length <= FAULTS_MAX) faults.push(fault)
  }
  return undefined
}

/** PostgreSQL stores neither NUL nor half a surrogate pair. Refused here, so that no statement fails. */
function findUnstorable(value: unknown, path: readonly string[], faults: RequestFault[]): void {
  if (faults.length > FAULTS_MAX) return
  if (typeof value === 'string') {
    if (!value.includes('\0') && value.isWellFormed()) return
    const name = path.at(-1)?.slice(0, NAME_CHARS_MAX)
    faults.push({
      path: shortPath(path),
      message: `"${name}" contains a character that cannot be stored (NUL or half a surrogate pair).`,
    })
    return
  }
  // Member files check their own bytes.
  if (typeof value !== 'object' || value === null || value instanceof UploadedFile) return
  for (const [key, inner] of Object.entries(value)) {
    findUnstorable(key, path, faults)
    findUnstorable(inner, [...path, key], faults)
  }
}

const NAME_CHARS_MAX = 60
const shortPath = (path: readonly string[]): string => path.join('.').slice(0, 500)

const hashOf = (route: Route, given: object): string =>
  createHash('sha256')
    .update(JSON.stringify([route.operation, given]))
    .digest('hex')
