// When work is done that runs only while change windows are open. Pure: the windows are given.
import type { WindowState } from '../windows/change-windows.ts'

export type WindowAt = (at: Date) => WindowState

/** A forecast through more openings and closings is no forecast. */
const CHANGES_MAX = 100

/** The end of `workMs` of work that begins at `from`; null when the windows do not open for it. Null windows are always open. */
export function endOfWork(from: number, workMs: number, windowAt: WindowAt | null): number | null {
  if (windowAt === null) return from + workMs
  let [at, left] = [from, workMs]
  for (let change = 0; change < CHANGES_MAX; change += 1) {
    const { isOpen, until } = windowAt(new Date(at))
    if (isOpen && (until === null || at + left <= +until)) return at + left
    if (until === null) return null
    if (isOpen) left -= +until - at
    at = +until
  }
  return null
}
