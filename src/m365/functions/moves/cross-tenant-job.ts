// Microsoft's own migration of people into this tenant: mailbox, OneDrive, chats and meetings as one job (crossTenantMigrationJob). It is
// made, validated, started, and then cuts over by itself at its date. Nothing of ours but a stop keeps it from that, so these functions
// never start a job unasked.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { FunctionRefused, NotFound } from '../failure.ts'
import { by, never, whenChanged } from '../inverse.ts'
import {
  domainName,
  isSameText,
  listParameter,
  nameParameter,
  objectId,
  optional,
} from '../parameters.ts'
import { type ReplicationContext, retryUntilFound } from '../replication.ts'

export const MIGRATION_JOBS = '/solutions/migrations/crossTenantMigrationJobs'
const permissions = { graph: ['CrossTenantContentMigration.ReadWrite.All'] }
const WORKLOADS = ['Exchange', 'ODSP', 'Teams', 'Meeting'] as const

const jobParameters = z
  .strictObject({
    Name: nameParameter.max(256).describe('Unique in the tenant, also among cancelled jobs.'),
    SourceTenantId: z.guid().describe('Id of the tenant that people leave.'),
    UserIds: listParameter(objectId).describe(
      'Object ids in this tenant. Unconfirmed: up to 100 people by one page of Microsoft, 2,000 by another.',
    ),
    CompleteAfter: z.iso
      .datetime({ offset: true })
      .describe('Microsoft cuts over after this time. No hold of a batch stops it.'),
    Workloads: optional(listParameter(z.enum(WORKLOADS))).describe(
      'Exchange, ODSP (OneDrive), Teams (chats), Meeting; all if missing.',
    ),
    TargetDeliveryDomain: optional(domainName).describe('Required with Exchange.'),
    SourceEndpoint: optional(nameParameter).describe(
      'Required with Exchange: the migration endpoint in this tenant.',
    ),
  })
  .refine(
    ({ Workloads, TargetDeliveryDomain, SourceEndpoint }) =>
      (Workloads !== null && !Workloads.includes('Exchange')) ||
      (TargetDeliveryDomain !== null && SourceEndpoint !== null),
    'Exchange needs TargetDeliveryDomain and SourceEndpoint',
  )
type NewJob = z.infer<typeof jobParameters>

const madeJob = z.object({
  JobId: z.string(),
  Name: z.string(),
  Status: z.string(),
  Created: z.boolean(),
  Changed: z.boolean(),
})

export const hasJobStatus = (job: JsonObject, statuses: readonly string[]): boolean =>
  statuses.some((one) => isSameText(one, textOf(job.status)))

/** Microsoft writes it with one l and with two. */
const CANCELLED = ['cancelled', 'canceled', 'pendingCancel', 'pendingDelete', 'deleted']
const CUT_OVER = ['cuttingOver', 'completed', 'completedWithErrors', 'failed']

export const newCrossTenantMigrationJob = defineM365Function({
  name: 'New-CrossTenantMigrationJob',
  description:
    "Makes a job of Microsoft's own migration between tenants and has it validated; run it on the worker of the target. For an existing job of that name it changes the date and validates again what failed. Wait with Test-CrossTenantMigrationJob, then start it. Unconfirmed: whether Microsoft validates a new job unasked; both are understood.",
  parameters: jobParameters,
  result: madeJob,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  creates: true,
  copy: 'begins',
  undo: 'Stop-CrossTenantMigrationJob, before CompleteAfter.',
  undoneBy: ['Stop-CrossTenantMigrationJob'],
  effectOf: whenChanged((_, { JobId, Name, Created }) =>
    Created
      ? by({
          target: Name,
          before: { exists: false },
          run: 'Stop-CrossTenantMigrationJob',
          with: { JobId },
          keeps: 'A cancelled job keeps its name.',
        })
      : never(Name, 'The job was there before, with another date or without a validation.'),
  ),
  run: async (call: M365Call<NewJob>): Promise<z.infer<typeof madeJob>> => {
    const { Name } = call.params
    const known = await jobNamed(call, Name)
    if (known !== null && hasJobStatus(known, CANCELLED))
      throw new FunctionRefused(
        `The migration job "${Name}" is ${textOf(known.status)}, and a name is used only once. Give another Name.`,
      )
    const isDateChange = known !== null && (await changeDate(call, known))
    const job = known ?? (await makeJobOnce(call))
    const isValidation = await validate(call, job)
    return {
      JobId: textOf(job.id),
      Name,
      Status: isValidation ? 'validateSubmitted' : textOf(job.status),
      Created: known === null,
      Changed: known === null || isDateChange || isValidation,
    }
  },
})

