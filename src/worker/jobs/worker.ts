// The worker: receives jobs for its id, at most one per free slot, runs their functions, sends the results, then acks. It has
// neither database nor engine; a job carries everything the worker needs.
// Jobs of a function that acts on many wait for each other without a slot; their call takes one for all of them.
// It renews leases while jobs are open. A job delivered again while it runs is run once, under its newest lease; a finished one
// is answered from the result cache. While the bus is down, results wait in memory. On stop no job begins, running jobs drain,
// and the rest are aborted and abandoned.
import { once } from 'node:events'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { JobKeys } from '../../base/keys/job-keys.ts'
import { chunksOf } from '../../base/run/chunks.ts'
import type { Clock } from '../../base/run/clock.ts'
import { everyLoop, type Loop, type Service } from '../../base/run/service.ts'
import type { Telemetry } from '../../base/telemetry/telemetry.ts'
import { type Bus, type ReceivedMessage, workerJobs } from '../../bus/bus.ts'
import { makeOutage, type Outage, type OutageChange, reportingTo } from '../../bus/outage.ts'
import { messageIdOf, readMessage } from '../../domain/messages/messages.ts'
import { type Catalogue, catalogueOf, type WorkerFunction } from '../functions/catalogue.ts'
import { NO_TENANT, type Tenant } from '../functions/tenant.ts'
import type { ThrottleState } from '../http/throttle.ts'
import { Announcement } from './announcement.ts'
import { type Job, type RefusedJob, readJob, refuseExpired, runJob } from './job.ts'
import { Collections } from './joint/collections.ts'
import { companionsOf } from './joint/companions.ts'
import { type JointSeat, seatsFor } from './joint/joint-call.ts'
import { type EndedJob, OutgoingResults } from './outgoing-results.ts'
import {
  digestOfJob,
  type JobDigest,
  type JobResult,
  ResultCache,
  resultMessage,
} from './result-cache.ts'
import { Slot, slotsWithLent } from './slots.ts'
import { StoppedJobs } from './stopped-jobs.ts'

export interface WorkerOptions {
  readonly workerId: string
  readonly version: string
  readonly bus: Bus
  readonly clock: Clock
  readonly functions: readonly WorkerFunction[]
  /** With keys, only jobs that one of them signed are run. */
  readonly keys?: JobKeys | null
  /** Without a tenant, functions that need one fail with `NoTenant`. */
  readonly tenant?: Tenant
  /** Gates and concurrency of the tenant's services, to announce. */
  readonly throttles?: () => readonly ThrottleState[]
  /** Slots: jobs run at the same time. */
  readonly maxParallelism: number
  /** Processes with this worker's id; they announce their slots together. */
  readonly replicas?: number
  /** How long running jobs may drain on stop. */
  readonly drainMs?: number
  /** Size of the result cache. */
  readonly cachedResultsMax?: number
  /** Polling interval when no notification arrives. */
  readonly pollMs?: number
  /** Called once after `afterMs` without a job arriving, running or waiting to be sent. */
  readonly idleExit?: { readonly afterMs: number; onIdle(): void }
  /** Traces of jobs and their calls; null when telemetry is off. */
  readonly telemetry?: Telemetry | null
  /** Called with the result of every job that ran. */
  readonly onResult?: (result: JobResult) => void
  /** Called for every job that is dead-lettered instead of run. */
  readonly onRefused?: (refused: RefusedJob & { readonly messageId: string }) => void
  /** Called when the worker begins to wait for the bus, when the cause changes, and when it continues; else `onError` is. */
  readonly onOutage?: (change: OutageChange) => void
  readonly onError: (error: unknown) => void
}

const POLL_MS = 1_000
const SEND_INTERVAL_MS = 1_000
/** Two renewals may fail before the lease ends. */
const RENEWALS_A_LEASE = 3
/** A hold takes effect within two seconds. */
const STOPS_INTERVAL_MS = 500
const HELLO_INTERVAL_MS = 60_000
/** Longer than the longest pause between two receives, error backoff included. */
const UNREADY_AFTER_MS = 90_000
/** Below the 30 s that a platform allows before it kills the process. */
const DRAIN_MS = 25_000

