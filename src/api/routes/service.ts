// Endpoints about the service: health, readiness, sign-in, the caller, API documentation, metrics.
import { z } from 'zod'
import type { ErrorDetails, MatoolkitError } from '../../base/errors/errors.ts'
import { METRICS_TYPE } from '../../base/telemetry/prometheus.ts'
import type { JsonObject } from '../../base/text/json.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { findSchemaVersions, isAhead, type SchemaVersions } from '../../db/schema/migrate.ts'
import { DOCS_PAGE_POLICY, docsPage } from '../docs-page.ts'
import { openApiDocument } from '../openapi.ts'
import { type Route, read, type Services } from '../route.ts'
import { type Figures, processLines } from '../services/figures.ts'
import type { Meter } from '../services/metrics.ts'
import { json, nullableText } from '../shapes/shapes.ts'
import { API_ROLES } from '../sign-in/sign-in.ts'

/** The server, as the service routes see it. */
export interface ServiceContext {
  readonly meter: Meter
  readonly figures: Pick<Figures, 'lines' | 'isBusThere'>
  readonly stopping: AbortSignal
  readonly signIn: SignInOffer
  /** Null where callers sign in elsewhere. */
  prove(nonce: string): Promise<string | null>
  /** All routes, these included, for the OpenAPI document. */
  routes(): readonly Route[]
}

const signInOffer = z
  .strictObject({
    mode: z.enum(['local', 'oidc']),
    issuer: nullableText.meta({
      description: 'The token issuer; null in local mode.',
    }),
    clientId: nullableText,
    scope: nullableText,
  })
  .meta({ id: 'SignIn' })
export type SignInOffer = z.input<typeof signInOffer>

const checkResult = z.strictObject({ name: z.string(), isOk: z.boolean(), about: z.string() })
const readiness = z
  .strictObject({
    isReady: z.boolean(),
    isDegraded: z.boolean().meta({
      description: 'It works, holds included, though a check fails that needs a look.',
    }),
    checks: z.array(checkResult),
  })
  .meta({ id: 'Readiness' })
type Check = z.input<typeof checkResult>

export function serviceRoutes(context: ServiceContext) {
  const document = once(() => openApiDocument(context.routes()))
  const page = once(() => docsPage(document()))
  const about = [openApi(document), docs(page)]
  return [
    health(),
    ready(context),
    signIn(context),
    proof(context),
    me(),
    ...about,
    metrics(context),
  ]
}

/** Computed on the first call and cached: it takes 0.1 s, and callers need no sign-in. */
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
    summary: 'Check that the process is alive',
    rule: 'anonymous',
    answers: { 200: z.strictObject({ status: z.string() }) },
    handle: async () => ({ status: 200, body: { status: 'healthy' } }),
  })

const ready = ({ figures, stopping }: ServiceContext) =>
  read({
    method: 'GET',
    path: '/api/ready',
    operation: 'getReadiness',
    tag: 'service',
    summary: 'Check database, schema, bus, orchestrator and clock',
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
        await schemaCheck(engine.db),
        await check(BUS, () => figures.isBusThere()),
        waitCheck(services),
        clockCheck(services),
      ]
      const failed = checks.filter(({ isOk }) => !isOk)
      const isReady = failed.every(({ name }) => mayFail(failed).includes(name))
      const isDegraded = isReady && failed.length > 0
      return { status: isReady ? 200 : 503, body: { isReady, isDegraded, checks } }
    },
  })

const BUS = 'bus'
const ORCHESTRATOR = 'orchestrator'
/** Work continues on the database's time. */
const CLOCK = 'clock'

/** The failed checks that only degrade: a load balancer must not take away the one place where people can hold. */
const mayFail = (failed: readonly Check[]): readonly string[] =>
  // The orchestrator waits for the bus too; without the database the database's own check fails.
  failed.some(({ name }) => name === BUS) ? [BUS, ORCHESTRATOR, CLOCK] : [CLOCK]

