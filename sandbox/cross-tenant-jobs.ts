// Microsoft's own migration of people between tenants: a job is validated, syncs, and cuts over by itself after its date. Mailboxes follow
// the rules of mailbox moves; files and chats only have a status (source: crossTenantMigrationJob; "Running the migration").
import { guidOf } from './identity.ts'
import { advanceMovesOf, mailboxMoveProblem, startMailboxMoves } from './mailbox-moves.ts'
import type { CrossTenantJob, MailboxMove, MigrationBatch } from './state.ts'
import type { SandboxTenant } from './tenant.ts'
import type { World } from './world.ts'

const ENDED = ['completed', 'completedWithErrors', 'failed', 'cancelled']
const RUNNING = ['processing', 'inProgress', 'cuttingOver']

/** Those that take part: a cancelled person is no longer in it. */
const peopleOf = ({ resources, cancelledUsers }: CrossTenantJob): string[] =>
  resources.filter((id) => !cancelledUsers.includes(id))

/** Advances every job to the present. */
export function advanceCrossTenantJobs(world: World, tenant: SandboxTenant, now: Date): void {
  for (const job of tenant.state.crossTenantJobs) {
    if (job.batch && RUNNING.includes(job.status)) advanceMovesOf(world, tenant, job.batch, now)
    while (advance(world, tenant, job, now));
  }
}

function advance(world: World, tenant: SandboxTenant, job: CrossTenantJob, now: Date): boolean {
  if (job.dueAt === null || Date.parse(job.dueAt) > +now) return false
  const at = job.dueAt
  const next = nextOf(world, tenant, job)
  if (next === null) return false
  Object.assign(job, { updatedAt: at, dueAt: null, ...next })
  return true
}

type Next = Partial<Pick<CrossTenantJob, 'status' | 'dueAt' | 'validatedAt' | 'problems'>>

/** Null while it waits for its mailboxes. */
function nextOf(world: World, tenant: SandboxTenant, job: CrossTenantJob): Next | null {
  const at = job.dueAt!
  switch (job.status) {
    case 'validateSubmitted': {
      const problems = problemsOf(world, tenant, job)
      const status = problems.length === 0 ? 'validatePassed' : 'validateFailed'
      return { status, problems, validatedAt: at }
    }
    case 'processing':
      return { status: 'inProgress', dueAt: later(at, job.completeAfter) }
    case 'inProgress':
      if (movesOf(job).some(({ status }) => status === 'Syncing')) return null
      return {
        status: 'cuttingOver',
        dueAt: world.after(new Date(at), world.timing.mailboxMoveCompleteSec),
      }
    case 'cuttingOver':
      return movesOf(job).every(({ status }) => FINAL.includes(status)) ? outcomeOf(job) : null
    case 'pendingCancel':
      return { status: 'cancelled' }
    default:
      return {}
  }
}

const FINAL: readonly MailboxMove['status'][] = ['Completed', 'Failed', 'NeedsApproval', 'Stopped']

const later = (a: string, b: string): string => (Date.parse(a) > Date.parse(b) ? a : b)

/** The mailboxes of people who take part. */
const movesOf = (job: CrossTenantJob): MailboxMove[] =>
  (job.batch?.mailboxMoves ?? []).filter(({ userId }) => !job.cancelledUsers.includes(userId!))

function outcomeOf(job: CrossTenantJob): Next {
  const moves = movesOf(job)
  const failed = moves.filter(({ status }) => status !== 'Completed').length
  if (failed === 0) return { status: 'completed' }
  return { status: failed === moves.length ? 'failed' : 'completedWithErrors' }
}

function problemsOf(
  world: World,
  tenant: SandboxTenant,
  job: CrossTenantJob,
): CrossTenantJob['problems'] {
  const batch = batchOf(tenant, job)
  return peopleOf(job).flatMap((userId) => {
    const message =
      personProblem(world, tenant, job, userId) ?? moveProblem(world, tenant, batch, userId)
    return message === null ? [] : [{ userId, message }]
  })
}

