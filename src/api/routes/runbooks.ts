// Runbooks and their versions: publish or dry-run, list, show, deactivate.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { listCatalogues } from '../../db/state/workers.ts'
import {
  countRunbooks,
  findRunbookLine,
  listRunbooks,
  listVersions,
  type RunbookLine,
} from '../../db/views/runbooks.ts'
import { deactivateRunbook, publishRunbook, requireVersion } from '../../engine/orders/publish.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { etagOf, requireEtag } from '../http/etag.ts'
import { faultSchema } from '../http/problem.ts'
import { change, read } from '../route.ts'
import { faultOf, parseRunbook, YAML_CHARS_MAX } from '../services/runbook-text.ts'
import { approvalsLost } from '../shapes/lost-approvals-shape.ts'
import { phaseWindowShape } from '../shapes/phase-window-shape.ts'
import {
  booleanText,
  dateTime,
  nameText,
  nullableDateTime,
  nullableText,
  pageOf,
  pagingQuery,
  reason,
  searchText,
  version,
  wholeCount,
} from '../shapes/shapes.ts'
import { startsAtOnce } from '../shapes/starts-shape.ts'
import { requireNamed } from './sources.ts'

const runbookShape = {
  id: z.int(),
  name: z.string(),
  version: z.int(),
  isActive: z.boolean(),
  overdueBehavior: z.enum(['ignore', 'rerun']),
  rerunInit: z.boolean(),
  publishedAt: dateTime,
  publishedBy: z.string(),
  lastError: nullableText.meta({ description: 'Why the last tick failed; null after a good one.' }),
  lastErrorAt: nullableDateTime,
}
const runbookLine = z
  .strictObject({
    ...runbookShape,
    isAutomationEnabled: z.boolean(),
    unfinishedBatches: wholeCount,
  })
  .meta({ id: 'RunbookLine' })
const runbookText = z
  .strictObject({
    ...runbookShape,
    isAutomationEnabled: z.boolean(),
    unfinishedBatches: wholeCount,
    yamlContent: z.string(),
  })
  .meta({ id: 'Runbook' })
const versionLine = z.strictObject(runbookShape).meta({ id: 'RunbookVersion' })

const runbookEtag = ({ version: number, isActive }: RunbookLine) => etagOf(number, isActive)

const listRoute = read({
  method: 'GET',
  path: '/api/runbooks',
  operation: 'listRunbooks',
  tag: 'runbooks',
  summary: 'List runbooks by name, each with its active version',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    search: searchText.optional().meta({ description: 'Part of the name.' }),
    withInactive: booleanText
      .optional()
      .meta({ description: 'Include runbooks without an active version, with their newest.' }),
  }),
  answers: { 200: pageOf('runbooks', runbookLine) },
  handle: async ({ engine: { db }, query: { limit, cursor, ...filter } }) => {
    const after = readCursor('name', cursor)?.value ?? null
    const found = await listRunbooks(db, filter, after, limit + 1)
    const at = (line: RunbookLine) => ({ value: line.name.toLowerCase(), id: line.id })
    const { rows, next } = pageFrom(found, limit, 'name', at)
    const total = await countRunbooks(db, filter)
    return { status: 200, body: { runbooks: [...rows], total, isTotalExact: true, next } }
  },
})

const getRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}',
  operation: 'getRunbook',
  tag: 'runbooks',
  summary: 'Show the active version of a runbook with its text',
  rule: 'reader',
  errors: ['RUNBOOK_NOT_FOUND'],
  params: z.strictObject({ name: nameText }),
  answers: { 200: runbookText },
  handle: async ({ engine: { db }, params }) => {
    const found = await findRunbookLine(db, params.name, null)
    if (!found) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: params.name })
    return { status: 200, body: found, etag: runbookEtag(found) }
  },
})

const versionsRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}/versions',
  operation: 'listRunbookVersions',
  tag: 'runbooks',
  summary: 'List the versions of a runbook, newest first',
  rule: 'reader',
  errors: ['RUNBOOK_UNKNOWN', 'CURSOR_INVALID'],
  params: z.strictObject({ name: nameText }),
  query: z.strictObject(pagingQuery),
  answers: { 200: pageOf('versions', versionLine) },
  handle: async ({ engine: { db }, params, query: { limit, cursor } }) => {
    const before = readCursor('version', cursor)?.id ?? null
    const found = await listVersions(db, params.name, before, limit + 1)
    const [newest] = before === null ? found : await listVersions(db, params.name, null, 1)
    if (!newest) throw new MatoolkitError('RUNBOOK_UNKNOWN', { name: params.name })
    const at = (line: RunbookLine) => ({ value: null, id: line.version })
    const { rows, next } = pageFrom(found, limit, 'version', at)
    // Versions are numbered without gaps, so the newest number is the total.
    const total = newest.version
    return {
      status: 200,
      body: { versions: rows.map(versionOf), total, isTotalExact: true, next },
    }
  },
})

const versionOf = ({
  isAutomationEnabled,
  unfinishedBatches,
  ...line
}: RunbookLine): z.input<typeof versionLine> => line

const versionRoute = read({
  method: 'GET',
  path: '/api/runbooks/{name}/versions/{version}',
  operation: 'getRunbookVersion',
  tag: 'runbooks',
  summary: 'Show a version of a runbook with its text',
  rule: 'reader',
  errors: ['RUNBOOK_UNKNOWN', 'RUNBOOK_VERSION_NOT_FOUND'],
  params: z.strictObject({ name: nameText, version }),
  answers: { 200: runbookText },
  handle: async ({ engine: { db }, params }) => {
    await requireVersion(db, params.name, params.version)
    const found = (await findRunbookLine(db, params.name, params.version))!
    return { status: 200, body: found, etag: runbookEtag(found) }
  },
})

const outcome = z.enum(['pending', 'skipped', 'carried_over', 'rerun', 'dropped'])
const initOutcome = z.enum(['none', 'new', 'carried_over', 'rerun'])
const impact = z
  .strictObject({
    batches: wholeCount.meta({
      description: 'Unfinished batches; `listed` has the first of them.',
    }),
    membersActive: wholeCount,
    phases: z.record(outcome, wholeCount),
    inits: z.record(initOutcome, wholeCount),
    listed: z.array(
      z.strictObject({
        batchId: z.int(),
        status: z.string(),
        fromVersion: z.int(),
        isManual: z.boolean(),
        isHeld: z.boolean(),
        membersActive: wholeCount,
        init: initOutcome,
        phases: z.array(
          z.strictObject({
            name: z.string(),
            outcome,
            from: nullableText,
            dueAt: nullableDateTime,
            because: z.string(),
            window: phaseWindowShape,
          }),
        ),
        lacking: z.array(z.strictObject({ variable: z.string(), members: wholeCount })),
      }),
    ),
    skipped: z.strictObject({
      total: wholeCount,
      listed: z.array(
        z.strictObject({ batchId: z.int(), phase: z.string(), dueAt: nullableDateTime }),
      ),
    }),
    startsAtOnce: z.strictObject({
      ...startsAtOnce.shape,
      phaseCount: wholeCount.meta({ description: 'All of them; `phases` has the first.' }),
    }),
    warnings: z.array(z.string()),
    approvalsLost,
  })
  .meta({ id: 'PublishImpact' })

const published = z
  .strictObject({
    runbookId: z.int().nullable().meta({ description: 'Null in a dry run.' }),
    name: z.string(),
    version: z.int(),
    isNew: z.boolean().meta({
      description: 'False when the active version already has this text and these options.',
    }),
    isDryRun: z.boolean(),
    warnings: z.array(faultSchema),
    impact,
  })
  .meta({ id: 'Published' })

const publication = z.strictObject({
  name: nameText.optional().meta({ description: 'Optional; must match the name in the text.' }),
  yamlContent: z.string().max(YAML_CHARS_MAX),
  overdueBehavior: z.enum(['ignore', 'rerun']).default('ignore'),
  rerunInit: z.boolean().default(false),
  dryRun: z.boolean().default(false),
  force: z.boolean().default(false).meta({
    description: 'Publish although a step lacks a required parameter of its function.',
  }),
  reason: reason.optional(),
})

