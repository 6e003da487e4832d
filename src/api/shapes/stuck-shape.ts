// The blocked work of a batch, and what its open steps wait for.
import { z } from 'zod'
import type { LoadedStuck } from '../../engine/needs/stuck-batches.ts'
import { action } from './batch-shapes.ts'
import { dateTime, nullableDateTime, nullableText, wholeCount } from './shapes.ts'

const isCountExact = z
  .boolean()
  .meta({ description: 'False when `count` is a lower bound: at most a thousand are read.' })

export const stuck = z
  .strictObject({
    items: z.array(
      z.strictObject({
        kind: z.enum([
          'held',
          'not_advanced',
          'phase_overdue',
          'reviews_open',
          'worker_unknown',
          'worker_silent',
          'worker_busy',
          'window_closed',
          'result_overdue',
          'retry_overdue',
          'poll_overdue',
        ]),
        because: z.string(),
        aboutWorker: nullableText.meta({
          description:
            'The part of `because` about the worker; null unless a silent or unknown worker is the reason.',
        }),
        count: wholeCount.meta({ description: 'Members, steps or reviews that wait.' }),
        isCountExact,
        since: nullableDateTime,
        workerId: nullableText,
        stepId: z.int().nullable().meta({ description: 'One of the steps, as an example.' }),
        actions: z.array(action).meta({ description: 'What an operator may do about it now.' }),
      }),
    ),
    waiting: z
      .array(
        z.strictObject({
          workerId: z.string(),
          kind: z.enum(['slot', 'job', 'retry', 'poll']),
          count: wholeCount,
          isCountExact,
          since: dateTime,
          wakeAt: nullableDateTime,
        }),
      )
      .meta({ description: 'What all open steps wait for, blocked or not.' }),
  })
  .meta({ id: 'Stuck' })

export const shownStuck = ({ stuck: items, waits }: LoadedStuck): z.input<typeof stuck> => ({
  items: items.map(({ actions, ...item }) => ({ ...item, actions: [...actions] })),
  waiting: waits.map(({ stepId, overdue, ...shown }) => shown),
})
