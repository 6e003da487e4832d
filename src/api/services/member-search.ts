// Finds members by part of their key. In the database this reads every key of the batch (15 ms for 100,000), or needs an index that
// costs more than the insert itself (40 µs per member). A batch's keys never change and only grow, so the keys of searched batches
// stay here as one text (1 ms per search). The batch's counters show whether the text is complete; matches are read from the database.
import type { Queryable } from '../../db/connection/db.ts'
import type { BatchLine } from '../../db/views/batches.ts'
import { listKeys } from '../../db/views/members.ts'

const KEYS_PER_READ = 20_000
/** Over all batches, about 50 MB. The batches searched longest ago are dropped first. */
const KEYS_KEPT_MAX = 1_000_000
/** Rare in keys, so a match seldom spans two of them. */
const SEPARATOR = '\n'

type Counted = Pick<BatchLine, 'id' | 'membersActive' | 'membersFailed' | 'membersRemoved'>

const countOf = ({ membersActive, membersFailed, membersRemoved }: Counted): number =>
  membersActive + membersFailed + membersRemoved

/** Keys in id order. */
export class KeyText {
  #text = ''
  readonly #ids: number[] = []
  readonly #ends: number[] = []

  get size(): number {
    return this.#ids.length
  }

  get lastId(): number {
    return this.#ids.at(-1) ?? 0
  }

  /** Expects ids above all earlier ones. */
  add(ids: readonly number[], keys: readonly string[]): void {
    let end = this.#text.length
    for (const [at, key] of keys.entries()) {
      end += key.length + SEPARATOR.length
      this.#ids.push(ids[at]!)
      this.#ends.push(end)
    }
    this.#text += keys.map((key) => key + SEPARATOR).join('')
  }

  /** The first `limit` ids above `after` whose keys contain the part. */
  find(part: string, limit: number, after: number): number[] {
    const found: number[] = []
    const begin = firstAbove(this.#ids, after)
    let from = begin === 0 ? 0 : this.#ends[begin - 1]!
    while (found.length < limit) {
      const at = this.#text.indexOf(part, from)
      if (at === -1) break
      const which = firstAbove(this.#ends, at)
      const end = this.#ends[which]!
      const isWithin = at + part.length <= end - SEPARATOR.length
      if (isWithin) found.push(this.#ids[which]!)
      from = isWithin ? end : at + 1
    }
    return found
  }
}

/** The index of the first number above `limit` in an ascending list; its length when there is none. */
function firstAbove(numbers: readonly number[], limit: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (numbers[middle]! > limit) high = middle
    else low = middle + 1
  }
  return low
}

export class MemberSearch {
  readonly #keptMax: number
  /** Ordered by last search. */
  readonly #texts = new Map<number, KeyText>()
  readonly #reading = new Map<number, Promise<KeyText>>()

  constructor(keptMax = KEYS_KEPT_MAX) {
    this.#keptMax = keptMax
  }

  /** The ids of the first `limit` members above `after` whose folded key contains the part. */
  async find(
    db: Queryable,
    batch: Counted,
    part: string,
    limit: number,
    after = 0,
  ): Promise<number[]> {
    const lacks = (text: KeyText | undefined) => text === undefined || text.size < countOf(batch)
    let text = this.#texts.get(batch.id)
    // Twice: a read under way may serve a caller who saw fewer members.
    for (let turn = 0; turn < 2 && lacks(text); turn++) {
      text = await (this.#reading.get(batch.id) ?? this.#read(db, batch))
    }
    this.#keep(batch.id, text!)
    return text!.find(part, limit, after)
  }

  /** One read per batch at a time: two would append to the same text. */
  async #read(db: Queryable, batch: Counted): Promise<KeyText> {
    const reading = readMissing(db, batch, this.#texts.get(batch.id) ?? new KeyText())
    this.#reading.set(batch.id, reading)
    try {
      const text = await reading
      this.#keep(batch.id, text)
      return text
    } finally {
      this.#reading.delete(batch.id)
    }
  }

  #keep(batchId: number, text: KeyText): void {
    this.#texts.delete(batchId)
    this.#texts.set(batchId, text)
    let kept = [...this.#texts.values()].reduce((sum, { size }) => sum + size, 0)
    for (const [oldest, { size }] of this.#texts) {
      if (kept <= this.#keptMax || oldest === batchId) break
      this.#texts.delete(oldest)
      kept -= size
    }
  }
}

/** Appends the missing keys. If some are still missing, a member joined with an id below the last: read all again. */
async function readMissing(db: Queryable, batch: Counted, text: KeyText): Promise<KeyText> {
  const isWhole = text.size === 0
  await readAfter(db, batch.id, text)
  if (text.size >= countOf(batch) || isWhole) return text
  const fresh = new KeyText()
  await readAfter(db, batch.id, fresh)
  return fresh
}

async function readAfter(db: Queryable, batchId: number, text: KeyText): Promise<void> {
  let count = KEYS_PER_READ
  while (count === KEYS_PER_READ) {
    const { ids, keys } = await listKeys(db, batchId, text.lastId, KEYS_PER_READ)
    text.add(ids, keys)
    count = ids.length
  }
}
