// `--wait`: polls a batch every two seconds until it is idle, shows its progress, and gives up after `--timeout`. A batch is idle when
// it has ended, or when every started phase has. A held batch ends the wait with an error.

import type { Answer } from '../../../api/client/endpoints.ts'
import { EXIT, MatoolkitError } from '../../../base/errors/errors.ts'
import { statusWord } from '../../../domain/state/words.ts'
import { type CommandContext, durationMs } from '../../program/command-context.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import { BATCH_ENDED, membersText } from './lists.ts'
import { namedBatch } from './named.ts'

type BatchPage = Answer<'GET /api/batches/{batchId}'>

const POLL_MS = 2_000

/** Returns the page of the idle batch. Throws WAIT_TIMED_OUT, WAIT_DISAPPOINTED, or WAIT_STOPPED after Ctrl-C. */
export const waitUntilIdle = (context: CommandContext, batchId: string): Promise<BatchPage> =>
  interruptible(async (interrupted) => {
    const command = `matoolkit batch get ${batchId}`
    const body = await pollUntilIdle(context, batchId, interrupted, command).catch((error) => {
      // The interrupt aborted the request; the server did not fail.
      if (interrupted.aborted) return null
      throw error
    })
    context.io.progress('')
    if (body) return body
    throw new MatoolkitError('WAIT_STOPPED', { batchId, command })
  })

/** Null if interrupted. */
async function pollUntilIdle(
  { client, clock, io, flags }: CommandContext,
  batchId: string,
  interrupted: AbortSignal,
  command: string,
): Promise<BatchPage | null> {
  const limitMs = durationMs('--timeout', flags.timeout) ?? Number.POSITIVE_INFINITY
  const startedMs = +clock.now()
  while (!interrupted.aborted) {
    const given = { params: namedBatch(batchId) }
    const page = await client.call('GET /api/batches/{batchId}', given, { signal: interrupted })
    const { batch } = page
    if (isIdle(page)) return page
    if (batch.held) {
      const what = `Batch ${batchId} is held: ${batch.held.reason}.`
      throw new MatoolkitError('WAIT_DISAPPOINTED', { what, command })
    }
    const waitedMs = +clock.now() - startedMs
    if (waitedMs >= limitMs) {
      const seconds = Math.round(waitedMs / 1_000)
      const what = `The end of the running phases of batch ${batchId}`
      throw new MatoolkitError('WAIT_TIMED_OUT', { seconds, what, command })
    }
    io.progress(`Batch ${batchId}: ${phaseText(page)}; ${membersText(batch)} …`)
    await clock.wait(Math.min(POLL_MS, limitMs - waitedMs), interrupted)
  }
  return null
}

function isIdle({ batch: { status }, phases }: BatchPage): boolean {
  if (BATCH_ENDED.includes(status)) return true
  const isRunning = phases.some((phase) => phase.status === 'dispatched')
  return status !== 'init_dispatched' && !isRunning
}

function phaseText({ batch, phases }: BatchPage): string {
  const running = phases.filter(({ status }) => status === 'dispatched')
  if (running.length === 0) return statusWord('batch', batch.status)
  return `${running.map(({ phaseName }) => phaseName).join(', ')} runs`
}

/** Sets the exit code for scripts if the batch or one of its phases has failed. */
export function failOnFailedPhase(
  { io }: CommandContext,
  { batch, phases }: Pick<BatchPage, 'batch' | 'phases'>,
): void {
  // After a version upgrade a phase may have several rows; the newest counts.
  const newest = new Map(phases.map((phase) => [phase.phaseName, phase.status]))
  const hasFailed = batch.status === 'failed' || [...newest.values()].includes('failed')
  if (hasFailed) io.exitCode = EXIT.failed
}