const RECALLED_AT_ONCE = 500
/** Jobs received at once while all that come are collected. */
const COLLECTED_AT_ONCE = 100
/** Jobs leased at once where a broker sends them by itself; two calls of the largest functions. */
const COLLECTED_MAX = 2_000

/** A received job that is not acked yet. */
interface LeasedJob {
  /** The newest delivery: only its lease can ack. */
  received: ReceivedMessage
  /** Stands for its slot, which the jobs of one joint call share; null while it is collected. */
  slot: Slot | null
  /** Collected, and no other job may come in its place: it will need a slot. */
  keepsPlace?: boolean
  /** Resolves when its function ends. */
  ended: Promise<void>
}

interface CollectedJob {
  readonly job: Job
  readonly digest: JobDigest
  readonly leased: LeasedJob
}

export class Worker implements Service {
  readonly name: string
  readonly #options: WorkerOptions
  readonly #catalogue: Catalogue
  readonly #results: ResultCache
  readonly #outage: Outage
  readonly #leased = new Map<JobDigest, LeasedJob>()
  readonly #collections: Collections<CollectedJob>
  readonly #stopped: StoppedJobs
  /** All jobs of the last receive were collected. */
  #collectsAll = false
  readonly #outgoing: OutgoingResults
  readonly #receiveLoop: Loop
  readonly #sendLoop: Loop
  readonly #otherLoops: readonly Loop[]
  #stopJobs = new AbortController()
  /** When the worker was last busy; null once `onIdle` has been called. */
  #busyAt: Date | null = null
  /** When the bus last answered a receive; null before the first one and after stop. */
  #receivedAt: Date | null = null
  readonly #announcement: Announcement
  #unlisten: Promise<(() => Promise<void>) | undefined> | undefined

