// The routes of Microsoft's own migration jobs, with the statuses in which each is allowed (source: "Running the migration", batch status
// values).

import {
  created,
  NO_CONTENT,
  ok,
  recordEffect,
  type SandboxCall,
  type SandboxResponse,
} from '../call.ts'
import { migrateJob, serviceStatus } from '../cross-tenant-jobs.ts'
import { guidOf, isGuidText } from '../identity.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import { stopMailboxMove } from '../mailbox-moves.ts'
import { badRequest, GraphRefusal, notFound } from '../refusal.ts'
import type { CrossTenantJob } from '../state.ts'
import { odataPage, type PropertyKind } from './odata.ts'

const WORKLOADS = ['Exchange', 'ODSP', 'Teams', 'Meeting'] as const
/** "The maximum batch size is 100 users"; the reference of the call says 2,000. */
const PEOPLE_MAX = 100
const VALIDATED_MS = 7 * 86_400_000

const JOB: PropertyKind = {
  type: 'microsoft.graph.crossTenantMigrationJob',
  properties: ['id', 'displayName', 'status', 'jobType', 'completeAfterDateTime'],
  usual: [
    'id',
    'displayName',
    'jobType',
    'status',
    'message',
    'completeAfterDateTime',
    'targetTenantId',
    'sourceTenantId',
    'exchangeSettings',
    'resources',
    'resourceType',
    'workloads',
    'createdDateTime',
    'lastUpdatedDateTime',
  ],
}

const conflict = (message: string) => new GraphRefusal(409, 'Conflict', message)

/** As in "Resolve errors during orchestrated migration". */
const badArgument = (field: string, reason: string) =>
  new GraphRefusal(422, 'BadArgument', `Error in data field ${field}: ${reason}.`)

const invalid = (name: string) => badRequest(`Invalid value specified for property '${name}'.`)

function jobOf({ tenant, params }: SandboxCall): CrossTenantJob {
  const job = tenant.state.crossTenantJobs.find(({ id }) => id === params.job)
  if (!job) throw notFound(params.job!)
  return job
}

const record = (call: SandboxCall, what: string, { id, displayName }: CrossTenantJob): void =>
  recordEffect(call, what, { id, name: displayName })

export function listJobs(call: SandboxCall): SandboxResponse {
  const toGraph = (job: CrossTenantJob) => graphJob(call, job)
  return odataPage(call, { all: call.tenant.state.crossTenantJobs, toGraph }, JOB, 'jobs')
}

export const getJob = (call: SandboxCall): SandboxResponse => ok(graphJob(call, jobOf(call)))

export function makeJob(call: SandboxCall): SandboxResponse {
  const { tenant, now } = call
  const asked = askedFor(call)
  if (tenant.state.crossTenantJobs.some((one) => one.displayName === asked.displayName))
    throw badArgument('displayName', 'duplicateDisplayNameJob')
  const at = now.toISOString()
  const job: CrossTenantJob = {
    id: guidOf(tenant.id, 'job', asked.displayName),
    ...asked,
    status: 'submitted',
    dueAt: null,
    validatedAt: null,
    createdAt: at,
    updatedAt: at,
    cancelledUsers: [],
    problems: [],
    batch: null,
  }
  tenant.state.crossTenantJobs.push(job)
  record(call, 'migration job made', job)
  return created(graphJob(call, job))
}

function askedFor({ body, now }: SandboxCall) {
  const { displayName, sourceTenantId, resources, resourceType } = body
  const workloads = body.workloads ?? [...WORKLOADS]
  if (typeof displayName !== 'string' || displayName === '') throw invalid('displayName')
  if (typeof sourceTenantId !== 'string' || !isGuidText(sourceTenantId))
    throw invalid('sourceTenantId')
  if (resourceType !== 'Users') throw invalid('resourceType')
  const isPeople =
    Array.isArray(resources) &&
    resources.length > 0 &&
    resources.length <= PEOPLE_MAX &&
    resources.every((one) => typeof one === 'string' && isGuidText(one))
  if (!isPeople) throw invalid('resources')
  if (!Array.isArray(workloads) || !workloads.every((one) => WORKLOADS.includes(one as 'ODSP')))
    throw invalid('workloads')
  return {
    displayName,
    sourceTenantId: sourceTenantId.toLowerCase(),
    completeAfter: dateIn(body, now),
    workloads: workloads as CrossTenantJob['workloads'],
    resources: (resources as string[]).map((one) => one.toLowerCase()),
    ...settingsIn(body, workloads.includes('Exchange')),
  }
}

function settingsIn({ exchangeSettings: given }: JsonObject, isNeeded: boolean) {
  const settings = isObject(given) ? given : {}
  const { sourceEndpoint = null, targetDeliveryDomain = null } = settings
  const isComplete = typeof sourceEndpoint === 'string' && typeof targetDeliveryDomain === 'string'
  if (isNeeded && !isComplete) throw invalid('exchangeSettings')
  return isComplete
    ? { sourceEndpoint, targetDeliveryDomain: targetDeliveryDomain.toLowerCase() }
    : { sourceEndpoint: null, targetDeliveryDomain: null }
}

function dateIn({ completeAfterDateTime: given }: JsonObject, now: Date): string {
  const at = typeof given === 'string' ? Date.parse(given) : Number.NaN
  if (Number.isNaN(at)) throw invalid('completeAfterDateTime')
  if (at < +now) throw badArgument('completeAfterDateTime', 'minThresholdFailed')
  return new Date(at).toISOString()
}

