// The hash chain over the audit: each sealed row's hash covers the row and the previous hash, so a row that is changed, removed or
// inserted later breaks the chain from there on. The chain alone cannot show that its newest rows were cut off; an earlier head can
// (each sealing logs it). After pruning (audit-pruning.ts) the chain starts with the first row kept.

import { chainHashOf, type HashedRow, NO_HASH } from '../../base/keys/audit-hash.ts'
import type { Queryable } from '../connection/db.ts'
import { findPruning, type Pruning, whyUnconfigured } from './audit-pruning.ts'
import { type ChainHead, ROW } from './audit-sealing.ts'

const ROWS_PER_CHUNK = 1_000

export interface SealedRow extends HashedRow {
  readonly sealNumber: number
  readonly previousHash: string
  readonly hash: string
}

export interface AuditVerdict {
  readonly head: ChainHead
  /** Null when nothing was ever pruned. */
  readonly pruned: Pruning | null
  /** Rows not sealed yet. */
  readonly unsealed: number
  /** The first broken place; null when the chain holds. */
  readonly broken: {
    readonly sealNumber: number
    readonly id: number | null
    readonly why: string
  } | null
}

type ChainEnds = Omit<AuditVerdict, 'broken'>

export interface Expected {
  /** An earlier head: the chain must still contain it. One that was pruned since proves nothing, so it does not pass. */
  readonly known?: ChainHead | undefined
  /** How long rows are kept; null: forever, and no pruning is right. */
  readonly keptDays: number | null
  readonly now: Date
}

/**
 * Walks the chain in chunks. Not one
 * transaction, which would block everybody else on the embedded database: the walk ends at the head it started with, and restarts when
 * rows were pruned meanwhile, which looks like missing rows.
 */
export async function verifyAudit(db: Queryable, expected: Expected): Promise<AuditVerdict> {
  for (;;) {
    const pruned = await findPruning(db)
    const ends = { ...(await findHeadAndUnsealed(db)), pruned }
    const broken = brokenByPruning(pruned, expected) ?? (await walkChain(db, ends, expected.known))
    if (!broken || (await findPruning(db))?.through === pruned?.through) return { ...ends, broken }
  }
}

function brokenByPruning(
  pruned: Pruning | null,
  { known, keptDays, now }: Expected,
): AuditVerdict['broken'] {
  if (pruned === null) return null
  const { through, at } = pruned
  const why = whyUnconfigured(pruned, keptDays, now)
  if (why !== null) return { sealNumber: through, id: null, why }
  if (!known || known.sealed >= through) return null
  return {
    sealNumber: known.sealed,
    id: null,
    why: `rows 1 to ${through} were pruned on ${at.toISOString()}, this head among them. Compare with a later head`,
  }
}

/** One statement: with a sealing between two, some rows would count as neither sealed nor unsealed. */
async function findHeadAndUnsealed(
  db: Queryable,
): Promise<Pick<AuditVerdict, 'head' | 'unsealed'>> {
  const [row] = await db.query<Partial<ChainHead> & { unsealed: number }>(
    `select h.seal_number as sealed, h.hash, open.count as unsealed
       from (select count(*)::int as count from audit where hash is null) as open
       left join (select seal_number, hash from audit where seal_number is not null
                   order by seal_number desc limit 1) as h on true`,
  )
  const { sealed, hash, unsealed } = row!
  return { head: { sealed: sealed ?? 0, hash: hash ?? NO_HASH }, unsealed }
}

/** Along the chain, after `from` and up to `through`. */
export const listSealedRows = (
  db: Queryable,
  from: number,
  through: number,
  limit: number,
): Promise<SealedRow[]> =>
  db.query<SealedRow>(
    `select ${ROW}, seal_number, previous_hash, hash
       from audit where seal_number > $1 and seal_number <= $2 order by seal_number limit $3`,
    [from, through, limit],
  )

async function walkChain(
  db: Queryable,
  { head, pruned }: ChainEnds,
  known: ChainHead | undefined,
): Promise<AuditVerdict['broken']> {
  let last = pruned?.through ?? 0
  let hash = pruned?.hash ?? NO_HASH
  if (known?.sealed === last && known.hash !== hash)
    return { sealNumber: last, id: null, why: 'another row was seen in this place' }
  for (let from = 0; ; from = last) {
    const rows = await listSealedRows(db, from, head.sealed, ROWS_PER_CHUNK)
    for (const row of rows) {
      const why = whyBroken(row, last, hash, known)
      if (why) return { sealNumber: last + 1, id: row.id, why }
      last = row.sealNumber
      hash = row.hash
    }
    if (rows.length < ROWS_PER_CHUNK) break
  }
  if (!known || known.sealed <= last) return null
  const why = `the chain ends here, but it was seen with ${known.sealed} rows`
  return { sealNumber: last + 1, id: null, why }
}

function whyBroken(
  row: SealedRow,
  last: number,
  hash: string,
  known: ChainHead | undefined,
): string | null {
  if (row.sealNumber <= last) return 'it is older than the rows that are kept'
  if (row.sealNumber !== last + 1) return 'a row is missing before this one'
  if (row.previousHash !== hash) return 'it does not follow the row before it'
  if (row.hash !== chainHashOf(row, hash)) return 'its contents are not those that were sealed'
  if (known?.sealed === row.sealNumber && known.hash !== row.hash)
    return 'another row was seen in this place'
  return null
}
