// Finds the name somebody probably meant. Same letters in another case, or with other separators, win over a slip of a letter
// or two; nothing is suggested when nothing is near.

const MAX_CANDIDATES = 500
const MAX_LENGTH = 64

/** The candidate nearest to `word`, or null when none is near enough to be a likely slip. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length > MAX_LENGTH) return null
  const wanted = fold(word)
  let best: string | null = null
  let bestDistance = slipsAllowed(wanted) + 1
  let seen = 0
  for (const candidate of candidates) {
    if (++seen > MAX_CANDIDATES) break
    const folded = fold(candidate)
    if (folded === wanted) return candidate
    if (Math.abs(folded.length - wanted.length) >= bestDistance) continue
    const distance = slipsBetween(wanted, folded, bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

const HINT_NAMES_MAX = 15

/** A sentence for messages: "Did you mean …?" when something is near, else what there is. */
export function hintFor(word: string, names: readonly string[], lead: string): string {
  const near = nearest(word, names)
  if (near !== null) return `Did you mean "${near}"?`
  if (names.length === 0) return ''
  const more = names.length > HINT_NAMES_MAX ? ', …' : ''
  return `${lead}: ${names.slice(0, HINT_NAMES_MAX).join(', ')}${more}.`
}

const fold = (word: string): string => word.toLowerCase().replaceAll(/[\s_-]/g, '')

// One slip in a short word is likely; two in "init" would suggest almost any four letters.
const slipsAllowed = (word: string): number => (word.length <= 4 ? 1 : word.length <= 8 ? 2 : 3)

/**
 * Letters to add, drop, change or swap with a neighbour to get from one word to the other, or `limit` when it takes as many or more.
 * What the words share at both ends is left out, only cells within `limit` of the diagonal can matter, and a hopeless pair stops early:
 * a runbook with hundreds of wrong long names stays cheap.
 */
function slipsBetween(one: string, other: string, limit: number): number {
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
      let slips = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) slips = Math.min(slips, beforeLast[j - 2]! + 1)
      row[j] = slips
      best = Math.min(best, slips)
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
