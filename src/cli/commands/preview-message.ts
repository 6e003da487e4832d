// `matoolkit runbook preview-message`: a message as a person would get it, before anything is sent.

import type { Answer } from '../../api/client/endpoints.ts'
import { EXIT, MatoolkitError } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import { previewMessage } from '../../domain/member-messages/preview.ts'
import type { SampleMember } from '../../domain/plan/run-plan.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import { sampleMemberOf, startTimeOf } from '../../domain/runbook/sample-member.ts'
import { columnsProblem, rowReader } from '../../domain/sources/row-reader.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { findMemberRows } from '../input/member-rows.ts'
import { readRunbookFile } from '../input/runbook-file.ts'
import { timeFlag } from '../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import type { Column } from '../terminal/show.ts'
import { namedMember } from './batch/named.ts'
import { isRunbookFile } from './runbook/plan-file.ts'

type Preview = Answer<'POST /api/runbooks/{name}/preview-message'>

const FIELDS: readonly Column<Preview>[] = [
  ['message', ({ message, isCorrection }) => `${message}${isCorrection ? ', a correction' : ''}`],
  ['sent by', ({ phaseName, stepName }) => [phaseName, stepName].filter(Boolean).join(' / ')],
  ['for', ({ memberKey, isSample }) => (isSample ? 'a made-up member' : memberKey)],
  ['from', 'from'],
  ['to', 'to'],
  ['language', ({ language, languageBecause }) => `${language}: ${languageBecause}`],
  ['start', 'startText'],
  ['told before', 'formerText'],
  ['subject', 'subject'],
]

export async function runPreviewOfRunbook(
  context: CommandContext,
  [name]: readonly string[],
  flags: Flags,
): Promise<void> {
  if (flags.batch !== undefined) return previewOfBatch(context, textFlag(flags, 'batch'), flags)
  if (name === undefined) throw usageError('Name a runbook or a file, or a batch with --batch.')
  if (isRunbookFile(name)) return previewOfFile(context, name, flags)
  for (const flag of ['members', 'member'])
    if (flags[flag] !== undefined)
      throw usageError(`--${flag} is for a runbook file, and --member also for a --batch.`)
  const message = textFlag(flags, 'message')
  const language = textFlag(flags, 'language')
  const startTime = timeFlag(context, flags, 'start')
  const body = {
    ...(message !== undefined && { message }),
    ...(language !== undefined && { language }),
    ...(startTime !== undefined && { startTime }),
  }
  const endpoint = 'POST /api/runbooks/{name}/preview-message'
  const preview = await context.client.call(endpoint, { params: { name }, body })
  await showPreview(context, preview, name)
}

/** Needs no server. */
async function previewOfFile(context: CommandContext, file: string, flags: Flags): Promise<void> {
  const { runbook, yaml } = await readRunbookFile(file, context.io)
  const member = await memberOf(context, runbook, file, flags)
  const start = timeFlag(context, flags, 'start')
  const message = textFlag(flags, 'message') ?? null
  const found = previewMessage({
    runbook,
    yaml,
    member,
    message,
    batchId: null,
    batchOutputs: {},
    formerTime: null,
    language: textFlag(flags, 'language') ?? null,
    startTime:
      start === undefined ? (startTimeOf(runbook, member) ?? context.io.now()) : new Date(start),
  })
  if ('unknown' in found)
    throw new MatoolkitError('MESSAGE_NOT_FOUND', {
      message: message ?? '',
      name: runbook.name,
      hint: found.unknown,
    })
  await showPreview(context, JSON.parse(JSON.stringify(found)) as Preview, file)
}

/** The person that --member names, else the first of the file, else a made-up one. */
async function memberOf(
  { io }: CommandContext,
  runbook: Runbook,
  file: string,
  flags: Flags,
): Promise<SampleMember> {
  const wanted = textFlag(flags, 'member')
  const members = await findMemberRows(runbook, file, textFlag(flags, 'members'))
  if ('reason' in members) {
    if (wanted !== undefined)
      throw usageError(`--member needs a member file: ${members.reason}. Name one with --members.`)
    io.err(`warning: the preview is for a made-up member: ${members.reason}`)
    return sampleMemberOf(runbook)
  }
  const columns = members.columns.map((name) => ({ name, type: 'text' as const }))
  const reason = columnsProblem(columns, runbook.dataSource)
  if (reason !== null)
    throw new MatoolkitError('MEMBER_FILE_INVALID', { file: members.file, reason })
  const readRow = rowReader(runbook.dataSource, columns)
  for (const row of members.rows) {
    const found = readRow(row)
    if (
      'member' in found &&
      (wanted === undefined || foldKey(wanted) === foldKey(found.member.key))
    )
      return { key: found.member.key, data: found.member.data, outputs: {} }
  }
  const member = wanted === undefined ? 'anybody' : `"${wanted}"`
  throw new MatoolkitError('MEMBER_NOT_IN_FILE', { file: members.file, member })
}

/** By the version that the batch runs, the data and outputs of the member, and the start of the batch. */
async function previewOfBatch(
  context: CommandContext,
  id: string | undefined,
  flags: Flags,
): Promise<void> {
  const member = textFlag(flags, 'member')
  if (member === undefined) throw usageError('Say who would get it: --member ada@contoso.com.')
  const query = { message: textFlag(flags, 'message'), language: textFlag(flags, 'language') }
  const params = await namedMember(context, id, member)
  const endpoint = 'GET /api/batches/{batchId}/members/{memberId}/preview-message'
  await showPreview(context, await context.client.call(endpoint, { params, query }), 'the runbook')
}

async function showPreview(
  { show, io }: CommandContext,
  preview: Preview,
  file: string,
): Promise<void> {
  await show.one(preview, FIELDS)
  const { problems, warnings, isHtml, body: text } = preview
  if (show.format === 'table') {
    show.say(isHtml ? '\nBody, HTML:' : '\nBody:')
    for (const line of text.split('\n')) show.say(printable(line))
  }
  for (const { line, column, message } of problems)
    io.err(printable(`${file}:${line}:${column}: error: ${message}`))
  for (const warning of warnings) io.err(printable(`warning: ${warning}`))
  if (problems.length > 0) io.exitCode = EXIT.failed
}
