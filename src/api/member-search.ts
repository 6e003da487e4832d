// Members by part of their key. No index of the database answers that without reading every key of the batch (15 ms for 100,000),
// or costs every member who joins more than joining does (40 µs). Keys of a batch never change and only ever become more, so those
// of batches that are searched are kept here as one text: 1 ms, however many or few have the part. Whether all are here is told by
// the counters of the batch, which every transaction that adds members keeps; whatever is found is looked up again in the database.
import type { Queryable } from '../db/db.ts'
import type { BatchLine } from '../db/views/batches.ts'
import { listKeys } from '../db/views/members.ts'

const KEYS_PER_READ = 20_000
/** Of all batches together: some 50 MB. Batches that were searched longest ago are forgotten first, and read again when asked. */
const KEYS_KEPT_MAX = 1_000_000
/** Keys seldom hold it, so that what is found seldom lies across two of them. */
const BETWEEN = '\n'

type Counted = Pick<BatchLine, 'id' | 'membersActive' | 'membersFailed' | 'membersRemoved'>

const countOf = ({ membersActive, membersFailed, membersRemoved }: Counted): number =>
  membersActive + membersFailed + membersRemoved

/** Keys in the order of their ids. */
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

  /** All of these ids are larger than those before. */
  add(ids: readonly number[], keys: readonly string[]): void {
    let end = this.#text.length
    for (const [at, key] of keys.entries()) {
      end += key.length + BETWEEN.length
      this.#ids.push(ids[at]!)
      this.#ends.push(end)
    }
    this.#text += keys.map((key) => key + BETWEEN).join('')
  }

  /** The first `most` ids above `after` whose keys hold the part. */
  find(part: string, most: number, after: number): number[] {
    const found: number[] = []
    const begin = firstAbove(this.#ids, after)
    let from = begin === 0 ? 0 : this.#ends[begin - 1]!
    while (found.length < most) {
      const at = this.#text.indexOf(part, from)
      if (at === -1) break
      const which = firstAbove(this.#ends, at)
      const end = this.#ends[which]!
      const isWithin = at + part.length <= end - BETWEEN.length
      if (isWithin) found.push(this.#ids[which]!)
      from = isWithin ? end : at + 1
    }
    return found
  }
}

/** The place of the first number above `limit` in ascending ones; their count when there is none. */
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
  /** The one searched last is the last. */
  readonly #texts = new Map<number, KeyText>()
  readonly #reading = new Map<number, Promise<KeyText>>()

  constructor(keptMax = KEYS_KEPT_MAX) {
    this.#keptMax = keptMax
  }

  /** The ids of the first `most` members above `after` whose folded key holds the part. */
  async find(
    db: Queryable,
    batch: Counted,
    part: string,
    most: number,
    after = 0,
  ): Promise<number[]> {
    const lacks = (text: KeyText | undefined) => text === undefined || text.size < countOf(batch)
    let text = this.#texts.get(batch.id)
    // Twice, because somebody may be reading already for a caller who saw fewer members than we did.
    for (let turn = 0; turn < 2 && lacks(text); turn++) {
      text = await (this.#reading.get(batch.id) ?? this.#read(db, batch))
    }
    this.#keep(batch.id, text!)
    return text!.find(part, most, after)
  }

  /** One at a time for a batch: two would write into the same text. */
  async #read(db: Queryable, batch: Counted): Promise<KeyText> {
    const reading = readOn(db, batch, this.#texts.get(batch.id) ?? new KeyText())
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

/** What the text lacks. If it lacks some afterwards, somebody joined with an id below its last: then all of it anew. */
async function readOn(db: Queryable, batch: Counted, text: KeyText): Promise<KeyText> {
  const isWhole = text.size === 0
  await readAfter(db, batch.id, text)
  if (text.size >= countOf(batch) || isWhole) return text
  const anew = new KeyText()
  await readAfter(db, batch.id, anew)
  return anew
}

async function readAfter(db: Queryable, batchId: number, text: KeyText): Promise<void> {
  let count = KEYS_PER_READ
  while (count === KEYS_PER_READ) {
    const { ids, keys } = await listKeys(db, batchId, text.lastId, KEYS_PER_READ)
    text.add(ids, keys)
    count = ids.length
  }
}
