// Login roles on the test server. Roles belong to the whole server, so each test makes its own and removes them.
import type { Db } from '../../src/db/connection/db.ts'
import { openPostgres } from '../../src/db/connection/postgres.ts'
import type { TestDatabase } from './databases.ts'

export interface TestRole extends AsyncDisposable {
  readonly name: string
  /** Connects as the role. */
  readonly db: Db
  readonly url: string
}

let made = 0

/** A role without any rights, connected to the database. Dispose it before the database closes. */
export async function openRole(test: TestDatabase, kind: string): Promise<TestRole> {
  const name = `${kind}_${process.pid}_${made++}`
  await test.db.script(`create role ${name} login`)
  const url = Object.assign(new URL(test.url!), { username: name }).href
  const db = await openPostgres({ url })
  return {
    name,
    db,
    url,
    [Symbol.asyncDispose]: async () => {
      await db.close()
      await test.db.script(`drop owned by ${name}; drop role ${name}`)
    },
  }
}
