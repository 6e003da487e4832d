// What a tick must not do without a person. The set is computed anew at every tick and compared with what is stored: what is no
// longer so goes, what is new comes, and what is still so stays as it is, dismissed or not, without being written again.
import type { FoundRow, KnownMember, Pair } from './detect.ts'

export type HeldKind = 'removal' | 'move' | 'join'

/**
 * Why it is held. A removal: too `many`, the batch has `started`, the member's cut-over has `begun`. A move: too `many`, or the
 * whole wave was `redated`. A join: `late` for a batch that has ended, `done` already in another, `removed` by a person.
 */
export type HeldCause = 'many' | 'started' | 'begun' | 'redated' | 'late' | 'done' | 'removed'

interface HeldFacts {
  readonly kind: HeldKind
  readonly cause: HeldCause
  /** The batch that the member is in; of a join the one that it is about. */
  readonly batchId: number | null
  /** Null for a join. */
  readonly memberId: number | null
  readonly key: string
  readonly folded: string
  /** Where it would go: of moves and joins. */
  readonly toMs: number | null
  readonly reason: string
}

/** A stored one. */
export interface Held extends HeldFacts {
  readonly id: number
  readonly isDismissed: boolean
  /** Its member was removed meanwhile, or its batch has ended. */
  readonly isOver: boolean
  /** Of a join: the data that it would bring. */
  readonly hash: string | null
}

/** One that this tick finds. */
export interface HeldWish<Row extends FoundRow = FoundRow> extends HeldFacts {
  /** Of a join: the row that it would bring. */
  readonly row: Row | null
}

export interface HeldPlan<Row extends FoundRow = FoundRow> {
  readonly add: readonly HeldWish<Row>[]
  /** Still held, with other words or other data. */
  readonly change: readonly { readonly id: number; readonly to: HeldWish<Row> }[]
  readonly drop: readonly number[]
}

const subject = ({ kind, memberId, folded, toMs }: HeldFacts): string =>
  `${kind} ${memberId ?? folded} ${toMs}`

export function planHeld<Row extends FoundRow>(
  stored: readonly Held[],
  wishes: readonly HeldWish<Row>[],
): HeldPlan<Row> {
  const known = new Map(stored.map((held) => [subject(held), held]))
  const add: HeldWish<Row>[] = []
  const change: { id: number; to: HeldWish<Row> }[] = []
  const kept = new Set<number>()
  for (const wish of wishes) {
    const held = known.get(subject(wish))
    if (!held) {
      add.push(wish)
      continue
    }
    kept.add(held.id)
    const isSame =
      held.isDismissed || (held.reason === wish.reason && held.hash === (wish.row?.hash ?? null))
    if (!isSame) change.push({ id: held.id, to: wish })
  }
  return { add, change, drop: stored.filter(({ id }) => !kept.has(id)).map(({ id }) => id) }
}

/** A person has said of exactly this that it is to stay as it is. */
export function dismissals(stored: readonly Held[]): (wish: HeldFacts) => boolean {
  const dismissed = new Set(stored.filter((held) => held.isDismissed).map(subject))
  return (wish) => dismissed.has(subject(wish))
}

export const heldRemoval = (
  member: KnownMember,
  cause: HeldCause,
  reason: string,
): HeldWish<never> => ({
  kind: 'removal',
  cause,
  batchId: member.batchId,
  memberId: member.id,
  key: member.key,
  folded: member.folded,
  toMs: null,
  reason,
  row: null,
})

export const heldMove = (
  { member, row }: Pair,
  cause: HeldCause,
  reason: string,
): HeldWish<never> => ({
  ...heldRemoval(member, cause, reason),
  kind: 'move',
  toMs: row.timeMs,
})

export const heldJoin = <Row extends FoundRow>(
  row: Row,
  cause: HeldCause,
  batchId: number | null,
  reason: string,
): HeldWish<Row> => ({
  kind: 'join',
  cause,
  batchId,
  memberId: null,
  key: row.key,
  folded: row.folded,
  toMs: row.timeMs,
  reason,
  row,
})
