// Jobs that wait for a slot, or before that for others like them, by key, until there are enough or the first has waited long enough. They occupy no slot. A
// collection that is due stays here until somebody takes it, and every job may leave before that.
import type { Clock } from '../../../base/run/clock.ts'

export interface CollectionRule {
  readonly limit: number
  readonly waitMs: number
}

export interface CollectionsOptions {
  readonly clock: Clock
  /** Called when a collection is due. */
  onDue(): void
}

interface Collection<Item> {
  readonly items: Set<Item>
  readonly isClosed: AbortController
}

export class Collections<Item> {
  readonly #options: CollectionsOptions
  readonly #open = new Map<string, Collection<Item>>()
  #due: Collection<Item>[] = []

  constructor(options: CollectionsOptions) {
    this.#options = options
  }

  /** True for the first of its collection. */
  add(key: string, { limit, waitMs }: CollectionRule, item: Item): boolean {
    const collection = this.#open.get(key) ?? this.#begin(key, waitMs)
    collection.items.add(item)
    const isFirst = collection.items.size === 1
    if (collection.items.size >= limit) this.#close(key, collection)
    return isFirst
  }

  /** Alone, and due at once. */
  addDue(item: Item): void {
    this.#due.push({ items: new Set([item]), isClosed: new AbortController() })
  }

  #begin(key: string, waitMs: number): Collection<Item> {
    const collection: Collection<Item> = { items: new Set(), isClosed: new AbortController() }
    this.#open.set(key, collection)
    void this.#options.clock
      .wait(waitMs, collection.isClosed.signal)
      .then(() => this.#close(key, collection))
    return collection
  }

  #close(key: string, collection: Collection<Item>): void {
    if (this.#open.get(key) !== collection) return
    this.#open.delete(key)
    collection.isClosed.abort()
    if (collection.items.size === 0) return
    this.#due.push(collection)
    this.#options.onDue()
  }

  /** Collections that are due and wait to be taken. */
  get due(): number {
    return this.#due.length
  }

  /** The collection that has been due for longest; null when none is. */
  take(): readonly Item[] | null {
    const collection = this.#due.shift()
    return collection ? [...collection.items] : null
  }

  /** Takes these out of their collections and returns them. */
  leave(isLeaving: (item: Item) => boolean): readonly Item[] {
    const gone: Item[] = []
    for (const { items } of [...this.#open.values(), ...this.#due])
      for (const item of items) if (isLeaving(item) && items.delete(item)) gone.push(item)
    this.#due = this.#due.filter(({ items }) => items.size > 0)
    return gone
  }

  /** Empties all collections and returns what was in them. */
  clear(): readonly Item[] {
    const all = [...this.#open.values(), ...this.#due]
    for (const { isClosed } of all) isClosed.abort()
    this.#open.clear()
    this.#due = []
    return all.flatMap(({ items }) => [...items])
  }
}
