// `matoolkit batch export --as run-sheet`: a page to print before the night, for the hours in which matoolkit or the network is away.

import { requireReplaceable, writeNewFile } from '../../input/files.ts'
import { type CommandContext, type Flags, textFlag } from '../../program/command-context.ts'
import { namedBatch } from './named.ts'

export async function runRunSheet(
  { client, io, show }: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const params = namedBatch(id)
  const { batchId } = params
  const file = textFlag(flags, 'file') ?? `batch-${batchId}-run-sheet.html`
  const mayReplace = flags.force === true
  // Before anything is loaded.
  requireReplaceable(file, mayReplace)
  const given = { params, query: { zone: io.zone } }
  const page = client.download(() =>
    client.raw('GET /api/batches/{batchId}/run-sheet', given, { accept: '*/*' }),
  )
  await writeNewFile(file, page, mayReplace)
  await show.one({ file, batchId }, [
    ['file', 'file'],
    ['batch', 'batchId'],
  ])
}
