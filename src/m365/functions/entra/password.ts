// Passwords that functions set. A password is stored in the vault before it is set, so none is lost, and under a name derived
// from the account, so a repeated job sets the same one. Results hold the vault's reference, never the password.
import { createHash, randomInt } from 'node:crypto'
import type { ReplicationContext } from '../replication.ts'

const LENGTH = 20
/** Without characters that people confuse when reading aloud. Entra requires three of the four classes; all are present. */
const CLASSES: readonly string[] = [
  'ABCDEFGHJKLMNPQRSTUVWXYZ',
  'abcdefghijkmnopqrstuvwxyz',
  '23456789',
  '!#%*+-=?@_',
]

export function makePassword(): string {
  const pick = (from: string) => from[randomInt(from.length)]!
  const all = CLASSES.join('')
  const letters = [...CLASSES.map(pick), ...Array.from({ length: LENGTH }, () => pick(all))]
  const chosen = letters.slice(0, LENGTH)
  for (let last = chosen.length - 1; last > 0; last--) {
    const other = randomInt(last + 1)
    const kept = chosen[last]!
    chosen[last] = chosen[other]!
    chosen[other] = kept
  }
  return chosen.join('')
}

/** In place of a password that was never set: an account of that name is not ours. Longer than any word in a result. */
const VOID = 'matoolkit: no account has this password'

export interface StoredPassword {
  readonly value: string
  readonly reference: string
  /** No earlier run can have set one for this account. */
  readonly isNew: boolean
}

const READABLE_CHARS_MAX = 60

/** Letters, digits and hyphens, as Key Vault requires; readable, and unique to this account and tenant by its digest. */
export function secretNameOf(
  { tenant }: { tenant: { id: string } },
  kind: string,
  name: string,
): string {
  const account = name.toLowerCase()
  const digest = createHash('sha256').update(`${tenant.id}\n${account}`).digest('hex').slice(0, 16)
  const readable = account.replaceAll(/[^a-z0-9]+/g, '-').slice(0, READABLE_CHARS_MAX)
  return `${kind}-${readable}-${digest}`
}

const secretName = (caller: ReplicationContext, upn: string): string =>
  secretNameOf(caller, 'password', upn)

/** Null too for one that was never set. */
export async function storedPassword(
  caller: ReplicationContext,
  upn: string,
): Promise<Omit<StoredPassword, 'isNew'> | null> {
  const { secrets } = caller.tenant
  const reference = await secrets.find(secretName(caller, upn), caller.signal)
  if (reference === null) return null
  const value = await secrets.get(reference, caller.signal)
  return value === VOID ? null : { value, reference }
}

/** The password to set: the given one, else the stored one, else a new one. It is in the vault when this returns. */
export async function passwordFor(
  caller: ReplicationContext,
  upn: string,
  given: string | null,
): Promise<StoredPassword> {
  const stored = await storedPassword(caller, upn)
  if (stored !== null && given === null) return { ...stored, isNew: false }
  const value = given ?? makePassword()
  const reference = await caller.tenant.secrets.put(secretName(caller, upn), value, caller.signal)
  return { value, reference, isNew: stored === null }
}

/** When creations of an account were sent: the first since it is not there, and the last. */
export interface CreationSpan {
  readonly first: string
  readonly last: string
}

const CREATION = 'creation'
const CLOCKS_DIFFER_MS = 300_000
/** Exchange ends a cmdlet after 15 minutes. */
const CREATION_TAKES_MS = 1_200_000

async function findSpan(caller: ReplicationContext, upn: string): Promise<CreationSpan | null> {
  const { secrets } = caller.tenant
  const reference = await secrets.find(secretNameOf(caller, CREATION, upn), caller.signal)
  if (reference === null) return null
  const [first = '', last = ''] = (await secrets.get(reference, caller.signal)).split(' ')
  return { first, last }
}

/** Before a creation is sent: an account made long before or after it is not ours, whatever the vault has. */
export async function noteCreation(
  caller: ReplicationContext,
  upn: string,
  { isNew }: Pick<StoredPassword, 'isNew'>,
): Promise<{ readonly earlier: CreationSpan | null; readonly now: CreationSpan }> {
  const earlier = isNew ? null : await findSpan(caller, upn)
  const last = caller.clock.now().toISOString()
  const now = { first: earlier?.first ?? last, last }
  const { secrets } = caller.tenant
  await secrets.put(secretNameOf(caller, CREATION, upn), `${now.first} ${last}`, caller.signal)
  return { earlier, now }
}

/** True too when either time is not known: an earlier version noted none, and a tenant may show none. */
export function isMadeWithin(madeAt: string | null, span: CreationSpan | null): boolean {
  // Exchange may leave out the zone of a time in UTC.
  const at = Date.parse(`${madeAt ?? ''}`.replace(/(T[\d:.]+)$/, '$1Z'))
  if (span === null || Number.isNaN(at)) return true
  return (
    at >= Date.parse(span.first) - CLOCKS_DIFFER_MS &&
    at <= Date.parse(span.last) + CREATION_TAKES_MS
  )
}

/**
 * The reference of the password of an account that this worker made; null for any other. A worker that died before it created the
 * account left a password too: an account that somebody made by hand afterwards is theirs.
 */
export async function ownPassword(
  caller: ReplicationContext,
  upn: string,
  madeAt: string | null,
): Promise<string | null> {
  const stored = await storedPassword(caller, upn)
  if (stored === null) return null
  return isMadeWithin(madeAt, await findSpan(caller, upn)) ? stored.reference : null
}

/** The account was not made, or is gone: from now on an account of that name is somebody else's. */
export async function voidPassword(caller: ReplicationContext, upn: string): Promise<void> {
  if ((await storedPassword(caller, upn)) === null) return
  await caller.tenant.secrets.put(secretName(caller, upn), VOID, caller.signal)
}
