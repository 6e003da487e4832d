// Runs once around all test files: one PostgreSQL server for all of them; each file makes databases of its own in it.
import { type PostgresServer, startPostgres } from './postgres-server.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  server = await startPostgres()
  process.env.TEST_POSTGRES_URL = server.url
}

export async function globalTeardown(): Promise<void> {
  server?.destroy()
}
