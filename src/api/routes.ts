// All endpoints. To add one, write it with `read` or `change` in its noun's file under routes/ and list that file here.
import { Measures } from '../base/telemetry/measures.ts'
import type { Route } from './route.ts'
import { AUDIT_ROUTES } from './routes/audit.ts'
import { AUTOMATION_ROUTES } from './routes/automation.ts'
import { BATCH_ACTION_ROUTES } from './routes/batch-actions.ts'
import { BATCH_SUMMARY_ROUTES } from './routes/batch-summary.ts'
import { BATCH_ROUTES } from './routes/batches.ts'
import { BULK_ACTION_ROUTES } from './routes/bulk-actions.ts'
import { DATABASE_ROLE_ROUTES } from './routes/database-roles.ts'
import { DEAD_LETTER_ROUTES } from './routes/dead-letters.ts'
import { EVENT_ROUTES } from './routes/events.ts'
import { EVIDENCE_ROUTES } from './routes/evidence.ts'
import { FAILURE_ROUTES } from './routes/failures.ts'
import { GATE_ROUTES } from './routes/gates.ts'
import { gridRoutes } from './routes/grid.ts'
import { HOLD_ROUTES } from './routes/holds.ts'
import { MEMBER_ACTION_ROUTES } from './routes/member-actions.ts'
import { MEMBER_DETAIL_ROUTES } from './routes/member-detail.ts'
import { MEMBER_FILE_ROUTES } from './routes/member-files.ts'
import { MEMBER_FIND_ROUTES } from './routes/member-find.ts'
import { MEMBER_HOLD_ROUTES } from './routes/member-holds.ts'
import { memberMessageRoutes } from './routes/member-messages.ts'
import { MEMBER_ROUTES } from './routes/members.ts'
import { MESSAGE_PREVIEW_ROUTES } from './routes/message-previews.ts'
import { NEED_ROUTES } from './routes/needs.ts'
import { NOTIFICATION_ROUTES } from './routes/notifications.ts'
import { PLAN_ROUTES } from './routes/plan.ts'
import { REHEARSAL_ROUTES } from './routes/rehearsals.ts'
import { REPORT_ROUTES } from './routes/reports.ts'
import { RESTORE_ROUTES } from './routes/restores.ts'
import { REVIEW_ROUTES } from './routes/reviews.ts'
import { RUNBOOK_ROUTES } from './routes/runbooks.ts'
import { type ServiceContext, serviceRoutes } from './routes/service.ts'
import { SOURCE_ROUTES } from './routes/sources.ts'
import { STATUS_ROUTES } from './routes/status.ts'
import { STEP_ACTION_ROUTES } from './routes/step-actions.ts'
import { STEP_ROUTES } from './routes/steps.ts'
import { TICK_ROUTES } from './routes/ticks.ts'
import { UNDO_ROUTES } from './routes/undo.ts'
import { wallRoutes } from './routes/wall.ts'
import { WORKER_ROUTES } from './routes/workers.ts'
import { createMeter } from './services/metrics.ts'

/** For people and their programs. */
const ROUTES = [
  ...RUNBOOK_ROUTES,
  ...AUTOMATION_ROUTES,
  ...SOURCE_ROUTES,
  ...PLAN_ROUTES,
  ...MESSAGE_PREVIEW_ROUTES,
  ...REHEARSAL_ROUTES,
  ...BATCH_ROUTES,
  ...REPORT_ROUTES,
  ...EVIDENCE_ROUTES,
  ...MEMBER_ROUTES,
  ...MEMBER_FIND_ROUTES,
  ...MEMBER_FILE_ROUTES,
  ...STEP_ROUTES,
  ...BATCH_ACTION_ROUTES,
  ...GATE_ROUTES,
  ...HOLD_ROUTES,
  ...RESTORE_ROUTES,
  ...MEMBER_ACTION_ROUTES,
  ...UNDO_ROUTES,
  ...MEMBER_HOLD_ROUTES,
  ...BULK_ACTION_ROUTES,
  ...STEP_ACTION_ROUTES,
  ...DEAD_LETTER_ROUTES,
  ...REVIEW_ROUTES,
  ...NEED_ROUTES,
  ...NOTIFICATION_ROUTES,
  ...STATUS_ROUTES,
  ...BATCH_SUMMARY_ROUTES,
  ...FAILURE_ROUTES,
  ...MEMBER_DETAIL_ROUTES,
  ...TICK_ROUTES,
  ...EVENT_ROUTES,
  ...WORKER_ROUTES,
  ...DATABASE_ROLE_ROUTES,
  ...AUDIT_ROUTES,
]

/** Every endpoint as a type: what clients in TypeScript give and get. */
export type ApiRoute =
  | (typeof ROUTES)[number]
  | ReturnType<typeof wallRoutes>[number]
  | ReturnType<typeof gridRoutes>[number]
  | ReturnType<typeof memberMessageRoutes>[number]
  | ReturnType<typeof serviceRoutes>[number]

export function allRoutes(context: Omit<ServiceContext, 'routes'>): readonly Route[] {
  const routes: Route[] = [...ROUTES, ...wallRoutes(), ...gridRoutes(), ...memberMessageRoutes()]
  routes.push(...serviceRoutes({ ...context, routes: () => routes }))
  return routes
}

/** The same table without a server behind it: for documents, tools and tests, which read it and handle nothing. */
export const describedRoutes = (): readonly Route[] =>
  allRoutes({
    meter: createMeter(new Measures()),
    figures: { lines: async () => [], isBusThere: async () => true },
    stopping: new AbortController().signal,
    signIn: { mode: 'local', issuer: null, clientId: null, scope: null },
    prove: async () => null,
  })
