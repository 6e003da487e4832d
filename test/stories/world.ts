// The whole system in one process on a hand-turned clock: PGlite in memory, the real bus, the real engine, and workers that
// answer as the story says. Nothing sleeps: `settle` runs everything until nothing is left to do now.

import { randomUUID } from 'node:crypto'
import type { JobKeys } from '../../src/base/keys/job-keys.ts'
import { type VirtualClock, virtualClock } from '../../src/base/run/clock.ts'
import type { Json, JsonObject } from '../../src/base/text/json.ts'
import {
  type Bus,
  ORCHESTRATOR_EVENTS,
  type ReceivedMessage,
  WORKER_RESULTS,
  workerJobs,
} from '../../src/bus/bus.ts'
import type { Db } from '../../src/db/connection/db.ts'
import { recordWorker } from '../../src/db/state/workers.ts'
import {
  GIVEN_BACK,
  type Message,
  messageIdOf,
  readMessage,
} from '../../src/domain/messages/messages.ts'
import type { FunctionCatalogue } from '../../src/domain/runbook/catalogues.ts'
import type { ChangeWindows } from '../../src/domain/windows/change-windows.ts'
import { createBatch, type GivenMember } from '../../src/engine/orders/create.ts'
import {
  type PublishRequest,
  type PublishResult,
  publishRunbook,
} from '../../src/engine/orders/publish.ts'
import type { Engine } from '../../src/engine/transactions/engine.ts'
import { FunctionBook } from '../../src/engine/transactions/function-book.ts'
import { RunbookCache } from '../../src/engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../src/engine/transactions/worker-pace.ts'
import { M365_CATALOGUE } from '../../src/m365/catalogue.ts'
import { handleChunk } from '../../src/orchestrator/orchestrator.ts'
import { runTimers } from '../../src/orchestrator/timers.ts'
import { StoppedJobs } from '../../src/worker/jobs/stopped-jobs.ts'
import { openTestPglite, type TestDatabase } from '../kit/databases.ts'
import { brokenInvariants } from '../kit/invariants.ts'
import { type OpenWire, overPostgres, type Wire } from './wire.ts'

export const START = new Date('2026-03-02T08:00:00Z')
export const WORKER = 'w1'

export type Job = Message<'worker-job'>
/** A worker's answer: a result, a failure, or nothing; `refuse` dead-letters the job. */
export type Result =
  | { ok: Json; effect?: JsonObject }
  | { fail: string; effect?: 'none'; isFinal?: true }
export type Answer = Result | { refuse: string } | 'silent'
export type Worker = (job: Job) => Answer | Promise<Answer>

export interface World {
  readonly db: Db
  readonly clock: VirtualClock
  readonly engine: Engine
  readonly bus: Bus
  readonly wire: Wire
  /** Every job that a worker took, in order. */
  readonly jobs: Job[]
  answer: Worker
  /** Workers that take jobs; one that has not announced itself gets none. */
  workers: string[]
  publish(
    yaml: string,
    options?: Omit<PublishRequest, 'yaml' | 'publishedBy'>,
  ): Promise<PublishResult>
  batch(
    runbook: string,
    members: number | readonly GivenMember[],
    options?: { startsInMin?: number; manual?: boolean },
  ): Promise<number>
  /** Runs orchestrator, timers and workers until nothing is left to do now. */
  settle(): Promise<void>
  /** Only the orchestrator's side: messages and timers, no worker. */
  orchestrate(): Promise<void>
  /** Lets the workers take and answer all jobs once. Returns how many they took. */
  work(limit?: number): Promise<number>
  /** Turns the clock, then settles. */
  pass(seconds: number): Promise<void>
  result(job: Pick<Job, 'jobId'>, answer: Result, extra?: Record<string, Json>): Promise<void>
  close(): Promise<void>
}

let openWire: OpenWire = overPostgres

/** From now on stories of this process are told over this transport. */
export const tellOver = (wire: OpenWire): void => {
  openWire = wire
}

export async function openWorld(
  options: {
    maxOutstanding?: number
    slots?: number
    database?: TestDatabase
    random?: () => number
    jobKeys?: JobKeys
    wire?: OpenWire
    windows?: ChangeWindows
    packaged?: FunctionCatalogue['functions']
  } = {},
): Promise<World> {
  const test = options.database ?? (await openTestPglite())
  const clock = virtualClock(START)
  const wire = await (options.wire ?? openWire)(test.db, clock)
  const engine: Engine = {
    db: test.db,
    clock,
    runbooks: new RunbookCache(),
    functions: new FunctionBook(options.packaged ?? M365_CATALOGUE.functions),
    // In the middle: no jitter, so that stories know the second.
    random: options.random ?? (() => 0.5),
    pace: new WorkerPace(options.maxOutstanding ?? 1000),
    queueLimitSec: 21_600,
    seen: { event: null },
    bus: wire.bus,
    jobKeys: options.jobKeys ?? null,
    windows: options.windows ?? null,
  }
  const world = makeWorld(test, clock, wire, engine)
  // Most stories are not about slots: their worker has enough for everybody.
  const { slots = 1000 } = options
  await test.db.transaction((tx) =>
    recordWorker(tx, { workerId: WORKER, version: '1', slots, functions: [] }, START),
  )
  return world
}

