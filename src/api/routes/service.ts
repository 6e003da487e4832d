// The service itself: is it alive, is it ready, how do I sign in, who am I, what can it do, how busy is it.
import { z } from 'zod'
import { isSchemaCurrent } from '../../db/migrate.ts'
import { loadWorkFigures } from '../../db/views/metrics.ts'
import type { JsonObject } from '../../domain/json.ts'
import { ROLES_KNOWN } from '../actor.ts'
import { DOCS_PAGE_POLICY, docsPage } from '../docs-page.ts'
import { busFigures, type Meter, processLines, workLines } from '../metrics.ts'
import { openApiDocument } from '../openapi.ts'
import { type Route, read, type Services } from '../route.ts'
import { json, nullableText } from '../shapes.ts'

/** What the routes of the service know of the server around them. */
export interface ServiceContext {
  readonly meter: Meter
  readonly stopping: AbortSignal
  readonly signIn: SignInOffer
  /** All routes of the table, these included: the document speaks of every one. */
  routes(): readonly Route[]
}

const signInOffer = z
  .strictObject({
    mode: z.enum(['local', 'oidc']),
    issuer: nullableText.meta({
      description: 'Where clients get their tokens; null in local mode.',
    }),
    clientId: nullableText,
    scope: nullableText,
  })
  .meta({ id: 'SignIn' })
export type SignInOffer = z.input<typeof signInOffer>

const checked = z.strictObject({ name: z.string(), isOk: z.boolean(), about: z.string() })
const readiness = z
  .strictObject({ isReady: z.boolean(), checks: z.array(checked) })
  .meta({ id: 'Readiness' })
type Check = z.input<typeof checked>

export function serviceRoutes(around: ServiceContext): Route[] {
  const document = once(() => openApiDocument(around.routes()))
  const page = once(() => docsPage(document()))
  const about = [openApi(document), docs(page)]
  return [health(), ready(around), signIn(around), me(), ...about, metrics(around)]
}

/** Made at the first call: it takes a tenth of a second, and anybody may ask. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const health = () =>
  read({
    method: 'GET',
    path: '/api/health',
    operation: 'getHealth',
    tag: 'service',
    summary: 'Whether the process is alive',
    rule: 'anonymous',
    answers: { 200: z.strictObject({ status: z.string() }) },
    handle: async () => ({ status: 200, body: { status: 'healthy' } }),
  })

const ready = ({ stopping }: ServiceContext) =>
  read({
    method: 'GET',
    path: '/api/ready',
    operation: 'getReadiness',
    tag: 'service',
    summary: 'Whether it can do its work: database, schema, bus, clock',
    rule: 'anonymous',
    answers: { 200: readiness, 503: readiness },
    handle: async ({ engine, services }) => {
      const checks = [
        {
          name: 'server',
          isOk: !stopping.aborted,
          about: stopping.aborted ? 'stopping' : 'running',
        },
        await check('database', async () => (await engine.db.query('select 1')).length === 1),
        await check('schema', () => isSchemaCurrent(engine.db)),
        await check('bus', () => services.bus.isReady()),
        clockCheck(services),
      ]
      const isReady = checks.every(({ isOk }) => isOk)
      return { status: isReady ? 200 : 503, body: { isReady, checks } }
    },
  })

/** Anybody may ask, so what went wrong is in the log of whoever met it, and not here. */
async function check(name: string, isFine: () => Promise<boolean>): Promise<Check> {
  const isOk = await isFine().catch(() => false)
  return { name, isOk, about: isOk ? 'is as it should be' : 'does not answer as it should' }
}

function clockCheck({ clockReport }: Services): Check {
  const report = clockReport()
  if (!report) return { name: 'clock', isOk: true, about: 'is not measured here' }
  const seconds = Math.round(report.machineSkewMs / 100) / 10
  return {
    name: 'clock',
    isOk: report.withinLimit,
    about: `this machine is ${seconds} s from the database`,
  }
}

const signIn = (around: ServiceContext) =>
  read({
    method: 'GET',
    path: '/api/sign-in',
    operation: 'getSignIn',
    tag: 'service',
    summary: 'How a client signs in here',
    rule: 'anonymous',
    answers: { 200: signInOffer },
    handle: async () => ({ status: 200, body: around.signIn }),
  })

const me = () =>
  read({
    method: 'GET',
    path: '/api/me',
    operation: 'getMe',
    tag: 'service',
    summary: 'Who the token says you are, and your roles',
    rule: 'reader',
    answers: {
      200: z
        .strictObject({ id: z.string(), name: z.string(), roles: z.array(z.enum(ROLES_KNOWN)) })
        .meta({ id: 'Me' }),
    },
    handle: async ({ by: { id, name, roles } }) => ({
      status: 200,
      body: { id, name, roles: [...roles] },
    }),
  })

const openApi = (document: () => JsonObject) =>
  read({
    method: 'GET',
    path: '/api/openapi.json',
    operation: 'getOpenApi',
    tag: 'service',
    summary: 'This API as an OpenAPI 3.1 document',
    rule: 'anonymous',
    answers: { 200: json },
    handle: async () => ({ status: 200, body: document() }),
  })

const docs = (page: () => string) =>
  read({
    method: 'GET',
    path: '/api/docs',
    operation: 'getDocs',
    tag: 'service',
    summary: 'This API as a page to read',
    rule: 'anonymous',
    gives: 'text/html; charset=utf-8',
    answers: { 200: z.string() },
    handle: async () => ({
      status: 200,
      body: page(),
      headers: { 'content-security-policy': DOCS_PAGE_POLICY },
    }),
  })

const metrics = ({ meter }: ServiceContext) =>
  read({
    method: 'GET',
    path: '/metrics',
    operation: 'getMetrics',
    tag: 'service',
    summary: 'Figures for Prometheus',
    rule: 'reader',
    gives: 'text/plain; version=0.0.4; charset=utf-8',
    answers: { 200: z.string() },
    handle: async ({ engine, services: { bus } }) => {
      const work = workLines({
        ...(await loadWorkFigures(engine.db)),
        ...busFigures(await bus.depth()),
      })
      const lines = [
        ...meter.lines(),
        ...work,
        ...processLines(process.memoryUsage(), process.uptime()),
      ]
      return { status: 200, body: `${lines.join('\n')}\n` }
    },
  })
