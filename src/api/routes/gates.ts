// The gates of a batch's phases: one list of what is known before a phase starts, and people's decisions about it. A decision takes a
// reason and is audited; nothing here starts a phase.

import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { sameName } from '../../base/text/same-name.ts'
import { countReviews } from '../../db/sources/reviews.ts'
import { loadHolds } from '../../db/state/holds.ts'
import { GATE_DECISIONS, readyPercentOf } from '../../domain/decide/gate.ts'
import { holdsOnAll } from '../../domain/decide/held.ts'
import { type Batch, type Phase, sumSteps } from '../../domain/state/facts.ts'
import { holdsOnBatch } from '../../domain/state/holds.ts'
import { OPEN_STEP_STATUSES, PHASE_STATUSES } from '../../domain/state/transitions.ts'
import {
  approveGate,
  type GateOrder,
  type GateState,
  readGates,
  waiveReadiness,
  withdrawDecision,
} from '../../engine/orders/gates.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { change, read } from '../route.ts'
import {
  dateTime,
  id,
  instant,
  nameText,
  nullableDateTime,
  nullableText,
  reason,
  wholeCount,
} from '../shapes/shapes.ts'
import { openReviews } from './reviews.ts'

const HOLDS_LISTED_MAX = 100

const decision = z
  .strictObject({
    id: z.int(),
    kind: z.enum(GATE_DECISIONS),
    by: z.string(),
    at: dateTime,
    reason: z.string(),
    endsAt: nullableDateTime.meta({ description: 'Of a waiver.' }),
    isCounted: z.boolean().meta({ description: 'Neither withdrawn, over nor void.' }),
    endedBecause: nullableText.meta({ description: 'Why it was withdrawn or became void.' }),
  })
  .meta({ id: 'GateDecision' })

const earlierPhase = z.strictObject({
  phaseName: z.string(),
  status: z.enum(PHASE_STATUSES),
  members: wholeCount,
  passed: wholeCount,
  failed: wholeCount,
  openSteps: wholeCount,
})

const supply = z.strictObject({
  noun: z.string().meta({ description: 'What people call it, in the plural: licences.' }),
  name: z.string().meta({ description: 'Of a licence the part number, such as SPE_E3.' }),
  needed: wholeCount.meta({ description: 'Members who do not have it.' }),
  free: wholeCount.meta({ description: 'Free, by the newest answer.' }),
  countedAt: dateTime.meta({ description: 'When that answer came.' }),
})

const gate = z
  .strictObject({
    phaseName: z.string(),
    phaseStatus: z.enum(PHASE_STATUSES),
    dueAt: nullableDateTime,
    state: z.enum(['open', 'closed', 'waiting', 'passed']).meta({
      description:
        'open: the phase may start at its time. closed: something is missing. waiting: closed, and its time has come. passed: it has started.',
    }),
    passedAt: nullableDateTime,
    missing: z.array(z.string()).meta({ description: 'What it still needs.' }),
    approvals: z.strictObject({
      needed: wholeCount,
      given: wholeCount,
      survives: wholeCount.meta({
        description: 'How many people may join or leave before an approval is void.',
      }),
    }),
    readiness: z.strictObject({
      neededPercent: wholeCount.nullable(),
      percent: wholeCount,
      ready: wholeCount.meta({ description: 'Active members who passed every earlier phase.' }),
      members: wholeCount.meta({ description: 'Members who are not removed.' }),
      isWaived: z.boolean(),
    }),
    supplies: z.array(supply).meta({
      description:
        'What may run out, such as licences, as steps of earlier phases have counted it.',
    }),
    earlierPhases: z.array(earlierPhase),
    decisions: z.array(decision).meta({ description: 'Newest first.' }),
  })
  .meta({ id: 'Gate' })

const gates = z
  .strictObject({
    batchId: z.int(),
    publishedBy: nullableText.meta({
      description: "Published the batch's version, and cannot approve.",
    }),
    failedMembers: wholeCount,
    openReviews,
    holds: z.array(
      z.strictObject({
        scope: z.string(),
        target: z.string(),
        heldBy: z.string(),
        reason: z.string(),
      }),
    ),
    gates: z.array(gate).meta({ description: 'In the order of time.' }),
  })
  .meta({ id: 'Gates' })

function stateOf({ phase, missing }: GateState): z.input<typeof gate>['state'] {
  if (phase.gatePassedAt !== null) return 'passed'
  if (missing.length === 0) return 'open'
  return phase.gateLookAt === null ? 'closed' : 'waiting'
}

const shownEarlier = ({ name, status, members, steps }: Phase): z.input<typeof earlierPhase> => ({
  phaseName: name,
  status,
  members: members.total,
  passed: members.passed,
  failed: members.failed,
  openSteps: sumSteps(steps, OPEN_STEP_STATUSES),
})

