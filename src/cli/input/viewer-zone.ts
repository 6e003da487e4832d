// The zone in which a command shows times: `--zone`, else MATOOLKIT_ZONE, else the profile, else the viewer's own.
import { knownZone } from '../../base/text/zoned-time.ts'
import { namedBatch } from '../commands/batch/named.ts'
import { type CommandContext, usageError } from '../program/command-context.ts'

/** `batchId`: the batch that the command is about, for `--zone runbook`. */
export async function chooseZone(
  { client, flags, io, profile }: CommandContext,
  batchId: string | undefined,
): Promise<void> {
  const wanted = typeof flags.zone === 'string' ? flags.zone : profile.zone.value
  if (wanted === null || wanted === 'local') return
  if (wanted !== 'runbook') {
    const zone = knownZone(wanted)
    if (zone === null) {
      const choices = 'local, utc, runbook or a name such as Europe/Berlin'
      throw usageError(`"${wanted}" is not a time zone. Use ${choices}.`)
    }
    io.zone = zone
    return
  }
  // A profile that prefers the runbook's zone must not break commands without a batch.
  if (batchId === undefined) {
    if (flags.zone === undefined) return
    throw usageError(
      '--zone runbook needs a command for one batch. Use a name such as Europe/Berlin.',
    )
  }
  const params = namedBatch(batchId)
  io.zone = (await client.call('GET /api/batches/{batchId}', { params })).timeZone ?? 'UTC'
}
