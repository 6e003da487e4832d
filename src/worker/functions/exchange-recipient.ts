// Recipients of Exchange as the functions see them: a mail user, which has its mailbox elsewhere, or a mailbox. A person is the
// former before the move and the latter after it, so functions ask first and use the cmdlet that fits.
import type { Json } from '../../domain/json.ts'
import type { JsonObject } from '../m365/api.ts'
import { textOf } from './entra-directory.ts'
import { FunctionRefused, isNotFound, noRecipient } from './failure.ts'
import { isSameText, withoutSmtp } from './parameters.ts'
import { lookAgain, type ReplicationContext } from './replication.ts'

export interface ExchangeRecipient {
  readonly kind: 'MailUser' | 'Mailbox'
  /** Names it and no other, whatever happens to its addresses. */
  readonly guid: string
  readonly identity: string
  /** Each with its kind before it; the one in capitals is the primary: `SMTP:kim@contoso.com`. */
  readonly addresses: readonly string[]
  readonly primary: string
  /** Where mail for a mail user goes; empty for a mailbox. */
  readonly external: string
  readonly exchangeGuid: string
  readonly archiveGuid: string
}

const PROPERTIES = [
  ...['Guid', 'RecipientTypeDetails', 'EmailAddresses', 'PrimarySmtpAddress'],
  ...['ExternalEmailAddress', 'ExchangeGuid', 'ArchiveGuid'],
]

/** Null when there is none. Exchange takes much for an identity; two that answer to it are one too many. */
async function findRecipient(
  { tenant, signal }: ReplicationContext,
  identity: string,
): Promise<ExchangeRecipient | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-Recipient', { Identity: identity }, { signal, select: PROPERTIES }),
  )
  if (found.length > 1) {
    throw new FunctionRefused(
      `"${identity}" names ${found.length} recipients. Use an address or an id.`,
    )
  }
  return found[0] ? recipientOf(identity, found[0]) : null
}

/** Looks again for one that may be too new. */
export async function readRecipient(
  caller: ReplicationContext,
  identity: string,
): Promise<ExchangeRecipient> {
  const found = await lookAgain(caller, () => findRecipient(caller, identity))
  return found ?? Promise.reject(noRecipient(identity))
}

export async function readMailUser(
  caller: ReplicationContext,
  identity: string,
  otherwise: string,
): Promise<ExchangeRecipient> {
  const recipient = await readRecipient(caller, identity)
  if (recipient.kind !== 'MailUser') {
    throw new FunctionRefused(`"${identity}" is a mailbox and not a mail user. ${otherwise}`)
  }
  return recipient
}

/** What a cmdlet finds; nothing when it says that there is none. */
export async function runOrNone(
  run: () => Promise<readonly JsonObject[]>,
): Promise<readonly JsonObject[]> {
  try {
    return await run()
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

const MAIL_USERS = ['MailUser', 'GuestMailUser']

function recipientOf(identity: string, found: JsonObject): ExchangeRecipient {
  const type = textOf(found.RecipientTypeDetails)
  const isMailUser = MAIL_USERS.some((one) => isSameText(one, type))
  if (!isMailUser && !/Mailbox$/i.test(type)) {
    throw new FunctionRefused(`"${identity}" is a ${type} and neither a mail user nor a mailbox.`)
  }
  return {
    kind: isMailUser ? 'MailUser' : 'Mailbox',
    guid: textOf(found.Guid),
    identity,
    addresses: textsOf(found.EmailAddresses),
    primary: textOf(found.PrimarySmtpAddress),
    external: withoutSmtp(textOf(found.ExternalEmailAddress)),
    exchangeGuid: textOf(found.ExchangeGuid),
    archiveGuid: textOf(found.ArchiveGuid),
  }
}

export const textsOf = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.map(textOf) : []

/** Changes it with the cmdlet of its kind. */
export async function changeRecipient(
  { tenant, signal }: ReplicationContext,
  { kind, guid }: ExchangeRecipient,
  change: JsonObject,
): Promise<void> {
  await tenant.exchange.run(`Set-${kind}`, { Identity: guid, ...change }, { signal })
}
