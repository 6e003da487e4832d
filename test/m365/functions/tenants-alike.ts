// Tenants of a sandbox as they compare: without what time alone changes.
import type { State } from '../../../sandbox/state.ts'

/** What time alone changes, and what an account leaves behind when it is deleted. */
const VOLATILE =
  /^(?:signInSessionsValidFromDateTime|visibleAt|.*Since|.*changedAt|.*At|passwordProfile)$/i

/** Null, empty and missing are the same to Microsoft 365. */
function essential(value: unknown): unknown {
  if (Array.isArray(value))
    return value.every((one) => typeof one === 'string') ? value.toSorted() : value.map(essential)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .filter(([key]) => !VOLATILE.test(key))
    .map(([key, inner]) => [key, essential(inner)] as const)
    .filter(
      ([, inner]) =>
        inner !== null && Object.keys(Object(inner)).length + Number(typeof inner !== 'object') > 0,
    )
  return Object.fromEntries(entries)
}

export const tenantsOf = (state: State): unknown =>
  state.tenants.map((tenant) =>
    essential({
      ...tenant,
      users: tenant.users.filter(({ deletedDateTime }) => deletedDateTime === null),
    }),
  )
