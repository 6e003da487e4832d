// Those who are given rights on a mailbox. Exchange shows them by different names in different places (a UPN in permissions, a name in
// GrantSendOnBehalfTo), so a trustee carries all names by which it may appear.
import type { JsonObject } from '../../../base/text/json.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { FunctionRefused, noRecipient } from '../failure.ts'
import { isSameText, withoutSmtp } from '../parameters.ts'
import { type ReplicationContext, retryUntilFound } from '../replication.ts'
import { runOrNone } from './exchange-recipient.ts'

export interface Trustee {
  /** As given. */
  readonly name: string
  readonly guid: string
  readonly names: readonly string[]
}

const NAMES = [
  'Guid',
  'Identity',
  'Name',
  'Alias',
  'DistinguishedName',
  'PrimarySmtpAddress',
  'WindowsLiveID',
  'ExternalDirectoryObjectId',
]

/** All of them, before anything is changed for one. */
export async function readTrustees(
  caller: ReplicationContext,
  names: readonly string[],
): Promise<Trustee[]> {
  const found: Trustee[] = []
  for (const name of new Set(names)) found.push(await readTrustee(caller, name))
  return found
}

async function readTrustee(caller: ReplicationContext, name: string): Promise<Trustee> {
  const { tenant, signal } = caller
  const found = await retryUntilFound(caller, async () => {
    const all = await runOrNone(() =>
      tenant.exchange.run('Get-Recipient', { Identity: name }, { signal, select: NAMES }),
    )
    if (all.length > 1)
      throw new FunctionRefused(
        `"${name}" matches ${all.length} recipients. Use an address or an id.`,
      )
    return all[0] ?? null
  })
  if (found === null) throw noRecipient(name)
  const names = NAMES.flatMap((one) => textOrNull(withoutSmtp(textOf(found[one]))) ?? [])
  return { name, guid: textOf(found.Guid), names: [name, ...names] }
}

export const isTrustee = ({ names }: Trustee, shown: string): boolean =>
  names.some((name) => isSameText(name, shown))

/** A list, or one text with commas. */
export const accessRightsOf = ({ AccessRights: rights }: JsonObject): string[] =>
  Array.isArray(rights) ? rights.map(textOf) : textOf(rights).split(/[,\s]+/)
