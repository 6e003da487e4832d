// Migration batches, in which Exchange moves mailboxes from another tenant. A batch has the given name, so a repeated job finds its batch
// instead of creating a second one. It gets no date of completion unless asked: the cut-over is a step of ours (Complete-MigrationUser),
// which a hold or a cancellation stops. Exchange keeps about a hundred batches, each with up to 2,000 mailboxes.

import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { ApiError, isPlainRefusal } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { runOrNone } from '../exchange/exchange-recipient.ts'
import { FunctionRefused } from '../failure.ts'
import { by, never, whenChanged } from '../inverse.ts'
import { address, isSameText, listParameter, nameParameter, optional } from '../parameters.ts'
import { type ReplicationContext, retryUntilFound } from '../replication.ts'
import { COMPLETE, notYet, removeInTime, takesMinutes } from '../wait-for.ts'

const MAILBOXES_MAX = 2_000

export const migrationPermissions = {
  exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'],
}

export const batchName = nameParameter.max(64)
export const sourceEndpoint = nameParameter.describe('Migration endpoint of the source tenant.')
export const targetDeliveryDomain = nameParameter.describe(
  'Domain of this tenant, such as contoso.mail.onmicrosoft.com, in which every target has an address.',
)

const newBatch = z.strictObject({
  Name: batchName,
  SourceEndpoint: sourceEndpoint,
  TargetDeliveryDomain: targetDeliveryDomain,
  EmailAddresses: listParameter(address).refine((list) => list.length <= MAILBOXES_MAX, {
    error: `a batch holds at most ${MAILBOXES_MAX} mailboxes`,
  }),
  AutoStart: z.boolean().default(true),
  CompleteAfter: optional(z.iso.datetime({ offset: true })).describe(
    'Leaves the cut-over to Exchange, which no hold of ours stops. Better leave it out and use Complete-MigrationUser. Changes the date of an existing batch.',
  ),
})
type NewBatch = z.infer<typeof newBatch>

const batch = z.object({
  Name: z.string(),
  Status: z.string(),
  Created: z.boolean(),
  Changed: z.boolean().describe('Created, or people were added, or its date changed.'),
})
type Batch = z.infer<typeof batch>

export const newMigrationBatch = defineM365Function({
  name: 'New-MigrationBatch',
  description:
    'Starts mailbox moves from the source tenant, as one migration batch. To an existing batch it adds the people it lacks. Unconfirmed: the form of CSVData; both observed forms are tried.',
  parameters: newBatch,
  result: batch,
  permissions: migrationPermissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  creates: true,
  copy: 'begins',
  undo: 'Remove-MigrationBatch, before it has completed.',
  undoneBy: ['Remove-MigrationBatch'],
  effectOf: whenChanged((_, { Name, Created }) =>
    Created
      ? by({
          target: Name,
          before: { exists: false },
          run: 'Remove-MigrationBatch',
          with: { Name },
        })
      : never(Name, 'The batch was there before; take people out of it with Remove-MigrationUser.'),
  ),
  run: async (call: M365Call<NewBatch>): Promise<Batch> => {
    const { Name, EmailAddresses, CompleteAfter } = call.params
    const wanted = CompleteAfter === null ? null : new Date(CompleteAfter).toISOString()
    const existing = await findBatch(call, Name)
    if (existing !== null && isBeingRemoved(existing))
      throw new FunctionRefused(
        `Migration batch "${Name}" is still being removed. Retry the step in a few minutes.`,
      )
    const made =
      existing === null
        ? await createMigrationBatch(call, { ...call.params, completeAfter: wanted })
        : null
    const batch = existing ?? made?.batch ?? {}
    if (made?.isBy === 'us') return { Name, Status: statusOf(batch), Created: true, Changed: true }
    const users = await usersIn(call, Name)
    const missing = EmailAddresses.filter((one) => !users.some((user) => isUser(user, one)))
    if (missing.length > 0) await addToBatch(call, Name, missing)
    const isDated = wanted !== null && wanted !== dateOf(batch)
    if (isDated) await setBatch(call, { Identity: Name, CompleteAfter: wanted })
    // With everybody in it, it is the one whose answer was lost.
    const Created = made?.isBy === 'us perhaps' && missing.length === 0
    const Changed = Created || missing.length > 0 || isDated
    return { Name, Status: statusOf(batch), Created, Changed }
  },
})

const statusOf = ({ Status }: JsonObject): string => textOf(Status) || 'Created'

