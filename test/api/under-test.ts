// The API as its callers see it: a real server on a free port, and the whole system behind it on a virtual clock. Every answer is
// checked against the statuses and error codes its route declares.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Api, type ApiConfig, type ApiOptions, openApi } from '../../src/api/api.ts'
import type { HttpProblem } from '../../src/api/http/problem.ts'
import { errorsOf } from '../../src/api/openapi.ts'
import type { Route } from '../../src/api/route.ts'
import { describedRoutes } from '../../src/api/routes.ts'
import { createLog } from '../../src/base/log/log.ts'
import type { ChangeWindows } from '../../src/domain/windows/change-windows.ts'
import { M365 } from '../../src/m365/package.ts'
import type { TestDatabase } from '../kit/databases.ts'
import { openWorld, type World } from '../stories/world.ts'

const MAINTENANCE_INTERVAL_MS = 3_600_000

export const ROUTES: readonly Route[] = describedRoutes()

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Body
}

export interface CallOptions {
  readonly body?: unknown
  readonly form?: FormData
  readonly headers?: Record<string, string>
  /** Null sends no token. */
  readonly token?: string | null
}

export interface ApiUnderTest {
  readonly world: World
  readonly url: string
  readonly token: string
  readonly api: Api
  /** Every log line so far. */
  readonly lines: string[]
  call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    options?: CallOptions,
  ): Promise<Answer<Body>>
  /** Expects a refusal with this status and code. */
  refused(
    status: number,
    code: string,
    ...call: [method: string, path: string, options?: CallOptions]
  ): Promise<Answer<HttpProblem>>
  close(): Promise<void>
}

export const LOCAL: Omit<ApiConfig, 'apiTokenFile'> = {
  apiHost: '127.0.0.1',
  apiPort: 0,
  apiReadsPerMin: 100_000,
  apiTrustedHops: 0,
  apiCorsOrigins: [],
  apiPublicPath: '/',
  oidcIssuers: [],
  oidcAudiences: [],
  oidcClientId: null,
  oidcApps: [],
  readPolicy: 'reader',
  auditKeptDays: null,
  auditHeadsFile: null,
  evidenceKey: null,
  evidenceKeyFile: null,
  poolSize: 10,
}

export interface UnderTestOptions {
  readonly config?: Partial<ApiConfig>
  readonly database?: TestDatabase
  readonly options?: Partial<ApiOptions>
  /** The system's. */
  readonly windows?: ChangeWindows
}

let openDatabase: (() => Promise<TestDatabase>) | undefined

/** From now on every API under test of this process gets such a database, unless it has its own. */
export function openOn(open: () => Promise<TestDatabase>): void {
  openDatabase = open
}

export async function openApiUnderTest(given: UnderTestOptions = {}): Promise<ApiUnderTest> {
  const database = given.database ?? (await openDatabase?.())
  const world = await openWorld(database ? { database } : {})
  try {
    return await startApi(world, given)
  } catch (error) {
    await world.close()
    throw error
  }
}

async function startApi(world: World, given: UnderTestOptions): Promise<ApiUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-api-'))
  const apiTokenFile = join(folder, 'private', 'api-token')
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  const { clock, bus } = world
  // Two restores must not get the same epoch.
  const windows = given.windows ?? null
  const engine = { ...world.engine, random: Math.random, windows }
  const api = openApi({
    meaningOf: M365.meaningOf,
    config: { ...LOCAL, apiTokenFile, ...given.config },
    engine,
    bus,
    clock,
    log: createLog({ level: 'debug', format: 'json', clock, destination }),
    // Days pass in many tests, and each minute's maintenance was most of their statements.
    maintenanceIntervalMs: MAINTENANCE_INTERVAL_MS,
    ...given.options,
  })
  api.start()
  const url = await api.listening
  const isLocal = (given.config?.oidcIssuers ?? []).length === 0
  const token = isLocal ? readFileSync(apiTokenFile, 'utf8') : ''
  const call: ApiUnderTest['call'] = (method, path, options) =>
    send(url, token, method, path, options)
  return {
    world,
    url,
    token,
    api,
    lines,
    call,
    refused: async (status, code, ...request) => {
      const answer = await call<HttpProblem>(...request)
      assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text)
      assert.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8')
      assert.equal(answer.body.status, status)
      return answer
    },
    close: async () => {
      await api.stop()
      await world.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function send<Body>(
  url: string,
  ownToken: string,
  method: string,
  path: string,
  { body, form, headers = {}, token = ownToken }: CallOptions = {},
): Promise<Answer<Body>> {
  const isJson = body !== undefined
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(isJson && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(isJson && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(form && { body: form }),
  })
  const text = await response.text()
  const isParsed = response.headers.get('content-type')?.includes('json')
  const parsed = (isParsed ? JSON.parse(text) : {}) as Body
  requireDeclared(method, path, response.status, parsed)
  return { status: response.status, headers: response.headers, text, body: parsed }
}

export const routeOf = (method: string, path: string): Route | undefined =>
  ROUTES.find(
    (route) =>
      route.method === method &&
      new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0]!),
  )

/** Statuses and codes seen by tests of this process, per operation. */
export const SEEN = new Map<string, Set<string>>()

/** Responses seen, and responses declared in the document. */
function requireDeclared(method: string, path: string, status: number, body: unknown): void {
  const route = routeOf(method, path)
  if (!route) return
  const name = `${method} ${route.path}`
  const seen = SEEN.get(route.operation) ?? new Set()
  SEEN.set(route.operation, seen)
  if (status in route.answers) return void seen.add(String(status))
  const { code } = body as HttpProblem
  seen.add(code)
  const codes: ReadonlySet<string> = errorsOf(route)
  assert.ok(codes.has(code), `${name} answered ${status} ${code}, which it does not declare`)
}
