// `matoolkit batch run-sheet`: a page to print before the night, for the hours in which matoolkit or the network is away.

import { requireReplaceable, writeNewFile } from '../../input/files.ts'
import { type CommandContext, type Flags, idOf, textFlag } from '../../program/command-context.ts'
import { batchPath } from './paths.ts'

export async function runRunSheet(
  { client, io, show }: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const batchId = idOf('batch', id)
  const file = textFlag(flags, 'out') ?? `batch-${batchId}-run-sheet.html`
  const mayReplace = flags.force === true
  // Before anything is loaded.
  requireReplaceable(file, mayReplace)
  const page = client.download(`${batchPath(String(batchId))}/run-sheet`, { zone: io.zone })
  await writeNewFile(file, page, mayReplace)
  await show.one({ file, batchId }, [
    ['file', 'file'],
    ['batch', 'batchId'],
  ])
}
