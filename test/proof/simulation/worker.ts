// Workers of the simulated world. They take jobs, act in a tenant that only the journal records, answer and acknowledge, one stage
// at a time, so that any event can fall between two stages. They keep the worker's contract: no job starts past its deadline, a
// known result is sent again rather than recomputed, a lost lease ends the work. Some die, stall or send nonsense.

import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import {
  LEASE_MS,
  type OutgoingMessage,
  type ReceivedMessage,
  workerJobs,
} from '../../../src/bus/bus.ts'
import { enqueueRows } from '../../../src/bus/outbox.ts'
import type { PostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import {
  jobIdOf,
  type Message,
  messageIdOf,
  parseJobId,
  readMessage,
} from '../../../src/domain/messages/messages.ts'
import { type Answer, type Behaviour, drawBehaviour } from './behaviour.ts'
import { GRACE_SEC } from './checks.ts'
import { makeProcess, type Process } from './process.ts'
import { WORKERS } from './runbooks.ts'
import { attempt, connect, type World } from './world.ts'

type Job = Message<'worker-job'>

interface InHand {
  readonly message: ReceivedMessage
  readonly job: Job
  readonly takenAtMs: number
  /** Pauses past the end of its lease without noticing, then continues. */
  readonly isZombie: boolean
  renewedAtMs: number
  stage: 'taken' | 'done' | 'answered'
  answer?: Answer
}

export interface SimulatedWorker {
  readonly workerId: string
  readonly behaviour: Behaviour
  process: Process
  bus: PostgresBus
  inHand: InHand[]
  /** Results by job id, kept while the process lives. */
  known: Map<string, Answer>
}

/** Two processes per worker id: a job that one abandons goes to the other. */
const PROCESSES = 2
const TAKEN_MAX = 5
const TAKEN_AT_ONCE_MAX = 100

export function makeWorkers(world: World): SimulatedWorker[] {
  const behaviour = drawBehaviour(world)
  return WORKERS.flatMap((workerId) =>
    Array.from({ length: PROCESSES }, () => bear(world, workerId, behaviour)),
  )
}

function bear(world: World, workerId: string, behaviour: Behaviour): SimulatedWorker {
  const process = makeProcess(`worker ${workerId}`)
  const { bus } = connect(world, process)
  return { workerId, behaviour, process, bus, inHand: [], known: new Map() }
}

/** The process dies with its memory; another replaces it. */
function die(world: World, worker: SimulatedWorker): void {
  for (const { job } of worker.inHand) world.journal.excuse(job.jobId)
  Object.assign(worker, bear(world, worker.workerId, worker.behaviour))
}

async function asWorker(
  world: World,
  worker: SimulatedWorker,
  work: () => Promise<unknown>,
): Promise<void> {
  if ((await attempt(world, worker.process, work)) === 'crashed') die(world, worker)
}

export function sayHello(world: World, worker: SimulatedWorker): Promise<void> {
  const { workerId, bus } = worker
  const messageId = messageIdOf.workerHello(workerId, world.clock.now())
  const body = { workerId, functions: [], version: '1', slots: 4 }
  return asWorker(world, worker, () =>
    bus.publish([{ topic: 'worker-results', messageId, type: 'worker-hello', body }]),
  )
}

/** Takes some jobs. */
export function takeJobs(world: World, worker: SimulatedWorker): Promise<void> {
  return asWorker(world, worker, async () => {
    const free = TAKEN_MAX - worker.inHand.length
    if (free <= 0) return
    for (const message of await worker.bus.receive(workerJobs(worker.workerId), free))
      take(world, worker, message)
  })
}

function jobOf({ body }: ReceivedMessage): Job {
  const read = readMessage('worker-job', body)
  if (!read.ok) throw new Error(`a job cannot be read: ${read.reason}`)
  return read.message
}

function take(world: World, worker: SimulatedWorker, message: ReceivedMessage): void {
  const job = jobOf(message)
  world.journal.delivered(job.jobId, message)
  if (worker.inHand.some((one) => one.job.jobId === job.jobId)) return
  const answer = worker.known.get(job.jobId)
  worker.inHand.push({
    message,
    job,
    takenAtMs: world.clock.nowMs(),
    renewedAtMs: world.clock.nowMs(),
    isZombie: world.chance.happens(world.faults.rate('zombie worker answered late')),
    stage: answer ? 'done' : 'taken',
    ...(answer && { answer }),
  })
}

/** Advances one of its jobs by one or more stages. */
export async function workOn(world: World, worker: SimulatedWorker): Promise<void> {
  if (worker.inHand.length === 0) return
  const item = world.chance.pick(worker.inHand)
  const stages = world.chance.pick([1, 3, 3, 3])
  for (let i = 0; i < stages && worker.inHand.includes(item); i++)
    await asWorker(world, worker, () => nextStage(world, worker, item))
}

/** Finishes everything it has begun. */
export async function finishInHand(world: World, worker: SimulatedWorker): Promise<void> {
  while (worker.inHand.length > 0) await workOn(world, worker)
}

/**
 * Takes, runs, answers and acknowledges everything, for a healed world: nothing can go wrong between stages there, and single
 * stages took half of a seed's time. Returns the number of jobs.
 */
export async function workOffAll(world: World, worker: SimulatedWorker): Promise<number> {
  const { clock, journal } = world
  let done = 0
  await asWorker(world, worker, async () => {
    const messages = await worker.bus.receive(workerJobs(worker.workerId), TAKEN_AT_ONCE_MAX)
    const jobs = messages.map((message) => {
      const job = jobOf(message)
      journal.delivered(job.jobId, message)
      return job
    })
    const inTime = jobs.filter(({ notAfter }) => Date.parse(notAfter!) > clock.nowMs())
    const fresh = inTime.filter(({ jobId }) => !worker.known.has(jobId))
    await journal.effect(fresh.map(({ jobId }) => jobId))
    for (const job of fresh) worker.known.set(job.jobId, worker.behaviour(job))
    await worker.bus.publish(inTime.map((job) => resultOf(job, worker.known.get(job.jobId)!)))
    await worker.bus.ack(messages)
    done = messages.length
  })
  return done
}

const drop = (worker: SimulatedWorker, item: InHand) => {
  worker.inHand = worker.inHand.filter((one) => one !== item)
}

async function nextStage(world: World, worker: SimulatedWorker, item: InHand): Promise<void> {
  if (item.stage === 'taken') await doIt(world, worker, item)
  else if (item.stage === 'done') await answerIt(world, worker, item)
  else {
    if (world.faults.strikes('worker died before the ack')) return die(world, worker)
    await worker.bus.ack([item.message])
    drop(worker, item)
  }
}

async function doIt(world: World, worker: SimulatedWorker, item: InHand): Promise<void> {
  const { job, message } = item
  const { clock, faults, journal } = world
  if (item.isZombie && !faults.isHealed && clock.nowMs() - item.takenAtMs <= LEASE_MS) return
  if (Date.parse(job.notAfter!) <= clock.nowMs()) {
    await worker.bus.ack([message])
    return drop(worker, item)
  }
  if (item.isZombie) faults.note('zombie worker answered late')
  else if (!(await keepsLease(world, worker, item))) return drop(worker, item)
  if (faults.strikes('worker died before the effect')) return die(world, worker)
  // A zombie's lease has ended, so another worker may run the same job now.
  if (item.isZombie) journal.excuse(job.jobId)
  await journal.effect([job.jobId])
  item.answer = worker.behaviour(job)
  item.stage = 'done'
  worker.known.set(job.jobId, item.answer)
  if (faults.strikes('worker died after the effect')) die(world, worker)
}

/** Renewed every third of the lease, as a worker does; in between it cannot know that it lost the job. */
async function keepsLease(
  { clock }: World,
  worker: SimulatedWorker,
  item: InHand,
): Promise<boolean> {
  if (clock.nowMs() - item.renewedAtMs < LEASE_MS / 3) return true
  item.renewedAtMs = clock.nowMs()
  return (await worker.bus.renew([item.message])).length === 0
}

async function answerIt(world: World, worker: SimulatedWorker, item: InHand): Promise<void> {
  const { faults, chance } = world
  const { job, answer } = item
  if (faults.strikes('result with an odd body')) await sendOdd(world, job)
  else if (faults.strikes('result under a wrong job id'))
    await send(worker, { ...job, jobId: wrongId(world, job.jobId) }, answer!, chance.uuid())
  else if (faults.strikes('result from another worker'))
    await send(worker, { ...job, workerId: 'w9' }, answer!, chance.uuid())
  else if (faults.strikes('result came after its deadline')) await sendLate(world, worker, item)
  else if (!faults.strikes('worker stayed silent')) await send(worker, job, answer!)
  if (faults.strikes('result sent twice')) await send(worker, job, answer!, chance.uuid())
  item.stage = 'answered'
}

/** A result of another attempt, poll or step, or of nothing that exists. */
function wrongId({ chance }: World, jobId: string): string {
  const name = parseJobId(jobId)!
  return chance.pick([
    jobIdOf({ ...name, attempt: name.attempt + 1, poll: 0 }),
    jobIdOf({ ...name, poll: name.poll + 1 }),
    jobIdOf({ ...name, attempt: Math.max(0, name.attempt - 1), poll: 0 }),
    jobIdOf({ ...name, stepId: 999_999 }),
    `${jobId.toUpperCase()}`,
    'no-job-at-all',
  ])
}

/** Sent in time, but hidden by the broker until long after the engine gave the job up. */
async function sendLate(
  { chance, clock }: World,
  worker: SimulatedWorker,
  { job, answer }: InHand,
): Promise<void> {
  const givenUpMs = clock.nowMs() + (job.timeoutSec! + GRACE_SEC) * 1_000
  const visibleAt = new Date(givenUpMs + chance.between(1, 300) * 1_000)
  await send(worker, job, answer!, chance.uuid(), visibleAt)
}

async function send(
  { bus }: SimulatedWorker,
  job: Job,
  answer: Answer,
  suffix?: string,
  visibleAt?: Date,
): Promise<void> {
  const result = resultOf(job, answer)
  const messageId = suffix ? `${result.messageId}-${suffix}` : result.messageId
  await bus.publish([{ ...result, messageId, ...(visibleAt && { visibleAt }) }])
}

function resultOf(
  { jobId, batchId, workerId, functionName }: Job,
  answer: Answer,
): OutgoingMessage {
  const isOk = 'ok' in answer
  const error = isOk
    ? null
    : {
        message: answer.fail,
        type: 'Simulated',
        isThrottled: false,
        attempts: 1,
        effect: 'possible' as const,
        isFinal: false,
      }
  return {
    topic: 'worker-results',
    messageId: messageIdOf.workerResult(jobId),
    type: 'worker-result',
    body: {
      jobId,
      batchId,
      workerId,
      functionName,
      status: isOk ? 'Success' : 'Failure',
      resultType: 'Object',
      result: isOk ? answer.ok : null,
      error,
      durationMs: 5,
      timestamp: '2026-03-02T08:00:00Z',
      correlationData: null,
      ...(isOk && answer.effect && { effect: answer.effect as unknown as JsonObject }),
    },
  }
}

const ODD_BODIES: readonly Json[] = [
  null,
  [],
  'done',
  { status: 'Success' },
  { jobId: 7, status: 'Success' },
  { jobId: 'step-1', status: 'Maybe' },
]

async function sendOdd(world: World, { jobId }: Job): Promise<void> {
  const { db, clock, chance } = world
  const text = chance.happens(0.3)
    ? `{"jobId":"${jobId}",`
    : JSON.stringify(chance.pick(ODD_BODIES))
  const now = clock.now()
  const row = {
    topic: 'worker-results' as const,
    subscription: 'orchestrator',
    messageId: `odd-${chance.uuid()}`,
    messageType: 'worker-result',
    workerId: null,
    body: text,
    visibleAt: now,
    expiresAt: new Date(+now + 3_600_000),
  }
  await db.transaction((tx) => enqueueRows(tx, [row], now))
}
