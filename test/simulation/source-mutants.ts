// The scheduler's part of the bug bank: mistakes that would hurt people whose source is read every five minutes.
import type { BankedMutant } from './mutant-loader.ts'

const TICK = 'src/scheduler/tick.ts'

export const SOURCE_MUTANTS: readonly BankedMutant[] = [
  {
    name: 'whoever is missing once has left',
    file: 'src/domain/detection/leavers.ts',
    find: 'const missed = facts.absences.has(member.id) ? 2 : 1',
    replace: 'const missed = facts.absences.has(member.id) || member.id > 0 ? 2 : 1',
    foundBy: 1,
  },
  {
    name: 'a group that is gone with all its keys has left',
    file: 'src/domain/detection/compare.ts',
    find: `batch.timesMs.length > 0 && !vanished.has(batch.id)) missing.push(member)`,
    replace: `batch.timesMs.length > 0) missing.push(member)`,
    foundBy: 12,
  },
  {
    name: 'a key that stands there and cannot be used counts as missing',
    file: 'src/domain/detection/compare.ts',
    find: 'const isUnusable = found.unusable.has(member.folded)',
    replace: `const isUnusable = found.unusable.has(member.folded) && member.folded === ''`,
    foundBy: 1,
  },
  {
    name: 'a scheduler that lost its lease goes on',
    file: TICK,
    find: `    if (!(await renewLease(tx, { ...lease, until: leaseEnd(options) })))
      throw`,
    replace: `    if (!(await renewLease(tx, { ...lease, until: leaseEnd(options) })) && name === '')
      throw`,
    foundBy: 28,
  },
  {
    name: 'a result that was cut short is used as far as it came',
    file: 'src/scheduler/reading.ts',
    find: '  for await (const chunk of rows) {\n',
    replace: `  const whole = rows[Symbol.asyncIterator]()
  const end = { done: true as const, value: undefined }
  const forgiving = { next: () => whole.next().catch(() => end) }
  for await (const chunk of { [Symbol.asyncIterator]: () => forgiving }) {\n`,
    foundBy: 17,
  },
  {
    name: 'a lease is given to whoever asks',
    file: 'src/db/ticks.ts',
    find: 'where (s.leased_until is null or s.leased_until <= $2) and (s.due_at <= $2 or $5)',
    replace: 'where s.due_at <= $2 or $5',
    foundBy: 12,
  },
  {
    name: 'whoever is back in the source is not taken back',
    file: 'src/domain/detection/scheduled.ts',
    find: 'rejoins: comparison.rejoiners.map(({ member }) => member),',
    replace: 'rejoins: comparison.rejoiners.slice(0, 0).map(({ member }) => member),',
    foundBy: 106,
  },
]
