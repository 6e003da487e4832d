// A running batch at a glance: progress and estimate, grouped failures. Everything comes from counters, an index or a bounded read, so
// dashboards can poll it every few seconds.
import { z } from 'zod'
import { countReviews } from '../../db/sources/reviews.ts'
import { keysOfMembers } from '../../db/views/status.ts'
import {
  type FailureGroup,
  flagsOfGroup,
  listCommand,
  PEOPLE_KEPT_MAX,
} from '../../domain/needs/failures.ts'
import { windowAt } from '../../domain/windows/phase-window.ts'
import { forecastBatches } from '../../engine/needs/batch-forecasts.ts'
import { loadVerdict } from '../../engine/needs/find-needs.ts'
import { listGroupActions } from '../../engine/orders/actions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { windowsFor } from '../../engine/transactions/window-state.ts'
import { read } from '../route.ts'
import { FAILURES_MAX, GROUPS_LISTED_MAX, type GroupedFailures } from '../services/failure-cache.ts'
import {
  action,
  batch,
  errorMeaning,
  phase,
  STEP_KINDS,
  shownBatch,
  stepTotals,
  throughput,
  totalsOf,
} from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchLine, loadBatchState } from '../shapes/batch-state.ts'
import { forecast } from '../shapes/forecast-shape.ts'
import { showPhases } from '../shapes/phase-waits.ts'
import { windowNowShape } from '../shapes/phase-window-shape.ts'
import { dateTime, id, nullableText, wholeCount } from '../shapes/shapes.ts'
import { shownVerdict, verdictFields } from '../shapes/verdict-shape.ts'
import { openReviews } from './reviews.ts'

const params = z.strictObject({ batchId: id })

const summary = z
  .strictObject({
    batch,
    window: windowNowShape,
    phases: z.array(phase),
    steps: stepTotals,
    throughput,
    estimate: forecast,
    verdict: z.strictObject(verdictFields).meta({ description: 'As /api/needs of the batch.' }),
    openReviews: openReviews.meta({ description: 'Open reviews by kind; see /api/reviews.' }),
  })
  .meta({ id: 'BatchSummary' })

const summaryRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/summary',
  operation: 'getBatchSummary',
  tag: 'batches',
  summary: 'Summarize a batch: progress, throughput, forecast of each phase and of the end',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  params,
  answers: { 200: summary },
  handle: async ({ engine, params: { batchId }, now }) => {
    const state = await loadBatchState(engine.db, batchId)
    const found = (await forecastBatches(engine, [state], now)).get(batchId)!
    const body = {
      batch: shownBatch(state.line),
      window: await windowNow(engine, state, now),
      phases: await showPhases(engine, state),
      steps: totalsOf(state.phases),
      throughput: found.throughput,
      estimate: found.forecast,
      verdict: shownVerdict(await loadVerdict(engine, now, { batchId })),
      openReviews: await countReviews(engine.db, { batchId }),
    }
    return { status: 200, body, etag: state.etag }
  },
})

async function windowNow(engine: Engine, { line }: BatchState, now: Date) {
  if (line.endedAt !== null) return null
  const runbook = await engine.runbooks.get(engine.db, line.runbookName, line.runbookVersion)
  const windows = windowsFor(engine, runbook)
  return windowAt({ windows, overrideUntil: line.windowOverrideUntil, at: now })
}

/** The members of more are not looked at: dashboards poll this. */
const GROUPS_LOOKED_AT = 10

const failures = z
  .strictObject({
    count: wholeCount.meta({ description: 'Steps that failed and are not retried.' }),
    isComplete: z.boolean().meta({
      description: `False when there are more than ${FAILURES_MAX}; the rest is not read.`,
    }),
    groupCount: wholeCount,
    groups: z
      .array(
        z.strictObject({
          pattern: z
            .string()
            .meta({ description: 'The message without ids, times, numbers and addresses.' }),
          kind: z.enum(STEP_KINDS),
          phaseName: nullableText,
          stepName: z.string(),
          count: wholeCount,
          people: z
            .array(z.string())
            .meta({ description: `Keys of the first ${PEOPLE_KEPT_MAX} members it hit.` }),
          firstSeenAt: dateTime,
          lastSeenAt: dateTime,
          sample: z.strictObject({
            stepId: z.int(),
            memberId: z.int().nullable(),
            message: z.string(),
          }),
          meaning: errorMeaning.nullable(),
          list: z
            .string()
            .meta({ description: 'The command that lists everyone, without the program’s name.' }),
          actions: z.array(action).meta({
            description: `What an operator may do about all of them now, most useful first; of the largest ${GROUPS_LOOKED_AT} groups.`,
          }),
        }),
      )
      .meta({ description: `The largest ${GROUPS_LISTED_MAX}, largest first.` }),
  })
  .meta({ id: 'Failures' })

const failuresRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/failures',
  operation: 'listFailureGroups',
  tag: 'batches',
  summary: 'List failures, grouped by messages that differ only in ids, times and addresses',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND'],
  params,
  answers: { 200: failures },
  handle: async ({ engine, services: { failureCache, meaningOf }, params: { batchId } }) => {
    const { db } = engine
    const found = await failureCache.groups(db, await loadBatchLine(db, batchId))
    const { groups, ...rest } = found
    const keys = await keysOfMembers(
      db,
      groups.flatMap(({ memberIds }) => memberIds),
    )
    const flagsOf = selectionIn(found)
    const looked = groups.slice(0, GROUPS_LOOKED_AT)
    const actions = await listGroupActions(
      engine,
      batchId,
      looked.map((group) => {
        const { memberIds, count } = group
        return { memberIds, isEverybody: memberIds.length === count, ...flagsOf(group) }
      }),
    )
    const named = groups.map((group, at) => {
      const { memberIds, perHour, ...shown } = group
      const people = memberIds.map((memberId) => keys.get(memberId)!)
      const list = listCommand(batchId, group, flagsOf(group).flags)
      const meaning = meaningOf(group.sample.message)
      return { ...shown, people, meaning, list, actions: actions[at] ?? [] }
    })
    return { status: 200, body: { ...rest, groups: named } }
  },
})

/** With groups that are not listed, nobody knows whether flags select others too. */
const selectionIn =
  ({ groups, groupCount, isComplete }: GroupedFailures) =>
  (group: FailureGroup) =>
    flagsOfGroup(group, groups, isComplete && groupCount === groups.length)

export const BATCH_SUMMARY_ROUTES = [summaryRoute, failuresRoute]