function shownGate(look: GateState): z.input<typeof gate> {
  const { phase, facts, missing, earlier, decisions } = look
  return {
    phaseName: phase.name,
    phaseStatus: phase.status,
    dueAt: phase.dueAt,
    state: stateOf(look),
    passedAt: phase.gatePassedAt,
    missing: [...missing],
    approvals: {
      needed: phase.gate!.approvals,
      given: facts.approvedBy.length,
      survives: phase.gate!.survives,
    },
    readiness: {
      neededPercent: phase.gate!.readyPercent,
      percent: readyPercentOf(facts),
      ready: facts.ready,
      members: facts.members,
      isWaived: facts.waiver !== null,
    },
    supplies: facts.supplies.map((one) => ({ ...one })),
    earlierPhases: earlier.map(shownEarlier),
    decisions: decisions.map((one) => ({
      id: one.id,
      kind: one.kind,
      by: one.decidedBy,
      at: one.decidedAt,
      reason: one.reason,
      endsAt: one.endsAt,
      isCounted: one.isCounted,
      endedBecause: one.endedBecause,
    })),
  }
}

async function holdsOf({ db }: Engine, batch: Batch) {
  const own = holdsOnAll(batch, holdsOnBatch([]))
  const others = await loadHolds(db, batch.id)
  return [...own, ...others]
    .slice(0, HOLDS_LISTED_MAX)
    .map(({ scope, target, heldBy, reason }) => ({
      scope,
      target,
      heldBy,
      reason,
    }))
}

async function showGates(engine: Engine, batchId: number): Promise<z.input<typeof gates>> {
  const { batch, gates: looked, publishedBy } = await readGates(engine, batchId)
  return {
    batchId,
    publishedBy,
    failedMembers: batch.membersFailed,
    openReviews: await countReviews(engine.db, { batchId }),
    holds: await holdsOf(engine, batch),
    gates: looked.map(shownGate),
  }
}

const listRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/gates',
  operation: 'listGates',
  tag: 'batches',
  summary: 'List the gates of a batch: readiness, failures, reviews, holds, decisions',
  about: 'A member is ready when it is active and has passed every step of every earlier phase.',
  rule: 'reader',
  errors: ['BATCH_NOT_FOUND'],
  params: z.strictObject({ batchId: id }),
  answers: { 200: gates },
  handle: async ({ engine, params }) => ({
    status: 200,
    body: await showGates(engine, params.batchId),
  }),
})

const params = z.strictObject({ batchId: id, phaseName: nameText })
const decided = z.strictObject({ isDryRun: z.boolean(), gate }).meta({ id: 'DecidedGate' })

function orderOf({ decision, kind, until }: z.output<typeof decisionBody>) {
  if (decision === 'approve') return { run: approveGate, noted: {} }
  if (decision === 'withdraw')
    return {
      run: (engine: Engine, order: GateOrder) => withdrawDecision(engine, { ...order, kind }),
      noted: { withdrawn: kind },
    }
  const endsAt = until!
  return {
    run: (engine: Engine, order: GateOrder) => waiveReadiness(engine, { ...order, endsAt }),
    noted: { until: endsAt.toISOString() },
  }
}

const decisionBody = z
  .strictObject({
    decision: z.enum(['approve', 'waive', 'withdraw']),
    until: instant.optional().meta({ description: 'Of a waiver: its end.' }),
    kind: z.enum(GATE_DECISIONS).default('approval').meta({ description: 'What is withdrawn.' }),
    reason,
    dryRun: z
      .boolean()
      .default(false)
      .meta({ description: 'Return the same answer and change nothing.' }),
  })
  .refine(
    ({ decision, until }) => (decision === 'waive') === (until !== undefined),
    'must have until with waive, and only there',
  )

const decideRoute = change({
  method: 'POST',
  path: '/api/batches/{batchId}/gates/{phaseName}',
  operation: 'decideGate',
  tag: 'batches',
  summary: 'Approve the start of a phase, waive its readiness, or withdraw either',
  about:
    "An approval counts once for each person, and not for the publisher of the batch's version; a waiver lets the phase start with fewer ready members until `until`. Both are void when the version, the members or the phase's time change, and can be withdrawn until the phase has started.",
  rule: 'admin',
  takes: 'json',
  action: 'gate.decide',
  params,
  errors: ['BATCH_NOT_FOUND', 'GATE_NOT_FOUND', 'REFUSED'],
  body: decisionBody,
  answers: { 200: decided },
  handle: async ({ engine: outer, params: { batchId, phaseName }, body, by }) => {
    const { run, noted } = orderOf(body)
    const after = await runOrDryRun(outer, body.dryRun, async (engine) => {
      await run(engine, { batchId, phaseName, actor: by.name, reason: body.reason })
      const { gates: all } = await readGates(engine, batchId)
      return all.find(({ phase }) => sameName(phase.name, phaseName))
    })
    if (!after) throw new MatoolkitError('GATE_NOT_FOUND', { batchId, phaseName })
    const shown = shownGate(after)
    const auditNote = {
      action: `gate.${body.decision}`,
      subject: `batch ${batchId} phase ${after.phase.name}`,
      reason: body.reason,
      before: null,
      after: { state: shown.state, approvals: after.facts.approvedBy.length, ...noted },
    }
    return {
      status: 200,
      body: { isDryRun: body.dryRun, gate: shown },
      auditNote: body.dryRun ? null : auditNote,
    }
  },
})

export const GATE_ROUTES = [listRoute, decideRoute]
