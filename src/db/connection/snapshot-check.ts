// A thread that checks a copy of the embedded database: it opens it, reads every table in full, so that each page proves its checksum,
// and closes it. Says the newest migration in it.
import { parentPort, workerData } from 'node:worker_threads'
import { bootFolder } from './pglite.ts'

/** Indexes alone would leave pages unread. */
const READ_PAGES =
  'set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off'

const lite = await bootFolder(workerData as string)
await lite.exec(READ_PAGES)
const { rows: tables } = await lite.query<{ name: string }>(
  "select format('%I.%I', schemaname, tablename) as name from pg_tables",
)
for (const { name } of tables) await lite.query(`select count(*) from ${name}`)
const { rows: known } = await lite.query<{ newest: number }>(
  'select coalesce(max(version), 0) as newest from schema_migrations',
)
await lite.close()
parentPort!.postMessage(known[0]!.newest)
