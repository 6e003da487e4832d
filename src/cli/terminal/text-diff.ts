// The difference of two texts, line by line, as in `diff -u`: the shortest edit script of Myers (1986). Texts with little in common
// are shown as all of one removed and all of the other added.

import { printable } from '../../base/text/printable.ts'
import type { Io } from './io.ts'

export interface Change {
  readonly kind: 'same' | 'removed' | 'added'
  readonly line: string
}

/** The search takes time quadratic in the changes, and nobody reads more than this. */
const CHANGES_MAX = 2_000

export function changesBetween(before: string, after: string): Change[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  const trace = search(a, b)
  if (!trace) {
    const all = (lines: readonly string[], kind: Change['kind']) =>
      lines.map((line) => ({ kind, line }))
    return [...all(a, 'removed'), ...all(b, 'added')]
  }
  return walkBack(a, b, trace)
}

/** For each number of changes, the furthest x on each diagonal; null above CHANGES_MAX. */
function search(a: readonly string[], b: readonly string[]): Map<number, number>[] | null {
  const trace: Map<number, number>[] = []
  let furthest = new Map([[1, 0]])
  for (let changes = 0; changes <= CHANGES_MAX; changes += 1) {
    trace.push(furthest)
    const next = new Map(furthest)
    for (let k = -changes; k <= changes; k += 2) {
      const down = k === -changes || (k !== changes && at(furthest, k - 1) < at(furthest, k + 1))
      let x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      next.set(k, x)
      if (x >= a.length && x - k >= b.length) return trace
    }
    furthest = next
  }
  return null
}

const at = (furthest: ReadonlyMap<number, number>, k: number): number => furthest.get(k) ?? -1

function walkBack(
  a: readonly string[],
  b: readonly string[],
  trace: readonly ReadonlyMap<number, number>[],
): Change[] {
  const found: Change[] = []
  let [x, y] = [a.length, b.length]
  for (const [changes, furthest] of [...trace.entries()].reverse()) {
    const k = x - y
    const down = k === -changes || (k !== changes && at(furthest, k - 1) < at(furthest, k + 1))
    const fromX = at(furthest, down ? k + 1 : k - 1)
    const fromY = fromX - (down ? k + 1 : k - 1)
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      x -= 1
      y -= 1
      found.push({ kind: 'same', line: a[x]! })
    }
    if (changes === 0) break
    found.push(down ? { kind: 'added', line: b[fromY]! } : { kind: 'removed', line: a[fromX]! })
    x = fromX
    y = fromY
  }
  return found.reverse()
}

export interface Compared {
  readonly changes: readonly Change[]
  readonly names: readonly [before: string, after: string]
}

/** As `diff -u` shows it, in colours. */
export function printDiff(
  print: (line: string) => void,
  { changes, names }: Compared,
  { paint }: Pick<Io, 'paint'>,
): void {
  print(paint('red', printable(`--- ${names[0]}`)))
  print(paint('green', printable(`+++ ${names[1]}`)))
  for (const change of withContext(changes)) {
    if (change === null) print(paint('dim', '…'))
    else if (change.kind === 'same') print(printable(` ${change.line}`))
    else if (change.kind === 'added') print(paint('green', printable(`+${change.line}`)))
    else print(paint('red', printable(`-${change.line}`)))
  }
}

const CONTEXT = 3

/** The changes with three lines around them; null stands for omitted lines. */
export function withContext(changes: readonly Change[]): (Change | null)[] {
  const isNear = changes.map((_, index) =>
    changes.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some((c) => c.kind !== 'same'),
  )
  const shown: (Change | null)[] = []
  for (const [index, change] of changes.entries()) {
    if (isNear[index]) shown.push(change)
    else if (shown.at(-1) !== null) shown.push(null)
  }
  return shown
}
