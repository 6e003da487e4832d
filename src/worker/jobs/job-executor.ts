// A job's way through this process, in stages: taken, collected or placed, started, run, answered, acked. What a stage needs to know is
// decided elsewhere: arrival.ts says what a message is, job-supply.ts what becomes of a job that finds no slot, run-job.ts runs it.
// Jobs of a function that acts on many wait for each other without a slot; their call takes one for all of them.
import type { JobKeys } from '../../base/keys/job-keys.ts'
import { chunksOf } from '../../base/run/chunks.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Telemetry } from '../../base/telemetry/telemetry.ts'
import type { Bus, ReceivedMessage } from '../../bus/bus.ts'
import { messageIdOf, readMessage } from '../../domain/messages/messages.ts'
import type { Catalogue } from '../functions/catalogue.ts'
import { NO_TENANT, type Tenant } from '../functions/tenant.ts'
import { type Arrival, arrivalOf } from './arrival.ts'
import type { Job, RefusedJob } from './job.ts'
import type { JobSupply } from './job-supply.ts'
import { Collections } from './joint/collections.ts'
import { type JointSeat, seatsFor } from './joint/joint-call.ts'
import { type LeasedJob, LeasedJobs } from './leased-jobs.ts'
import { type EndedJob, OutgoingResults } from './outgoing-results.ts'
import { RecentNames } from './recent-names.ts'
import { type JobDigest, type JobResult, ResultCache, resultMessage } from './result-cache.ts'
import { runJob } from './run-job.ts'
import { Slot } from './slots.ts'
import type { StoppedJobs } from './stopped-jobs.ts'

export interface JobExecutorOptions {
  readonly workerId: string
  readonly bus: Bus
  readonly clock: Clock
  readonly catalogue: Catalogue
  readonly supply: JobSupply
  readonly stopped: StoppedJobs
  readonly keys?: JobKeys | null
  readonly tenant?: Tenant
  readonly maxParallelism: number
  readonly cachedResultsMax?: number
  readonly telemetry?: Telemetry | null
  readonly onResult?: (result: JobResult) => void
  readonly onRefused?: (refused: RefusedJob & { readonly messageId: string }) => void
  readonly onError: (error: unknown) => void
  /** A result waits to be sent. */
  readonly onEnded: () => void
}

type Of<Is extends Arrival['is']> = Extract<Arrival, { is: Is }>

interface CollectedJob {
  readonly job: Job
  readonly digest: JobDigest
  readonly leased: LeasedJob
}

const RECALLED_AT_ONCE = 500

export class JobExecutor {
  readonly leased: LeasedJobs
  readonly #options: JobExecutorOptions
  readonly #results: ResultCache
  readonly #outgoing: OutgoingResults
  readonly #collections: Collections<CollectedJob>
  readonly #recent: RecentNames
  #abandoning = new AbortController()

