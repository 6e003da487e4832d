// The worker: takes jobs for its id from the bus, never more than it has free slots, runs their functions, sends the answers and
// then settles. It has neither database nor engine; everything it knows comes with the job.
//
// Leases are renewed while a job is in hand. A job that is delivered again while it runs is run once, under its newest lease;
// one that was answered is answered again from memory. When the bus does not answer, answers wait here and are sent when it
// does. At a stop no job is begun, running ones may end, and what then still runs is stopped and given back.
import { type Bus, type OutgoingMessage, type ReceivedMessage, workerJobs } from '../bus/bus.ts'
import type { Clock } from '../clock.ts'
import { messageIdOf } from '../domain/messages.ts'
import { type ErrorCode, MatoolkitError } from '../errors.ts'
import { everyLoop, type Loop, type Service } from '../service.ts'
import { type Catalogue, catalogueOf, parametersSchema, type WorkerFunction } from './catalogue.ts'
import { type Job, readJob, runJob, whyTooLate } from './job.ts'
import type { Tenant } from './m365/api.ts'
import { NO_TENANT } from './m365/no-tenant.ts'
import { type CachedResult, ResultCache } from './result-cache.ts'

export interface WorkerOptions {
  readonly workerId: string
  readonly version: string
  readonly bus: Bus
  readonly clock: Clock
  readonly functions: readonly WorkerFunction[]
  /** Without it, functions that need a tenant fail and say so. */
  readonly tenant?: Tenant
  /** Jobs at the same time. */
  readonly maxParallelism: number
  /** How long running jobs may go on when the worker is asked to stop. */
  readonly drainMs?: number
  /** How many answers are remembered. */
  readonly answersMax?: number
  /** How often it looks for jobs when no hint comes. */
  readonly pollMs?: number
  /** Told once when for so long no job came, none ran and nothing was left to send. */
  readonly idleExit?: { readonly afterMs: number; onIdle(): void }
  /** Told of every job that was run. */
  readonly onAnswer?: (answer: CachedResult) => void
  readonly onError: (error: unknown) => void
}

const POLL_MS = 1_000
const SEND_INTERVAL_MS = 1_000
/** Two renewals may fail before the lease ends. */
const RENEWALS_A_LEASE = 3
const HELLO_INTERVAL_MS = 60_000
/** Longer than the longest pause between two looks, the pause after errors included. */
const UNREADY_AFTER_MS = 90_000
/** Less than the 30 s that a platform gives before it kills. */
const DRAIN_MS = 25_000

/** What no bus would ever carry, however often it is tried. */
const UNSENDABLE: ReadonlySet<ErrorCode> = new Set([
  'MESSAGE_TOO_LARGE',
  'MESSAGE_BODY_INVALID',
  'MESSAGE_ID_INVALID',
])

/** A job that was taken and is not settled. */
interface InHand {
  /** The newest delivery: only its lease can settle. */
  received: ReceivedMessage
  /** Resolves when its function has ended. */
  ended: Promise<void>
}

export class Worker implements Service {
  readonly name: string
  readonly #options: WorkerOptions
  readonly #catalogue: Catalogue
  readonly #answers: ResultCache
  readonly #inHand = new Map<string, InHand>()
  #unsent: CachedResult[] = []
  readonly #taking: Loop
  readonly #sending: Loop
  readonly #others: readonly Loop[]
  #givingUp = new AbortController()
  /** When there was last something to do; null once idleness was told. */
  #busyAt: Date | null = null
  /** When it last looked for jobs and the bus answered; null before the first time, and once it is told to stop. */
  #lookedAt: Date | null = null
  #unlisten: Promise<(() => Promise<void>) | undefined> | undefined

