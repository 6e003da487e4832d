// Workers, announced or configured: functions, load, and whether they are silent.
import { z } from 'zod'
import { listWorkers, WAITING_COUNTED_MAX, type WorkerLine } from '../../db/views/insight.ts'
import { isSilent } from '../../domain/stuck.ts'
import { type Route, read } from '../route.ts'
import { nullableDateTime, nullableText, wholeCount } from '../shapes.ts'

const worker = z
  .strictObject({
    workerId: z.string(),
    isKnown: z
      .boolean()
      .meta({ description: 'False when steps wait for a worker that never announced itself.' }),
    isConfigured: z.boolean(),
    isSilent: z.boolean().meta({ description: 'No sign of life for three minutes.' }),
    version: nullableText,
    slots: z.int().nullable().meta({ description: 'Jobs it runs at once.' }),
    functions: z.array(z.string()),
    firstSeenAt: nullableDateTime,
    lastSeenAt: nullableDateTime,
    jobMs: z.number().nullable().meta({ description: 'Mean run time of its latest jobs.' }),
    maxOutstanding: wholeCount.meta({ description: 'Limit of outstanding jobs.' }),
    window: wholeCount.meta({
      description:
        'Jobs it may have outstanding now: one per slot and those it finishes in two seconds, within the limit.',
    }),
    outstanding: wholeCount.meta({ description: 'Outstanding jobs.' }),
    oldestSentAt: nullableDateTime.meta({ description: 'When the oldest of them was sent.' }),
    waiting: wholeCount.meta({
      description: `Steps that wait for a free slot; counted up to ${WAITING_COUNTED_MAX}.`,
    }),
  })
  .meta({ id: 'Worker' })

const listRoute = read({
  method: 'GET',
  path: '/api/workers',
  operation: 'listWorkers',
  tag: 'service',
  summary: 'List workers with functions and load',
  rule: 'reader',
  answers: { 200: z.strictObject({ workers: z.array(worker) }).meta({ id: 'Workers' }) },
  handle: async ({ engine, now }) => {
    const shownWorker = (line: WorkerLine) => ({
      ...line,
      functions: [...line.functions],
      isSilent: isSilent(line, now),
      jobMs: line.jobMs === null ? null : Math.round(line.jobMs),
      maxOutstanding: engine.pace.limitOf(line),
      window: engine.pace.windowOf(line),
    })
    return { status: 200, body: { workers: (await listWorkers(engine.db)).map(shownWorker) } }
  },
})

export const WORKER_ROUTES: readonly Route[] = [listRoute]
