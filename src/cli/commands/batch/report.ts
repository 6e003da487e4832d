// `matoolkit batch export`: the outcome of a batch in a file, written as the API sends it. A report that fails halfway leaves no file
// behind.

import { extname } from 'node:path'
import { requireReplaceable, writeNewFile } from '../../input/files.ts'
import {
  type CommandContext,
  choiceFlag,
  type Flags,
  textFlag,
} from '../../program/command-context.ts'
import { safeFor, withoutLineEnd } from '../../terminal/io.ts'
import { statusIn } from '../words.ts'
import { namedBatch } from './named.ts'

const FORMATS = ['html', 'csv', 'json'] as const
type Format = (typeof FORMATS)[number]

export async function runReport(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, io } = context
  const params = namedBatch(id)
  const { batchId } = params
  const given = textFlag(flags, 'file')
  const format = formatFor(choiceFlag(flags, 'format', FORMATS), given)
  const file = given ?? `batch-${batchId}-report.${format}`
  const mayReplace = flags.force === true
  // Before anything is loaded.
  if (file !== '-') requireReplaceable(file, mayReplace)
  const query = { format, zone: io.zone, internal: flags.internal === true }
  const report = client.download(() =>
    client.raw('GET /api/batches/{batchId}/report', { params, query }, { accept: '*/*' }),
  )
  if (file === '-') {
    for await (const lines of wholeLines(report)) io.out(safeFor(io, lines))
    return
  }
  const { batch } = await client.call('GET /api/batches/{batchId}', { params })
  await writeNewFile(file, report, mayReplace)
  const { status, members } = batch
  await context.show.one({ file, format, batchId, status, members }, [
    ['file', 'file'],
    ['batch', 'batchId'],
    ['status', statusIn('batch', 'status')],
    ['members', 'members.total'],
    ['failed', 'members.failed'],
    ['removed', 'members.removed'],
  ])
}

/** Without the last line end: `out` writes one. */
async function* wholeLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const part of bytes) {
    rest += decoder.decode(part, { stream: true })
    const end = rest.lastIndexOf('\n')
    if (end >= 0) yield withoutLineEnd(rest.slice(0, end + 1))
    rest = rest.slice(end + 1)
  }
  if (rest !== '') yield rest
}

function formatFor(requested: Format | undefined, file = ''): Format {
  const ending = extname(file).slice(1).toLowerCase()
  return requested ?? FORMATS.find((format) => format === ending) ?? 'html'
}