function makeWorld(test: TestDatabase, clock: VirtualClock, wire: Wire, engine: Engine): World {
  const { bus } = wire
  const world: World = {
    db: test.db,
    clock,
    bus,
    wire,
    engine,
    jobs: [],
    answer: () => ({ ok: true }),
    workers: [WORKER],
    publish: (yaml, options) => publishRunbook(engine, { yaml, publishedBy: 'author', ...options }),
    batch: async (runbookName, members, { startsInMin = 0, manual = false } = {}) => {
      const list = typeof members === 'number' ? people(members) : members
      const sourceTime = manual ? null : new Date(+clock.now() + startsInMin * 60_000)
      return (
        await createBatch(engine, { runbookName, sourceTime, members: list, createdBy: 'tester' })
      ).batchId
    },
    orchestrate: async () => {
      while ((await wire.forward()) + (await consume(world)) + (await runTimers(engine)) > 0);
    },
    work: (limit = 1000) => workOnce(world, limit),
    settle: async () => {
      do await world.orchestrate()
      while ((await world.work()) > 0)
    },
    pass: async (seconds) => {
      await clock.advance(seconds * 1000)
      wire.broker?.tick()
      await bus.sweep()
      await world.settle()
    },
    result: async (job, answer, extra = {}) => {
      await publishResult(world, job.jobId, answer, extra)
    },
    close: async () => {
      await wire.close()
      await test.close()
    },
  }
  return world
}

/** Parts of steps in stories about holds. */
export const RETRY = 'retry: { max_retries: 2, interval: 60s }'
export const POLL = 'poll: { interval: 60s, timeout: 5m }'

/** Publishes the runbook "wave" and makes its batch; what is due is sent, and no worker has answered. */
export async function beginWave(
  world: World,
  yaml: string,
  members: number,
  startsInMin = 60,
): Promise<number> {
  await world.publish(yaml)
  const batchId = await world.batch('wave', members, { startsInMin })
  await world.orchestrate()
  return batchId
}

export const people = (count: number): GivenMember[] =>
  Array.from({ length: count }, (_, i) => ({
    key: `user${i + 1}@contoso.example`,
    data: {
      UserPrincipalName: `user${i + 1}@contoso.example`,
      Name: `User ${i + 1}`,
      Number: i + 1,
    },
  }))

async function consume({ bus, engine }: World): Promise<number> {
  let handled = 0
  for (const subscription of [ORCHESTRATOR_EVENTS, WORKER_RESULTS]) {
    const received = await bus.receive(subscription, 500)
    if (received.length === 0) continue
    const outcomes = await handleChunk(engine, received)
    for (const [index, message] of received.entries()) {
      const outcome = outcomes[index]!
      if (outcome === 'ack') await bus.ack([message])
      else if (outcome === 'abandon') await bus.abandon([message])
      else await bus.deadLetter([message], outcome.deadLetter, outcome.description)
    }
    handled += received.length
  }
  return handled
}

async function workOnce(world: World, limit: number): Promise<number> {
  const { workers } = world.wire
  let taken = 0
  for (const workerId of world.workers) {
    const received = await workers.receive(workerJobs(workerId), limit)
    const stopped = new StoppedJobs(workerId, workers.capabilities.control)
    if (received.length > 0) await stopped.read()
    for (const message of received.filter(({ type }) => type === 'worker-job')) {
      const job = jobOf(message)
      const why = stopped.why(job.jobId)
      if (why === null) await answerJob(world, workerId, job, message)
      else await giveBack(world, workerId, job.jobId, why)
    }
    if (received.length > 0) await workers.ack(received)
    taken += received.length
  }
  return taken
}

async function answerJob(
  world: World,
  workerId: string,
  job: Job,
  message: ReceivedMessage,
): Promise<void> {
  world.jobs.push(job)
  const answer = await world.answer(job)
  if (answer === 'silent') return
  if ('refuse' in answer) await world.wire.workers.deadLetter([message], 'Refused', answer.refuse)
  else await publishResult(world, job.jobId, answer, { workerId })
}

/** As a worker does where a transport cannot take a stopped job back. */
async function giveBack(world: World, workerId: string, jobId: string, why: string): Promise<void> {
  const known = { isThrottled: false, attempts: 0, effect: 'none', isFinal: false }
  const error = { message: why, type: GIVEN_BACK, ...known }
  await publishResult(world, jobId, { fail: why }, { workerId, error })
}

function jobOf(message: ReceivedMessage): Job {
  const read = readMessage('worker-job', message.body)
  if (!read.ok) throw new Error(read.reason)
  return read.message
}

export async function publishResult(
  { wire, clock }: World,
  jobId: string,
  answer: Result,
  extra: Record<string, Json>,
  // A repeat of the same result is meant: each has an id of its own, as after the duplicate window.
  messageId = `${messageIdOf.workerResult(jobId)}-${randomUUID()}`,
): Promise<void> {
  const isOk = 'ok' in answer
  await wire.workers.publish([
    {
      topic: 'worker-results',
      messageId,
      type: 'worker-result',
      body: {
        jobId,
        batchId: 1,
        workerId: WORKER,
        functionName: 'F',
        status: isOk ? 'Success' : 'Failure',
        resultType: 'Object',
        result: isOk ? answer.ok : null,
        ...(isOk && answer.effect && { effect: answer.effect }),
        error: isOk
          ? null
          : {
              message: answer.fail,
              type: 'TestError',
              isThrottled: false,
              attempts: 1,
              effect: answer.effect ?? 'possible',
              isFinal: answer.isFinal ?? false,
            },
        durationMs: 5,
        timestamp: clock.now().toISOString(),
        correlationData: null,
        ...extra,
      },
    },
  ])
}

/** Runs a story in a new world, and checks every invariant at its end. */
export async function story(
  options: Parameters<typeof openWorld>[0],
  tell: (world: World) => Promise<void>,
): Promise<void> {
  const world = await openWorld(options)
  try {
    await tell(world)
    const broken = await brokenInvariants(world.db, world.clock.now())
    if (broken.length > 0) throw new Error(`invariants broken: ${JSON.stringify(broken, null, 1)}`)
  } finally {
    await world.close()
  }
}
