// What a tick did, in words of people and in one order.
import { countText } from '../../base/text/count-text.ts'

/** Counts that are not words of people, for one and for many. The others stand as they are: `2 joined`. */
const WORDS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  batches: ['new batch', 'new batches'],
  missing: ['missing for the first time', 'missing for the first time'],
  failures: ['failure', 'failures'],
  issues: ['row left out', 'rows left out'],
}

/** `1 new batch, 2 joined, 1 row left out`; the rows left out come last. */
export function tickText(counts: Readonly<Record<string, number>>): string {
  const place = (what: string) => (what === 'batches' ? 0 : what === 'issues' ? 2 : 1)
  return Object.entries(counts)
    .sort(([a], [b]) => place(a) - place(b))
    .map(([what, count]) => countText(count, ...(WORDS[what] ?? [what, what])))
    .join(', ')
}
