// Runs once around all test files: one PostgreSQL server for all of them, and databases with the schema to make copies of. Each file
// makes databases of its own.
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { makeTemplate, pgliteWithSchema } from './schema-copies.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  server = await startPostgres()
  process.env.TEST_POSTGRES_URL = server.url
  await makeTemplate(server.url)
  await pgliteWithSchema()
}

export async function globalTeardown(): Promise<void> {
  server?.destroy()
}
