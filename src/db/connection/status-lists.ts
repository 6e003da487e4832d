// Status sets as SQL, made once from the table of transitions: `status in ${OPEN_STEPS}`. The texts are constants, so statements stay
// prepared and the planner matches them with the partial indexes (test/db/schema/checks.test.ts, test/db/connection/query-plans.test.ts).
import { COMPENSATION_KINDS } from '../../domain/state/facts.ts'
import {
  FAILED_STEP_STATUSES,
  ONCE_PASSED_STEP_STATUSES,
  OPEN_PHASE_STATUSES,
  OPEN_STEP_STATUSES,
  PASSED_STEP_STATUSES,
  STARTED_PHASE_STATUSES,
  UNFINISHED_BATCH_STATUSES,
} from '../../domain/state/transitions.ts'

export const textLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`
const sqlList = (texts: readonly string[]): string => `(${texts.map(textLiteral).join(', ')})`

/** `kind in ${COMPENSATION}` */
export const COMPENSATION = sqlList(COMPENSATION_KINDS)
export const OPEN_STEPS = sqlList(OPEN_STEP_STATUSES)
export const PASSED_STEPS = sqlList(PASSED_STEP_STATUSES)
export const ONCE_PASSED_STEPS = sqlList(ONCE_PASSED_STEP_STATUSES)
export const FAILED_STEPS = sqlList(FAILED_STEP_STATUSES)
export const OPEN_PHASES = sqlList(OPEN_PHASE_STATUSES)
export const STARTED_PHASES = sqlList(STARTED_PHASE_STATUSES)
export const UNFINISHED_BATCHES = sqlList(UNFINISHED_BATCH_STATUSES)
