// Moves of mailboxes from another tenant: a batch that is made and removed, and how far one mailbox has come. A batch bears the name
// it is given, so a job that is run again finds the batch it made instead of making a second. Exchange keeps about a hundred
// batches at a time, each with up to 2,000 mailboxes.
import { z } from 'zod'
import { defineFunction, type FunctionCall } from '../catalogue.ts'
import { ApiError, type JsonObject } from '../m365/api.ts'
import { textOf, textOrNull } from './entra-directory.ts'
import { runOrNone } from './exchange-recipient.ts'
import { FunctionRefused, NotFound } from './failure.ts'
import { address, isSameText, listParameter, nameParameter, optional } from './parameters.ts'
import { lookAgain, type ReplicationContext } from './replication.ts'

const MAILBOXES_MAX = 2_000

const newBatch = z.strictObject({
  Name: nameParameter.max(64),
  SourceEndpoint: nameParameter.describe(
    'The migration endpoint that points at the source tenant.',
  ),
  TargetDeliveryDomain: nameParameter.describe(
    'A domain of this tenant, such as contoso.mail.onmicrosoft.com.',
  ),
  EmailAddresses: listParameter(address).refine((list) => list.length <= MAILBOXES_MAX, {
    error: `a batch holds at most ${MAILBOXES_MAX} mailboxes`,
  }),
  AutoStart: z.boolean().default(true),
  AutoComplete: z.boolean().default(false).describe('Switch over as soon as a mailbox is synced.'),
  CompleteAfter: optional(z.iso.datetime({ offset: true })).describe(
    'Switch over not before this.',
  ),
})
type NewBatch = z.infer<typeof newBatch>

const batch = z.object({ Name: z.string(), Status: z.string(), Created: z.boolean() })
type Batch = z.infer<typeof batch>

export const newMigrationBatch = defineFunction({
  name: 'New-MigrationBatch',
  description: 'Starts to move mailboxes from the source tenant, as one migration batch.',
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
      const found = await lookAgain(call, () => findBatch(call, Name))
      if (found === null) throw error
      return { Name, Status: textOf(found.Status), Created: true }
    }
  },
})

const isNameTaken = ({ code, message }: ApiError): boolean =>
  /AlreadyExists/i.test(code) || /already exists/i.test(message)

/** Exchange gives every batch when it does not know the name, so the answer is looked through. */
async function findBatch(
  { tenant, signal }: ReplicationContext,
  batchName: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MigrationBatch', { Identity: batchName }, { signal }),
  )
  return found.find((one) => isNamed(one, batchName)) ?? null
}

const isNamed = (one: JsonObject, wanted: string): boolean =>
  [one.Identity, one.Name].some((given) => isSameText(textOf(given), wanted))

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

/** A batch that is at rest; any other is stopped first. */
const AT_REST = ['Created', 'Stopped', 'Completed', 'CompletedWithErrors', 'Failed', 'Corrupted']

export const removeMigrationBatch = defineFunction({
  name: 'Remove-MigrationBatch',
  description:
    'Stops a migration batch and removes it. Mailboxes that have switched over stay where they are.',
  parameters: z.strictObject({ Name: nameParameter.max(64) }),
  result: removedBatch,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'] },
  isIdempotent: true,
  undo: 'New-MigrationBatch; copying begins anew.',
  run: async (call): Promise<z.infer<typeof removedBatch>> => {
    const { Name } = call.params
    const batch = await findBatch(call, Name)
    if (batch === null) return { Name, Changed: false }
    if (!isAtRest(batch)) await stopBatch(call, Name)
    const parameters = { Identity: Name, Confirm: false }
    const options = { signal: call.signal, isIdempotent: true }
    // Gone already: the answer of the first time was lost.
    await runOrNone(() => call.tenant.exchange.run('Remove-MigrationBatch', parameters, options))
    return { Name, Changed: true }
  },
})

const isAtRest = ({ Status }: JsonObject): boolean =>
  AT_REST.some((one) => isSameText(one, textOf(Status)))

async function stopBatch(caller: ReplicationContext, batchName: string): Promise<void> {
  const { tenant, signal } = caller
  const parameters = { Identity: batchName, Confirm: false }
  await tenant.exchange.run('Stop-MigrationBatch', parameters, { signal, isIdempotent: true })
  const stopped = await lookAgain(caller, async () => {
    const now = await findBatch(caller, batchName)
    return now === null || isAtRest(now) ? true : null
  })
  if (stopped === null) {
    throw new FunctionRefused(
      `The batch "${batchName}" is being stopped. Try again in some minutes.`,
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
  }),
})

const SYNCED = ['Synced', 'IncrementalSynced', 'CompletionSynced']
const COMPLETED = ['Completed', 'CompletedWithWarnings']
const FAILED = [
  ...['Failed', 'CompletionFailed', 'IncrementalFailed', 'Corrupted'],
  ...['Stopped', 'IncrementalStopped', 'Stopping', 'Removing'],
]

/** The mailbox will not arrive unless somebody does something. */
class MigrationStopped extends Error {
  override readonly name = 'MigrationStopped'
}

export const testMigrationUser = defineFunction({
  name: 'Test-MigrationUser',
  description:
    'Asks how far the move of a mailbox has come, for a step with poll. Fails when the move has failed or was stopped.',
  parameters: z.strictObject({
    Identity: address.describe('The address of the mailbox in this tenant.'),
    WaitFor: z
      .enum(['Synced', 'Completed'])
      .default('Completed')
      .describe('Synced: copied and kept up to date. Completed: switched over.'),
  }),
  result: progress,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'] },
  isIdempotent: true,
  undo: null,
  run: async (call): Promise<z.infer<typeof progress>> => {
    const { Identity, WaitFor } = call.params
    const user = await lookAgain(call, () => findMigrationUser(call, Identity))
    if (user === null) {
      throw new NotFound(
        `No migration batch holds "${Identity}". Check the address, and that New-MigrationBatch has run.`,
      )
    }
    const Status = textOf(user.Status)
    const ErrorSummary = textOrNull(user.ErrorSummary)
    const is = (list: readonly string[]) => list.some((one) => isSameText(one, Status))
    if (is(FAILED)) {
      const why = ErrorSummary ?? 'Exchange gives no reason; see Get-MigrationUserStatistics'
      throw new MigrationStopped(`The move of "${Identity}" is ${Status}: ${why}.`)
    }
    const isComplete = is(COMPLETED) || (WaitFor === 'Synced' && is(SYNCED))
    const data = { Identity, Status, BatchId: textOrNull(user.BatchId), ErrorSummary }
    return { complete: isComplete, data }
  },
})

/** Exchange gives every user when it does not know the identity, so the answer is looked through. */
async function findMigrationUser(
  { tenant, signal }: ReplicationContext,
  identity: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MigrationUser', { Identity: identity }, { signal }),
  )
  const isWanted = (one: JsonObject) =>
    [one.Identity, one.MailboxEmailAddress].some((given) => isSameText(textOf(given), identity))
  return found.find(isWanted) ?? null
}
