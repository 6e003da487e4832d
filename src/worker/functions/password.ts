// Passwords that functions set. A password goes into the vault before it is set, so that none is ever lost, and under a name that
// belongs to the account, so that a job that is run again sets the same one. Results hold the vault's reference, never the text.
import { createHash, randomInt } from 'node:crypto'
import type { ReplicationContext } from './replication.ts'

const LENGTH = 20
/** Without those that people confuse when they read one aloud. Entra wants three of the four classes; each is there. */
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

export interface KeptPassword {
  readonly value: string
  readonly reference: string
  /** No earlier run can have set it. */
  readonly isNew: boolean
}

const READABLE_CHARS_MAX = 60

/** Letters, digits and hyphens, as Key Vault wants; readable, and by its digest of this account in this tenant only. */
function secretName({ tenant }: ReplicationContext, upn: string): string {
  const account = upn.toLowerCase()
  const digest = createHash('sha256').update(`${tenant.id}\n${account}`).digest('hex').slice(0, 16)
  const readable = account.replaceAll(/[^a-z0-9]+/g, '-').slice(0, READABLE_CHARS_MAX)
  return `password-${readable}-${digest}`
}

/** The reference of the password that was made for the account, or null when none ever was. */
export const findPassword = (caller: ReplicationContext, upn: string): Promise<string | null> =>
  caller.tenant.secrets.find(secretName(caller, upn), caller.signal)

/** The password to set: the one given, else the one made earlier, else a new one. It is in the vault when this returns. */
export async function passwordFor(
  caller: ReplicationContext,
  upn: string,
  given: string | null,
): Promise<KeptPassword> {
  const { secrets } = caller.tenant
  const earlier = given === null ? await findPassword(caller, upn) : null
  if (earlier !== null) {
    const value = await secrets.get(earlier, caller.signal)
    return { value, reference: earlier, isNew: false }
  }
  const value = given ?? makePassword()
  const reference = await secrets.put(secretName(caller, upn), value, caller.signal)
  return { value, reference, isNew: true }
}
