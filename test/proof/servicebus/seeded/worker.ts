// A worker's process of the seeded world, stage by stage, so that anything can happen between two: it takes jobs, obeys what it is told
// not to start, acts once per job it holds, answers, and acknowledges.
import {
  type Bus,
  LEASE_MS,
  type OutgoingMessage,
  type ReceivedMessage,
  workerJobs,
} from '../../../../src/bus/bus.ts'
import {
  GIVEN_BACK,
  type Message,
  messageIdOf,
  readMessage,
} from '../../../../src/domain/messages/messages.ts'
import { StoppedJobs } from '../../../../src/worker/jobs/stopped-jobs.ts'
import type { Answer } from '../../simulation/behaviour.ts'
import type { SeededWorld } from './world.ts'

type Job = Message<'worker-job'>

interface InHand {
  readonly message: ReceivedMessage
  readonly job: Job
  readonly takenAtMs: number
  answer: Answer | { readonly givenBack: string } | null
  isAnswered: boolean
}

export interface WorkerProcess {
  readonly workerId: string
  readonly bus: Bus
  readonly stopped: StoppedJobs
  inHand: InHand[]
  /** What it did, while it lives: a job that comes again is answered, not done again. */
  readonly known: Map<string, Answer>
}

const SLOTS = 4

export async function makeWorkerProcess(
  world: SeededWorld,
  workerId: string,
): Promise<WorkerProcess> {
  const bus = await world.openBus(null)
  const stopped = new StoppedJobs(workerId, bus.capabilities.control)
  return { workerId, bus, stopped, inHand: [], known: new Map() }
}

export async function sayHello({ clock }: SeededWorld, worker: WorkerProcess): Promise<void> {
  const { workerId, bus } = worker
  const messageId = messageIdOf.workerHello(workerId, clock.now())
  const body = { workerId, functions: [], version: '1', slots: SLOTS }
  await bus.publish([{ topic: 'worker-results', messageId, type: 'worker-hello', body }])
}

/** Its memory is gone; what it held may run again. */
export function excuseAll(world: SeededWorld, worker: WorkerProcess): void {
  for (const { job } of worker.inHand) world.excused.add(job.jobId)
}

export async function takeJobs(world: SeededWorld, worker: WorkerProcess): Promise<number> {
  const free = SLOTS - worker.inHand.length
  if (free <= 0) return 0
  await worker.stopped.read()
  const messages = await worker.bus.receive(workerJobs(worker.workerId), free)
  for (const message of messages) {
    const read = readMessage('worker-job', message.body)
    // A recall is for a worker that remembers.
    if (message.type !== 'worker-job' || !read.ok) await worker.bus.ack([message])
    else take(world, worker, message, read.message)
  }
  return messages.length
}

function take(world: SeededWorld, worker: WorkerProcess, message: ReceivedMessage, job: Job): void {
  worker.inHand.push({
    message,
    job,
    takenAtMs: +world.clock.now(),
    isAnswered: false,
    answer: worker.known.get(job.jobId) ?? null,
  })
}

/** Takes each of its jobs one stage further. Returns how many it had. */
export async function work(world: SeededWorld, worker: WorkerProcess): Promise<number> {
  const had = worker.inHand.length
  for (const item of [...worker.inHand]) await nextStage(world, worker, item)
  return had
}

async function nextStage(world: SeededWorld, worker: WorkerProcess, item: InHand): Promise<void> {
  const { job, message } = item
  const isLapsed = +world.clock.now() >= item.takenAtMs + LEASE_MS
  if (isLapsed && !item.isAnswered) {
    // Somebody else may have it now: a worker that lost its lease stops.
    world.excused.add(job.jobId)
    return drop(worker, item)
  }
  if (item.answer === null) return begin(world, worker, item)
  if (!item.isAnswered) {
    await worker.bus.publish([resultOf(job, item.answer)])
    item.isAnswered = true
    return
  }
  if ((await worker.bus.ack([message])).length > 0) world.excused.add(job.jobId)
  drop(worker, item)
}

async function begin(world: SeededWorld, worker: WorkerProcess, item: InHand): Promise<void> {
  const { job } = item
  const why = worker.stopped.why(job.jobId)
  if (why !== null) {
    item.answer = { givenBack: why }
    return
  }
  if (Date.parse(job.notAfter!) <= +world.clock.now()) {
    item.answer = { givenBack: 'too late' }
    return
  }
  world.effects.push(job.jobId)
  const answer = world.behaviour(job)
  item.answer = answer
  worker.known.set(job.jobId, answer)
}

const drop = (worker: WorkerProcess, item: InHand): void => {
  worker.inHand = worker.inHand.filter((one) => one !== item)
}

function errorOf(answer: NonNullable<InHand['answer']>) {
  if ('ok' in answer) return null
  const known = { isThrottled: false, attempts: 1, isFinal: false }
  return 'givenBack' in answer
    ? { message: answer.givenBack, type: GIVEN_BACK, ...known, effect: 'none' as const }
    : { message: answer.fail, type: 'Seeded', ...known, effect: 'possible' as const }
}

function resultOf(job: Job, answer: NonNullable<InHand['answer']>): OutgoingMessage {
  const { jobId, batchId, workerId, functionName } = job
  return {
    topic: 'worker-results',
    messageId: messageIdOf.workerResult(jobId),
    type: 'worker-result',
    body: {
      jobId,
      batchId,
      workerId,
      functionName,
      resultType: 'Object',
      durationMs: 5,
      status: 'ok' in answer ? 'Success' : 'Failure',
      result: 'ok' in answer ? answer.ok : null,
      error: errorOf(answer),
      timestamp: '2026-03-02T08:00:00Z',
      correlationData: null,
    },
  }
}
