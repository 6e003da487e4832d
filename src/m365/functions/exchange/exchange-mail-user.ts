// Prepares a mail user for a mailbox move from another tenant, and tests its attributes and distribution groups.

import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { isNotFound } from '../../client/not-found.ts'
import { isAsExpected, isMatch, matchParameters, matchResult, valueAt } from '../attribute-match.ts'
import { defineM365Function, type M365Call, type OnBehalfInM365 } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { FunctionRefused, NotFound, noRecipient, notThereReason } from '../failure.ts'
import { forEachOf } from '../for-each.ts'
import { never, whenChanged } from '../inverse.ts'
import {
  expected,
  isSameText,
  listParameter,
  nameParameter,
  optional,
  recipientId,
} from '../parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from '../replication.ts'
import { changeRecipient, readRecipient, runOrNone } from './exchange-recipient.ts'

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }

const stamped = z.object({
  Identity: z.string(),
  ExchangeGuid: z.string(),
  ArchiveGuid: z.string().nullable(),
  Changed: z.boolean(),
})

export const GUIDS_STAY =
  'A GUID that was stamped cannot be taken back; it goes when the mail user is removed.'

export const setExchangeMailUserGuids = defineM365Function({
  name: 'Set-ExchangeMailUserGuids',
  answeredTrue: true,
  description:
    'Stamps the GUIDs of the source mailbox on a mail user. Run it before assigning an Exchange licence.',
  parameters: z.strictObject({
    Identity: recipientId,
    ExchangeGuid: z.guid(),
    ArchiveGuid: optional(z.guid()).describe('Set it when the source mailbox has an archive.'),
  }),
  result: stamped,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  undo: null,
  effectOf: whenChanged((_, { Identity }) => never(Identity, GUIDS_STAY)),
  run: async (call): Promise<z.infer<typeof stamped>> => {
    const { Identity, ExchangeGuid, ArchiveGuid } = call.params
    const recipient = await readRecipient(call, Identity)
    const isStamped =
      isSameText(recipient.exchangeGuid, ExchangeGuid) &&
      (ArchiveGuid === null || isSameText(recipient.archiveGuid, ArchiveGuid))
    if (!isStamped) {
      if (recipient.kind === 'Mailbox') throw stampedMailbox(Identity, recipient.exchangeGuid)
      await changeRecipient(call, recipient, {
        ExchangeGuid,
        ...(ArchiveGuid === null ? {} : { ArchiveGuid }),
      })
    }
    return { Identity, ExchangeGuid, ArchiveGuid, Changed: !isStamped }
  },
})

/** A mailbox of its own is where another one should arrive. */
export const stampedMailbox = (identity: string, exchangeGuid: string): FunctionRefused =>
  new FunctionRefused(
    `"${identity}" already has a mailbox, ${exchangeGuid}: it received an Exchange licence too early. ` +
      'Remove the licence (Remove-EntraUserLicense), clear the mailbox (Clear-ExchangePreviousMailbox), then retry the step.',
  )

export const testExchangeAttributeMatch = defineM365Function({
  name: 'Test-ExchangeAttributeMatch',
  description: 'Tests whether an attribute of a mail user or mailbox has a value.',
  parameters: z.strictObject({ Identity: recipientId, ...matchParameters }),
  result: matchResult('Identity'),
  permissions,
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  run: async (call) => {
    const { Identity, AttributeName, ExpectedValue, IsMultiValue } = call.params
    const found = await retryUntilFound(onceIfPolled(call), () => findAttributes(call, Identity))
    const data = { AttributeName, ExpectedValue, Identity, IsMultiValue }
    if (found === null) {
      const Reason = noRecipient(Identity).message
      return { complete: false, data: { ...data, Match: false, CurrentValue: null, Reason } }
    }
    // Exchange silently omits unknown properties; without this check a misspelt name would pass as "no value".
    if (!Object.keys(found).some((key) => isSameText(key, AttributeName)))
      throw new NotFound(
        `Exchange shows no attribute "${AttributeName}" of "${Identity}". Check its spelling.`,
      )
    const current: Json = valueAt(found, [AttributeName])
    const isMatching = isMatch(current, ExpectedValue, IsMultiValue)
    return {
      complete: isAsExpected(current, call.params),
      data: { ...data, Match: isMatching, CurrentValue: current, Reason: null },
    }
  },
})

