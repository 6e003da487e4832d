// What a job's run and its calls look like in a trace. Nothing that a person, a tenant or a runbook's data could be read from: of a URL only
// the host and the first words of an API of Microsoft 365, of an error only its code.
import {
  type Attributes,
  readTraceparent,
  type SpanContext,
  spanIdOf,
  type Telemetry,
  traceIdOf,
} from '../../base/telemetry/telemetry.ts'
import type { Job } from './job.ts'

export interface HttpCall {
  readonly method: string
  readonly url: string
  /** 1 for the first try. */
  readonly attempt: number
  /** Null when no answer came. */
  readonly status: number | null
  readonly error: string | null
  readonly startedAt: Date
  readonly endedAt: Date
}

export interface TracedRun {
  readonly workerId: string
  /** The function's name if the worker has it: any other may be data. */
  readonly functionName: string | null
  readonly startedAt: Date
}

/** A code, and no sentence that may quote something. */
const CODE = /^[\w.-]{1,80}$/

export class JobTrace {
  readonly context: SpanContext
  readonly #telemetry: Telemetry
  readonly #parentId: string | null
  readonly #attributes: Attributes
  readonly #startedAt: Date
  #calls = 0

  constructor(telemetry: Telemetry, job: Job, { workerId, functionName, startedAt }: TracedRun) {
    const parent = readTraceparent(job.traceparent)
    // A job of another sender may come without a trace: its own begins here.
    const traceId = parent?.traceId ?? traceIdOf('job', workerId, job.jobId, job.delivery ?? null)
    const isSampled = parent?.isSampled ?? telemetry.isSampled(traceId)
    this.#telemetry = telemetry
    this.#parentId = parent?.spanId ?? null
    this.#startedAt = startedAt
    const spanId = spanIdOf(traceId, 'run', job.jobId, job.delivery ?? null)
    this.context = { traceId, spanId, isSampled }
    const stepId = job.correlation?.stepExecutionId ?? job.correlation?.initExecutionId
    this.#attributes = {
      WorkerId: workerId,
      BatchId: job.batchId,
      ...(typeof stepId === 'number' && { StepExecutionId: stepId }),
      ...(functionName !== null && { FunctionName: functionName }),
      IsRepeated: job.isRepeated,
      'messaging.system': telemetry.messagingSystem,
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'worker-jobs',
      'messaging.destination.subscription.name': `worker-${workerId}`,
      'messaging.message.id': job.jobId,
    }
    const { context } = this
    telemetry.event({ name: 'JobDispatched', at: startedAt, attributes: this.#attributes, context })
  }

  /** `others`: jobs for which the same call was made. */
  call(call: HttpCall, others: readonly SpanContext[] = []): void {
    if (!this.context.isSampled) return
    this.#calls += 1
    const { method, attempt, status, startedAt, endedAt } = call
    const url = new URL(call.url)
    const template = templateOf(url)
    const error = status === null ? codeOf(call.error) : status >= 400 ? String(status) : null
    this.#telemetry.span({
      context: { ...this.context, spanId: spanIdOf(this.context.spanId, 'call', this.#calls) },
      parentId: this.context.spanId,
      name: template === null ? method : `${method} ${template}`,
      kind: 'client',
      startedAt,
      endedAt,
      error,
      attributes: {
        'http.request.method': method,
        'server.address': url.hostname,
        'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
        ...(template !== null && { 'url.template': template }),
        ...(status !== null && { 'http.response.status_code': status }),
        ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
        ...this.#ids(),
      },
      ...(others.length > 0 && { links: others }),
    })
  }

  /** `failure`: the code of its error; null for a success. */
  end(endedAt: Date, failure: string | null): void {
    this.#telemetry.span({
      context: this.context,
      parentId: this.#parentId,
      name: 'process worker-jobs',
      kind: 'consumer',
      startedAt: this.#startedAt,
      endedAt,
      attributes: this.#attributes,
      error: failure === null ? null : codeOf(failure),
    })
  }

  #ids(): Attributes {
    const { WorkerId, BatchId, StepExecutionId } = this.#attributes
    return {
      WorkerId: WorkerId!,
      BatchId: BatchId!,
      ...(StepExecutionId !== undefined && { StepExecutionId }),
    }
  }
}

const codeOf = (error: string | null): string =>
  error !== null && CODE.test(error) ? error : 'Failure'

/** APIs of Microsoft 365 whose second word names a kind of object; elsewhere a path may hold a secret. */
const API_ROOTS: readonly string[] = ['v1.0', 'beta', 'adminapi']

/** `/v1.0/users/*`: what follows may name a person. */
function templateOf({ pathname }: URL): string | null {
  const [root, kind, ...rest] = pathname.split('/').slice(1)
  if (!API_ROOTS.includes(root!) || !kind || !/^\$?[A-Za-z]+$/.test(kind)) return null
  return `/${root}/${kind}${rest.length > 0 ? '/*' : ''}`
}
