// Compare before writing: an undo carries what we set, and a value that somebody changed since is left alone. Graph and Exchange take no
// If-Match for these writes, so it is read just before the write.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { ChangedSince } from '../../worker/functions/undo-guard.ts'

/** Not given in most runbooks; every undo gives it. */
export const ifStill = z
  .record(z.string(), z.json())
  .optional()
  .describe('Change only if these values are still so; else the step fails and nothing changes.')

type Same = (one: Json, other: Json) => boolean

/** Names and addresses compare without case, as Microsoft 365 does; null and empty are the same. */
const isSameValue: Same = (one, other) => isDeepStrictEqual(folded(one), folded(other))
const folded = (value: Json): Json => {
  if (value === null) return ''
  if (typeof value === 'string') return value.toLowerCase()
  return Array.isArray(value) ? value.map(folded) : value
}

/** Call it right before a write with what is there now, by the names that `IfStill` uses. */
export function requireStill(
  given: JsonObject | undefined,
  now: JsonObject,
  target: string,
  isSame: Same = isSameValue,
): void {
  for (const [name, expected] of Object.entries(given ?? {})) {
    const current = now[name] ?? null
    if (isSame(expected, current)) continue
    throw new ChangedSince(
      `${name} of "${target}" is ${shown(current)} now, not ${shown(expected)}: it was changed since, so it was left alone. Check it in the tenant, then skip this step or set the value by hand.`,
    )
  }
}

const shown = (value: Json): string =>
  value === null || value === '' ? 'empty' : JSON.stringify(value)
