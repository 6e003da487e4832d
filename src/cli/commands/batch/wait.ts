// `--wait`: looks every other second until a batch has come to rest, says how far it is, and gives up after `--timeout`. At rest is
// a batch that has ended, or whose phases that began have all ended. A batch that is held does not come to rest by itself.
import { EXIT, MatoolkitError } from '../../../errors.ts'
import { type CommandContext, durationMs } from '../../command-context.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { Row } from '../../terminal/show.ts'
import { BATCH_ENDED, membersText } from './lists.ts'
import { batchPath } from './paths.ts'

const LOOK_EVERY_MS = 2_000

/** The page of the batch at rest. Throws WAIT_TIMED_OUT, WAIT_DISAPPOINTED, or WAIT_STOPPED after a Ctrl-C. */
export const waitUntilIdle = (context: CommandContext, batchId: string): Promise<Row> =>
  interruptible(async (interrupted) => {
    const command = `matoolkit batch get ${batchId}`
    const body = await lookUntilRest(context, batchId, interrupted, command).catch((error) => {
      // A request that was cut off by it is no failure of the server.
      if (interrupted.aborted) return null
      throw error
    })
    context.io.progress('')
    if (body) return body
    throw new MatoolkitError('WAIT_STOPPED', { batchId, command })
  })

/** Null when it was interrupted. */
async function lookUntilRest(
  { client, clock, io, flags }: CommandContext,
  batchId: string,
  interrupted: AbortSignal,
  command: string,
): Promise<Row | null> {
  const limitMs = durationMs('--timeout', flags.timeout) ?? Number.POSITIVE_INFINITY
  const startedMs = +clock.now()
  while (!interrupted.aborted) {
    const { body } = await client.get<Row>(batchPath(batchId), {}, { signal: interrupted })
    const batch = body.batch as Row
    if (isAtRest(body)) return body
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
    await clock.wait(Math.min(LOOK_EVERY_MS, limitMs - waitedMs), interrupted)
  }
  return null
}

function isAtRest({ batch, phases }: Row): boolean {
  const { status } = batch as Row
  if (BATCH_ENDED.includes(String(status))) return true
  const isRunning = (phases as unknown as Row[]).some((phase) => phase.status === 'dispatched')
  return status !== 'init_dispatched' && !isRunning
}

function phaseText({ batch, phases }: Row): string {
  const running = (phases as unknown as Row[]).filter(({ status }) => status === 'dispatched')
  if (running.length === 0) return String((batch as Row).status)
  return `${running.map(({ phaseName }) => String(phaseName)).join(', ')} runs`
}

/** After a wait: scripts are told by the exit code when the batch, or a phase of it as it stands now, has failed. */
export function failOnFailedPhase({ io }: CommandContext, { batch, phases }: Row): void {
  // A newer version may have given a phase another row; the newest one counts.
  const newest = new Map((phases as unknown as Row[]).map((one) => [one.phaseName, one.status]))
  const hasFailed = (batch as Row).status === 'failed' || [...newest.values()].includes('failed')
  if (hasFailed) io.exitCode = EXIT.failed
}
