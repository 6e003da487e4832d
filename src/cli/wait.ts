// `--wait`: looks every other second until a batch has come to rest, says how far it is, and gives up after `--timeout`. At rest is
// a batch that has ended, or whose phases that began have all ended. A batch that is held does not come to rest by itself.
import { MatoolkitError } from '../errors.ts'
import { batchPath, membersText } from './batch-look.ts'
import { type Call, durationMs } from './call.ts'
import type { Row } from './show.ts'

const LOOK_EVERY_MS = 2_000
const ENDED = ['completed', 'failed', 'cancelled']

/** The page of the batch at rest. Throws WAIT_TIMED_OUT or WAIT_DISAPPOINTED. */
export async function waitForRest(call: Call, batchId: string): Promise<Row> {
  const { client, clock, io, flags } = call
  const limitMs = durationMs('--timeout', flags.timeout) ?? Number.POSITIVE_INFINITY
  const startedMs = +clock.now()
  const command = `matoolkit batch get ${batchId}`
  for (;;) {
    const { body } = await client.get<Row>(batchPath(batchId))
    const batch = body.batch as Row
    if (isAtRest(body)) {
      io.progress('')
      return body
    }
    if (batch.held) {
      const { reason } = batch.held as Row
      const what = `Batch ${batchId} is held: ${String(reason)}.`
      throw new MatoolkitError('WAIT_DISAPPOINTED', { what, command })
    }
    const waitedMs = +clock.now() - startedMs
    if (waitedMs >= limitMs) {
      const seconds = Math.round(waitedMs / 1_000)
      const what = `the end of what runs in batch ${batchId}`
      throw new MatoolkitError('WAIT_TIMED_OUT', { seconds, what, command })
    }
    io.progress(`Batch ${batchId}: ${phaseText(body)}; ${membersText(batch)} …`)
    await clock.wait(Math.min(LOOK_EVERY_MS, limitMs - waitedMs))
  }
}

function isAtRest({ batch, phases }: Row): boolean {
  const { status } = batch as Row
  if (ENDED.includes(String(status))) return true
  const isRunning = (phases as unknown as Row[]).some((phase) => phase.status === 'dispatched')
  return status !== 'init_dispatched' && !isRunning
}

function phaseText({ batch, phases }: Row): string {
  const running = (phases as unknown as Row[]).filter(({ status }) => status === 'dispatched')
  if (running.length === 0) return String((batch as Row).status)
  return `${running.map(({ phaseName }) => String(phaseName)).join(', ')} runs`
}