async function jobNamed(
  { tenant, signal }: ReplicationContext,
  name: string,
): Promise<JsonObject | null> {
  for await (const job of tenant.graph.list({ path: MIGRATION_JOBS, signal }))
    if (isSameText(textOf(job.displayName), name)) return job
  return null
}

async function makeJobOnce(call: M365Call<NewJob>): Promise<JsonObject> {
  const { tenant, signal, params } = call
  const { Workloads, TargetDeliveryDomain, SourceEndpoint } = params
  try {
    const { body } = await tenant.graph.call({
      method: 'POST',
      path: MIGRATION_JOBS,
      body: {
        displayName: params.Name,
        completeAfterDateTime: new Date(params.CompleteAfter).toISOString(),
        sourceTenantId: params.SourceTenantId,
        resourceType: 'Users',
        resources: params.UserIds,
        ...(Workloads === null ? {} : { workloads: Workloads }),
        ...(TargetDeliveryDomain === null || SourceEndpoint === null
          ? {}
          : {
              exchangeSettings: {
                targetDeliveryDomain: TargetDeliveryDomain,
                sourceEndpoint: SourceEndpoint,
              },
            }),
      },
      signal,
    })
    return body as JsonObject
  } catch (error) {
    if (!(error instanceof ApiError && error.isOutcomeUnknown)) throw error
    const made = await retryUntilFound(call, () => jobNamed(call, params.Name))
    if (made === null) throw error
    return made
  }
}

/** False when it has the date, or is past changing. */
async function changeDate(call: M365Call<NewJob>, job: JsonObject): Promise<boolean> {
  const wanted = new Date(call.params.CompleteAfter)
  if (Date.parse(textOf(job.completeAfterDateTime)) === +wanted || hasJobStatus(job, CUT_OVER))
    return false
  await call.tenant.graph.call({
    method: 'PATCH',
    path: `${MIGRATION_JOBS}${pathOf`/${textOf(job.id)}`}`,
    body: { completeAfterDateTime: wanted.toISOString() },
    signal: call.signal,
  })
  return true
}

const UNVALIDATED = ['submitted', 'validateFailed']

/** False when that is not due. */
async function validate(caller: ReplicationContext, job: JsonObject): Promise<boolean> {
  if (!hasJobStatus(job, UNVALIDATED)) return false
  return actOnJob(caller, textOf(job.id), 'validate', (now) => !hasJobStatus(now, UNVALIDATED))
}

/** Sent again after a lost answer, it is refused with a 409; the status tells whether it was done. */
async function actOnJob(
  caller: ReplicationContext,
  id: string,
  action: string,
  isDone: (job: JsonObject) => boolean,
): Promise<boolean> {
  const path = `${MIGRATION_JOBS}${pathOf`/${id}`}/${action}`
  const { tenant, signal } = caller
  try {
    await tenant.graph.call({ method: 'POST', path, isIdempotent: true, signal })
    return true
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error
    const now = await readJob(caller, id)
    if (!isDone(now)) throw error
    return error.attempts > 1
  }
}

export async function findJob(
  { tenant, signal }: ReplicationContext,
  id: string,
): Promise<JsonObject | null> {
  try {
    const path = `${MIGRATION_JOBS}${pathOf`/${id}`}`
    const { body } = await tenant.graph.call({ method: 'GET', path, signal })
    return body as JsonObject
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

export const noJob = (id: string): string =>
  `The tenant has no migration job "${id}". Make it with New-CrossTenantMigrationJob.`

async function readJob(caller: ReplicationContext, id: string): Promise<JsonObject> {
  return (await findJob(caller, id)) ?? Promise.reject(new NotFound(noJob(id)))
}

const acted = z.object({ JobId: z.string(), Status: z.string(), Changed: z.boolean() })
type Acted = z.infer<typeof acted>

const RUNNING = ['processing', 'inProgress', 'cuttingOver', 'completed']
const STARTABLE = ['validatePassed', 'failed', 'completedWithErrors']

export const startCrossTenantMigrationJob = defineM365Function({
  name: 'Start-CrossTenantMigrationJob',
  description:
    'Starts a validated migration job, or starts again what failed in it. Mailboxes sync at once; Microsoft cuts over after CompleteAfter. A validation counts for seven days.',
  parameters: z.strictObject({ JobId: objectId }),
  result: acted,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'Stop-CrossTenantMigrationJob, before CompleteAfter. Afterwards there is none.',
  undoneBy: ['Stop-CrossTenantMigrationJob'],
  effectOf: whenChanged((_, { JobId }) =>
    by({
      target: JobId,
      before: {},
      run: 'Stop-CrossTenantMigrationJob',
      with: { JobId },
      keeps: 'Microsoft cannot stop it after its cut-over has begun.',
    }),
  ),
  run: async (call): Promise<Acted> => {
    const { JobId } = call.params
    const job = await readJob(call, JobId)
    if (hasJobStatus(job, RUNNING)) return { JobId, Status: textOf(job.status), Changed: false }
    if (!hasJobStatus(job, STARTABLE))
      throw new FunctionRefused(
        `The migration job "${textOf(job.displayName)}" is ${textOf(job.status)}, not validatePassed. Wait for its validation: Test-CrossTenantMigrationJob with WaitFor Validated.`,
      )
    const isChange = await migrate(call, job)
    return { JobId, Status: 'processing', Changed: isChange }
  },
})

async function migrate(caller: ReplicationContext, job: JsonObject): Promise<boolean> {
  try {
    return await actOnJob(caller, textOf(job.id), 'migrate', (now) => hasJobStatus(now, RUNNING))
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409 && /expired/i.test(error.message)))
      throw error
    throw new FunctionRefused(
      `The migration job "${textOf(job.displayName)}" was validated more than seven days ago. Cancel it (Stop-CrossTenantMigrationJob) and make one with another Name.`,
    )
  }
}

