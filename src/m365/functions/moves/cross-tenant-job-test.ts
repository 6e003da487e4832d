// The progress of Microsoft's own migration job, for the whole job or one person in it. A failure ends the poll at once, with the errors of
// the first people.
import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { pathOf } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { FunctionRefused, notThereReason } from '../failure.ts'
import { objectId, optional } from '../parameters.ts'
import type { ReplicationContext } from '../replication.ts'
import {
  findJob,
  findPerson,
  hasJobStatus,
  MIGRATION_JOBS,
  noJob,
  servicesOf,
} from './cross-tenant-job.ts'

const testParameters = z.strictObject({
  JobId: objectId,
  WaitFor: z
    .enum(['Validated', 'Completed'])
    .default('Completed')
    .describe('Validated: ready to start. Completed: everything is here.'),
  UserId: optional(objectId).describe('If given, looks only at this person.'),
})
type Test = z.infer<typeof testParameters>

const progress = z.object({
  complete: z.boolean(),
  data: z.object({
    JobId: z.string(),
    Status: z.string(),
    Services: z
      .record(z.string(), z.string())
      .describe('Status by workload of the person; empty without UserId.'),
    Reason: notThereReason,
  }),
})

const STARTED = ['processing', 'inProgress', 'cuttingOver', 'completed', 'completedWithErrors']
const DONE_FOR = { Validated: ['validatePassed', ...STARTED], Completed: ['completed'] }
const ENDED_BADLY = {
  Validated: ['validateFailed', 'adminActionRequired'],
  Completed: ['validateFailed', 'adminActionRequired', 'failed', 'completedWithErrors'],
}
const STOPPED = ['cancelled', 'canceled', 'pendingCancel', 'pendingDelete', 'deleted']

export const testCrossTenantMigrationJob = defineM365Function({
  name: 'Test-CrossTenantMigrationJob',
  description:
    'Tests the progress of a migration job, for a step with poll. Fails at once, with the errors, when the job or the person failed or was cancelled.',
  parameters: testParameters,
  result: progress,
  permissions: { graph: ['CrossTenantContentMigration.Read.All'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  run: async (call: M365Call<Test>): Promise<z.infer<typeof progress>> => {
    const { JobId, UserId } = call.params
    const job = await findJob(call, JobId)
    const nothing = { JobId, Services: {}, Status: 'NotFound' }
    if (job === null) return { complete: false, data: { ...nothing, Reason: noJob(JobId) } }
    if (hasJobStatus(job, STOPPED)) throw failed(job, 'It was cancelled.')
    if (UserId !== null) return testPerson(call, job, UserId)
    const { WaitFor } = call.params
    if (hasJobStatus(job, ENDED_BADLY[WaitFor])) throw failed(job, await firstErrors(call, JobId))
    const data = { JobId, Status: textOf(job.status), Services: {}, Reason: null }
    return { complete: hasJobStatus(job, DONE_FOR[WaitFor]), data }
  },
})

const failed = (job: JsonObject, why: string): FunctionRefused =>
  new FunctionRefused(
    `The migration job "${textOf(job.displayName)}" is ${textOf(job.status)}. ${why} ` +
      'After a failed validation run New-CrossTenantMigrationJob again, after a failed migration Start-CrossTenantMigrationJob.',
  )

const PEOPLE_SHOWN = 5
const BAD = ['invalid', 'error', 'failed', 'cancelled', 'canceled']

const errorsOf = (person: JsonObject): string[] =>
  servicesOf(person)
    .filter((one) => hasJobStatus(one, BAD))
    .map(({ service, status, message, errors }) => {
      const all = Array.isArray(errors) ? (errors as JsonObject[]) : []
      const told = all.map((one) => textOf(one.message)).find((text) => text !== '')
      return `${textOf(service)} is ${textOf(status)}: ${told ?? (textOf(message) || 'no reason given.')}`
    })

async function firstErrors({ tenant, signal }: ReplicationContext, id: string): Promise<string> {
  const path = `${MIGRATION_JOBS}${pathOf`/${id}/users`}`
  const told: string[] = []
  for await (const person of tenant.graph.list({ path, signal })) {
    const [first] = errorsOf(person)
    if (first !== undefined) told.push(`${textOf(person.id)}: ${first}`)
    if (told.length === PEOPLE_SHOWN) break
  }
  return told.join(' ') || 'Microsoft gives no reason.'
}

async function testPerson(
  call: M365Call<Test>,
  job: JsonObject,
  userId: string,
): Promise<z.infer<typeof progress>> {
  const { JobId, WaitFor } = call.params
  const person = await findPerson(call, JobId, userId)
  const Status = textOf(job.status)
  if (person === null) {
    const Reason = `The migration job "${textOf(job.displayName)}" has no person ${userId}.`
    return { complete: false, data: { JobId, Status, Services: {}, Reason } }
  }
  const errors = errorsOf(person)
  if (errors.length > 0) throw failed(job, errors.join(' '))
  const services = servicesOf(person)
  const isDone =
    WaitFor === 'Completed'
      ? services.length > 0 &&
        services.every((one) => hasJobStatus(one, ['completed', 'forceComplete']))
      : hasJobStatus(job, DONE_FOR.Validated)
  const Services = Object.fromEntries(
    services.map(({ service, status }) => [textOf(service), textOf(status)]),
  )
  return { complete: isDone, data: { JobId, Status, Services, Reason: null } }
}
