// The audit's chain in an evidence pack: each row's hash is computed again from the row and the hash before it.

import { messageOf } from '../../base/errors/errors.ts'
import { chainHashOf, type HashedRow } from '../../base/keys/audit-hash.ts'
import { isDeeperThan, JSON_DEPTH_MAX } from '../../base/text/json.ts'
import type { ChainEnd, Manifest } from './manifest.ts'

/** As a line has it. */
interface PackedRow extends Omit<HashedRow, 'at'> {
  readonly at: string
  readonly sealNumber: number
  readonly previousHash: string
  readonly hash: string
}

/** A request that is audited has two megabytes at most. */
const ROW_BYTES_MAX = 8_000_000
/** What was changed is a value in it. */
const ROW_LEVELS_MAX = JSON_DEPTH_MAX + 1
const LINE_END = 0x0a

export class ChainCheck {
  /** The row before the first one; null before any was read. */
  #after: ChainEnd | null = null
  #last: ChainEnd | null = null
  #broken: string | null = null
  #line: Uint8Array[] = []
  #lineBytes = 0

  /** The next part of a file, row by row: only the beginning of an unfinished line is kept. */
  read(name: string, part: Uint8Array): void {
    let from = 0
    while (this.#broken === null) {
      const end = part.indexOf(LINE_END, from)
      this.#line.push(part.subarray(from, end < 0 ? undefined : end))
      this.#lineBytes += this.#line.at(-1)!.length
      if (this.#lineBytes > ROW_BYTES_MAX)
        this.#broken = `${name} has a row of more than ${ROW_BYTES_MAX} bytes`
      else if (end >= 0) this.#endLine(name)
      if (end < 0) return
      from = end + 1
    }
  }

  /** Its last line may have no end. */
  endFile(name: string): void {
    if (this.#lineBytes > 0) this.#endLine(name)
  }

  #endLine(name: string): void {
    const line = Buffer.concat(this.#line).toString()
    this.#line = []
    this.#lineBytes = 0
    if (this.#broken !== null) return
    try {
      const row = JSON.parse(line) as PackedRow
      if (isDeeperThan(row, ROW_LEVELS_MAX))
        this.#broken = `${name} has a row deeper than ${ROW_LEVELS_MAX} levels`
      else this.#broken = this.#next(row)
    } catch (error) {
      this.#broken = `${name} has a line that is no row of the audit: ${messageOf(error)}`
    }
  }

  #next(row: PackedRow): string | null {
    const { sealNumber, previousHash, hash } = row
    this.#after ??= { sealed: sealNumber - 1, hash: previousHash }
    const before = this.#last ?? this.#after
    this.#last = { sealed: sealNumber, hash }
    const where = `audit row ${sealNumber}`
    if (sealNumber !== before.sealed + 1) return `rows are missing before ${where}`
    if (previousHash !== before.hash) return `${where} does not follow the row before it`
    if (chainHashOf({ ...row, at: new Date(row.at) }, previousHash) !== hash)
      return `the contents of ${where} are not those that were sealed`
    return null
  }

  /** What is wrong with the chain, or with what the manifest says of it. */
  compare({ after, head }: Manifest['audit']): string[] {
    if (this.#broken !== null) return [`the chain of the audit is broken: ${this.#broken}`]
    const isSame = (one: ChainEnd, two: ChainEnd) =>
      one.sealed === two.sealed && one.hash === two.hash
    const [first, last] = [this.#after ?? after, this.#last ?? after]
    return [
      ...(isSame(first, after) ? [] : ['the audit does not begin where the manifest says']),
      ...(isSame(last, head) ? [] : ['the audit does not end where the manifest says']),
    ]
  }
}