const stopParameters = z.strictObject({
  JobId: objectId,
  UserId: optional(objectId).describe('If given, takes only this person out of the job.'),
})

export const stopCrossTenantMigrationJob = defineM365Function({
  name: 'Stop-CrossTenantMigrationJob',
  description:
    'Cancels a migration job, or takes one person out of it, before the cut-over. Refuses afterwards: Microsoft cannot stop it.',
  parameters: stopParameters,
  result: acted,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: 'New-CrossTenantMigrationJob with another Name.',
  undoneBy: ['New-CrossTenantMigrationJob'],
  effectOf: whenChanged((_, { JobId }) =>
    never(JobId, 'A cancelled job stays cancelled; make one with another name.'),
  ),
  run: async (call): Promise<Acted> => {
    const { JobId, UserId } = call.params
    const job = await findJob(call, JobId)
    if (job === null || hasJobStatus(job, CANCELLED))
      return { JobId, Status: textOrNull(job?.status) ?? 'NotFound', Changed: false }
    if (hasJobStatus(job, CUT_OVER)) throw beyondRecall(job)
    const isChange =
      UserId === null ? await cancelJob(call, job) : await cancelPerson(call, job, UserId)
    const Status = UserId === null ? 'pendingCancel' : textOf(job.status)
    return { JobId, Status, Changed: isChange }
  },
})

const beyondRecall = (job: JsonObject): FunctionRefused =>
  new FunctionRefused(
    `The migration job "${textOf(job.displayName)}" is ${textOf(job.status)}, and its date ${textOf(job.completeAfterDateTime)} is past or near: Microsoft no longer cancels it. Wait for its end: Test-CrossTenantMigrationJob.`,
  )

async function cancelJob(caller: ReplicationContext, job: JsonObject): Promise<boolean> {
  try {
    return await actOnJob(caller, textOf(job.id), 'cancel', (now) => hasJobStatus(now, CANCELLED))
  } catch (error) {
    throw error instanceof ApiError && error.status === 409 ? beyondRecall(job) : error
  }
}

/** False when the person is not in the job, or no longer. */
async function cancelPerson(
  caller: ReplicationContext,
  job: JsonObject,
  userId: string,
): Promise<boolean> {
  const person = await findPerson(caller, textOf(job.id), userId)
  if (person === null || isCancelled(person)) return false
  const { tenant, signal } = caller
  const path = `${MIGRATION_JOBS}${pathOf`/${textOf(job.id)}/users/${userId}`}/cancel`
  try {
    await tenant.graph.call({ method: 'POST', path, isIdempotent: true, signal })
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error
    const now = await findPerson(caller, textOf(job.id), userId)
    if (now !== null && !isCancelled(now)) throw beyondRecall(job)
  }
  return true
}

export const servicesOf = (person: JsonObject): JsonObject[] =>
  Array.isArray(person.currentStatus) ? (person.currentStatus as JsonObject[]) : []

const isCancelled = (person: JsonObject): boolean =>
  servicesOf(person).some((one) => hasJobStatus(one, CANCELLED))

export async function findPerson(
  { tenant, signal }: ReplicationContext,
  jobId: string,
  userId: string,
): Promise<JsonObject | null> {
  try {
    const path = `${MIGRATION_JOBS}${pathOf`/${jobId}/users/${userId}`}`
    const { body } = await tenant.graph.call({ method: 'GET', path, signal })
    return body as JsonObject
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}
