// Who is needed, and for what: over all batches, or for one batch or runbook.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { storeNeedDecision } from '../../db/orders/need-decisions.ts'
import { countReviews } from '../../db/sources/reviews.ts'
import { decideNeed, withDecision } from '../../domain/needs/needs.ts'
import { findNeeds, loadVerdict } from '../../engine/needs/find-needs.ts'
import { loadStuck } from '../../engine/needs/stuck-batches.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { change, read } from '../route.ts'
import { dateTime, id, nameText, reason } from '../shapes/shapes.ts'
import { shownStuck, stuck } from '../shapes/stuck-shape.ts'
import { need, shownNeed, shownVerdict, verdictFields } from '../shapes/verdict-shape.ts'

const needsRoute = read({
  method: 'GET',
  path: '/api/needs',
  operation: 'listNeeds',
  tag: 'service',
  summary: 'List what needs a person, the greatest harm first, in all or for one batch or runbook',
  about:
    'Status, wall, batch summary and notifications say the same. With a batch or a runbook, only what concerns it: a hold of everything does, a dead letter does not. With a batch also its blocked work and why.',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  query: z.strictObject({ runbook: nameText.optional(), batchId: id.optional() }),
  answers: {
    200: z
      .strictObject({
        at: dateTime,
        ...verdictFields,
        stuck: stuck.nullable().meta({ description: 'Null without a batch.' }),
      })
      .meta({ id: 'Needs' }),
  },
  handle: async ({ engine, query: { runbook, batchId }, now }) => {
    const found = batchId === undefined ? null : await loadStuckOf(engine, batchId, now)
    const verdict = await loadVerdict(engine, now, { batchId, runbookName: runbook })
    const body = { at: now, ...shownVerdict(verdict), stuck: found && shownStuck(found) }
    return { status: 200, body }
  },
})

async function loadStuckOf(engine: Engine, batchId: number, now: Date) {
  const { removal, move, join } = await countReviews(engine.db, { batchId })
  const found = await loadStuck(engine.db, engine.pace, batchId, now, removal + move + join)
  if (!found) throw new MatoolkitError('BATCH_NOT_FOUND', { batchId })
  return found
}

const KEY_CHARS_MAX = 400
const NAME_CHARS_MAX = 200

const decideRoute = change({
  method: 'POST',
  path: '/api/needs',
  operation: 'decideNeed',
  tag: 'service',
  summary: 'Say who takes care of a need, or accept it as it is',
  about:
    'What is accepted needs no one until there is more to it: another failure, more rows. A need that ends with its cause, such as a gate, cannot be accepted.',
  rule: 'admin',
  action: 'need.decide',
  takes: 'json',
  errors: ['REFUSED'],
  body: z.strictObject({
    key: z.string().min(1).max(KEY_CHARS_MAX).meta({ description: 'As listed.' }),
    owner: z
      .string()
      .trim()
      .min(1)
      .max(NAME_CHARS_MAX)
      .nullish()
      .meta({ description: 'Who takes care of it; null: no one. Left out: as before.' }),
    isAccepted: z.boolean().optional(),
    reason,
  }),
  answers: { 200: need },
  handle: async ({ engine, body: { key, owner, isAccepted, reason: why }, by, now }) => {
    const { needs } = await findNeeds(engine.db, engine, now)
    const found = needs.find((one) => one.key === key)
    if (!found) throw new MatoolkitError('REFUSED', { reason: `no need has the key ${key} now` })
    const order = { owner, isAccepted, actor: by.name, reason: why, now }
    const decided = decideNeed(found, order)
    if ('refusal' in decided) throw new MatoolkitError('REFUSED', { reason: decided.refusal })
    await engine.db.transaction((tx) => storeNeedDecision(tx, key, decided.decision))
    return {
      status: 200,
      body: shownNeed(withDecision(found, decided.decision)),
      auditNote: { subject: `need ${key}`, reason: why, after: { owner: owner ?? null } },
    }
  },
})

export const NEED_ROUTES = [needsRoute, decideRoute]