/** Anonymous callers see only whether the check passes; the log has the error. */
async function check(name: string, passes: () => Promise<boolean>): Promise<Check> {
  const isOk = await passes().catch(() => false)
  return { name, isOk, about: isOk ? 'answers' : 'check failed; see the log' }
}

/** Names the versions: a newer one is not in the log of every process. */
async function schemaCheck(db: Queryable): Promise<Check> {
  try {
    const versions = await findSchemaVersions(db)
    const { found, known } = versions
    if (isAhead(versions))
      return { name: 'schema', isOk: true, about: `${versionsOf(versions)}; compatible` }
    if (found === known) return { name: 'schema', isOk: true, about: 'up to date' }
    return { name: 'schema', isOk: false, about: versionsOf(versions) }
  } catch (error) {
    const { code, details } = error as MatoolkitError
    const about = code === 'SCHEMA_NEWER' ? versionsOf(details) : 'check failed; see the log'
    return { name: 'schema', isOk: false, about }
  }
}

const versionsOf = ({ found, known }: ErrorDetails | SchemaVersions): string =>
  `the database has version ${found}, this program knows version ${known}`

function waitCheck({ whyWaiting }: Services): Check {
  const why = whyWaiting()
  return {
    name: ORCHESTRATOR,
    isOk: why === null,
    about: why === null ? 'not waiting for the database' : `waits: ${why}`,
  }
}

function clockCheck({ clockReport }: Services): Check {
  const report = clockReport()
  if (!report) return { name: CLOCK, isOk: true, about: 'not measured by this process' }
  const seconds = Math.round(report.machineSkewMs / 100) / 10
  return {
    name: CLOCK,
    isOk: report.withinLimit,
    about: `machine clock is ${seconds} s off the database clock`,
  }
}

const signIn = (context: ServiceContext) =>
  read({
    method: 'GET',
    path: '/api/sign-in',
    operation: 'getSignIn',
    tag: 'service',
    summary: 'Show how clients sign in',
    rule: 'anonymous',
    answers: { 200: signInOffer },
    handle: async () => ({ status: 200, body: context.signIn }),
  })

const proof = ({ prove }: ServiceContext) =>
  read({
    method: 'GET',
    path: '/api/sign-in/proof',
    operation: 'getProof',
    tag: 'service',
    summary: 'Prove that this API has the local token, before a caller sends it',
    rule: 'anonymous',
    query: z.strictObject({ nonce: z.string().regex(/^[\w-]{22,128}$/) }),
    answers: {
      200: z
        .strictObject({
          proof: nullableText.meta({
            description:
              'HMAC-SHA-256 with the token over "matoolkit", the address of the API and the nonce, in base64url; null without a local token.',
          }),
        })
        .meta({ id: 'Proof' }),
    },
    handle: async ({ query: { nonce } }) => ({ status: 200, body: { proof: await prove(nonce) } }),
  })

const me = () =>
  read({
    method: 'GET',
    path: '/api/me',
    operation: 'getMe',
    tag: 'service',
    summary: 'Show your identity and roles',
    rule: 'help-desk',
    answers: {
      200: z
        .strictObject({ id: z.string(), name: z.string(), roles: z.array(z.enum(API_ROLES)) })
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
    summary: 'Get the OpenAPI 3.1 document',
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
    summary: 'Get the API documentation as a page',
    rule: 'anonymous',
    gives: 'text/html; charset=utf-8',
    answers: { 200: z.string() },
    handle: async () => ({
      status: 200,
      body: page(),
      headers: { 'content-security-policy': DOCS_PAGE_POLICY },
    }),
  })

const metrics = ({ meter, figures }: ServiceContext) =>
  read({
    method: 'GET',
    path: '/metrics',
    operation: 'getMetrics',
    tag: 'service',
    summary: 'Get metrics for Prometheus',
    rule: 'reader',
    gives: METRICS_TYPE,
    answers: { 200: z.string() },
    handle: async () => {
      const lines = [
        ...meter.lines(),
        ...(await figures.lines()),
        ...processLines(process.memoryUsage(), process.uptime()),
      ]
      return { status: 200, body: `${lines.join('\n')}\n` }
    },
  })
