// Those who are given rights on a mailbox. Exchange shows them by different names in different places (a UPN in permissions, a name in
// GrantSendOnBehalfTo), so a trustee carries all names by which it may appear.
import type { JsonObject } from '../../../base/text/json.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { FunctionRefused, noRecipient } from '../failure.ts'
import { isSameText, personId, withoutSmtp } from '../parameters.ts'
import { findNamed, type ReplicationContext } from '../replication.ts'
import { runOrNone } from './exchange-recipient.ts'

export interface Trustee {
  /** As given. */
  readonly name: string
  readonly guid: string
  readonly names: readonly string[]
}

/** What is the same person in every tenant. Exchange also finds recipients by names, which are not. */
const CERTAIN = [
  'Guid',
  'PrimarySmtpAddress',
  'WindowsLiveID',
  'ExternalDirectoryObjectId',
  'EmailAddresses',
]
const SELECT = [...CERTAIN, 'Identity', 'Name', 'Alias', 'DistinguishedName']

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
  const found = await findNamed(caller, async () => {
    const all = await runOrNone(() =>
      tenant.exchange.run('Get-Recipient', { Identity: name }, { signal, select: SELECT }),
    )
    if (all.length > 1)
      throw new FunctionRefused(
        `"${name}" matches ${all.length} recipients. Use an address or an id.`,
      )
    return all[0] && isCertainly(all[0], name) ? all[0] : null
  })
  if (found === null) throw noRecipient(name)
  const names = SELECT.flatMap((one) => textOrNull(withoutSmtp(textOf(found[one]))) ?? [])
  return { name, guid: textOf(found.Guid), names: [name, ...names] }
}

/** Whether the name is an address, a sign-in name or an id of the recipient that Exchange found for it. */
const isCertainly = (found: JsonObject, name: string): boolean =>
  CERTAIN.flatMap((one) => [found[one] ?? null].flat()).some((shown) =>
    isSameText(withoutSmtp(textOf(shown)), name),
  )

/** Entries of system principals, and of accounts that are gone, whose name nobody can look up any more. */
const NOBODY = /^S-1-\d|\\/i

export interface TrusteesAtSource {
  /** Addresses, which name the same people in the other tenant or nobody. */
  readonly addresses: string[]
  /** Entries that are nobody to give a right to, or cannot be told apart. */
  readonly leftOut: string[]
}

/** The address of each entry, asked where it was written: the entry itself may be a name, which is a stranger elsewhere. */
export async function addressesOfTrustees(
  { tenant, signal }: Pick<ReplicationContext, 'tenant' | 'signal'>,
  entries: readonly string[],
): Promise<TrusteesAtSource> {
  const addresses: string[] = []
  const leftOut: string[] = []
  for (const entry of new Set(entries)) {
    if (/^NT AUTHORITY\\/i.test(entry)) continue
    if (NOBODY.test(entry)) {
      leftOut.push(entry)
      continue
    }
    const found = await runOrNone(() =>
      tenant.exchange.run('Get-Recipient', { Identity: entry }, { signal, select: SELECT }),
    )
    const known = found.length === 1 ? textOrNull(found[0]!.PrimarySmtpAddress) : null
    // An account without a mailbox is no recipient; its sign-in name is as certain as an address.
    if (known !== null) addresses.push(withoutSmtp(known))
    else if (found.length === 0 && personId.safeParse(entry).success) addresses.push(entry)
    else leftOut.push(entry)
  }
  return { addresses, leftOut }
}

export const isTrustee = ({ names }: Trustee, shown: string): boolean =>
  names.some((name) => isSameText(name, shown))

/** A list, or one text with commas. */
export const accessRightsOf = ({ AccessRights: rights }: JsonObject): string[] =>
  Array.isArray(rights) ? rights.map(textOf) : textOf(rights).split(/[,\s]+/)
