// The audit's chain in an evidence pack: each row's hash is computed again from the row and the hash before it.

import { messageOf } from '../../base/errors/errors.ts'
import { chainHashOf, type HashedRow } from '../../base/keys/audit-hash.ts'
import type { ChainEnd, Manifest } from './manifest.ts'

/** As a line has it. */
interface PackedRow extends Omit<HashedRow, 'at'> {
  readonly at: string
  readonly sealNumber: number
  readonly previousHash: string
  readonly hash: string
}

export class ChainCheck {
  /** The row before the first one; null before any was read. */
  #after: ChainEnd | null = null
  #last: ChainEnd | null = null
  #broken: string | null = null

  /** The lines of the next file. */
  read(name: string, text: string): void {
    for (const line of text.split('\n')) {
      if (line === '' || this.#broken !== null) continue
      try {
        this.#broken = this.#next(JSON.parse(line) as PackedRow)
      } catch (error) {
        this.#broken = `${name} has a line that is no row of the audit: ${messageOf(error)}`
      }
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