/** In UTC; Exchange shows both, and an empty one for none. */
function dateOf(shown: JsonObject): string | null {
  const text = textOrNull(shown.CompleteAfterUTC) ?? textOrNull(shown.CompleteAfter)
  const at = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

interface MigrationBatchToCreate {
  readonly Name: string
  readonly SourceEndpoint: string
  readonly TargetDeliveryDomain: string
  readonly EmailAddresses: readonly string[]
  readonly AutoStart: boolean
  readonly completeAfter: string | null
}

interface MadeBatch {
  readonly batch: JsonObject
  /** Unless surely by us, somebody may be missing in it: another job of the same wave may have made it. */
  readonly isBy: 'us' | 'us perhaps' | 'others'
}

/** How often a creation is sent to a tenant that says it is busy. Names are unique, so there is never a second batch. */
const SENDINGS_MAX = 3

/** A tenant that says "busy" may have made it: it is looked for before the creation is sent again. */
export async function createMigrationBatch(
  call: ReplicationContext,
  { EmailAddresses, AutoStart, completeAfter, ...names }: MigrationBatchToCreate,
): Promise<MadeBatch> {
  const parameters: JsonObject = {
    ...names,
    ...(AutoStart ? { AutoStart: true } : {}),
    ...(completeAfter === null ? {} : { CompleteAfter: completeAfter }),
  }
  const find = () => findBatch(call, names.Name)
  for (let sending = 1; ; sending++) {
    try {
      const [batch = {}] = await withCsv(EmailAddresses, (CSVData) =>
        call.tenant.exchange.run(
          'New-MigrationBatch',
          { ...parameters, CSVData },
          { signal: call.signal },
        ),
      )
      return { batch, isBy: 'us' }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const isFirst = sending === 1 && error.attempts === 1
      if (isNameTaken(error))
        return { batch: (await find()) ?? {}, isBy: isFirst ? 'others' : 'us perhaps' }
      if (!error.isOutcomeUnknown) throw error
      const batch = await retryUntilFound(call, find)
      if (batch !== null) return { batch, isBy: 'us perhaps' }
      if (!error.isThrottled || sending >= SENDINGS_MAX) throw error
    }
  }
}

const isNameTaken = ({ code, message }: ApiError): boolean =>
  /AlreadyExists/i.test(code) || /already exists/i.test(message)

/** Exchange processes only the new ones, so repeating it changes nothing (Set-MigrationBatch -AddUsers). */
export const addToBatch = (
  call: ReplicationContext,
  name: string,
  addresses: readonly string[],
): Promise<unknown> =>
  withCsv(addresses, (CSVData) => setBatch(call, { Identity: name, AddUsers: true, CSVData }))

const setBatch = ({ tenant, signal }: ReplicationContext, parameters: JsonObject) =>
  tenant.exchange.run('Set-MigrationBatch', parameters, { signal })

const ABOUT_CSV = /CSVData|ByteArray|convert|transformation/i

/**
 * The list as CSV. As plain base64 it was seen to work; Microsoft's own module adds the type. No document says which is right, so a
 * refusal of the one is answered with the other.
 */
async function withCsv<Done>(
  addresses: readonly string[],
  send: (csvData: Json) => Promise<Done>,
): Promise<Done> {
  const csv = ['EmailAddress', ...addresses, ''].join('\r\n')
  const Data = Buffer.from(csv, 'utf8').toString('base64')
  try {
    return await send(Data)
  } catch (error) {
    const isForm = isPlainRefusal(error) && ABOUT_CSV.test((error as ApiError).message)
    if (!isForm) throw error
    return send({ '@odata.type': '#Exchange.ByteArrayType', Data })
  }
}

/** Exchange returns every batch when it does not know the name, hence the filter. */
export async function findBatch(
  { tenant, signal }: ReplicationContext,
  name: string,
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-MigrationBatch', { Identity: name }, { signal }),
  )
  const isNamed = (one: JsonObject) =>
    [one.Identity, one.Name].some((given) => isSameText(textOf(given), name))
  return found.find(isNamed) ?? null
}

/** The users of a batch, or of all batches. */
export async function usersIn(
  { tenant, signal }: ReplicationContext,
  name: string | null,
): Promise<readonly JsonObject[]> {
  const parameters = { ...(name === null ? {} : { BatchId: name }), ResultSize: 'Unlimited' }
  return runOrNone(() => tenant.exchange.run('Get-MigrationUser', parameters, { signal }))
}

export const isUser = (user: JsonObject, name: string): boolean =>
  [user.Identity, user.MailboxEmailAddress].some((given) => isSameText(textOf(given), name))

const removedBatch = z.object({ Name: z.string(), ...takesMinutes })

/** Statuses in which a batch can be removed; any other batch is stopped first. */
const REMOVABLE = ['Created', 'Stopped', 'Completed', 'CompletedWithErrors', 'Failed', 'Corrupted']

export const removeMigrationBatch = defineM365Function({
  name: 'Remove-MigrationBatch',
  description:
    'Stops and removes a migration batch, which takes minutes: use a poll. Completed moves stay in place.',
  parameters: z.strictObject({ Name: batchName }),
  result: removedBatch,
  permissions: migrationPermissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  copy: 'discards',
  undo: 'New-MigrationBatch; copying starts over.',
  undoneBy: ['New-MigrationBatch'],
  effectOf: whenChanged((_, { Name }) =>
    never(Name, 'What was copied is gone; a new move starts over.'),
  ),
  run: async (call): Promise<z.infer<typeof removedBatch>> => {
    const { Name } = call.params
    const first = await findBatch(call, Name)
    if (first === null) return { Name, Changed: false, ...COMPLETE }
    const { Changed, left } = await removeInTime(call, first, {
      look: () => findBatch(call, Name),
      isAtRest: (batch) => hasStatus(batch, ...REMOVABLE),
      isStopping: (batch) => hasStatus(batch, 'Stopping'),
      isRemoving: isBeingRemoved,
      stop: () => runBatch(call, 'Stop', Name),
      // Already gone: an earlier response was lost.
      remove: () => runOrNone(() => runBatch(call, 'Remove', Name)),
    })
    const state =
      left === null ? COMPLETE : notYet(`Migration batch "${Name}" is ${textOf(left.Status)}`)
    return { Name, Changed, ...state }
  },
})

const hasStatus = ({ Status }: JsonObject, ...statuses: readonly string[]): boolean =>
  statuses.some((one) => isSameText(one, textOf(Status)))
const isBeingRemoved = (batch: JsonObject): boolean => hasStatus(batch, 'Removing')

const runBatch = (
  { tenant, signal }: ReplicationContext,
  verb: 'Stop' | 'Remove',
  name: string,
): Promise<readonly JsonObject[]> =>
  tenant.exchange.run(
    `${verb}-MigrationBatch`,
    { Identity: name, Confirm: false },
    { signal, isIdempotent: true },
  )