  constructor(options: WorkerOptions) {
    const { workerId, clock, maxParallelism } = options
    if (!(maxParallelism > 0)) throw new RangeError(`maxParallelism ${maxParallelism}`)
    this.name = `worker ${workerId}`
    this.#options = options
    this.#catalogue = catalogueOf(options.functions)
    this.#results = new ResultCache(
      options.cachedResultsMax ? { max: options.cachedResultsMax } : {},
    )
    this.#announcement = new Announcement(options, this.#catalogue, () => this.#slotsWithLent())
    this.#stopped = new StoppedJobs(workerId, options.bus.capabilities.control)
    this.#outgoing = new OutgoingResults(options.bus, async (digest, why) => {
      const leased = this.#leased.get(digest)
      if (leased) await options.bus.deadLetter([leased.received], 'Unanswerable', why)
      this.#leased.delete(digest)
    })
    this.#collections = new Collections({ clock, onDue: () => void this.#startDue() })
    this.#outage = makeOutage(clock, options.onOutage ?? reportingTo(options.onError))
    const onError = (error: unknown) => {
      if (!this.#outage.note(error)) options.onError(error)
    }
    const loop = (
      name: string,
      intervalMs: number,
      runOnce: (now: Date, stopping: AbortSignal) => Promise<unknown>,
    ) => everyLoop({ name: `${this.name} ${name}`, clock, intervalMs, runOnce, onError })
    this.#receiveLoop = loop('jobs', options.pollMs ?? POLL_MS, async (_now, stopping) => {
      while (!stopping.aborted && (await this.takeJobs(stopping)) > 0);
      await this.announceLent(clock.now())
      this.#receivedAt = clock.now()
      this.checkIdle(clock.now())
    })
    this.#sendLoop = loop('results', SEND_INTERVAL_MS, () => this.sendResults())
    this.#otherLoops = [
      loop('leases', options.bus.leaseMs / RENEWALS_A_LEASE, () => this.renewLeases()),
      loop('hello', HELLO_INTERVAL_MS, (now) => this.sendHello(now)),
      ...(options.bus.capabilities.control
        ? [loop('stops', STOPS_INTERVAL_MS, () => this.#stopped.read())]
        : []),
    ]
  }

  start(): void {
    const { bus, workerId, onError } = this.#options
    this.#stopJobs = new AbortController()
    this.#busyAt = this.#options.clock.now()
    for (const loop of [...this.#otherLoops, this.#sendLoop, this.#receiveLoop]) loop.start()
    // Without notifications the worker only polls a second later, so a failure to listen is reported and no more.
    this.#unlisten = bus.listen(workerJobs(workerId), this.#receiveLoop.nudge).catch((error) => {
      onError(error)
      return undefined
    })
  }

  /** Receives and starts as many jobs as there are free slots; collected ones need none. Returns how many came. */
  async takeJobs(stopping?: AbortSignal): Promise<number> {
    const { bus, workerId } = this.#options
    const { stream, takesBackDeliveries } = bus.capabilities
    await this.#startDue()
    const free = this.#freeSlots() - this.#collections.due
    if ((free <= 0 && !stream) || this.#mustAnswerFirst()) return 0
    await this.#stopped.readFirst()
    if (this.#stopped.untold !== null) return 0
    // Few at a time would take longer than they wait for each other.
    const most = this.#collectsAll && takesBackDeliveries ? Math.max(free, COLLECTED_AT_ONCE) : free
    const received =
      free > 0
        ? await bus.receive(workerJobs(workerId), most)
        : stream!.arrived(workerJobs(workerId), COLLECTED_AT_ONCE)
    if (stopping?.aborted) {
      await bus.abandon(received)
      return 0
    }
    if (received.length > 0) this.#busyAt = this.#options.clock.now()
    else if (free > 0) this.#outage.endIfQuiet()
    this.#collectsAll = received.length > 0
    const unplaced: ReceivedMessage[] = []
    for (const message of received) if (!(await this.#take(message))) unplaced.push(message)
    // As if they had not come: a hold still takes them back.
    if (unplaced.length > 0) await bus.release(unplaced, 0)
    return received.length - unplaced.length
  }

  #usedSlots(): ReadonlySet<Slot> {
    const used = new Set<Slot>()
    for (const { slot } of this.#leased.values()) if (slot) used.add(slot)
    return used
  }

  #freeSlots(): number {
    return this.#slotsWithLent() - this.#usedSlots().size
  }

  #slotsWithLent(): number {
    const { maxParallelism, clock } = this.#options
    return slotsWithLent(maxParallelism, this.#usedSlots(), clock.now())
  }

  /** During an outage lapsed leases come back to this worker: taking them again used up their deliveries. */
  #mustAnswerFirst(): boolean {
    return this.#outage.why() !== null && this.#leased.size > 0
  }

  /** Called only after a successful receive: while the bus is down, it is unknown whether there is work. */
  checkIdle(now: Date): void {
    const { idleExit } = this.#options
    if (!idleExit || this.#busyAt === null) return
    if (this.#leased.size > 0 || this.#outgoing.size > 0) this.#busyAt = now
    if (+now - +this.#busyAt < idleExit.afterMs) return
    this.#busyAt = null
    idleExit.onIdle()
  }

  /** Null when it takes jobs, otherwise the reason. */
  whyNotReady(now: Date): string | null {
    if (this.#receivedAt === null) return 'not started'
    const why = this.#outage.why() ?? this.#stopped.untold
    if (why !== null) return why
    return +now - +this.#receivedAt > UNREADY_AFTER_MS ? 'the bus does not answer' : null
  }

  /** False when the job needs a slot and none is free. */
  async #take(received: ReceivedMessage): Promise<boolean> {
    const { bus, workerId, clock, keys } = this.#options
    const { stream, takesBackDeliveries } = bus.capabilities
    if (received.type === 'worker-recall') return this.#recall(received)
    const job = readJob(received, workerId, keys)
    if ('reason' in job) return this.#refuse(received, job)
    const digest = digestOfJob(received.body)
    const known = this.#leased.get(digest)
    if (known) {
      known.received = received
      return true
    }
    const cached = this.#results.get(digest)
    const late = cached ? null : refuseExpired(job, clock.now())
    if (late) return this.#refuse(received, late)
    const leased: LeasedJob = { received, slot: new Slot(), ended: Promise.resolve() }
    const companions = cached ? null : companionsOf(job, this.#catalogue)
    if (companions) {
      this.#leased.set(digest, Object.assign(leased, { slot: null }))
      const collected = { job, digest, leased }
      const isFirst = this.#collections.add(companions.key, companions.rule, collected)
      this.#makeRoom(leased, isFirst)
      return true
    }
    this.#collectsAll = false
    // A collection may have become due meanwhile. Where a job cannot be given back uncounted, it waits here or, at worst, one more runs.
    const isFull = this.#freeSlots() <= 0
    if (isFull && takesBackDeliveries) return false
    if (isFull && stream && !cached) {
      this.#leased.set(digest, Object.assign(leased, { slot: null, keepsPlace: true }))
      this.#collections.addDue({ job, digest, leased })
      return true
    }
    this.#leased.set(digest, leased)
    if (cached) this.#queue({ digest, result: cached })
    else leased.ended = this.#run(job, digest, leased.slot!)
    return true
  }

  /**
   * Where a broker sends as many jobs as there are slots, others may come in place of those that are collected. The first of a collection
   * keeps the place that its call will take, as long as there is another: a job must not come that finds no slot.
   */
  #makeRoom(leased: LeasedJob, isFirst: boolean): void {
    const { bus, maxParallelism } = this.#options
    const { stream } = bus.capabilities
    if (!stream || this.#leased.size >= COLLECTED_MAX) return
    const kept = [...this.#leased.values()].filter(({ keepsPlace }) => keepsPlace).length
    if (isFirst && this.#usedSlots().size + kept < maxParallelism - 1) leased.keepsPlace = true
    else stream.makeRoom([leased.received])
  }

  /** Starts collections that are due while slots are free. A job that waited past its limit is not started. */
  async #startDue(): Promise<void> {
    while (this.#freeSlots() > 0) {
      const collected = this.#collections.take()
      if (collected === null) return
      const now = this.#options.clock.now()
      const inTime = collected.filter(({ job }) => refuseExpired(job, now) === null)
      this.#runTogether(inTime)
      for (const { job, digest, leased } of collected) {
        const late = refuseExpired(job, now)
        if (!late) continue
        this.#leased.delete(digest)
        await this.#refuse(leased.received, late).catch(this.#options.onError)
      }
    }
  }

  #runTogether(collected: readonly CollectedJob[]): void {
    const [first] = collected
    if (!first) return
    const slot = new Slot()
    const { bus, clock, tenant = NO_TENANT } = this.#options
    const definition = this.#catalogue.get(first.job.functionName.toLowerCase())!
    const { takesBackDeliveries, stream } = bus.capabilities
    const takesMany = takesBackDeliveries || stream !== null
    const seats = seatsFor(collected.length, { definition, tenant, clock, takesMany })
    for (const [at, { job, digest, leased }] of collected.entries()) {
      leased.slot = slot
      leased.keepsPlace = false
      leased.ended = this.#run(job, digest, slot, seats[at])
    }
  }

  /** Sends again what it remembers since a time. It proves nothing and starts nothing, so it needs no signature. */
  async #recall(received: ReceivedMessage): Promise<true> {
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
    return true
  }

  async #refuse(received: ReceivedMessage, refused: RefusedJob): Promise<true> {
    const { bus, onRefused } = this.#options
    onRefused?.({ ...refused, messageId: received.messageId })
    await bus.deadLetter([received], refused.reason, refused.description)
    return true
  }

  /** Never rejects: what a function throws becomes its result. */
  async #run(job: Job, digest: JobDigest, slot: Slot, joint?: JointSeat): Promise<void> {
    const { workerId, clock, tenant = NO_TENANT, telemetry = null } = this.#options
    const { onResult, onError } = this.#options
    const context = {
      workerId,
      catalogue: this.#catalogue,
      clock,
      tenant,
      stopping: this.#stopJobs.signal,
      whyStopped: (jobId: string) => this.#stopped.why(jobId),
      waits: () => slot.wait(clock.now()),
      telemetry,
      ...(joint ? { joint } : {}),
    }
    try {
      const result = await runJob(job, context)
      if (result === null) return await this.#abandon(digest)
      this.#results.keep(digest, result)
      this.#queue({ digest, result })
      onResult?.(result)
    } catch (error) {
      onError(error)
      this.#leased.delete(digest)
    }
  }

  #queue(ended: EndedJob): void {
    this.#outgoing.add(ended)
    this.#sendLoop.nudge()
  }

  async #abandon(digest: JobDigest): Promise<void> {
    const leased = this.#leased.get(digest)
    this.#leased.delete(digest)
    if (leased) await this.#options.bus.abandon([leased.received])
  }

  /** Sends all waiting results at once and acks their jobs. */
  async sendResults(): Promise<void> {
    const sent = await this.#outgoing.send()
    if (sent.length === 0) return
    this.#outage.end()
    const finished = sent.flatMap(({ digest }) => this.#leased.get(digest)?.received ?? [])
    for (const { digest } of sent) this.#leased.delete(digest)
    this.#receiveLoop.nudge()
    // Jobs whose lease was lost come again and are answered from the cache.
    if (finished.length > 0) await this.#options.bus.ack(finished)
  }

  async renewLeases(): Promise<void> {
    const messages = [...this.#leased.values()].map(({ received }) => received)
    if (messages.length === 0) return
    const lost = new Set(await this.#options.bus.renew(messages))
    // A lost lease changes nothing for a job that runs: it is delivered again and recognised. One that is only collected need not run.
    const left = this.#collections.leave(({ leased }) => lost.has(leased.received))
    for (const { digest } of left) this.#leased.delete(digest)
    if (this.#outgoing.size === 0) this.#outage.end()
  }

  /** Gives back what was only collected, as if it had not come. */
  async #releaseCollected(): Promise<void> {
    const { bus, onError } = this.#options
    const collected = this.#collections.clear()
    if (collected.length === 0) return
    for (const { digest } of collected) this.#leased.delete(digest)
    const messages = collected.map(({ leased }) => leased.received)
    // Otherwise their leases run out.
    await bus.release(messages, 0).catch(onError)
  }

  sendHello(now: Date): Promise<void> {
    return this.#announcement.send(now)
  }

  announceLent(now: Date): Promise<void> {
    return this.#announcement.sendIfChanged(now)
  }

  /** Resolves when no function is running. */
  async idle(): Promise<void> {
    await Promise.all([...this.#leased.values()].map(({ ended }) => ended))
  }

  async stop(giveUp?: AbortSignal): Promise<void> {
    const { clock, onError, drainMs = DRAIN_MS } = this.#options
    await this.#receiveLoop.stop(giveUp)
    this.#receivedAt = null
    await this.#releaseCollected()
    const ended = new AbortController()
    const idle = this.idle().then(() => ended.abort())
    await clock.wait(drainMs, AbortSignal.any([ended.signal, ...(giveUp ? [giveUp] : [])]))
    this.#stopJobs.abort()
    await Promise.race([idle, ...(giveUp ? [aborted(giveUp)] : [])])
    if (!ended.signal.aborted) {
      // Its leases run out: abandoning a job that still runs would let two workers run it at once.
      throw new MatoolkitError('SERVICE_STILL_RUNNING', { name: this.name })
    }
    await this.#sendLoop.stop(giveUp)
    await this.sendResults().catch(onError)
    await Promise.all(this.#otherLoops.map((loop) => loop.stop(giveUp)))
    const stopListening = await this.#unlisten
    this.#unlisten = undefined
    await stopListening?.()
  }
}

const aborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort')
}
