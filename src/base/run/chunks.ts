// Splits a list into chunks of a bounded size, so that no statement or transaction grows with the list.

/** Text of a chunk: 500 rows of 200 KB in one statement ended a scheduler with the least heap. */
export const CHUNK_BYTES_MAX = 4 << 20

/** With `bytesOf` a chunk also ends before it exceeds CHUNK_BYTES_MAX. An item that is larger is alone. */
export function* chunksOf<T>(
  all: readonly T[],
  size: number,
  bytesOf?: (item: T) => number,
): Generator<T[]> {
  let start = 0
  while (start < all.length) {
    const end = bytesOf ? endByBytes(all, start, size, bytesOf) : start + size
    yield all.slice(start, end)
    start = end
  }
}

function endByBytes<T>(
  all: readonly T[],
  start: number,
  size: number,
  bytesOf: (item: T) => number,
): number {
  const most = Math.min(start + size, all.length)
  let bytes = bytesOf(all[start]!)
  let end = start + 1
  while (end < most) {
    bytes += bytesOf(all[end]!)
    if (bytes > CHUNK_BYTES_MAX) break
    end += 1
  }
  return end
}
