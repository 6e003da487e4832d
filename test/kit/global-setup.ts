// Runs once around all test files: one PostgreSQL server, and migrated databases to copy. Each file creates its own databases.
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { makeTemplate, pgliteWithSchema } from './schema-copies.ts'
import { cpuSec, noteTimes } from './times.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  server = await startPostgres()
  process.env.TEST_POSTGRES_URL = server.url
  await makeTemplate(server.url)
  await pgliteWithSchema()
}

export async function globalTeardown(): Promise<void> {
  if (!server) return
  const times = cpuSec(server.pid())
  server.destroy()
  const file = process.env.TEST_TIMES
  if (file) noteTimes(file, { cpuSec: times, files: { 'the PostgreSQL server': times } })
}
