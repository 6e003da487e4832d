// The same contract on a PostgreSQL server, which infers the types of untyped parameters differently.

import { actionContract } from '../../api/contract/actions.ts'
import { auditContract } from '../../api/contract/audit.ts'
import { batchContract } from '../../api/contract/batches.ts'
import { insightContract } from '../../api/contract/insight.ts'
import { reviewContract } from '../../api/contract/reviews.ts'
import { runbookContract } from '../../api/contract/runbooks.ts'
import { wallContract } from '../../api/contract/wall.ts'
import { workersThroughApiContract } from '../../api/contract/workers-through-api.ts'
import { openOn } from '../../api/under-test.ts'
import { openTestPostgres } from '../../kit/databases.ts'

openOn(openTestPostgres)
runbookContract()
batchContract()
actionContract()
insightContract()
wallContract()
reviewContract()
auditContract()
workersThroughApiContract()
