// Short notation for detection tables: `a@1` is key a in group T1, `b:source` a member removed by the source.
import {
  type Comparison,
  compareWithSource,
  type FoundRow,
  type KnownBatch,
  type KnownMember,
  type SourceContents,
} from '../../../src/domain/sources/compare.ts'
import type { PastMembership } from '../../../src/domain/sources/joiners.ts'
import type { Review } from '../../../src/domain/sources/reviews.ts'
import {
  type MemberLookups,
  scheduledChanges,
  type TickChanges,
} from '../../../src/domain/sources/scheduled.ts'

const HOUR = 3_600_000
export const NOW = Date.parse('2026-03-02T08:00:00Z')
export const T1 = NOW + 10 * HOUR
export const T2 = NOW + 40 * HOUR
export const T3 = NOW + 80 * HOUR

/** `a@1` is key a in group T1; `a@1!` has other data than its member. */
export const rowOf = (text: string): FoundRow => {
  const [, key, time, mark] = /^(\w+)@(\d)(!?)$/.exec(text)!
  return {
    key: key!,
    folded: key!.toLowerCase(),
    timeMs: [T1, T2, T3][Number(time) - 1]!,
    hash: mark ? 'new' : 'same',
  }
}

export const found = (texts: string, unusable: readonly string[] = []): SourceContents => {
  const rows = texts.split(' ').filter(Boolean).map(rowOf)
  const groups = new Map<number, number>()
  for (const { timeMs } of rows) groups.set(timeMs, (groups.get(timeMs) ?? 0) + 1)
  return {
    rows: new Map(rows.map((row) => [row.folded, row])),
    unusable: new Set(unusable),
    groups,
  }
}

export interface Known {
  readonly batches: KnownBatch[]
  readonly members: KnownMember[]
}

interface BatchParts extends Partial<KnownBatch> {
  /** `a b:failed c:source d:anna e:moved` */
  readonly who?: string
}

/** Batch n has the time Tn by default. */
export function known(...parts: BatchParts[]): Known {
  const batches: KnownBatch[] = []
  const members: KnownMember[] = []
  parts.forEach(({ who = '', ...more }, index) => {
    const id = index + 1
    const own = who
      .split(' ')
      .filter(Boolean)
      .map((text, place) => memberOf(text, id, place))
    members.push(...own)
    batches.push({
      id,
      timesMs: [[T1, T2, T3][index]!],
      startMs: [T1, T2, T3][index]!,
      isEnded: false,
      status: 'active',
      heldBy: null,
      members: own.filter(({ status }) => status !== 'removed').length,
      ...more,
    })
  })
  return { batches, members }
}

function memberOf(text: string, batchId: number, place: number): KnownMember {
  const [key, state = 'active'] = text.split(':') as [string, string?]
  const isRemoved = state !== 'active' && state !== 'failed'
  return {
    id: batchId * 100 + place,
    batchId,
    key,
    folded: key.toLowerCase(),
    hash: 'same',
    status: isRemoved ? 'removed' : (state as 'active' | 'failed'),
    removedBy: isRemoved ? (state === 'moved' ? 'source' : state) : null,
    removedAtMs: isRemoved ? NOW - batchId * HOUR : 0,
    isMovedOut: state === 'moved',
  }
}

const NOTHING: MemberLookups = {
  absences: new Map(),
  reviews: [],
  cutOverBegun: new Set(),
  compensating: new Set(),
  past: new Map(),
  removedLastDay: new Map(),
}
export const SAFEGUARDS = {
  maxRemovalPercent: 20,
  removalsAfterStart: 'hold',
  maxFailedPercent: 30,
} as const

export const changesOf = (
  { batches, members }: Known,
  source: SourceContents,
  lookups: Partial<MemberLookups> = {},
  safeguards: Parameters<typeof scheduledChanges>[3] = SAFEGUARDS,
): TickChanges => {
  const comparison: Comparison = compareWithSource(source, batches, members)
  return scheduledChanges(comparison, batches, { ...NOTHING, ...lookups }, safeguards, NOW)
}

const at = (timeMs: number) => `T${[T1, T2, T3].indexOf(timeMs) + 1}`

/** The changes in short notation. */
export function describeChanges(changes: TickChanges): string[] {
  const keys = (list: readonly { key: string }[]) => list.map(({ key }) => key).join(' ')
  return [
    ...changes.refreshes.map(({ member }) => `refresh ${member.key}`),
    ...changes.moves.map(
      ({ fromBatchId, timeMs, pairs }) =>
        `move ${keys(pairs.map(({ row }) => row))} from ${fromBatchId} to ${at(timeMs)}`,
    ),
    ...changes.batches.map(
      ({ timeMs, rows, hold }) => `new ${at(timeMs)} ${keys(rows)}${hold ? ' held' : ''}`,
    ),
    ...[...changes.joins].map(([id, rows]) => `join ${id} ${keys(rows)}`),
    ...changes.rejoins.map(({ key, batchId }) => `rejoin ${batchId} ${key}`),
    ...changes.removals.map(({ key, batchId }) => `remove ${batchId} ${key}`),
    ...[...changes.absences].filter(([, missed]) => missed === 1).map(([id]) => `missing ${id}`),
    ...changes.reviews.add.map(({ kind, key, cause }) => `hold ${kind} ${key} ${cause}`),
    ...changes.reviews.drop.map((id) => `drop ${id}`),
    ...[...changes.holds.keys()].map((id) => `hold batch ${id}`),
    ...changes.resumes.map((id) => `resume batch ${id}`),
    ...changes.issues.map(({ kind, key }) => `say ${kind}${key ? ` ${key}` : ''}`),
  ]
}

export type Case = [
  what: string,
  known: Known,
  source: SourceContents,
  lines: string[],
  lookups?: Partial<MemberLookups>,
]

export const many = (from: number, to: number, text: (n: number) => string): string =>
  Array.from({ length: to - from + 1 }, (_, i) => text(from + i)).join(' ')

export const past = (
  rows: Record<string, Partial<PastMembership>>,
): Pick<MemberLookups, 'past'> => ({
  past: new Map(
    Object.entries(rows).map(([key, row]) => [
      key,
      [
        {
          batchId: 9,
          batchStatus: 'completed',
          memberId: 900,
          status: 'active',
          removedBy: null,
          isMovedOut: false,
          hash: 'same',
          ...row,
        },
      ],
    ]),
  ),
})

export const reviewRow = (parts: Partial<Review>): Review => ({
  id: 7,
  kind: 'removal',
  cause: 'many',
  batchId: 1,
  memberId: 101,
  key: 'b',
  folded: 'b',
  toMs: null,
  reason: 'many',
  isDismissed: true,
  isOver: false,
  hash: null,
  ...parts,
})
