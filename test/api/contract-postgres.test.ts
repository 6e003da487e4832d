// The same contract on a PostgreSQL server: statements whose parameters have no type of their own are understood differently there.

import { openTestPostgres } from '../databases.ts'
import { actionContract } from './contract/actions.ts'
import { auditContract } from './contract/audit.ts'
import { batchContract } from './contract/batches.ts'
import { insightContract } from './contract/insight.ts'
import { reviewContract } from './contract/reviews.ts'
import { runbookContract } from './contract/runbooks.ts'
import { openOn } from './under-test.ts'

openOn(openTestPostgres)
runbookContract()
batchContract()
actionContract()
insightContract()
reviewContract()
auditContract()
