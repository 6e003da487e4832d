// What makes a mail user ready to receive a mailbox from another tenant, and the questions asked on the way: its GUIDs, its
// attributes, its distribution groups.
import { z } from 'zod'
import type { Json } from '../../domain/json.ts'
import { defineFunction } from '../catalogue.ts'
import type { JsonObject } from '../m365/api.ts'
import { isMatch, matchParameters, matchResult, valueAt } from './attribute-match.ts'
import { textOf } from './entra-directory.ts'
import { changeRecipient, readRecipient, runOrNone } from './exchange-recipient.ts'
import { FunctionRefused, isNotFound, NotFound, noRecipient } from './failure.ts'
import { expected, isSameText, nameParameter, optional, recipientId } from './parameters.ts'
import { lookAgain, type ReplicationContext } from './replication.ts'

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }

const stamped = z.object({
  Identity: z.string(),
  ExchangeGuid: z.string(),
  ArchiveGuid: z.string().nullable(),
  Changed: z.boolean(),
})

export const setExchangeMailUserGuids = defineFunction({
  name: 'Set-ExchangeMailUserGuids',
  description:
    'Stamps the GUIDs of the source mailbox on a mail user, both at once. To be done before an Exchange licence is assigned.',
  parameters: z.strictObject({
    Identity: recipientId,
    ExchangeGuid: z.guid(),
    ArchiveGuid: optional(z.guid()).describe('When the source has an archive.'),
  }),
  result: stamped,
  permissions,
  isIdempotent: true,
  undo: null,
  run: async (call): Promise<z.infer<typeof stamped>> => {
    const { Identity, ExchangeGuid, ArchiveGuid } = call.params
    const recipient = await readRecipient(call, Identity)
    const isStamped =
      isSameText(recipient.exchangeGuid, ExchangeGuid) &&
      (ArchiveGuid === null || isSameText(recipient.archiveGuid, ArchiveGuid))
    if (!isStamped) {
      if (recipient.kind === 'Mailbox') {
        throw new FunctionRefused(
          `"${Identity}" has a mailbox already, ${recipient.exchangeGuid}: it got an Exchange licence too early. ` +
            'Take the licence away and clear the mailbox (Set-User -PermanentlyClearPreviousMailboxInfo) before trying again.',
        )
      }
      await changeRecipient(call, recipient, {
        ExchangeGuid,
        ...(ArchiveGuid === null ? {} : { ArchiveGuid }),
      })
    }
    return { Identity, ExchangeGuid, ArchiveGuid, Changed: !isStamped }
  },
})

export const testExchangeAttributeMatch = defineFunction({
  name: 'Test-ExchangeAttributeMatch',
  description:
    'Asks whether an attribute of a mail user, or of the mailbox it has become, has a value.',
  parameters: z.strictObject({ Identity: recipientId, ...matchParameters }),
  result: matchResult('Identity'),
  permissions,
  isIdempotent: true,
  undo: null,
  run: async (call) => {
    const { Identity, AttributeName, ExpectedValue, IsMultiValue, Expected } = call.params
    const found = await lookAgain(call, () => findShown(call, Identity))
    if (found === null) throw noRecipient(Identity)
    // Exchange says nothing of a property that there is not, and "it has no value" would then be true of a misspelt name.
    if (!Object.keys(found).some((key) => isSameText(key, AttributeName)))
      throw new NotFound(`Exchange shows no attribute "${AttributeName}" of "${Identity}".`)
    const current: Json = valueAt(found, [AttributeName])
    const isMatching = isMatch(current, ExpectedValue, IsMultiValue)
    return {
      complete: isMatching === Expected,
      data: {
        Match: isMatching,
        AttributeName,
        CurrentValue: current,
        ExpectedValue,
        Identity,
        IsMultiValue,
      },
    }
  },
})

/** With all its attributes, as a mail user or as the mailbox it has become. */
async function findShown(
  { tenant, signal }: ReplicationContext,
  identity: string,
): Promise<JsonObject | null> {
  for (const cmdlet of ['Get-MailUser', 'Get-Mailbox']) {
    const found = await runOrNone(() =>
      tenant.exchange.run(cmdlet, { Identity: identity }, { signal }),
    )
    if (found.length > 1)
      throw new FunctionRefused(`"${identity}" names ${found.length} recipients.`)
    if (found[0]) return found[0]
  }
  return null
}

const tested = z.object({
  complete: z.boolean(),
  data: z.object({
    IsMember: z.boolean(),
    GroupIdentity: z.string(),
    MemberIdentity: z.string(),
  }),
})

/** A member is recognised by any of these. */
const MEMBER_NAMES = ['PrimarySmtpAddress', 'Alias', 'Identity', 'ExternalDirectoryObjectId']

export const testExchangeGroupMembership = defineFunction({
  name: 'Test-ExchangeGroupMembership',
  description: 'Asks whether somebody is a direct member of a distribution group.',
  parameters: z.strictObject({
    GroupIdentity: nameParameter,
    MemberIdentity: nameParameter,
    Expected: expected,
  }),
  result: tested,
  permissions,
  isIdempotent: true,
  undo: null,
  run: async (call): Promise<z.infer<typeof tested>> => {
    const { GroupIdentity, MemberIdentity, Expected } = call.params
    const members = await call.tenant.exchange
      .run(
        'Get-DistributionGroupMember',
        { Identity: GroupIdentity, ResultSize: 'Unlimited' },
        { signal: call.signal, select: MEMBER_NAMES },
      )
      .catch((error: unknown) => {
        throw isNotFound(error)
          ? new NotFound(
              `Exchange has no distribution group "${GroupIdentity}". Check its address.`,
            )
          : error
      })
    const isMember = members.some((member) =>
      MEMBER_NAMES.some((property) => isSameText(textOf(member[property]), MemberIdentity)),
    )
    return {
      complete: isMember === Expected,
      data: { IsMember: isMember, GroupIdentity, MemberIdentity },
    }
  },
})
