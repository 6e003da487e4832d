// `matoolkit batch report`: the outcome of a batch in a file, written as the API sends it. A report that fails halfway leaves no file
// behind.

import { extname } from 'node:path'
import { requireReplaceable, writeNewFile } from '../../input/files.ts'
import { type CommandContext, type Flags, idOf, textFlag } from '../../program/command-context.ts'
import { safeFor, withoutLineEnd } from '../../terminal/io.ts'
import type { Row } from '../../terminal/show.ts'
import { statusIn } from '../words.ts'
import { batchPath } from './paths.ts'

const FORMATS = ['html', 'csv', 'json']

export async function runReport(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, io } = context
  const batchId = idOf('batch', id)
  const given = textFlag(flags, 'file')
  const format = formatFor(textFlag(flags, 'format'), given)
  const file = given ?? `batch-${batchId}-report.${format}`
  const mayReplace = flags.force === true
  // Before anything is loaded.
  if (file !== '-') requireReplaceable(file, mayReplace)
  const path = batchPath(String(batchId))
  const query = { format, zone: io.zone, internal: flags.internal === true }
  const report = client.download(`${path}/report`, query)
  if (file === '-') {
    for await (const lines of wholeLines(report)) io.out(safeFor(io, lines))
    return
  }
  const { body } = await client.get<{ batch: Row }>(path)
  await writeNewFile(file, report, mayReplace)
  const { status = null, members = null } = body.batch
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

function formatFor(requested: string | undefined, file = ''): string {
  const ending = extname(file).slice(1).toLowerCase()
  return requested ?? (FORMATS.includes(ending) ? ending : 'html')
}
