// Unexpected errors that nobody caught. What they say is redacted like the log, and the process ends with EXIT.crashed: a command at
// once, a server in order. A rejection that a job left behind fails that job; the worker continues.

import { EXIT, MatoolkitError } from '../../base/errors/errors.ts'
import { redact, safeReasonOf } from '../../base/log/redact.ts'
import { printable } from '../../base/text/printable.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { owningJob } from '../../worker/jobs/owning-job.ts'
import type { ServeHandle } from './serve.ts'
import type { StopRequest } from './shutdown.ts'

/** For commands, and for servers until they have started. */
export function endOnCrash(io: Io): void {
  const end = (error: unknown) => {
    const { message } = new MatoolkitError('INTERNAL', { reason: safeReasonOf(error) })
    const { stack } = Object(redact(error)) as { stack?: string }
    io.err(printable([`matoolkit: ${message} (INTERNAL)`, ...(stack ? [stack] : [])].join('\n')))
    process.exit(EXIT.crashed)
  }
  listen(end, end)
}

/** Replaces `endOnCrash` for a server that has started. */
export function stopOnCrash(
  { log }: Pick<ServeHandle, 'log'>,
  stopping: StopRequest,
  io: Io,
): void {
  const stop = (fields: object) => {
    log.error(fields, 'Unexpected error; the process stops')
    io.exitCode = EXIT.crashed
    stopping.request('unexpected error')
  }
  const onRejection = (err: unknown) => {
    const job = owningJob()
    if (!job) return stop({ err })
    const { jobId, functionName } = job
    const said = job.fail(err) ? 'the job fails' : 'the job had ended before'
    const reason = job.reasonOf(err)
    log.error({ jobId, functionName, reason }, `A function left a promise that failed; ${said}`)
  }
  const onException = (err: unknown) => {
    const job = owningJob()
    // Its result is still sent. Delivered again, it would end the next process too.
    job?.fail(err)
    const { jobId, functionName } = job ?? {}
    stop(job ? { jobId, functionName, reason: job.reasonOf(err) } : { err })
  }
  listen(onException, onRejection)
}

function listen(
  onException: (error: unknown) => void,
  onRejection: (error: unknown) => void,
): void {
  process.removeAllListeners('uncaughtException').on('uncaughtException', onException)
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', onRejection)
}
