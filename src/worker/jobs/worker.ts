// The worker as a service: its loops, and when it takes jobs, is ready, idle or stopped. It has neither database nor engine; a job carries
// everything the worker needs. It receives jobs for its id, at most one per free slot, runs their functions, sends the results, then acks;
// job-executor.ts has these stages.
// It renews leases while jobs are open. A job delivered again while it runs is run once, under its newest lease; a finished one
// is answered from the result cache. While the bus is down, results wait in memory. On stop no job begins, running jobs drain,
// and the rest are aborted and abandoned, also those whose function ignores that.
import { once } from 'node:events'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { JobKeys } from '../../base/keys/job-keys.ts'
import type { Clock } from '../../base/run/clock.ts'
import { everyLoop, type Loop, type Service } from '../../base/run/service.ts'
import type { Telemetry } from '../../base/telemetry/telemetry.ts'
import { type Bus, type ReceivedMessage, workerJobs } from '../../bus/bus.ts'
import { makeOutage, type Outage, type OutageChange, reportingTo } from '../../bus/outage.ts'
import { catalogueOf, type WorkerFunction } from '../functions/catalogue.ts'
import type { Tenant } from '../functions/tenant.ts'
import type { ThrottleState } from '../http/throttle.ts'
import { Announcement } from './announcement.ts'
import type { RefusedJob } from './job.ts'
import { JobExecutor } from './job-executor.ts'
import { JobSupply } from './job-supply.ts'
import type { JobResult } from './result-cache.ts'
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
/** Three in the time after which a worker counts as silent. */
const HELLO_INTERVAL_MS = 20_000
/** Longer than the longest pause between two receives, error backoff included. */
const UNREADY_AFTER_MS = 90_000
const GIVE_BACK_MS = 1_000
/** More than the rest of a process that gives up. */
const PROCESS_ENDS_MS = 3_000
/** Below the 30 s that a platform allows before it kills the process. */
const DRAIN_MS = 25_000

export class Worker implements Service {
  readonly name: string
  readonly #options: WorkerOptions
  readonly #supply: JobSupply
  readonly #executor: JobExecutor
  readonly #stopped: StoppedJobs
  readonly #announcement: Announcement
  readonly #outage: Outage
  readonly #receiveLoop: Loop
  readonly #sendLoop: Loop
  readonly #otherLoops: readonly Loop[]
  /** When the worker was last busy; null once `onIdle` has been called. */
  #busyAt: Date | null = null
  /** When the bus last answered a receive; null before the first one and after stop. */
  #receivedAt: Date | null = null
  #unlisten: Promise<(() => Promise<void>) | undefined> | undefined