/** All attributes of a mail user, or of the mailbox it has become. */
async function findAttributes(
  { tenant, signal }: ReplicationContext,
  identity: string,
): Promise<JsonObject | null> {
  for (const cmdlet of ['Get-MailUser', 'Get-Mailbox']) {
    const found = await runOrNone(() =>
      tenant.exchange.run(cmdlet, { Identity: identity }, { signal }),
    )
    if (found.length > 1)
      throw new FunctionRefused(
        `"${identity}" matches ${found.length} recipients. Use an address or an id.`,
      )
    if (found[0]) return found[0]
  }
  return null
}

const tested = z.object({
  complete: z.boolean(),
  data: z.object({
    IsMember: z.boolean().describe('Of all of the groups.'),
    GroupIdentity: z.array(z.string()),
    MemberIdentity: z.string(),
    Reason: notThereReason,
  }),
})

/** Any of these identifies a member. */
const MEMBER_NAMES = [
  'PrimarySmtpAddress',
  'WindowsLiveID',
  'Alias',
  'Identity',
  'ExternalDirectoryObjectId',
]

const listMembership = z.strictObject({
  GroupIdentity: listParameter(nameParameter).describe('Address, id or name of each group.'),
  MemberIdentity: nameParameter,
  Expected: expected,
})
interface ListMembership {
  readonly GroupIdentity: string
  readonly MemberIdentity: string
  readonly Expected: boolean
}
interface Tested {
  complete: boolean
  data: { IsMember: boolean; Reason: string | null }
  [name: string]: Json
}

export const testExchangeGroupMembership = defineM365Function({
  name: 'Test-ExchangeGroupMembership',
  description:
    'Tests whether a recipient is a direct member of all distribution groups of a list, or with Expected false of none.',
  parameters: listMembership,
  result: tested,
  permissions,
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  ...forEachOf(
    'GroupIdentity',
    {
      run: async (call: M365Call<ListMembership>): Promise<Tested> =>
        membershipIn(await memberNamesOf(call, call.params.GroupIdentity), call.params),
      // Exchange shows the whole group only: once for all of its people instead of once for each.
      together: {
        key: ({ GroupIdentity }) => GroupIdentity.toLowerCase(),
        limit: 1_000,
        waitMs: 1_000,
        run: async (calls: readonly M365Call<ListMembership>[], onBehalfOf: OnBehalfInM365) => {
          const names = await memberNamesOf(onBehalfOf(calls), calls[0]!.params.GroupIdentity)
          return calls.map(({ params }) => membershipIn(names, params))
        },
      },
    },
    ({ GroupIdentity, MemberIdentity }, answers) => ({
      complete: answers.every(({ complete }) => complete),
      data: {
        IsMember: answers.every(({ data }) => data.IsMember),
        GroupIdentity: [...GroupIdentity],
        MemberIdentity,
        Reason: answers.map(({ data }) => data.Reason).find((one) => one !== null) ?? null,
      },
    }),
  ),
})

function membershipIn(
  names: ReadonlySet<string> | null,
  { GroupIdentity, MemberIdentity, Expected }: ListMembership,
): Tested {
  const IsMember = names?.has(MemberIdentity.toLowerCase()) ?? false
  const Reason =
    names === null
      ? `Exchange has no distribution group "${GroupIdentity}". Check its address.`
      : null
  return {
    complete: names !== null && IsMember === Expected,
    data: { IsMember, Reason },
  }
}

/** All names of all direct members, in lower case. Null when there is no such group. */
async function memberNamesOf(
  { tenant, signal }: ReplicationContext,
  group: string,
): Promise<ReadonlySet<string> | null> {
  try {
    const members = await tenant.exchange.run(
      'Get-DistributionGroupMember',
      { Identity: group, ResultSize: 'Unlimited' },
      { signal, select: MEMBER_NAMES },
    )
    const names = members.flatMap((member) =>
      MEMBER_NAMES.map((property) => textOf(member[property]).toLowerCase()),
    )
    return new Set(names)
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}
