// Sealing: rows of the audit get a number and a hash that covers the row and the previous hash, in the order in which they are found.
import { chainHashOf, type HashedRow, NO_HASH } from '../../base/keys/audit-hash.ts'
import { arrayParams } from '../connection/arrays.ts'
import type { Db, Queryable, Tx } from '../connection/db.ts'

/** Sealing and pruning exclude each other. Any number that nothing else uses for advisory locks in this database. */
export const CHAIN_LOCK = 7_263_406
const ROWS_PER_SEAL = 1_000

export interface ChainHead {
  /** The number of sealed rows. */
  readonly sealed: number
  readonly hash: string
}

export const ROW = `id, at, actor, actor_name, action, subject, reason, source, client_app,
  request_id, before_json as before, after_json as after`

export async function findChainHead(db: Queryable): Promise<ChainHead> {
  const [row] = await db.query<ChainHead>(
    `select seal_number as sealed, hash from audit where seal_number is not null order by seal_number desc limit 1`,
  )
  return row ?? { sealed: 0, hash: NO_HASH }
}

/** Seals up to a chunk of rows; returns their count and the new head. One sealer at a time; others do nothing. */
export function sealAudit(db: Db): Promise<ChainHead & { readonly count: number }> {
  return db.transaction(async (tx) => {
    const [lock] = await tx.query<{ mine: boolean }>(
      'select pg_try_advisory_xact_lock($1) as mine',
      [CHAIN_LOCK],
    )
    return lock!.mine ? sealRows(tx) : { ...(await findChainHead(tx)), count: 0 }
  })
}

/** The caller has the lock of the chain. */
export async function sealRows(tx: Tx): Promise<ChainHead & { readonly count: number }> {
  const rows = await tx.query<HashedRow>(
    `select ${ROW} from audit where hash is null order by id limit $1`,
    [ROWS_PER_SEAL],
  )
  let { sealed, hash } = await findChainHead(tx)
  if (rows.length === 0) return { sealed, hash, count: 0 }
  const links = rows.map((row) => {
    const previous = hash
    hash = chainHashOf(row, previous)
    sealed += 1
    return { id: row.id, sealed, previous, hash }
  })
  await tx.query(
    `update audit a set seal_number = l.sealed, previous_hash = l.previous, hash = l.hash
       from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) as l (id, sealed, previous, hash)
      where a.id = l.id and a.hash is null`,
    arrayParams(
      links,
      (link) => link.id,
      (link) => link.sealed,
      (link) => link.previous,
      (link) => link.hash,
    ),
  )
  return { sealed, hash, count: rows.length }
}
