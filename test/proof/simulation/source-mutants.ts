// The scheduler's part of the bug bank: mistakes that would harm members when the source is read.
import type { BankedMutant } from './mutant-loader.ts'
import { remove, replace } from './place.ts'

export const SOURCE_MUTANTS: readonly BankedMutant[] = [
  {
    name: 'one absence removes a member',
    in: 'leaverChanges',
    edits: [
      replace(
        '$facts.absences.has($member.id)',
        '$facts.absences.has($member.id) || $member.id > 0',
      ),
    ],
    foundBy: 1,
  },
  {
    name: 'a vanished group removes its members',
    in: 'compareWithSource',
    edits: [remove('&& !$vanished.has($batch.id)')],
    foundBy: 12,
  },
  {
    name: 'an unusable row counts as absent',
    in: 'compareWithSource',
    edits: [
      replace(
        'const $isUnusable = $found.unusable.has($member.folded)',
        `const $isUnusable = $found.unusable.has($member.folded) && $member.folded === ''`,
      ),
    ],
    foundBy: 1,
  },
  {
    name: 'a scheduler that lost its lease continues',
    in: 'fence',
    under: 'src/scheduler/',
    edits: [
      replace(
        'if (!(await renewLease($$args))) throw',
        `if (!(await renewLease($$args)) && name === '') throw`,
      ),
    ],
    foundBy: 50,
  },
  {
    name: 'a truncated source result is used',
    in: 'readAll',
    under: 'src/scheduler/read-source',
    edits: [
      replace(
        'for await (const $chunk of $rows) {',
        `const whole = $rows[Symbol.asyncIterator]()
        const end = { done: true as const, value: undefined }
        const forgiving = { next: () => whole.next().catch(() => end) }
        for await (const $chunk of { [Symbol.asyncIterator]: () => forgiving }) {`,
      ),
    ],
    foundBy: 24,
  },
  {
    name: 'a lease is granted to every caller',
    in: 'takeLease',
    edits: [remove('(s.leased_until is null or s.leased_until <= $2) and')],
    foundBy: 12,
  },
  {
    name: 'a returning key is not readmitted',
    in: 'scheduledChanges',
    edits: [
      replace('rejoins: $comparison.rejoiners', 'rejoins: $comparison.rejoiners.slice(0, 0)'),
    ],
    foundBy: 125,
  },
]
