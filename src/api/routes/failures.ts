// Failures over all batches: the same failure of several batches is one group, so that it is understood once and repaired everywhere.

import { z } from 'zod'
import { listFailedBatches } from '../../db/views/status.ts'
import type { MeaningOf } from '../../domain/needs/error-meaning.ts'
import {
  type FailuresOfBatch,
  type GroupOfBatches,
  groupOverBatches,
} from '../../domain/needs/failures.ts'
import { read } from '../route.ts'
import { GROUPS_LISTED_MAX } from '../services/failure-cache.ts'
import { errorMeaning, STEP_KINDS } from '../shapes/batch-shapes.ts'
import { dateTime, instant, nameText, nullableText, wholeCount } from '../shapes/shapes.ts'

const BATCHES_MAX = 50

const group = z
  .strictObject({
    pattern: z.string().meta({
      description: 'The message without ids, times, numbers and addresses; selects the members.',
    }),
    kind: z.enum(STEP_KINDS),
    runbookName: z.string(),
    phaseName: nullableText,
    stepName: z.string(),
    count: wholeCount,
    batches: z.array(z.strictObject({ batchId: z.int(), count: wholeCount })),
    firstSeenAt: dateTime,
    lastSeenAt: dateTime,
    perHour: z
      .array(z.strictObject({ from: dateTime, count: wholeCount }))
      .meta({ description: 'The trend: the latest hours that had any.' }),
    sample: z.strictObject({
      batchId: z.int(),
      stepId: z.int(),
      memberId: z.int().nullable(),
      message: z.string(),
    }),
    meaning: errorMeaning.nullable(),
  })
  .meta({ id: 'FailureGroupOfBatches' })

const failuresRoute = read({
  method: 'GET',
  path: '/api/failures',
  operation: 'listFailures',
  tag: 'service',
  summary: 'List failures over all batches, the same failure as one group',
  about:
    'Of all batches, the newest first, until the people are through, in a later wave or taken back. `select: {"pattern": …}` applies an action to everyone of a group in a batch.',
  rule: 'reader',
  isPersonal: true,
  query: z.strictObject({
    runbook: nameText.optional(),
    endedSince: instant
      .optional()
      .meta({ description: 'Only batches that run or ended since then.' }),
  }),
  answers: {
    200: z
      .strictObject({
        batchCount: wholeCount.meta({ description: 'Batches with failures that were read.' }),
        isComplete: z.boolean().meta({
          description: `False when there are more than ${BATCHES_MAX} batches or ${GROUPS_LISTED_MAX} groups.`,
        }),
        groups: z.array(group).meta({ description: 'The largest first.' }),
      })
      .meta({ id: 'FailuresOfBatches' }),
  },
  handle: async ({ engine: { db }, services: { failureCache, meaningOf }, query }) => {
    const { runbook, endedSince } = query
    const found = await listFailedBatches(db, BATCHES_MAX + 1, { runbookName: runbook })
    const batches = found
      .filter(({ endedAt }) => !endedSince || !endedAt || endedAt >= endedSince)
      .slice(0, BATCHES_MAX)
    const failures: FailuresOfBatch[] = []
    let isComplete = found.length <= BATCHES_MAX
    for (const batch of batches) {
      const { groups, ...grouped } = await failureCache.groups(db, batch)
      isComplete &&= grouped.isComplete && grouped.groupCount === groups.length
      failures.push({ batchId: batch.id, runbookName: batch.runbookName, groups })
    }
    const groups = groupOverBatches(failures)
    isComplete &&= groups.length <= GROUPS_LISTED_MAX
    const shown = groups.slice(0, GROUPS_LISTED_MAX).map((one) => shownGroup(one, meaningOf))
    return { status: 200, body: { batchCount: batches.length, isComplete, groups: shown } }
  },
})

const shownGroup = (
  { perHour, ...rest }: GroupOfBatches,
  meaningOf: MeaningOf,
): z.input<typeof group> => ({
  ...rest,
  perHour: [...perHour]
    .sort(([a], [b]) => a - b)
    .map(([from, count]) => ({ from: new Date(from), count })),
  meaning: meaningOf(rest.sample.message),
})

export const FAILURE_ROUTES = [failuresRoute]
