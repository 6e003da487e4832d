// The memory that a process needs for its roles, checked before it starts: with less, Node ends it in the middle of its work, again
// and again (docs/operating.md, "Memory").
import { getHeapStatistics } from 'node:v8'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { nodeOptions } from '../../base/settings/config.ts'
import type { Role } from '../../base/settings/process.ts'

/** Least heap in MB: what every process takes, and what each role adds. */
const BASE_MB = 48
const ROLE_MB: Readonly<Record<Role, number>> = {
  orchestrator: 64,
  scheduler: 160,
  worker: 48,
  api: 64,
}

export const leastHeapMb = (roles: readonly Role[]): number =>
  roles.reduce((sum, role) => sum + ROLE_MB[role], BASE_MB)

const GIVEN = /--max[-_]old[-_]space[-_]size[= ](\d+)/g

/** Throws when the heap of this process cannot grow to what its roles need. `flags`: as Node got them, the last one counts. */
export function requireMemory(
  roles: readonly Role[],
  limitBytes = getHeapStatistics().heap_size_limit,
  flags = nodeOptions(),
): void {
  // V8 reports a given limit plus room for new objects, 192 MB on Node 24; what stays has no use of it.
  const given = Number([...flags.matchAll(GIVEN)].at(-1)?.[1] ?? Infinity)
  const limitMb = Math.min(given, Math.floor(limitBytes / 2 ** 20))
  const leastMb = leastHeapMb(roles)
  if (limitMb >= leastMb) return
  throw new MatoolkitError('MEMORY_TOO_SMALL', { limitMb, leastMb, roles: roles.join(', ') })
}
