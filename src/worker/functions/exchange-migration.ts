// Mailbox moves from another tenant: create and remove a migration batch, and test the progress of one mailbox. A batch has the
// given name, so a repeated job finds its batch instead of creating a second one. Exchange keeps about a hundred batches at a
// time, each with up to 2,000 mailboxes.

import { z } from 'zod'
import type { JsonObject } from '../../domain/json.ts'
import { defineFunction, type FunctionCall } from '../catalogue.ts'
import { ApiError } from '../m365/api.ts'
import { textOf, textOrNull } from './entra-directory.ts'
import { runOrNone } from './exchange-recipient.ts'
import { FunctionRefused, notThereReason } from './failure.ts'
import { address, isSameText, listParameter, nameParameter, optional } from './parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from './replication.ts'

const MAILBOXES_MAX = 2_000

const newBatch = z.strictObject({
  Name: nameParameter.max(64),
  SourceEndpoint: nameParameter.describe('Migration endpoint of the source tenant.'),
  TargetDeliveryDomain: nameParameter.describe(
    'Domain of this tenant, such as contoso.mail.onmicrosoft.com.',
  ),
  EmailAddresses: listParameter(address).refine((list) => list.length <= MAILBOXES_MAX, {
    error: `a batch holds at most ${MAILBOXES_MAX} mailboxes`,
  }),
  AutoStart: z.boolean().default(true),
  AutoComplete: z
    .boolean()
    .default(false)
    .describe('Complete each mailbox move as soon as it is synced.'),
  CompleteAfter: optional(z.iso.datetime({ offset: true })).describe(
    'Complete mailbox moves no earlier than this.',
  ),
})
type NewBatch = z.infer<typeof newBatch>

const batch = z.object({ Name: z.string(), Status: z.string(), Created: z.boolean() })
type Batch = z.infer<typeof batch>

export const newMigrationBatch = defineFunction({
  name: 'New-MigrationBatch',
  description: 'Starts mailbox moves from the source tenant, as one migration batch.',
  parameters: newBatch,
  result: batch,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'] },
  isIdempotent: true,
  undo: 'Remove-MigrationBatch, before it has completed.',
  run: async (call: FunctionCall<NewBatch>): Promise<Batch> => {
    const { Name } = call.params
    const existing = await findBatch(call, Name)
    if (existing) return { Name, Status: textOf(existing.Status), Created: false }
    try {
      const [made] = await startBatch(call)
      return { Name, Status: textOf(made?.Status) || 'Created', Created: true }
    } catch (error) {
      if (!(error instanceof ApiError && (error.isOutcomeUnknown || isNameTaken(error))))
        throw error
      const found = await retryUntilFound(call, () => findBatch(call, Name))
      if (found === null) throw error
      return { Name, Status: textOf(found.Status), Created: true }
    }
  },
})

const isNameTaken = ({ code, message }: ApiError): boolean =>
  /AlreadyExists/i.test(code) || /already exists/i.test(message)

/** Exchange returns every batch when it does not know the name, hence the filter. */
async function findBatch(
  { tenant, signal }: ReplicationContext,
  batchName: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MigrationBatch', { Identity: batchName }, { signal }),
  )
  return found.find((candidate) => isNamed(candidate, batchName)) ?? null
}

const isNamed = (batch: JsonObject, name: string): boolean =>
  [batch.Identity, batch.Name].some((given) => isSameText(textOf(given), name))

function startBatch({
  params,
  tenant,
  signal,
}: FunctionCall<NewBatch>): Promise<readonly JsonObject[]> {
  const csv = ['EmailAddress', ...params.EmailAddresses, ''].join('\r\n')
  const parameters: JsonObject = {
    Name: params.Name,
    SourceEndpoint: params.SourceEndpoint,
    TargetDeliveryDomain: params.TargetDeliveryDomain,
    CSVData: {
      '@odata.type': '#Exchange.ByteArrayType',
      Data: Buffer.from(csv, 'utf8').toString('base64'),
    },
    ...(params.AutoStart ? { AutoStart: true } : {}),
    ...(params.AutoComplete ? { AutoComplete: true } : {}),
    ...(params.CompleteAfter === null
      ? {}
      : { CompleteAfter: new Date(params.CompleteAfter).toISOString() }),
  }
  return tenant.exchange.run('New-MigrationBatch', parameters, { signal })
}

const removedBatch = z.object({ Name: z.string(), Changed: z.boolean() })

/** Statuses in which a batch can be removed; any other batch is stopped first. */
const REMOVABLE = ['Created', 'Stopped', 'Completed', 'CompletedWithErrors', 'Failed', 'Corrupted']

