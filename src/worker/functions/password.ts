// Passwords that functions set. A password is stored in the vault before it is set, so none is lost, and under a name derived
// from the account, so a repeated job sets the same one. Results hold the vault's reference, never the password.
import { createHash, randomInt } from 'node:crypto'
import type { ReplicationContext } from './replication.ts'

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

export interface StoredPassword {
  readonly value: string
  readonly reference: string
  /** Created in this run: no earlier run can have set it. */
  readonly isNew: boolean
}

const READABLE_CHARS_MAX = 60

/** Letters, digits and hyphens, as Key Vault requires; readable, and unique to this account and tenant by its digest. */
function secretName({ tenant }: ReplicationContext, upn: string): string {
  const account = upn.toLowerCase()
  const digest = createHash('sha256').update(`${tenant.id}\n${account}`).digest('hex').slice(0, 16)
  const readable = account.replaceAll(/[^a-z0-9]+/g, '-').slice(0, READABLE_CHARS_MAX)
  return `password-${readable}-${digest}`
}

/** The reference of the account's stored password, or null if there is none. */
export const findPassword = (caller: ReplicationContext, upn: string): Promise<string | null> =>
  caller.tenant.secrets.find(secretName(caller, upn), caller.signal)

/** The password to set: the given one, else the stored one, else a new one. It is in the vault when this returns. */
export async function passwordFor(
  caller: ReplicationContext,
  upn: string,
  given: string | null,
): Promise<StoredPassword> {
  const { secrets } = caller.tenant
  const stored = given === null ? await findPassword(caller, upn) : null
  if (stored !== null) {
    const value = await secrets.get(stored, caller.signal)
    return { value, reference: stored, isNew: false }
  }
  const value = given ?? makePassword()
  const reference = await secrets.put(secretName(caller, upn), value, caller.signal)
  return { value, reference, isNew: true }
}
