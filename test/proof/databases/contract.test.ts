// The same contract on a PostgreSQL server, which infers the types of untyped parameters differently.
import { after, before } from 'node:test'
import { openOn } from '../../api/under-test.ts'
import { openTestPglite, openTestPostgres } from '../../kit/databases.ts'

before(() => openOn(openTestPostgres))
after(() => openOn(openTestPglite))

// Loaded again: the same files may run in this process on the other database.
for (const part of ['runbooks', 'batches', 'actions', 'batch-summary', 'wall', 'reviews', 'audit'])
  await import(`../../api/contract/${part}.test.ts?on-postgres`)
