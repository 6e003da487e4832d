// The same contract on a PostgreSQL server, which infers the types of untyped parameters differently.

import { openTestPostgres } from '../databases.ts'
import { actionContract } from './contract/actions.ts'
import { auditContract } from './contract/audit.ts'
import { batchContract } from './contract/batches.ts'
import { insightContract } from './contract/insight.ts'
import { reviewContract } from './contract/reviews.ts'
import { runbookContract } from './contract/runbooks.ts'
import { wallContract } from './contract/wall.ts'
import { workersThroughApiContract } from './contract/workers-through-api.ts'
import { openOn } from './under-test.ts'

openOn(openTestPostgres)
runbookContract()
batchContract()
actionContract()
insightContract()
wallContract()
reviewContract()
auditContract()
workersThroughApiContract()
