// Publishing a version of a runbook, and taking one out of use. Both are one transaction, with an event; publishers of one name
// wait for each other. Batches under way take a new version up by themselves (transition.ts), as the answer says.
import { insertEvents } from '../db/changes.ts'
import type { Queryable, Tx } from '../db/db.ts'
import {
  deactivateRunbookRow,
  findActiveRunbook,
  findLastVersion,
  findRunbookVersion,
  insertRunbook,
  lockRunbook,
  type NewVersion,
  type PublishedRunbook,
} from '../db/runbooks.ts'
import type { EventRecord } from '../domain/decide/draft.ts'
import type { Json } from '../domain/json.ts'
import { type Runbook, type RunbookProblem, readRunbook } from '../domain/runbook/read.ts'
import { MatoolkitError } from '../errors.ts'
import type { Engine } from './engine.ts'
import { type Impact, impactOf, noImpact } from './impact.ts'

export interface PublishRequest {
  readonly yaml: string
  readonly publishedBy: string
  /** What becomes of phases whose time has passed in batches under way. */
  readonly overdueBehavior?: 'ignore' | 'rerun'
  readonly rerunInit?: boolean
  /** The same answer, and nothing is done. */
  readonly dryRun?: boolean
}

export interface PublishResult {
  readonly name: string
  readonly version: number
  /** False when the active version says and decides the very same: then there is no new one. */
  readonly isNew: boolean
  /** What the author should look at; none of it keeps the version from being used. */
  readonly warnings: readonly RunbookProblem[]
  readonly impact: Impact
}

/** The next version of the runbook named in the text, active from now on. Refuses a text with errors. */
export async function publishRunbook(
  engine: Engine,
  request: PublishRequest,
): Promise<PublishResult> {
  const { runbook, warnings } = readOrRefuse(request.yaml)
  return engine.db.transaction(async (tx) => {
    if (!request.dryRun) await lockRunbook(tx, runbook.name)
    const active = await findActiveRunbook(tx, runbook.name)
    const next = await nextVersion(engine, tx, runbook, request)
    if (active && isSame(active, next)) {
      const { name, version } = active
      return { name, version, isNew: false, warnings, impact: noImpact() }
    }
    const former = active && (await engine.runbooks.get(tx, active.name, active.version))
    const impact = await impactOf(tx, runbook, next, former)
    if (!request.dryRun) await insert(tx, next, impact)
    return { name: next.name, version: next.version, isNew: true, warnings, impact }
  })
}

function readOrRefuse(yaml: string): { runbook: Runbook; warnings: readonly RunbookProblem[] } {
  const { runbook, problems } = readRunbook(yaml)
  if (runbook) return { runbook, warnings: problems }
  const errors = problems.filter(({ severity }) => severity === 'error')
  const first = errors[0]!
  throw new MatoolkitError('RUNBOOK_INVALID', {
    count: errors.length,
    first: `line ${first.line}, column ${first.column}: ${first.message}`,
  })
}

async function nextVersion(
  engine: Engine,
  tx: Tx,
  { name }: Runbook,
  request: PublishRequest,
): Promise<NewVersion> {
  return {
    name,
    version: (await findLastVersion(tx, name)) + 1,
    yaml: request.yaml,
    overdueBehavior: request.overdueBehavior ?? 'ignore',
    rerunInit: request.rerunInit ?? false,
    publishedBy: request.publishedBy,
    publishedAt: engine.clock.now(),
  }
}

const isSame = (active: PublishedRunbook, next: NewVersion): boolean =>
  active.yaml === next.yaml &&
  active.overdueBehavior === next.overdueBehavior &&
  active.rerunInit === next.rerunInit

async function insert(tx: Tx, next: NewVersion, { batches, phases }: Impact): Promise<void> {
  const { name, version, overdueBehavior, rerunInit, publishedAt, publishedBy } = next
  await insertRunbook(tx, next)
  const because = `version ${version} of ${name} was published over ${batches} batches under way`
  const details = { name, version, overdueBehavior, rerunInit, batches, phases }
  await insertEvents(tx, null, publishedAt, publishedBy, [
    runbookEvent('published', because, details),
  ])
}

export const runbookEvent = (event: string, because: string, details: Json): EventRecord => ({
  entity: 'runbook',
  event,
  from: null,
  to: null,
  memberId: null,
  phaseId: null,
  stepId: null,
  attempt: null,
  jobId: null,
  because,
  details,
})

export interface DeactivateRequest {
  readonly name: string
  readonly version: number
  readonly actor: string
  readonly reason: string
}

/**
 * Takes the version out of use: no query runs and no batch is made for the name until another is published. Batches under way
 * finish. A version that is not in use already is left alone.
 */
export async function deactivateRunbook(
  engine: Engine,
  { name, version, actor, reason }: DeactivateRequest,
): Promise<{ readonly isChanged: boolean }> {
  return engine.db.transaction(async (tx) => {
    await lockRunbook(tx, name)
    const found = await requireVersion(tx, name, version)
    if (!found.isActive) return { isChanged: false }
    await deactivateRunbookRow(tx, name)
    const because = `version ${version} of ${found.name} was taken out of use: ${reason}`
    const details = { name: found.name, version }
    await insertEvents(tx, null, engine.clock.now(), actor, [
      runbookEvent('deactivated', because, details),
    ])
    return { isChanged: true }
  })
}

/** The version, or an error that says what to do. */
export async function requireVersion(
  db: Queryable,
  name: string,
  version: number,
): Promise<PublishedRunbook> {
  const found = await findRunbookVersion(db, name, version)
  if (found) return found
  if ((await findLastVersion(db, name)) === 0) throw new MatoolkitError('RUNBOOK_UNKNOWN', { name })
  throw new MatoolkitError('RUNBOOK_VERSION_NOT_FOUND', { name, version })
}
