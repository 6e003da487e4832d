// The hash chain over the audit: each sealed row's hash covers the row and the previous hash, so a row that is changed, removed or
// inserted later breaks the chain from there on. The chain alone cannot show that its newest rows were cut off; an earlier head can
// (each sealing logs it). After pruning (audit-pruning.ts) the chain starts with the first row kept.
import { createHash } from 'node:crypto'
import type { Json } from '../domain/json.ts'
import { arrayParams } from './arrays.ts'
import { CHAIN_LOCK, findPruning, type Pruning } from './audit-pruning.ts'
import type { Db, Queryable } from './db.ts'

const ROWS_PER_CHUNK = 1_000
/** The previous hash of the first row. */
const NO_HASH = '0'.repeat(64)

export interface ChainHead {
  /** The number of sealed rows. */
  readonly sealed: number
  readonly hash: string
}

interface ChainRow {
  readonly id: number
  readonly at: Date
  readonly actor: string
  readonly actorName: string
  readonly action: string
  readonly subject: string
  readonly reason: string | null
  readonly source: string | null
  readonly clientApp: string | null
  readonly requestId: string | null
  readonly before: Json
  readonly after: Json
}

interface SealedRow extends ChainRow {
  readonly sealNumber: number
  readonly previousHash: string
  readonly hash: string
}

const ROW = `id, at, actor, actor_name as "actorName", action, subject, reason, source, client_app as "clientApp",
  request_id as "requestId", before_json as before, after_json as after`

function hashOf(row: ChainRow, previousHash: string): string {
  const { id, at, actor, actorName, action, subject } = row
  const { reason, source, clientApp, requestId, before, after } = row
  const what = [id, at.toISOString(), actor, actorName, action, subject, reason, source, clientApp]
  const text = JSON.stringify([...what, requestId, inOrder(before), inOrder(after), previousHash])
  return createHash('sha256').update(text).digest('hex')
}

/** Sorts keys, so that a dump and restore in another key order keeps every hash. */
function inOrder(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inOrder)
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, inner]) => [key, inOrder(inner)]))
}

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
    const head = await findChainHead(tx)
    if (!lock!.mine) return { ...head, count: 0 }
    const rows = await tx.query<ChainRow>(
      `select ${ROW} from audit where hash is null order by id limit $1`,
      [ROWS_PER_CHUNK],
    )
    let { sealed, hash } = head
    const links = rows.map((row) => {
      const previous = hash
      hash = hashOf(row, previous)
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
  })
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

/**
 * Walks the chain in chunks. `known` is an earlier head: the chain must still contain it, unless it was pruned since. Not one
 * transaction, which would block everybody else on the embedded database: the walk ends at the head it started with, and restarts when
 * rows were pruned meanwhile, which looks like missing rows.
 */
export async function verifyAudit(db: Queryable, known?: ChainHead): Promise<AuditVerdict> {
  for (;;) {
    const pruned = await findPruning(db)
    const ends = { ...(await findHeadAndUnsealed(db)), pruned }
    const broken = await walkChain(db, ends, known)
    if (!broken || (await findPruning(db))?.through === pruned?.through) return { ...ends, broken }
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
    const rows = await db.query<SealedRow>(
      `select ${ROW}, seal_number as "sealNumber", previous_hash as "previousHash", hash
         from audit where seal_number > $1 and seal_number <= $2 order by seal_number limit $3`,
      [from, head.sealed, ROWS_PER_CHUNK],
    )
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
  if (row.hash !== hashOf(row, hash)) return 'its contents are not those that were sealed'
  if (known?.sealed === row.sealNumber && known.hash !== row.hash)
    return 'another row was seen in this place'
  return null
}