function personProblem(
  world: World,
  tenant: SandboxTenant,
  job: CrossTenantJob,
  userId: string,
): string | null {
  if (!world.tenant(job.sourceTenantId)) return 'The source tenant is not known.'
  if (!tenant.user(userId)) return 'The target user was not found.'
  const isElsewhere = tenant.state.crossTenantJobs.some(
    (other) => other !== job && !ENDED.includes(other.status) && peopleOf(other).includes(userId),
  )
  return isElsewhere ? 'The user belongs to another active batch.' : null
}

function moveProblem(
  world: World,
  tenant: SandboxTenant,
  batch: MigrationBatch | null,
  userId: string,
): string | null {
  const move = batch?.mailboxMoves.find((one) => one.userId === userId)
  return batch && move ? mailboxMoveProblem(world, tenant, batch, move) : null
}

/** The mailboxes as a batch of their own, which Exchange does not list; null when mailboxes stay. */
function batchOf(tenant: SandboxTenant, job: CrossTenantJob): MigrationBatch | null {
  const { sourceEndpoint, targetDeliveryDomain } = job
  if (!job.workloads.includes('Exchange') || !sourceEndpoint || !targetDeliveryDomain) return null
  return {
    id: job.id,
    name: job.displayName,
    sourceEndpoint,
    targetDeliveryDomain,
    createdAt: job.createdAt,
    startedAt: null,
    stoppedAt: null,
    goneAt: null,
    completeAfter: job.completeAfter,
    mailboxMoves: peopleOf(job).map((userId) => ({
      guid: guidOf(job.id, userId),
      address: tenant.user(userId)?.userPrincipalName ?? userId,
      userId,
      status: 'Stopped',
      dueAt: null,
      error: null,
      completeAfter: null,
      isApproved: false,
      associated: [],
    })),
    leftBehind: [],
  }
}

/** A second attempt starts what failed. */
export function migrateJob(
  world: World,
  tenant: SandboxTenant,
  job: CrossTenantJob,
  now: Date,
): void {
  job.batch ??= batchOf(tenant, job)
  if (job.batch) startMailboxMoves(world, tenant, job.batch, now)
  job.status = 'processing'
  job.updatedAt = now.toISOString()
  job.dueAt = world.after(now, world.timing.mailboxMoveCompleteSec)
}

const OF_MOVE: Readonly<Record<MailboxMove['status'], string>> = {
  Syncing: 'syncing',
  Synced: 'synced',
  Completing: 'finalizing',
  Completed: 'completed',
  NeedsApproval: 'failed',
  Failed: 'failed',
  Stopping: 'notStarted',
  Stopped: 'notStarted',
  Removing: 'notStarted',
}

/** The status of one person's workload, in the words of the service. */
export function serviceStatus(
  job: CrossTenantJob,
  userId: string,
  service: string,
): { readonly status: string; readonly error: string | null } {
  if (job.cancelledUsers.includes(userId)) return { status: 'cancelled', error: null }
  const problem = job.problems.find((one) => one.userId === userId)?.message ?? null
  const move = job.batch?.mailboxMoves.find((one) => one.userId === userId)
  const moved = move ? OF_MOVE[move.status] : null
  const isFailed = moved === 'failed'
  switch (job.status) {
    case 'validatePassed':
      return { status: 'valid', error: null }
    case 'validateFailed':
      return { status: problem === null ? 'valid' : 'invalid', error: problem }
    case 'inProgress':
    case 'cuttingOver':
      if (service === 'Exchange' && moved !== null) return { status: moved, error: move!.error }
      return { status: job.status === 'inProgress' ? 'synced' : 'inProgress', error: null }
    case 'completed':
    case 'completedWithErrors':
    case 'failed':
      return { status: isFailed ? 'failed' : 'completed', error: isFailed ? move!.error : null }
    case 'pendingCancel':
    case 'cancelled':
      return { status: job.status, error: null }
    default:
      return { status: 'notStarted', error: null }
  }
}
