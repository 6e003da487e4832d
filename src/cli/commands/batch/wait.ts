// `--wait`: polls every two seconds, shows the progress of the batch, and gives up after `--timeout`. After a change of people it ends with
// their last open step; else when the batch is idle: it has ended, or every started phase has. A held batch ends the wait with an error.

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
export const waitUntilIdle = (
  context: CommandContext,
  batchId: string,
  actionId: number | null = null,
): Promise<BatchPage> =>
  interruptible(async (interrupted) => {
    const command = `matoolkit batch get ${batchId}`
    const waited = { batchId, actionId, command }
    const body = await pollUntilIdle(context, waited, interrupted).catch((error) => {
      // The interrupt aborted the request; the server did not fail.
      if (interrupted.aborted) return null
      throw error
    })
    context.io.progress('')
    if (body) return body
    throw new MatoolkitError('WAIT_STOPPED', { batchId, command })
  })

interface Waited {
  readonly batchId: string
  /** Of a change of people: the wait is for them. */
  readonly actionId: number | null
  readonly command: string
}

/** Null if interrupted. */
async function pollUntilIdle(
  { client, clock, io, flags }: CommandContext,
  { batchId, actionId, command }: Waited,
  interrupted: AbortSignal,
): Promise<BatchPage | null> {
  const limitMs = durationMs('--timeout', flags.timeout) ?? Number.POSITIVE_INFINITY
  const startedMs = +clock.now()
  while (!interrupted.aborted) {
    const given = { params: namedBatch(batchId) }
    const page = await client.call('GET /api/batches/{batchId}', given, { signal: interrupted })
    const { batch } = page
    if (isIdle(page)) return page
    if (actionId !== null) {
      const given = { params: { actionId } }
      const now = await client.call('GET /api/actions/{actionId}', given, { signal: interrupted })
      if (now.openNow === 0) return page
    }
    if (batch.held) {
      const what = `Batch ${batchId} is held: ${batch.held.reason}.`
      throw new MatoolkitError('WAIT_DISAPPOINTED', { what, command })
    }
    const waitedMs = +clock.now() - startedMs
    if (waitedMs >= limitMs) {
      const seconds = Math.round(waitedMs / 1_000)
      const what =
        actionId === null
          ? `The end of the running phases of batch ${batchId}`
          : `The end of the last open step of these people of batch ${batchId}`
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
