// Exchange recipients: a mail user, whose mailbox is elsewhere, or a mailbox. A person is the former before the mailbox move
// and the latter after it, so functions look first and use the matching cmdlet.
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { isNotFound } from '../../client/not-found.ts'
import { textOf } from '../entra/entra-directory.ts'
import { FunctionRefused, noRecipient } from '../failure.ts'
import { isSameText, withoutSmtp } from '../parameters.ts'
import { findNamed, type ReplicationContext } from '../replication.ts'

export interface ExchangeRecipient {
  readonly kind: 'MailUser' | 'Mailbox'
  /** Identifies the recipient even when its addresses change. */
  readonly guid: string
  readonly identity: string
  /** In the directory. */
  readonly objectId: string
  /** Each with its prefix; the primary one is in capitals: `SMTP:kim@contoso.com`. */
  readonly addresses: readonly string[]
  readonly primary: string
  /** External address of a mail user; empty for a mailbox. */
  readonly external: string
  readonly exchangeGuid: string
  readonly archiveGuid: string
}

const PROPERTIES = [
  'Guid',
  'RecipientTypeDetails',
  'EmailAddresses',
  'PrimarySmtpAddress',
  'ExternalEmailAddress',
  'ExchangeGuid',
  'ArchiveGuid',
  'ExternalDirectoryObjectId',
]

/** Null when there is none. Exchange matches loosely: more than one match is refused. */
export async function findRecipient(
  { tenant, signal }: ReplicationContext,
  identity: string,
): Promise<ExchangeRecipient | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-Recipient', { Identity: identity }, { signal, select: PROPERTIES }),
  )
  if (found.length > 1) {
    throw new FunctionRefused(
      `"${identity}" matches ${found.length} recipients. Use an address or an id.`,
    )
  }
  return found[0] ? recipientOf(identity, found[0]) : null
}

/** Retries for a recipient that may be too new to be visible. */
export async function readRecipient(
  caller: ReplicationContext,
  identity: string,
): Promise<ExchangeRecipient> {
  const found = await findNamed(caller, () => findRecipient(caller, identity))
  return found ?? Promise.reject(noRecipient(identity))
}

export async function readMailUser(
  caller: ReplicationContext,
  identity: string,
  hint: string,
): Promise<ExchangeRecipient> {
  const recipient = await readRecipient(caller, identity)
  if (recipient.kind !== 'MailUser') {
    throw new FunctionRefused(`"${identity}" is a mailbox, not a mail user. ${hint}`)
  }
  return recipient
}

/** What a cmdlet finds; empty when Exchange says that there is none. */
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
    throw new FunctionRefused(`"${identity}" is a ${type}. Use a mail user or a mailbox.`)
  }
  return {
    kind: isMailUser ? 'MailUser' : 'Mailbox',
    guid: textOf(found.Guid),
    identity,
    objectId: textOf(found.ExternalDirectoryObjectId),
    addresses: textsOf(found.EmailAddresses),
    primary: textOf(found.PrimarySmtpAddress),
    external: withoutSmtp(textOf(found.ExternalEmailAddress)),
    exchangeGuid: textOf(found.ExchangeGuid),
    archiveGuid: textOf(found.ArchiveGuid),
  }
}

export const textsOf = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.map(textOf) : []

/** Changes the recipient with the cmdlet of its kind. */
export async function changeRecipient(
  { tenant, signal }: ReplicationContext,
  { kind, guid }: ExchangeRecipient,
  change: JsonObject,
): Promise<void> {
  await tenant.exchange.run(`Set-${kind}`, { Identity: guid, ...change }, { signal })
}
