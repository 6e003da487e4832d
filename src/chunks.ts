// A list in parts of a bounded size, in its order: for work that must not grow with the list in one statement or transaction.

export function* chunksOf<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size)
}
