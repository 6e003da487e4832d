// `matoolkit batch export --as evidence`: everything about a batch as one signed archive, checked as soon as it is written: a broken download must not be
// found out years later.
import { createReadStream } from 'node:fs'
import { verifyPack } from '../../../api/evidence/verify-pack.ts'
import { requireReplaceable, writeNewFile } from '../../input/files.ts'
import { type CommandContext, type Flags, textFlag } from '../../program/command-context.ts'
import { sayVerdict, VERDICT, verdictRow } from '../evidence-verdict.ts'
import { namedBatch } from './named.ts'

export async function runEvidence(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, io, show } = context
  const params = namedBatch(id)
  const file = textFlag(flags, 'file') ?? `batch-${params.batchId}-evidence.tar.gz`
  const mayReplace = flags.force === true
  // Before anything is loaded.
  requireReplaceable(file, mayReplace)
  const { fingerprint } = await client.call('GET /api/evidence/key')
  const pack = client.download(() =>
    client.raw('GET /api/batches/{batchId}/evidence', { params }, { accept: '*/*' }),
  )
  await writeNewFile(file, pack, mayReplace)
  const verdict = await verifyPack(createReadStream(file), fingerprint)
  await show.one(verdictRow(file, verdict, fingerprint), VERDICT)
  sayVerdict(io, verdict, fingerprint)
}
