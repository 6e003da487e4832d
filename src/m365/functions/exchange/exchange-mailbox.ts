// Reads one mailbox. A mail user of that name is told apart: its mailbox is in another tenant.
import type { JsonObject } from '../../../base/text/json.ts'
import { FunctionRefused, noRecipient } from '../failure.ts'
import { findNamed, type ReplicationContext } from '../replication.ts'
import { findRecipient, runOrNone } from './exchange-recipient.ts'

/** Null when there is none at this moment. */
export async function findMailbox(
  { tenant, signal }: Pick<ReplicationContext, 'tenant' | 'signal'>,
  identity: string,
  select: readonly string[],
): Promise<JsonObject | null> {
  const found = await runOrNone(() =>
    tenant.exchange.run('Get-Mailbox', { Identity: identity }, { signal, select }),
  )
  if (found.length > 1)
    throw new FunctionRefused(
      `"${identity}" matches ${found.length} mailboxes. Use an address or an id.`,
    )
  return found[0] ?? null
}

export async function readMailbox(
  caller: ReplicationContext,
  identity: string,
  select: readonly string[],
): Promise<JsonObject> {
  const mailbox = await findNamed(caller, () => findMailbox(caller, identity, select))
  if (mailbox !== null) return mailbox
  const recipient = await findRecipient(caller, identity)
  if (recipient === null) throw noRecipient(identity)
  throw new FunctionRefused(
    `"${identity}" is a mail user: its mailbox is in another tenant${recipient.external ? `, at ${recipient.external}` : ''}.`,
  )
}
