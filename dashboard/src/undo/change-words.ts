// A change of the undo ledger in plain words: what was there before, and what was set.
import type { Answer } from '../api/routes.ts'

export type Effect =
  Answer<'GET /api/batches/{batchId}/members/{memberId}/effects'>['items'][number]

/** `mail changed from ada@old to ada@new`; one for each value. Empty when the change has none. */
export function changeWords({ before, after }: Pick<Effect, 'before' | 'after'>): string[] {
  if (!isRecord(before)) return []
  const set = isRecord(after) ? after : {}
  const names = Object.keys(before)
  // Where one value was changed, its inverse may call it by another name.
  const [only] = names.length === 1 ? Object.values(set) : []
  const hasOne = Object.keys(set).length === 1
  return names.map((name) => {
    if (name === 'exists') return before.exists === true ? 'was removed' : 'was created'
    const now = name in set ? set[name] : hasOne ? only : undefined
    const was = valueWords(before[name])
    return now === undefined
      ? `${name} was ${was}`
      : `${name} changed from ${was} to ${valueWords(now)}`
  })
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function valueWords(value: unknown): string {
  if (value === null || value === '') return 'empty'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueWords).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
