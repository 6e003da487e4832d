// Vacuums the embedded database, which has no autovacuum, once enough rows are dead.
// Without it 300,000 messages through the bus left 950 MB behind, and the planner did not know the tables' sizes.
import type { Db, Queryable } from '../connection/db.ts'

/** The threshold that sql/002_bus.sql gives the server's autovacuum. */
const DEAD_ROWS_MAX = 20_000

/** Returns the vacuumed tables. Does nothing on a server. */
export async function vacuumEmbedded(db: Db): Promise<string[]> {
  if (db.kind !== 'pglite') return []
  const tables = await db.query<{ name: string }>(
    // Long values lie in the TOAST table: a bundle of messages is one row here and a hundred there.
    `select quote_ident(t.relname) as name
       from pg_stat_user_tables t join pg_class c on c.oid = t.relid
       left join pg_stat_all_tables outside on outside.relid = c.reltoastrelid
      where greatest(t.n_dead_tup, outside.n_dead_tup) > $1 order by 1`,
    [DEAD_ROWS_MAX],
  )
  for (const { name } of tables) await db.query(`vacuum (analyze) ${name}`)
  return tables.map(({ name }) => name)
}

/** Tells the planner how large the tables are and what is in them, before statements that compare whole tables. */
export async function analyze(db: Queryable): Promise<void> {
  await db.query('analyze')
}