  constructor(options: WorkerOptions) {
    const { workerId, clock, onError, maxParallelism } = options
    if (!(maxParallelism > 0)) throw new RangeError(`maxParallelism ${maxParallelism}`)
    this.name = `worker ${workerId}`
    this.#options = options
    this.#catalogue = catalogueOf(options.functions)
    this.#answers = new ResultCache(options.answersMax ? { max: options.answersMax } : {})
    const loop = (
      name: string,
      intervalMs: number,
      runOnce: (now: Date, stopping: AbortSignal) => Promise<unknown>,
    ) => everyLoop({ name: `${this.name} ${name}`, clock, intervalMs, runOnce, onError })
    this.#taking = loop('jobs', options.pollMs ?? POLL_MS, async (_now, stopping) => {
      while (!stopping.aborted && (await this.takeJobs(stopping)) > 0);
      this.#lookedAt = clock.now()
      this.noticeIdle(clock.now())
    })
    this.#sending = loop('answers', SEND_INTERVAL_MS, () => this.sendAnswers())
    this.#others = [
      loop('leases', options.bus.leaseMs / RENEWALS_A_LEASE, () => this.renewLeases()),
      loop('hello', HELLO_INTERVAL_MS, (now) => this.sayHello(now)),
    ]
  }

  start(): void {
    const { bus, workerId, onError } = this.#options
    this.#givingUp = new AbortController()
    this.#busyAt = this.#options.clock.now()
    for (const loop of [...this.#others, this.#sending, this.#taking]) loop.start()
    // Without hints the worker is a second slower and otherwise the same, so failing to get them is only reported.
    this.#unlisten = bus.listen?.(workerJobs(workerId), this.#taking.nudge).catch((error) => {
      onError(error)
      return undefined
    })
  }

  /** Takes as many jobs as there are free slots, and begins them. Returns how many came. */
  async takeJobs(stopping?: AbortSignal): Promise<number> {
    const { bus, workerId, maxParallelism } = this.#options
    const free = maxParallelism - this.#inHand.size
    if (free <= 0) return 0
    const received = await bus.receive(workerJobs(workerId), free)
    if (stopping?.aborted) {
      await bus.abandon(received)
      return 0
    }
    if (received.length > 0) this.#busyAt = this.#options.clock.now()
    for (const message of received) await this.#take(message)
    return received.length
  }

  /** Only after a look that found nothing: while the bus does not answer, nobody knows whether there is work. */
  noticeIdle(now: Date): void {
    const { idleExit } = this.#options
    if (!idleExit || this.#busyAt === null) return
    if (this.#inHand.size > 0 || this.#unsent.length > 0) this.#busyAt = now
    if (+now - +this.#busyAt < idleExit.afterMs) return
    this.#busyAt = null
    idleExit.onIdle()
  }

  /** Null when it takes jobs, else why not. */
  whyNotReady(now: Date): string | null {
    if (this.#lookedAt === null) return 'not started'
    return +now - +this.#lookedAt > UNREADY_AFTER_MS ? 'the bus does not answer' : null
  }

  async #take(received: ReceivedMessage): Promise<void> {
    const { bus, workerId, clock } = this.#options
    const job = readJob(received, workerId)
    if ('reason' in job) return bus.deadLetter([received], job.reason, job.description)
    const inHand = this.#inHand.get(job.jobId)
    if (inHand) {
      inHand.received = received
      return
    }
    const known = this.#answers.get(job.jobId)
    const late = known ? null : whyTooLate(job, clock.now())
    if (late) return bus.deadLetter([received], late.reason, late.description)
    const taken: InHand = { received, ended: Promise.resolve() }
    this.#inHand.set(job.jobId, taken)
    if (known) this.#queue(known)
    else taken.ended = this.#run(job)
  }

  /** Never rejects: what a function throws is in its answer. */
  async #run(job: Job): Promise<void> {
    const { workerId, clock, tenant = NO_TENANT, onAnswer, onError } = this.#options
    const setting = {
      workerId,
      catalogue: this.#catalogue,
      clock,
      tenant,
      givingUp: this.#givingUp.signal,
    }
    try {
      const answer = await runJob(job, setting)
      if (answer === null) return await this.#giveBack(job.jobId)
      this.#answers.keep(answer)
      this.#queue(answer)
      onAnswer?.(answer)
    } catch (error) {
      onError(error)
      this.#inHand.delete(job.jobId)
    }
  }

  #queue(answer: CachedResult): void {
    this.#unsent.push(answer)
    this.#sending.nudge()
  }

  async #giveBack(jobId: string): Promise<void> {
    const inHand = this.#inHand.get(jobId)
    this.#inHand.delete(jobId)
    if (inHand) await this.#options.bus.abandon([inHand.received])
  }

  /** Sends what was answered, all of it at once, and settles. When that fails the answers stay and are tried again. */
  async sendAnswers(): Promise<void> {
    const answers = this.#unsent
    if (answers.length === 0) return
    this.#unsent = []
    try {
      await this.#publish(answers)
    } catch (error) {
      this.#unsent.unshift(...answers)
      throw error
    }
    const settled = answers.flatMap(({ jobId }) => this.#inHand.get(jobId)?.received ?? [])
    for (const { jobId } of answers) this.#inHand.delete(jobId)
    this.#taking.nudge()
    // Those whose lease was lost come again and are answered from memory.
    if (settled.length > 0) await this.#options.bus.ack(settled)
  }

  /** Together, or in halves when one among them can never be sent: its job is put aside with the reason. */
  async #publish(answers: readonly CachedResult[]): Promise<void> {
    const { bus } = this.#options
    try {
      await bus.publish(answers.map(messageOfAnswer))
    } catch (error) {
      if (!(error instanceof MatoolkitError && UNSENDABLE.has(error.code))) throw error
      if (answers.length > 1) {
        const half = Math.ceil(answers.length / 2)
        await this.#publish(answers.slice(0, half))
        return this.#publish(answers.slice(half))
      }
      const { jobId } = answers[0]!
      const inHand = this.#inHand.get(jobId)
      if (inHand) await bus.deadLetter([inHand.received], 'Unanswerable', error.message)
      this.#inHand.delete(jobId)
    }
  }

  async renewLeases(): Promise<void> {
    const held = [...this.#inHand.values()].map(({ received }) => received)
    // A lost lease changes nothing here: the job goes on, comes again, and is recognised.
    if (held.length > 0) await this.#options.bus.renew(held)
  }

  /** Says who it is and what it can do. The orchestrator sends nothing to a worker that it has never heard of. */
  async sayHello(now: Date): Promise<void> {
    const { bus, workerId, version, maxParallelism } = this.#options
    const functions = [...this.#catalogue.values()].map((one) => ({
      name: one.name,
      description: one.description,
      parameters: parametersSchema(one),
    }))
    await bus.publish([
      {
        topic: 'worker-results',
        messageId: messageIdOf.workerHello(workerId, now),
        type: 'worker-hello',
        body: { workerId, version, slots: maxParallelism, functions },
      },
    ])
  }

  /** Resolves when no function runs any more. */
  async idle(): Promise<void> {
    await Promise.all([...this.#inHand.values()].map(({ ended }) => ended))
  }

  async stop(giveUp?: AbortSignal): Promise<void> {
    const { clock, onError, drainMs = DRAIN_MS } = this.#options
    await this.#taking.stop(giveUp)
    this.#lookedAt = null
    const ended = new AbortController()
    const idle = this.idle().then(() => ended.abort())
    await clock.wait(drainMs, AbortSignal.any([ended.signal, ...(giveUp ? [giveUp] : [])]))
    this.#givingUp.abort()
    await Promise.race([idle, ...(giveUp ? [aborted(giveUp)] : [])])
    if (!ended.signal.aborted) {
      // Its leases end by themselves: giving away what still runs would have two workers do the same thing.
      throw new MatoolkitError('SERVICE_STILL_RUNNING', { name: this.name })
    }
    await this.#sending.stop(giveUp)
    await this.sendAnswers().catch(onError)
    await Promise.all(this.#others.map((loop) => loop.stop(giveUp)))
    const stopListening = await this.#unlisten
    this.#unlisten = undefined
    await stopListening?.()
  }
}

const messageOfAnswer = (answer: CachedResult): OutgoingMessage => ({
  topic: 'worker-results',
  messageId: messageIdOf.workerResult(answer.jobId),
  type: 'worker-result',
  body: answer,
})

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
