// Who is needed, and for what: over all batches, or for one batch or runbook.
import { z } from 'zod'
import { loadVerdict } from '../../engine/needs/find-needs.ts'
import { read } from '../route.ts'
import { loadBatchLine } from '../shapes/batch-state.ts'
import { dateTime, id, nameText } from '../shapes/shapes.ts'
import { shownVerdict, verdictFields } from '../shapes/verdict-shape.ts'

const needsRoute = read({
  method: 'GET',
  path: '/api/needs',
  operation: 'listNeeds',
  tag: 'service',
  summary: 'List what needs a person, the greatest harm first, in all or for one batch or runbook',
  about:
    'Status, wall, batch summary and notifications say the same. With a batch or a runbook, only what concerns it: a hold of everything does, a dead letter does not.',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  query: z.strictObject({ runbook: nameText.optional(), batchId: id.optional() }),
  answers: {
    200: z.strictObject({ at: dateTime, ...verdictFields }).meta({ id: 'Needs' }),
  },
  handle: async ({ engine, query: { runbook, batchId }, now }) => {
    if (batchId !== undefined) await loadBatchLine(engine.db, batchId)
    const verdict = await loadVerdict(engine, now, { batchId, runbookName: runbook })
    return { status: 200, body: { at: now, ...shownVerdict(verdict) } }
  },
})

export const NEED_ROUTES = [needsRoute]
