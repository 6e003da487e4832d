// A message to a person as it would be sent, before anything is: of a runbook, published or not, and of a member of a batch.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { findSentStartTime } from '../../db/orders/sent-messages.ts'
import { findBatchOutputs } from '../../db/views/batches.ts'
import { findMemberDetail } from '../../db/views/members.ts'
import { findRunbookLine } from '../../db/views/runbooks.ts'
import type { PreviewFacts } from '../../domain/member-messages/preview.ts'
import { madeUpMember, sampleMemberOf, startTimeOf } from '../../domain/runbook/sample-member.ts'
import { read } from '../route.ts'
import type { RunbookReader } from '../services/runbook-reader.ts'
import { parseRunbook, YAML_CHARS_MAX } from '../services/runbook-text.ts'
import { loadBatchLine } from '../shapes/batch-state.ts'
import { languageText } from '../shapes/message-shapes.ts'
import { id, instant, json, nameText, nullableDateTime, nullableText } from '../shapes/shapes.ts'
import { requireNamed } from './sources.ts'

const COLUMNS_MAX = 500

const preview = z
  .strictObject({
    message: z.string(),
    messages: z.array(z.string()).meta({ description: 'The messages that can be previewed.' }),
    isCorrection: z.boolean().meta({
      description: 'It goes only to people who know another start time.',
    }),
    phaseName: nullableText,
    stepName: nullableText.meta({ description: 'The first step that sends it.' }),
    memberKey: z.string(),
    isSample: z.boolean().meta({ description: 'For a made-up member.' }),
    from: z.string(),
    to: z.string(),
    language: z.string(),
    languages: z.array(z.string()),
    isFallback: z.boolean().meta({ description: 'The default language, for want of another.' }),
    languageBecause: z.string(),
    startTime: nullableDateTime,
    startText: nullableText.meta({ description: 'As the language writes it.' }),
    formerTime: nullableDateTime.meta({
      description: 'Of a correction: what the person was told, else a week before the start.',
    }),
    formerText: nullableText,
    subject: z.string(),
    body: z.string().meta({
      description: 'As it is sent. HTML when `isHtml`: show it where no script runs.',
    }),
    isHtml: z.boolean(),
    problems: z
      .array(
        z.strictObject({
          code: z.string(),
          line: z.int(),
          column: z.int(),
          path: z.string(),
          message: z.string(),
        }),
      )
      .meta({ description: 'Variables without a value: the step would fail.' }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'MessagePreview' })

/** Throws MESSAGE_NOT_FOUND. */
async function previewOf(
  reader: RunbookReader,
  facts: PreviewFacts,
): Promise<z.input<typeof preview>> {
  const found = await reader.run('previewMessage', facts)
  if ('unknown' in found)
    throw new MatoolkitError('MESSAGE_NOT_FOUND', {
      message: facts.message ?? '',
      name: facts.runbook.name,
      hint: found.unknown,
    })
  const problems = found.problems.map(({ code, line, column, path, message }) => ({
    code,
    line,
    column,
    path,
    message,
  }))
  const { warnings, messages, languages } = found
  return {
    ...found,
    problems,
    warnings: [...warnings],
    messages: [...messages],
    languages: [...languages],
  }
}

const ofRunbook = read({
  method: 'POST',
  path: '/api/runbooks/{name}/preview-message',
  operation: 'previewRunbookMessage',
  limits: 'runbook texts',
  tag: 'runbooks',
  summary: 'Preview a message of a runbook as a person would get it',
  about: 'For a made-up member, or the template’s sample row. Sends nothing.',
  rule: 'reader',
  isPersonal: true,
  takes: 'json',
  errors: ['RUNBOOK_INVALID', 'RUNBOOK_NOT_FOUND', 'RUNBOOK_NAME_DIFFERS', 'MESSAGE_NOT_FOUND'],
  params: z.strictObject({ name: nameText }),
  body: z.strictObject({
    yamlContent: z
      .string()
      .max(YAML_CHARS_MAX)
      .optional()
      .meta({ description: 'An unpublished text; the active version by default.' }),
    message: nameText.optional().meta({ description: 'By default the first.' }),
    language: languageText.optional(),
    startTime: instant.optional(),
    member: z
      .record(z.string().min(1).max(128), json)
      .refine((data) => Object.keys(data).length <= COLUMNS_MAX, 'has too many columns')
      .optional()
      .meta({ description: 'The columns of a made-up member.' }),
  }),
  answers: { 200: preview },
  handle: async ({ engine, params, body, now, services: { runbookReader } }) => {
    const yaml =
      body.yamlContent ?? (await findRunbookLine(engine.db, params.name, null))?.yamlContent
    if (yaml === undefined) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: params.name })
    const runbook = requireNamed((await parseRunbook(runbookReader, yaml)).runbook, params.name)
    const member =
      body.member === undefined ? sampleMemberOf(runbook) : madeUpMember(runbook, body.member)
    const facts = {
      runbook,
      yaml,
      member,
      batchId: null,
      batchOutputs: {},
      formerTime: null,
      message: body.message ?? null,
      language: body.language ?? null,
      startTime: body.startTime ?? startTimeOf(runbook, member) ?? now,
    }
    return { status: 200, body: await previewOf(runbookReader, facts) }
  },
})

const ofMember = read({
  method: 'GET',
  path: '/api/batches/{batchId}/members/{memberId}/preview-message',
  operation: 'previewMessage',
  limits: 'runbook texts',
  tag: 'members',
  summary: 'Preview a message as a member would get it now',
  about:
    'With the version that the batch runs, the member’s data and outputs, and the batch’s start. Sends nothing.',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND', 'MESSAGE_NOT_FOUND'],
  params: z.strictObject({ batchId: id, memberId: id }),
  query: z.strictObject({ message: nameText.optional(), language: languageText.optional() }),
  answers: { 200: preview },
  handle: async ({ engine, params: { batchId, memberId }, query, services: { runbookReader } }) => {
    const { db } = engine
    const line = await loadBatchLine(db, batchId)
    const found = await findMemberDetail(db, batchId, memberId)
    if (!found) throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
    const { memberKey: key, data, outputs } = found
    const version = await findRunbookLine(db, line.runbookName, line.runbookVersion)
    const facts = {
      runbook: await engine.runbooks.get(db, line.runbookName, line.runbookVersion),
      yaml: version!.yamlContent,
      message: query.message ?? null,
      language: query.language ?? null,
      member: { key, data, outputs },
      batchId,
      batchOutputs: await findBatchOutputs(db, batchId),
      startTime: line.batchStartTime,
      formerTime: await findSentStartTime(db, memberId),
    }
    return { status: 200, body: await previewOf(runbookReader, facts) }
  },
})

export const MESSAGE_PREVIEW_ROUTES = [ofRunbook, ofMember]
