// Workers: who announced itself or was configured, with which functions, how much it has to do, and who is silent.
import { z } from 'zod'
import { listWorkers, WAITING_COUNTED_MAX, type WorkerLine } from '../../db/views/insight.ts'
import { isSilent } from '../../domain/stuck.ts'
import { type Route, read } from '../route.ts'
import { nullableDateTime, nullableText, wholeCount } from '../shapes.ts'

const worker = z
  .strictObject({
    workerId: z.string(),
    isKnown: z.boolean().meta({ description: 'False when steps wait for it and nobody knows it.' }),
    isConfigured: z.boolean(),
    isSilent: z.boolean().meta({ description: 'Not heard of for three minutes.' }),
    version: nullableText,
    slots: z.int().nullable().meta({ description: 'Jobs that it works on at once.' }),
    functions: z.array(z.string()),
    firstSeenAt: nullableDateTime,
    lastSeenAt: nullableDateTime,
    maxOutstanding: wholeCount.meta({ description: 'Jobs that may be out at it.' }),
    outstanding: wholeCount.meta({ description: 'Jobs that are out at it.' }),
    waiting: wholeCount.meta({
      description: `Steps that wait for room; ${WAITING_COUNTED_MAX} when there are more.`,
    }),
  })
  .meta({ id: 'Worker' })

const listRoute = read({
  method: 'GET',
  path: '/api/workers',
  operation: 'listWorkers',
  tag: 'service',
  summary: 'Workers with their functions and their load',
  rule: 'reader',
  answers: { 200: z.strictObject({ workers: z.array(worker) }).meta({ id: 'Workers' }) },
  handle: async ({ engine, now }) => {
    const shown = (line: WorkerLine) => ({
      ...line,
      functions: [...line.functions],
      isSilent: isSilent(line, now),
      maxOutstanding: line.maxOutstanding ?? engine.maxOutstanding,
    })
    return { status: 200, body: { workers: (await listWorkers(engine.db)).map(shown) } }
  },
})

export const WORKER_ROUTES: readonly Route[] = [listRoute]
