// Splits a list into chunks of a bounded size, so that no statement or transaction grows with the list.

export function* chunksOf<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size)
}