const publishRoute = change({
  method: 'POST',
  path: '/api/runbooks',
  operation: 'publishRunbook',
  limits: 'runbook texts',
  tag: 'runbooks',
  summary: 'Publish the next version of a runbook, or dry-run it',
  about:
    'The answer lists the outcome for each unfinished batch. The same text and options again create no new version (200).',
  rule: 'admin',
  action: 'runbook.publish',
  takes: 'json',
  creates: true,
  comparesState: true,
  errors: ['RUNBOOK_INVALID', 'RUNBOOK_NAME_DIFFERS'],
  body: publication,
  answers: { 200: published, 201: published },
  prepare: async ({ engine, services, body }) =>
    parseRunbook(services.runbookReader, body.yamlContent, {
      catalogues: [engine.functions.packaged, ...(await listCatalogues(engine.db))],
      allowMissingParameters: body.force,
    }),
  handle: async ({ engine, body, by, ifMatch }, parsed) => {
    const { name: runbookName } = parsed.runbook
    if (body.name !== undefined) requireNamed(parsed.runbook, body.name)
    const { yamlContent: yaml, overdueBehavior, rerunInit, dryRun } = body
    const done = await publishRunbook(engine, {
      yaml,
      parsed,
      publishedBy: by.name,
      overdueBehavior,
      rerunInit,
      dryRun,
      checkActive: (active) => {
        const etag = active ? etagOf(active.version, active.isActive) : ''
        requireEtag(ifMatch, etag, `Runbook "${runbookName}"`)
      },
    })
    const row = dryRun ? null : await findRunbookLine(engine.db, runbookName, done.version)
    const isCreated = done.isNew && !dryRun
    const answer = {
      runbookId: row?.id ?? null,
      name: done.name,
      version: done.version,
      isNew: done.isNew,
      isDryRun: dryRun,
      warnings: done.warnings.map(faultOf),
      impact: impact.parse(done.impact),
    }
    return {
      status: isCreated ? 201 : 200,
      body: answer,
      ...(row && { etag: runbookEtag(row) }),
      auditNote: isCreated
        ? {
            subject: `runbook ${done.name}`,
            reason: body.reason ?? null,
            before: { version: done.version - 1 },
            after: {
              version: done.version,
              overdueBehavior,
              rerunInit,
              ...(body.force && { force: true }),
              batches: done.impact.batches,
            },
          }
        : null,
    }
  },
})

const deactivateRoute = change({
  method: 'DELETE',
  path: '/api/runbooks/{name}/versions/{version}',
  operation: 'deactivateRunbookVersion',
  tag: 'runbooks',
  summary: 'Deactivate a version; unfinished batches finish',
  rule: 'admin',
  action: 'runbook.deactivate',
  comparesState: true,
  errors: ['RUNBOOK_UNKNOWN', 'RUNBOOK_VERSION_NOT_FOUND', 'REFUSED'],
  params: z.strictObject({ name: nameText, version }),
  query: z.strictObject({ reason: reason.optional() }),
  answers: {
    200: z
      .strictObject({ name: z.string(), version: z.int(), isActive: z.boolean() })
      .meta({ id: 'DeactivatedVersion' }),
  },
  handle: async ({ engine, params, query, by, ifMatch }) => {
    const found = await requireVersion(engine.db, params.name, params.version)
    requireEtag(ifMatch, etagOf(found.version, found.isActive), `Runbook "${found.name}"`)
    const { isChanged } = await deactivateRunbook(engine, {
      ...params,
      actor: by.name,
      reason: query.reason ?? 'no reason given',
    })
    if (!isChanged) {
      const why = `Version ${params.version} of runbook "${found.name}" is not active.`
      throw new MatoolkitError('REFUSED', { reason: why })
    }
    return {
      status: 200,
      body: { name: found.name, version: found.version, isActive: false },
      auditNote: {
        subject: `runbook ${found.name}`,
        reason: query.reason ?? null,
        before: { version: found.version, isActive: true },
        after: { version: found.version, isActive: false },
      },
    }
  },
})

export const RUNBOOK_ROUTES = [
  publishRoute,
  listRoute,
  getRoute,
  versionsRoute,
  versionRoute,
  deactivateRoute,
]
