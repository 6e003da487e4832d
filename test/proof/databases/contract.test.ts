// The same contract on a PostgreSQL server, which infers the types of untyped parameters differently.

import { openOn } from '../../api/under-test.ts'
import { openTestPostgres } from '../../kit/databases.ts'

openOn(openTestPostgres)
for (const part of [
  'runbooks',
  'batches',
  'actions',
  'batch-summary',
  'wall',
  'reviews',
  'audit',
  'workers-through-api',
])
  await import(`../../api/contract/${part}.test.ts`)
