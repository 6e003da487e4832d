// What people said about needs: who takes care of one, and that it is accepted as it is.
import type { NeedDecision } from '../../domain/needs/needs.ts'
import type { Queryable, Tx } from '../connection/db.ts'

export const loadNeedDecisions = async (
  db: Queryable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, NeedDecision>> => {
  if (keys.length === 0) return new Map()
  const rows = await db.query<NeedDecision & { key: string }>(
    `select need_key as key, owner, accepted_mark, decided_by as by, decided_at as at, reason
       from need_decisions where need_key = any($1::text[])`,
    [keys],
  )
  return new Map(rows.map(({ key, ...decision }) => [key, decision]))
}

export const storeNeedDecision = (
  tx: Tx,
  key: string,
  { owner, acceptedMark, by, at, reason }: NeedDecision,
): Promise<unknown> =>
  tx.query(
    `insert into need_decisions (need_key, owner, accepted_mark, decided_by, decided_at, reason)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (need_key) do update set owner = excluded.owner, accepted_mark = excluded.accepted_mark,
       decided_by = excluded.decided_by, decided_at = excluded.decided_at, reason = excluded.reason`,
    [key, owner, acceptedMark, by, at, reason],
  )