const CANCELLABLE: readonly string[] = [
  'submitted',
  'validateSubmitted',
  'validatePassed',
  'validateFailed',
  'processing',
  'inProgress',
]

export function updateJob(call: SandboxCall): SandboxResponse {
  const job = jobOf(call)
  const completeAfter = dateIn(call.body, call.now)
  if (!CANCELLABLE.includes(job.status)) throw conflict(`Current status is ${job.status}.`)
  if (completeAfter === job.completeAfter) return NO_CONTENT
  job.completeAfter = completeAfter
  if (job.status === 'inProgress') job.dueAt = completeAfter
  if (job.batch) job.batch.completeAfter = completeAfter
  record(call, 'migration job changed', job)
  return NO_CONTENT
}

export function validateJob(call: SandboxCall): SandboxResponse {
  const { world, now } = call
  const job = jobOf(call)
  if (!['submitted', 'validateFailed'].includes(job.status))
    throw conflict(`The job isn't in a valid status for validation: ${job.status}.`)
  job.status = 'validateSubmitted'
  job.dueAt = world.after(now, world.timing.mailboxMoveCompleteSec)
  record(call, 'migration job validated', job)
  return ok(graphJob(call, job))
}

export function startJob(call: SandboxCall): SandboxResponse {
  const { world, tenant, now } = call
  const job = jobOf(call)
  if (!['validatePassed', 'failed', 'completedWithErrors'].includes(job.status))
    throw conflict(`Migration can't be started because the current status is ${job.status}`)
  if (+now - Date.parse(job.validatedAt ?? '') > VALIDATED_MS)
    throw conflict('The validation results expired. Revalidate the job.')
  migrateJob(world, tenant, job, now)
  record(call, 'migration job started', job)
  return ok(graphJob(call, job))
}

function requireCancellable(job: CrossTenantJob, now: Date): void {
  if (CANCELLABLE.includes(job.status) && Date.parse(job.completeAfter) > +now) return
  throw conflict(`Cancel is not possible. Current status is ${job.status}`)
}

export function cancelJob(call: SandboxCall): SandboxResponse {
  const { world, now } = call
  const job = jobOf(call)
  requireCancellable(job, now)
  job.status = 'pendingCancel'
  job.dueAt = world.after(now, world.timing.mailboxMoveCompleteSec)
  record(call, 'migration job cancelled', job)
  const { id, displayName, status } = job
  const message = 'cancellation request has been accepted for the migration job'
  return { status: 202, body: { id, displayName, status, message } }
}

function personOf(call: SandboxCall): { job: CrossTenantJob; userId: string } {
  const job = jobOf(call)
  const userId = call.params.person!.toLowerCase()
  if (!job.resources.includes(userId)) throw notFound(userId)
  return { job, userId }
}

export function cancelPerson(call: SandboxCall): SandboxResponse {
  const { job, userId } = personOf(call)
  if (job.cancelledUsers.includes(userId))
    throw conflict('Cancel is not possible. Current status is cancelled')
  requireCancellable(job, call.now)
  job.cancelledUsers.push(userId)
  const move = job.batch?.mailboxMoves.find((one) => one.userId === userId)
  if (move) stopMailboxMove(call.world, move, call.now)
  record(call, 'person cancelled', job)
  return { status: 202, body: { status: 'Accepted', message: `${userId} was accepted.` } }
}

const TASK: PropertyKind = {
  type: 'microsoft.graph.crossTenantMigrationTask',
  properties: ['id', 'lastUpdatedDateTime', 'currentStatus'],
  usual: ['id', 'lastUpdatedDateTime', 'currentStatus'],
}

export function listPeople(call: SandboxCall): SandboxResponse {
  const job = jobOf(call)
  const all = job.resources.map((id) => ({ id }))
  return odataPage(call, { all, toGraph: ({ id }) => graphTask(job, id) }, TASK, 'users')
}

export function getPerson(call: SandboxCall): SandboxResponse {
  const { job, userId } = personOf(call)
  return ok(graphTask(job, userId))
}

const graphTask = (job: CrossTenantJob, id: string): JsonObject => ({
  id,
  lastUpdatedDateTime: job.updatedAt,
  currentStatus: job.workloads.map((service): Json => {
    const { status, error } = serviceStatus(job, id, service)
    const errors = error === null ? [] : [{ code: 'Validation', message: error }]
    return { service, status, message: '', errors }
  }),
})

/** Reads leave the lists empty, as Microsoft's example does. */
const graphJob = ({ tenant }: SandboxCall, job: CrossTenantJob): JsonObject => ({
  id: job.id,
  displayName: job.displayName,
  jobType: job.batch ? 'migrate' : 'validate',
  status: job.status,
  message: '',
  completeAfterDateTime: job.completeAfter,
  targetTenantId: tenant.id,
  sourceTenantId: job.sourceTenantId,
  exchangeSettings:
    job.sourceEndpoint === null
      ? null
      : { targetDeliveryDomain: job.targetDeliveryDomain, sourceEndpoint: job.sourceEndpoint },
  resources: [],
  resourceType: 'users',
  workloads: [...job.workloads],
  createdDateTime: job.createdAt,
  lastUpdatedDateTime: job.updatedAt,
})
