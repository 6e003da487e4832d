// Suggests the name that was probably meant. A match apart from case or separators wins over one with a typo or two; distant
// names are not suggested.

const MAX_CANDIDATES = 500
const MAX_LENGTH = 64

/** The candidate nearest to `word`, or null when none is likely. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length > MAX_LENGTH) return null
  const target = fold(word)
  let best: string | null = null
  let bestDistance = typosAllowed(target) + 1
  let seen = 0
  for (const candidate of candidates) {
    if (++seen > MAX_CANDIDATES) break
    const folded = fold(candidate)
    if (folded === target) return candidate
    if (Math.abs(folded.length - target.length) >= bestDistance) continue
    const distance = typosBetween(target, folded, bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

const HINT_NAMES_MAX = 15

/** "Did you mean …?" when something is near, else nothing. */
export function didYouMean(word: string, names: readonly string[]): string {
  const near = nearest(word, names)
  return near === null ? '' : `Did you mean "${near}"?`
}

/** A sentence for messages: "Did you mean …?" when something is near, else what there is. */
export function hintFor(word: string, names: readonly string[], lead: string): string {
  const guess = didYouMean(word, names)
  if (guess !== '' || names.length === 0) return guess
  const more = names.length > HINT_NAMES_MAX ? ', …' : ''
  return `${lead}: ${names.slice(0, HINT_NAMES_MAX).join(', ')}${more}.`
}

const fold = (word: string): string => word.toLowerCase().replaceAll(/[\s_-]/g, '')

// One typo in a short word is likely; two in "init" would match almost any four letters.
const typosAllowed = (word: string): number => (word.length <= 4 ? 1 : word.length <= 8 ? 2 : 3)

/**
 * Letters to add, drop, change or swap to turn one word into the other, capped at `limit`. Shared ends are skipped, only cells
 * within `limit` of the diagonal count, and hopeless pairs stop early: hundreds of long wrong names stay cheap.
 */
function typosBetween(one: string, other: string, limit: number): number {
  const [a, b] = withoutSharedEnds(one, other)
  const width = b.length + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: width }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = new Array<number>(width).fill(limit)
    row[0] = i
    let best = i
    for (let j = Math.max(1, i - limit); j <= Math.min(b.length, i + limit); j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let typos = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) typos = Math.min(typos, beforeLast[j - 2]! + 1)
      row[j] = typos
      best = Math.min(best, typos)
    }
    if (best >= limit) return limit
    ;[beforeLast, last] = [last, row]
  }
  return last[b.length]!
}

function withoutSharedEnds(a: string, b: string): [string, string] {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a[start] === b[start]) start++
  let end = 0
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)]
}
