// The plan of a runbook, published or not: phases with times, steps with resolved examples. For an existing batch, for a member that
// the caller makes up, or for the template's sample row. Changes nothing.

import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { sameName } from '../../base/text/same-name.ts'
import { listCatalogues } from '../../db/state/workers.ts'
import { findBatchOutputs } from '../../db/views/batches.ts'
import { listSampleMembers } from '../../db/views/members.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { madeUpMember, sampleMemberOf } from '../../domain/runbook/sample-member.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { windowsFor } from '../../engine/transactions/window-state.ts'
import { read } from '../route.ts'
import { parseRunbook, YAML_CHARS_MAX } from '../services/runbook-text.ts'
import { loadBatchLine } from '../shapes/batch-state.ts'
import { phaseWindowShape } from '../shapes/phase-window-shape.ts'
import {
  instant,
  json,
  nameText,
  nullableDateTime,
  nullableText,
  wholeCount,
} from '../shapes/shapes.ts'
import { requireNamed, requireRunbook } from './sources.ts'

const EXAMPLES_MAX = 3
const COLUMNS_MAX = 500

const step = z.strictObject({
  name: z.string(),
  workerId: z.string(),
  timeoutSec: wholeCount,
  maxRetries: wholeCount,
  isPolled: z.boolean(),
  onFailure: nullableText,
  when: nullableText.meta({ description: 'Conditions without which the step is left out.' }),
  puts: z.array(z.string()).meta({ description: 'Variables for later steps.' }),
  isOwnFunction: z.boolean().meta({
    description: 'The worker runs a function of its own instead of the built-in one.',
  }),
  examples: z.array(
    z.strictObject({
      memberKey: nullableText,
      functionName: z.string(),
      params: json,
      leftOut: nullableText.meta({
        description: 'Why the step is left out for this member, as far as it is known now.',
      }),
      missing: z
        .array(z.string())
        .meta({ description: 'Variables without a value: the step would fail.' }),
    }),
  ),
})

const plan = z
  .strictObject({
    runbookName: z.string(),
    startTime: nullableDateTime,
    batchId: z.int().nullable(),
    memberCount: wholeCount.nullable().meta({ description: 'Active members of the batch.' }),
    init: z.array(step),
    phases: z.array(
      z.strictObject({
        name: z.string(),
        offsetMinutes: z.int(),
        dueAt: nullableDateTime,
        isOverdue: z.boolean().meta({ description: 'The phase would start at once.' }),
        gate: z
          .strictObject({
            approvals: wholeCount,
            survives: wholeCount,
            readyPercent: wholeCount.nullable(),
          })
          .nullable(),
        ramp: z
          .strictObject({
            percents: z.array(wholeCount),
            soakSec: wholeCount,
            maxFailedPercent: wholeCount.nullable(),
          })
          .nullable(),
        window: phaseWindowShape,
        noReturnSteps: z
          .array(z.string())
          .meta({ description: 'Its steps after which nothing can be taken back.' }),
        steps: z.array(step),
      }),
    ),
    onRemoval: z.array(step),
    warnings: z
      .array(z.string())
      .meta({ description: 'Says that long values are cut, or that there are too many of them.' }),
  })
  .meta({ id: 'Plan' })

const planBody = z.strictObject({
  yamlContent: z
    .string()
    .max(YAML_CHARS_MAX)
    .optional()
    .meta({ description: 'An unpublished text; the active version by default.' }),
  startTime: instant.optional(),
  batchId: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  member: z
    .record(z.string().min(1).max(128), json)
    .refine((data) => Object.keys(data).length <= COLUMNS_MAX, 'has too many columns')
    .optional()
    .meta({ description: 'The columns of a made-up member.' }),
})

const planRoute = read({
  method: 'POST',
  path: '/api/runbooks/{name}/plan',
  operation: 'planRunbook',
  limits: 'runbook texts',
  tag: 'runbooks',
  summary: 'Plan a run: phases with times, steps with examples',
  about: `For an existing batch, a made-up member, or the template’s sample row. At most ${EXAMPLES_MAX} examples per step.`,
  rule: 'reader',
  isPersonal: true,
  takes: 'json',
  errors: ['RUNBOOK_INVALID', 'RUNBOOK_NOT_FOUND', 'RUNBOOK_NAME_DIFFERS', 'BATCH_NOT_FOUND'],
  params: z.strictObject({ name: nameText }),
  body: planBody,
  answers: { 200: plan },
  handle: async ({ engine, params, body, now, services: { runbookReader } }) => {
    const runbook =
      body.yamlContent === undefined
        ? await requireRunbook(engine, params.name)
        : requireNamed((await parseRunbook(runbookReader, body.yamlContent)).runbook, params.name)
    const sample = await sampleMembers(engine, runbook, body)
    const startTime = body.startTime ?? sample.startTime
    const windows = windowsFor(engine, runbook)
    const catalogues = [engine.functions.packaged, ...(await listCatalogues(engine.db))]
    const facts = { runbook, now, windows, ...sample, startTime, catalogues }
    // A thousand freezes and as many phases, each of which asks when it may begin, took minutes.
    const planned = await runbookReader.run('planRun', facts)
    const about = { batchId: sample.batchId, memberCount: sample.memberCount }
    return {
      status: 200,
      body: plan.parse({ runbookName: runbook.name, startTime, ...about, ...planned }),
    }
  },
})

async function sampleMembers(
  { db }: Engine,
  runbook: Runbook,
  { batchId, member }: z.output<typeof planBody>,
) {
  if (batchId === undefined) {
    const members = [member === undefined ? sampleMemberOf(runbook) : madeUpMember(runbook, member)]
    return { members, batchId: null, startTime: null, memberCount: null, batchOutputs: {} }
  }
  const line = await loadBatchLine(db, batchId)
  // Members of another runbook have other columns, so their examples would mislead.
  if (!sameName(line.runbookName, runbook.name)) {
    throw new MatoolkitError('BATCH_NOT_FOUND', { batchId })
  }
  return {
    members:
      member === undefined
        ? await listSampleMembers(db, batchId, EXAMPLES_MAX)
        : [madeUpMember(runbook, member)],
    batchId,
    startTime: line.batchStartTime,
    windowOverrideUntil: line.windowOverrideUntil,
    memberCount: line.membersActive,
    batchOutputs: await findBatchOutputs(db, batchId),
  }
}

export const PLAN_ROUTES = [planRoute]
