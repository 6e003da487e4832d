// Publishing a version of a runbook, and deactivating one. Each is one transaction with an event, under the lock of the runbook's name.
// Unfinished batches upgrade to the version when they are next locked (version-upgrade.ts); the answer says what that will do.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable, Tx } from '../../db/connection/db.ts'
import { insertEvents } from '../../db/state/changes.ts'
import {
  deactivateRunbookRow,
  findActiveRunbook,
  findLastVersion,
  findRunbookVersion,
  insertRunbook,
  lockRunbook,
  type NewVersion,
  type PublishedRunbook,
} from '../../db/state/runbooks.ts'
import { type Runbook, type RunbookProblem, readRunbook } from '../../domain/runbook/read.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import type { Engine } from '../transactions/engine.ts'
import { type Impact, impactOf, noImpact } from './impact.ts'

/** A runbook's text without errors. */
export interface ValidRunbook {
  readonly runbook: Runbook
  readonly warnings: readonly RunbookProblem[]
}

export interface PublishRequest {
  readonly yaml: string
  /** The text as parsed by the caller; parsed here when missing. */
  readonly parsed?: ValidRunbook
  readonly publishedBy: string
  /** What unfinished batches do with phases whose time has passed. */
  readonly overdueBehavior?: 'ignore' | 'rerun'
  readonly rerunInit?: boolean
  /** Return the same answer and change nothing. */
  readonly dryRun?: boolean
  /** Throws if the publisher saw another active version. Runs under the lock. */
  readonly checkActive?: (active: PublishedRunbook | null) => void
}

export interface PublishResult {
  readonly name: string
  readonly version: number
  /** False when text and options equal the active version's: then there is no new one. */
  readonly isNew: boolean
  readonly warnings: readonly RunbookProblem[]
  readonly impact: Impact
}

/** Publishes the text as the next version of its runbook, active from now on. Refuses a text with errors. */
export async function publishRunbook(
  engine: Engine,
  request: PublishRequest,
): Promise<PublishResult> {
  const { runbook, warnings } = request.parsed ?? readValid(request.yaml)
  return engine.db.transaction(async (tx) => {
    if (!request.dryRun) await lockRunbook(tx, runbook.name)
    const active = await findActiveRunbook(tx, runbook.name)
    request.checkActive?.(active)
    const next = await nextVersion(engine, tx, runbook, request)
    if (active && isSame(active, next)) {
      const { name, version } = active
      return { name, version, isNew: false, warnings, impact: noImpact() }
    }
    const former = active && (await engine.runbooks.get(tx, active.name, active.version))
    const impact = await impactOf(tx, engine, runbook, next, former)
    if (!request.dryRun) {
      await insertVersion(tx, next, impact)
      engine.runbooks.expect(next.name, next.version, { yaml: next.yaml, runbook })
    }
    return { name: next.name, version: next.version, isNew: true, warnings, impact }
  })
}

function readValid(yaml: string): ValidRunbook {
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

async function insertVersion(tx: Tx, next: NewVersion, { batches, phases }: Impact): Promise<void> {
  const { name, version, overdueBehavior, rerunInit, publishedAt, publishedBy } = next
  await insertRunbook(tx, next)
  const because = `version ${version} of ${name} was published with ${batches} unfinished batches`
  const details = { name, version, overdueBehavior, rerunInit, batches, phases }
  await insertEvents(tx, null, publishedAt, publishedBy, [
    eventRecord('runbook', 'published', because, { details }),
  ])
}

export interface DeactivateRequest {
  readonly name: string
  readonly version: number
  readonly actor: string
  readonly reason: string
}

/**
 * Deactivates the version: no query runs and no batch is created for the name until another is published. Unfinished batches
 * finish. Does nothing to a version that is not active.
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
    const because = `version ${version} of ${found.name} was deactivated: ${reason}`
    const details = { name: found.name, version }
    await insertEvents(tx, null, engine.clock.now(), actor, [
      eventRecord('runbook', 'deactivated', because, { details }),
    ])
    return { isChanged: true }
  })
}

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
