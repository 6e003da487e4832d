// Tests whether one person can be moved: reads the target once and returns every gap with its remedy. Changes nothing. What is about the
// source mailbox comes from the outputs of Get-ExchangeMoveSource, because a worker sees one tenant.
import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { ApiError } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { findUser, textOf } from '../entra/entra-directory.ts'
import {
  type ExchangeRecipient,
  findRecipient,
  runOrNone,
  textsOf,
} from '../exchange/exchange-recipient.ts'
import { FunctionRefused, noRecipient } from '../failure.ts'
import {
  anyList,
  isSameText,
  listParameter,
  nameParameter,
  optional,
  proxyAddress,
  recipientId,
} from '../parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from '../replication.ts'
import { moveRemedy } from './migration-remedies.ts'
import {
  type Gap,
  isMoved,
  sourceGaps,
  sourceWarnings,
  targetGaps,
  type WantedMove,
} from './move-readiness-gaps.ts'

const size = optional(z.number().min(0))

const parameters = z.strictObject({
  Identity: recipientId.describe('The mail user in this tenant.'),
  ExchangeGuid: z.guid().describe('Of the source mailbox.'),
  ArchiveGuid: optional(z.guid()).describe('Of the source mailbox, if it has an archive.'),
  X500Addresses: listParameter(proxyAddress).describe('All of the source mailbox.'),
  TargetDeliveryDomain: nameParameter.describe('Domain of this tenant that the move delivers to.'),
  SourceAddresses: optional(anyList(nameParameter)).describe(
    'EmailAddresses of the source mailbox; the external address must be one of them.',
  ),
  Holds: optional(anyList(nameParameter)).describe('Holds of the source mailbox.'),
  // As Get-ExchangeMoveSource returns them.
  OrganizationHolds: optional(anyList(nameParameter)),
  SizeBytes: size.describe('Size of the source mailbox.'),
  ArchiveSizeBytes: size,
  RecoverableBytes: size,
  AuxiliaryArchives: size,
  IsLicensedAtSource: z
    .boolean()
    .default(false)
    .describe('The licence for the move is assigned in the source tenant.'),
  SourceEndpoint: optional(nameParameter).describe(
    'Migration endpoint. With it, Exchange tries the connection to the source mailbox, its scope group included.',
  ),
})
type Parameters = z.infer<typeof parameters>

const readiness = z.object({
  complete: z.boolean(),
  data: z.object({
    Identity: z.string(),
    Ready: z.boolean(),
    Moved: z.boolean().describe('The mailbox is here already.'),
    Gaps: z
      .array(z.object({ Gap: z.string(), Remedy: z.string() }))
      .describe('All of them, each with what to do.'),
    Warnings: z
      .array(z.string())
      .describe('What may stop the move or slow it down, without a document that says so.'),
    Untested: z
      .string()
      .nullable()
      .describe('Why the connection could not be tested, which says nothing about the person.'),
    Reason: z.string().nullable().describe('All gaps in one text; null when there is none.'),
  }),
})
type Readiness = z.infer<typeof readiness>

export const testExchangeMoveReadiness = defineM365Function({
  name: 'Test-ExchangeMoveReadiness',
  description:
    'Tests whether a mailbox can move, for a step with poll. Returns every gap with its remedy; a hold fails a polled step at once, because only reading the source again shows its end. Unconfirmed: how Exchange answers a test of the connection to one mailbox, and all names of the licence for the move.',
  parameters,
  result: readiness,
  permissions: {
    graph: ['User.Read.All', 'LicenseAssignment.Read.All'],
    exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'],
  },
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  run: async (given: M365Call<Parameters>): Promise<Readiness> => {
    const call = onceIfPolled(given)
    const wanted = wantedOf(call.params)
    const found = await lookAt(call, wanted)
    const inSource = found.isMoved ? [] : sourceGaps(wanted)
    const gaps = [...found.gaps, ...inSource]
    const isReady = gaps.length === 0
    const reason = isReady ? null : gaps.map((one) => `${one.Gap} ${one.Remedy}`).join(' ')
    // A parameter stays as it is, however often the step polls.
    if (call.isPolled && inSource.length > 0) throw new FunctionRefused(reason!)
    return {
      complete: isReady,
      data: {
        Identity: wanted.identity,
        Ready: isReady,
        Moved: found.isMoved,
        Gaps: gaps,
        Warnings: found.isMoved ? [] : sourceWarnings(wanted),
        Untested: found.untested,
        Reason: reason,
      },
    }
  },
})

const wantedOf = (params: Parameters): WantedMove => ({
  identity: params.Identity,
  exchangeGuid: params.ExchangeGuid,
  archiveGuid: params.ArchiveGuid,
  x500: params.X500Addresses,
  deliveryDomain: params.TargetDeliveryDomain,
  sourceAddresses: params.SourceAddresses ?? [],
  holds: params.Holds ?? [],
  organizationHolds: params.OrganizationHolds ?? [],
  sizeBytes: params.SizeBytes,
  archiveSizeBytes: params.ArchiveSizeBytes,
  recoverableBytes: params.RecoverableBytes,
  auxiliaryArchives: params.AuxiliaryArchives,
  isLicensedAtSource: params.IsLicensedAtSource,
})

interface Look {
  readonly isMoved: boolean
  readonly gaps: Gap[]
  readonly untested: string | null
}

type Call = M365Call<Parameters> & ReplicationContext

