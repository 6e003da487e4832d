// Every endpoint over real HTTP. The last test checks that every declared status and error was seen.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { actionContract } from './contract/actions.ts'
import { auditContract } from './contract/audit.ts'
import { batchContract } from './contract/batches.ts'
import { bulkActionContract } from './contract/bulk-actions.ts'
import { changeWindowContract } from './contract/change-windows.ts'
import { eventContract } from './contract/events.ts'
import { forecastContract } from './contract/forecast.ts'
import { gateContract } from './contract/gates.ts'
import { holdContract } from './contract/holds.ts'
import { insightContract } from './contract/insight.ts'
import { memberFileContract } from './contract/member-files.ts'
import { memberMessagesContract } from './contract/member-messages.ts'
import { notificationContract } from './contract/notifications.ts'
import { rehearsalContract } from './contract/rehearsals.ts'
import { reportContract } from './contract/reports.ts'
import { restoreContract } from './contract/restores.ts'
import { reviewContract } from './contract/reviews.ts'
import { runbookContract } from './contract/runbooks.ts'
import { serviceContract } from './contract/service.ts'
import { wallContract } from './contract/wall.ts'
import { workersThroughApiContract } from './contract/workers-through-api.ts'
import { ROUTES, SEEN } from './under-test.ts'

runbookContract()
batchContract()
memberFileContract()
actionContract()
changeWindowContract()
gateContract()
holdContract()
bulkActionContract()
rehearsalContract()
reportContract()
restoreContract()
insightContract()
memberMessagesContract()
forecastContract()
wallContract()
notificationContract()
reviewContract()
eventContract()
auditContract()
serviceContract()
workersThroughApiContract()

it('every declared status and error was seen', () => {
  const unseen = ROUTES.flatMap(({ operation, answers, errors, creates, comparesState }) => {
    const declared = [
      ...Object.keys(answers),
      ...errors,
      ...(creates ? ['KEY_REUSED'] : []),
      ...(comparesState ? ['STATE_CHANGED'] : []),
    ]
    const seen = SEEN.get(operation) ?? new Set()
    return declared.filter((one) => !seen.has(one)).map((one) => `${operation} ${one}`)
  })
  assert.deepEqual(unseen, [])
})