  constructor(options: JobExecutorOptions) {
    const { bus, clock, maxParallelism, cachedResultsMax } = options
    this.#options = options
    this.leased = new LeasedJobs(maxParallelism, clock)
    this.#recent = new RecentNames(clock)
    this.#results = new ResultCache(cachedResultsMax ? { max: cachedResultsMax } : {})
    this.#outgoing = new OutgoingResults(bus, async (digest, why) => {
      const leased = this.leased.get(digest)
      if (leased) await bus.deadLetter([leased.received], 'Unanswerable', why)
      this.leased.remove(digest)
    })
    this.#collections = new Collections({ clock, onDue: () => void this.startDue() })
  }

  /** Slots for jobs that have not come: those of collections that are due are taken. */
  freeSlots(): number {
    return this.leased.freeSlots() - this.#collections.due
  }

  /** Results that wait to be sent. */
  get unsent(): number {
    return this.#outgoing.size
  }

  /** False when the job needs a slot, none is free, and it can go back. */
  async take(received: ReceivedMessage): Promise<boolean> {
    const known = { ...this.#options, leased: this.leased, results: this.#results }
    const arrival = arrivalOf(received, known, this.#options.clock.now())
    switch (arrival.is) {
      case 'recall':
        await this.#recall(received)
        return true
      case 'refused':
        await this.#refuse(received, arrival.refused)
        return true
      case 'redelivered':
        arrival.leased.received = received
        return true
      case 'companion':
        this.#collect(received, arrival)
        return true
      case 'answered':
      case 'single':
        return this.#place(received, arrival)
    }
  }

  /** Sends again what it remembers since a time. It proves nothing and starts nothing, so it needs no signature. */
  async #recall(received: ReceivedMessage): Promise<void> {
    const { bus } = this.#options
    const read = readMessage('worker-recall', received.body)
    if (!read.ok) return this.#refuse(received, { reason: 'Unreadable', description: read.reason })
    const { since, epoch } = read.message
    for (const results of chunksOf(this.#results.since(new Date(since)), RECALLED_AT_ONCE))
      await bus.publish(
        results.map((result) => ({
          ...resultMessage(result),
          messageId: messageIdOf.recalledResult(result.jobId, epoch),
        })),
      )
    await bus.ack([received])
  }

  async #refuse(received: ReceivedMessage, refused: RefusedJob): Promise<void> {
    const { bus, onRefused } = this.#options
    onRefused?.({ ...refused, messageId: received.messageId })
    await bus.deadLetter([received], refused.reason, refused.description)
  }

  /**
   * Others may come in place of those that wait for each other. The first of a collection keeps the place that its call will take, as
   * long as there is another: a job must not come that finds no slot.
   */
  #collect(received: ReceivedMessage, { job, digest, companions }: Of<'companion'>): void {
    const { supply } = this.#options
    const leased = this.leased.add(digest, received)
    const isFirst = this.#collections.add(companions.key, companions.rule, { job, digest, leased })
    if (!supply.mayMakeRoom(this.leased.size)) return
    if (isFirst && this.leased.freePlaces() > 1) leased.keepsPlace = true
    else supply.makeRoom(received)
  }

  /** False when it goes back. */
  #place(received: ReceivedMessage, arrival: Of<'answered' | 'single'>): boolean {
    const { digest } = arrival
    const { supply } = this.#options
    supply.endCollecting()
    const whenFull = this.leased.freeSlots() > 0 ? null : supply.whenFull
    if (whenFull === 'goes back') return false
    const slot = new Slot()
    if (arrival.is === 'answered') {
      this.leased.add(digest, received, { slot })
      this.#answer({ digest, result: arrival.result })
    } else if (whenFull === 'waits') {
      const leased = this.leased.add(digest, received, { keepsPlace: true })
      this.#collections.addDue({ job: arrival.job, digest, leased })
    } else {
      const leased = this.leased.add(digest, received, { slot })
      leased.ended = this.#run(arrival.job, digest, slot)
    }
    return true
  }

  /** Starts collections that are due while slots are free. */
  startDue(): void {
    while (this.leased.freeSlots() > 0) {
      const collected = this.#collections.take()
      if (collected === null) return
      this.#runTogether(collected)
    }
  }

  #runTogether(collected: readonly CollectedJob[]): void {
    const [first] = collected
    if (!first) return
    const slot = new Slot()
    const { clock, catalogue, supply, tenant = NO_TENANT } = this.#options
    const definition = catalogue.get(first.job.functionName.toLowerCase())!
    const { takesMany } = supply
    const seats = seatsFor(collected.length, { definition, tenant, clock, takesMany })
    for (const [at, { job, digest, leased }] of collected.entries()) {
      leased.slot = slot
      leased.keepsPlace = false
      leased.ended = this.#run(job, digest, slot, seats[at])
    }
  }

  /** Never rejects: what a function throws becomes its result. */
  async #run(job: Job, digest: JobDigest, slot: Slot, joint?: JointSeat): Promise<void> {
    const { clock, stopped, tenant = NO_TENANT, telemetry = null } = this.#options
    const { onResult, onError, workerId, catalogue } = this.#options
    const context = {
      workerId,
      catalogue,
      clock,
      tenant,
      stopping: this.#abandoning.signal,
      whyStopped: (jobId: string) => stopped.why(jobId),
      waits: () => slot.wait(clock.now()),
      telemetry,
      recent: this.#recent,
      ...(joint ? { joint } : {}),
    }
    try {
      const result = await runJob(job, context)
      if (result === null) return await this.#abandon(digest)
      this.#results.keep(digest, result)
      this.#answer({ digest, result })
      onResult?.(result)
    } catch (error) {
      onError(error)
      this.leased.remove(digest)
    }
  }

  #answer(ended: EndedJob): void {
    this.#outgoing.add(ended)
    this.#options.onEnded()
  }

  async #abandon(digest: JobDigest): Promise<void> {
    const leased = this.leased.remove(digest)
    if (leased) await this.#options.bus.abandon([leased.received])
  }

  /** Sends all waiting results at once, frees their slots, and returns what is to be acked; null when none waited. */
  async sendResults(): Promise<readonly ReceivedMessage[] | null> {
    const sent = await this.#outgoing.send()
    if (sent.length === 0) return null
    return sent.flatMap(({ digest }) => this.leased.remove(digest)?.received ?? [])
  }

  /** False when there was nothing to renew. */
  async renewLeases(): Promise<boolean> {
    const messages = this.leased.messages()
    if (messages.length === 0) return false
    const lost = new Set(await this.#options.bus.renew(messages))
    // A lost lease changes nothing for a job that runs: it is delivered again and recognised. One that is only collected need not run.
    const left = this.#collections.leave(({ leased }) => lost.has(leased.received))
    for (const { digest } of left) this.leased.remove(digest)
    return true
  }

  /** Gives back what was only collected, as if it had not come. */
  async releaseCollected(): Promise<void> {
    const collected = this.#collections.clear()
    for (const { digest } of collected) this.leased.remove(digest)
    const messages = collected.map(({ leased }) => leased.received)
    // Otherwise their leases run out.
    await this.#options.supply.giveBack(messages).catch(this.#options.onError)
  }

  /** Running jobs are aborted from now on, and abandoned. */
  abandonAll(): void {
    this.#abandoning.abort()
  }

  /** Of functions that did not stop: returned after the delay, and not leased here any more. */
  async abandonRunning(delayMs: number): Promise<void> {
    const running = this.leased.messages()
    this.leased.clear()
    if (running.length > 0) await this.#options.bus.abandon(running, delayMs)
  }

  /** After a stop: jobs run again. */
  resume(): void {
    this.#abandoning = new AbortController()
  }
}
