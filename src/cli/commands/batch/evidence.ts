// `matoolkit batch evidence`: everything about a batch as one signed archive, checked as soon as it is written: a broken download must not be
// found out years later.
import { createReadStream } from 'node:fs'
import { verifyPack } from '../../../api/evidence/verify-pack.ts'
import { requireReplaceable, writeNewFile } from '../../input/files.ts'
import { type CommandContext, type Flags, idOf, textFlag } from '../../program/command-context.ts'
import { sayVerdict, VERDICT, verdictRow } from '../evidence-verdict.ts'
import { batchPath } from './paths.ts'

export async function runEvidence(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, io, show } = context
  const batchId = idOf('batch', id)
  const file = textFlag(flags, 'out') ?? `batch-${batchId}-evidence.tar.gz`
  const mayReplace = flags.force === true
  // Before anything is loaded.
  requireReplaceable(file, mayReplace)
  const { body: key } = await client.get<{ fingerprint: string }>('/api/evidence/key')
  const pack = client.download(`${batchPath(String(batchId))}/evidence`, {})
  await writeNewFile(file, pack, mayReplace)
  const verdict = await verifyPack(createReadStream(file), key.fingerprint)
  await show.one(verdictRow(file, verdict, key.fingerprint), VERDICT)
  sayVerdict(io, verdict, key.fingerprint)
}