  constructor(options: WorkerOptions) {
    const { workerId, clock, bus, maxParallelism } = options
    if (!(maxParallelism > 0)) throw new RangeError(`maxParallelism ${maxParallelism}`)
    this.name = `worker ${workerId}`
    this.#options = options
    const catalogue = catalogueOf(options.functions)
    const { control } = bus.capabilities
    this.#stopped = new StoppedJobs(workerId, control)
    this.#supply = new JobSupply(bus, workerId)
    this.#executor = new JobExecutor({
      ...options,
      catalogue,
      supply: this.#supply,
      stopped: this.#stopped,
      onEnded: () => this.#sendLoop.nudge(),
    })
    const { leased } = this.#executor
    this.#announcement = new Announcement(options, catalogue, () => leased.slotsWithLent())
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
      loop('leases', bus.leaseMs / RENEWALS_A_LEASE, () => this.renewLeases()),
      loop('hello', HELLO_INTERVAL_MS, (now) => this.sendHello(now)),
      ...(control ? [loop('stops', STOPS_INTERVAL_MS, () => this.#stopped.read())] : []),
    ]
  }

  start(): void {
    const { bus, workerId, onError } = this.#options
    this.#executor.resume()
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
    this.#executor.startDue()
    const free = this.#executor.freeSlots()
    if (this.#mustAnswerFirst()) return 0
    if (!this.#supply.mayBring(free)) {
      await this.#supply.receiveNothing()
      return 0
    }
    await this.#stopped.readFirst()
    if (this.#stopped.untold !== null) return 0
    const received = await this.#supply.receive(free)
    if (stopping?.aborted) {
      await this.#options.bus.abandon(received)
      return 0
    }
    if (received.length > 0) this.#busyAt = this.#options.clock.now()
    else if (free > 0) this.#outage.endIfQuiet()
    const unplaced: ReceivedMessage[] = []
    for (const message of received)
      if (!(await this.#executor.take(message))) unplaced.push(message)
    await this.#supply.giveBack(unplaced)
    return received.length - unplaced.length
  }

  /** During an outage lapsed leases come back to this worker: taking them again used up their deliveries. */
  #mustAnswerFirst(): boolean {
    return this.#outage.why() !== null && this.#executor.leased.size > 0
  }

  /** Called only after a successful receive: while the bus is down, it is unknown whether there is work. */
  checkIdle(now: Date): void {
    const { idleExit } = this.#options
    if (!idleExit || this.#busyAt === null) return
    if (this.#executor.leased.size > 0 || this.#executor.unsent > 0) this.#busyAt = now
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

  /** Sends all waiting results at once and acks their jobs. */
  async sendResults(): Promise<void> {
    const finished = await this.#executor.sendResults()
    if (finished === null) return
    this.#outage.end()
    this.#receiveLoop.nudge()
    // Jobs whose lease was lost come again and are answered from the cache.
    if (finished.length > 0) await this.#options.bus.ack(finished)
  }

  async renewLeases(): Promise<void> {
    const isRenewed = await this.#executor.renewLeases()
    if (isRenewed && this.#executor.unsent === 0) this.#outage.end()
  }

  sendHello(now: Date): Promise<void> {
    return this.#announcement.send(now)
  }

  announceLent(now: Date): Promise<void> {
    return this.#announcement.sendIfChanged(now)
  }

  /** Resolves when no function is running. */
  idle(): Promise<void> {
    return this.#executor.leased.idle()
  }

  async stop(giveUp?: AbortSignal): Promise<void> {
    const { clock, onError, drainMs = DRAIN_MS } = this.#options
    await this.#receiveLoop.stop(giveUp)
    this.#receivedAt = null
    await this.#executor.releaseCollected()
    const ended = new AbortController()
    const idle = this.idle().then(() => ended.abort())
    await clock.wait(drainMs, AbortSignal.any([ended.signal, ...(giveUp ? [giveUp] : [])]))
    this.#executor.abandonAll()
    await Promise.race([idle, ...(giveUp ? [aborted(giveUp)] : [])])
    if (!ended.signal.aborted) {
      await this.#giveBackRunning()
      throw new MatoolkitError('SERVICE_STILL_RUNNING', { name: this.name })
    }
    await this.#sendLoop.stop(giveUp)
    await this.sendResults().catch(onError)
    await Promise.all(this.#otherLoops.map((loop) => loop.stop(giveUp)))
    const stopListening = await this.#unlisten
    this.#unlisten = undefined
    await stopListening?.()
  }

  /**
   * Functions that ignore their abort end with the process, a moment later. Their jobs come back after that, so that no two workers
   * run one at once, and sooner than their leases would end.
   */
  async #giveBackRunning(): Promise<void> {
    const { clock, onError } = this.#options
    const given = new AbortController()
    const giving = this.sendResults()
      .catch(onError)
      .then(() => this.#executor.abandonRunning(PROCESS_ENDS_MS))
      .catch(onError)
      .finally(() => given.abort())
    // A bus that does not answer must not use up the time in which the process closes.
    await Promise.race([giving, clock.wait(GIVE_BACK_MS, given.signal)])
  }
}

const aborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort')
}