async function lookAt(call: Call, wanted: WantedMove): Promise<Look> {
  const found = await findTarget(call, wanted.identity)
  if ('Gap' in found) return { isMoved: false, gaps: [found], untested: null }
  if (isMoved(wanted, found)) return { isMoved: true, gaps: [], untested: null }
  const account = await readAccountOf(call, found.guid)
  const before = textOf(account.PreviousRecipientTypeDetails)
  const domains = await call.tenant.exchange.run(
    'Get-AcceptedDomain',
    {},
    { signal: call.signal, select: ['DomainName'] },
  )
  const gaps = targetGaps(wanted, {
    recipient: found,
    recipientType: textOf(account.RecipientTypeDetails),
    hadMailbox: before !== '' && !isSameText(before, 'None'),
    acceptedDomains: domains.map(({ DomainName }) => textOf(DomainName).toLowerCase()),
    plans: await plansOf(call, found.objectId),
  })
  const connection = found.kind === 'MailUser' ? await tryConnection(call, found) : TRIED
  return { isMoved: false, gaps: [...gaps, ...connection.gaps], untested: connection.untested }
}

async function findTarget(call: Call, identity: string): Promise<ExchangeRecipient | Gap> {
  const make = 'Make the person a mail user: New-ExchangeMailUser.'
  try {
    const found = await retryUntilFound(call, () => findRecipient(call, identity))
    return found ?? { Gap: noRecipient(identity).message, Remedy: make }
  } catch (error) {
    // It is something else, such as a contact, or several recipients.
    if (!(error instanceof FunctionRefused)) throw error
    return { Gap: error.message, Remedy: make }
  }
}

const ACCOUNT = ['RecipientTypeDetails', 'PreviousRecipientTypeDetails']

async function readAccountOf({ tenant, signal }: Call, guid: string): Promise<JsonObject> {
  const [account] = await runOrNone(() =>
    tenant.exchange.run('Get-User', { Identity: guid }, { signal, select: ACCOUNT }),
  )
  return account ?? {}
}

/** Plans and part numbers of the user's licences. The list of a user's licence details is closed to applications (user-list-licensedetails). */
async function plansOf(call: Call, objectId: string): Promise<string[]> {
  const user = objectId === '' ? null : await findUser(call, objectId, ['id', 'assignedLicenses'])
  const assigned = objectsOf(user?.assignedLicenses)
  if (assigned.length === 0) return []
  const plans: string[] = []
  const { tenant, signal } = call
  for await (const sku of tenant.graph.list({ path: '/subscribedSkus', signal, units: 3 })) {
    const licence = assigned.find((one) => isSameText(textOf(one.skuId), textOf(sku.skuId)))
    if (!licence) continue
    const disabled = textsOf(licence.disabledPlans)
    const enabled = objectsOf(sku.servicePlans).filter(
      (plan) => !disabled.some((id) => isSameText(id, textOf(plan.servicePlanId))),
    )
    if (disabled.length === 0) plans.push(textOf(sku.skuPartNumber))
    plans.push(...enabled.map((plan) => textOf(plan.servicePlanName)))
  }
  return plans
}

const objectsOf = (value: JsonObject[string] | undefined): JsonObject[] =>
  Array.isArray(value) ? (value as JsonObject[]) : []

type Connection = Pick<Look, 'gaps' | 'untested'>
const TRIED: Connection = { gaps: [], untested: null }

/**
 * Microsoft's own test of the set-up ("How do I know this worked?"). Its answers are not documented: a failure that it tells is a gap. A
 * question that Exchange did not take, and an answer that says nothing, are ours: nobody is rolled back for them.
 */
async function tryConnection(call: Call, target: ExchangeRecipient): Promise<Connection> {
  const { tenant, signal, params } = call
  const { SourceEndpoint: Endpoint } = params
  if (Endpoint === null) return TRIED
  const gap = (why: string): Connection => {
    const known = moveRemedy('', why).trim()
    const Remedy = known || 'Check the set-up of both tenants: matoolkit doctor tenant.'
    const Gap = `Exchange cannot reach the source mailbox: ${why}`
    return { gaps: [{ Gap, Remedy }], untested: null }
  }
  try {
    const asked = { Endpoint, TestMailbox: target.primary }
    const [answer] = await tenant.exchange.run('Test-MigrationServerAvailability', asked, {
      signal,
    })
    const result = textOf(answer?.Result)
    if (isSameText(result, 'Success')) return TRIED
    const why = textOf(answer?.Message) || textOf(answer?.ErrorDetail)
    if (result === '' && why === '')
      return untested(`it answered ${JSON.stringify(answer ?? null)}`)
    return gap(why || `the test says "${result}".`)
  } catch (error) {
    if (!(error instanceof ApiError) || !isAnswer(error)) throw error
    if (isOurQuestion(error)) return untested(error.message)
    return gap(error.message)
  }
}

/** Exchange's documents show TestMailbox with other parameters than Endpoint (Test-MigrationServerAvailability, 2026-08-21): unconfirmed. */
const isOurQuestion = ({ code, message }: ApiError): boolean =>
  /Parameter(?:Binding|ArgumentTransformation|ArgumentValidation)|parameter set|CommandNotFound/i.test(
    `${code} ${message}`,
  )

const untested = (why: string): Connection => ({
  gaps: [],
  untested: `The connection was not tested: ${why}. Test it by hand: Test-MigrationServerAvailability.`,
})

/** The cmdlet's own failure, not a missing right or a lost connection. */
const isAnswer = ({ status, isThrottled }: ApiError): boolean =>
  !isThrottled && status !== null && [200, 400, 404, 500].includes(status)
