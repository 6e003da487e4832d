// The scheduler's part of the bug bank: mistakes that would hurt people whose source is read every five minutes.
import type { BankedMutant } from './mutant-loader.ts'
import { remove, replace } from './place.ts'

export const SOURCE_MUTANTS: readonly BankedMutant[] = [
  {
    name: 'whoever is missing once has left',
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
    name: 'a group that is gone with all its keys has left',
    in: 'compareWithSource',
    edits: [remove('&& !$vanished.has($batch.id)')],
    foundBy: 12,
  },
  {
    name: 'a key that stands there and cannot be used counts as missing',
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
    name: 'a scheduler that lost its lease goes on',
    in: 'fence',
    under: 'src/scheduler/',
    edits: [
      replace(
        'if (!(await renewLease($$args))) throw',
        `if (!(await renewLease($$args)) && name === '') throw`,
      ),
    ],
    foundBy: 28,
  },
  {
    name: 'a result that was cut short is used as far as it came',
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
    foundBy: 17,
  },
  {
    name: 'a lease is given to whoever asks',
    in: 'takeLease',
    edits: [remove('(s.leased_until is null or s.leased_until <= $2) and')],
    foundBy: 12,
  },
  {
    name: 'whoever is back in the source is not taken back',
    in: 'scheduledChanges',
    edits: [
      replace('rejoins: $comparison.rejoiners', 'rejoins: $comparison.rejoiners.slice(0, 0)'),
    ],
    foundBy: 106,
  },
]