export const removeMigrationBatch = defineFunction({
  name: 'Remove-MigrationBatch',
  description: 'Stops and removes a migration batch. Completed mailbox moves stay in place.',
  parameters: z.strictObject({ Name: nameParameter.max(64) }),
  result: removedBatch,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'] },
  isIdempotent: true,
  undo: 'New-MigrationBatch; copying starts over.',
  run: async (call): Promise<z.infer<typeof removedBatch>> => {
    const { Name } = call.params
    const batch = await findBatch(call, Name)
    if (batch === null) return { Name, Changed: false }
    if (!isRemovable(batch)) await stopBatch(call, Name)
    const parameters = { Identity: Name, Confirm: false }
    const options = { signal: call.signal, isIdempotent: true }
    // Already gone: an earlier response was lost.
    await runOrNone(() => call.tenant.exchange.run('Remove-MigrationBatch', parameters, options))
    return { Name, Changed: true }
  },
})

const isRemovable = ({ Status }: JsonObject): boolean =>
  REMOVABLE.some((one) => isSameText(one, textOf(Status)))

async function stopBatch(caller: ReplicationContext, batchName: string): Promise<void> {
  const { tenant, signal } = caller
  const parameters = { Identity: batchName, Confirm: false }
  await tenant.exchange.run('Stop-MigrationBatch', parameters, { signal, isIdempotent: true })
  const stopped = await retryUntilFound(caller, async () => {
    const now = await findBatch(caller, batchName)
    return now === null || isRemovable(now) ? true : null
  })
  if (stopped === null) {
    throw new FunctionRefused(
      `Migration batch "${batchName}" is still stopping. Retry the step in a few minutes.`,
    )
  }
}

const progress = z.object({
  complete: z.boolean(),
  data: z.object({
    Identity: z.string(),
    Status: z.string(),
    BatchId: z.string().nullable(),
    ErrorSummary: z.string().nullable(),
    Reason: notThereReason,
  }),
})

const SYNCED = ['Synced', 'IncrementalSynced', 'CompletionSynced']
const COMPLETED = ['Completed', 'CompletedWithWarnings']
const FAILED = [
  ...['Failed', 'CompletionFailed', 'IncrementalFailed', 'Corrupted'],
  ...['Stopped', 'IncrementalStopped', 'Stopping', 'Removing'],
]

/** The mailbox move needs a person to continue. */
class MigrationStopped extends Error {
  override readonly name = 'MigrationStopped'
}

export const testMigrationUser = defineFunction({
  name: 'Test-MigrationUser',
  description:
    'Tests the progress of a mailbox move, for a step with poll. Fails when the mailbox move failed or was stopped.',
  parameters: z.strictObject({
    Identity: address.describe('Address of the mailbox in this tenant.'),
    WaitFor: z
      .enum(['Synced', 'Completed'])
      .default('Completed')
      .describe('Synced: copied and kept up to date. Completed: mail arrives here.'),
  }),
  result: progress,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'] },
  isIdempotent: true,
  undo: null,
  run: async (call): Promise<z.infer<typeof progress>> => {
    const { Identity, WaitFor } = call.params
    const user = await retryUntilFound(onceIfPolled(call), () => findMigrationUser(call, Identity))
    if (user === null) {
      const Reason = `No migration batch contains "${Identity}". Check the address, and that New-MigrationBatch has run.`
      const nothing = { Status: 'NotFound', BatchId: null, ErrorSummary: null }
      return { complete: false, data: { Identity, ...nothing, Reason } }
    }
    const Status = textOf(user.Status)
    const ErrorSummary = textOrNull(user.ErrorSummary)
    const is = (list: readonly string[]) => list.some((one) => isSameText(one, Status))
    if (is(FAILED)) {
      const why = ErrorSummary ?? 'Exchange gives no reason; run Get-MigrationUserStatistics'
      throw new MigrationStopped(`The mailbox move of "${Identity}" is ${Status}: ${why}.`)
    }
    const isComplete = is(COMPLETED) || (WaitFor === 'Synced' && is(SYNCED))
    const data = { Identity, Status, BatchId: textOrNull(user.BatchId), ErrorSummary, Reason: null }
    return { complete: isComplete, data }
  },
})

/** Exchange returns every user when it does not know the identity, hence the filter. */
async function findMigrationUser(
  { tenant, signal }: ReplicationContext,
  identity: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MigrationUser', { Identity: identity }, { signal }),
  )
  const isSameUser = (user: JsonObject) =>
    [user.Identity, user.MailboxEmailAddress].some((given) => isSameText(textOf(given), identity))
  return found.find(isSameUser) ?? null
}
