// The calls of a worker that has neither database nor Service Bus. The credential says which worker it is; no call names another.
// A call that waits takes nothing, so that no job is lost with its connection.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { GATEWAY_MAX, SENT_BY_WORKERS, type WorkerGateway } from '../../bus/worker-gateway.ts'
import { type Services, workerCall } from '../route.ts'
import { dateTime, nullableText, wholeCount } from '../shapes/shapes.ts'
import type { Actor } from '../sign-in/sign-in.ts'

/** Shorter than the time after which proxies cut a silent connection. */
const WAIT_MAX_SEC = 25
const DELAY_MAX_MS = 3_600_000

/** The sign-in proves it: the rule of these routes lets nobody else in. */
const workerOf = ({ worker }: Actor): NonNullable<Actor['worker']> => worker!

function gatewayOf({ bus }: Services): WorkerGateway {
  const { gateway } = bus.capabilities
  if (gateway) return gateway
  throw new MatoolkitError('INTERNAL', { reason: 'the bus of this process has no gateway' })
}

const lease = z
  .strictObject({
    sequence: z.string().regex(/^\d{1,18}(?:\+\d{1,4})?$/, 'must be as it was given'),
    token: z.uuid(),
  })
  .meta({ id: 'JobLease' })
const leases = z.array(lease).min(1).max(GATEWAY_MAX)

const takenJob = z
  .strictObject({
    messageId: z.string(),
    type: nullableText.meta({ description: '`worker-job` or `worker-recall`.' }),
    body: z.string().meta({
      description: 'JSON, word for word: the signature of a job covers it.',
    }),
    deliveryCount: wholeCount.meta({ description: '1 at the first delivery.' }),
    enqueuedAt: dateTime,
    lease,
  })
  .meta({ id: 'TakenJob' })

const lostAnswer = z
  .strictObject({
    lost: z.array(wholeCount).meta({
      description: 'Places among `leases` whose lease was lost: the job is delivered again.',
    }),
  })
  .meta({ id: 'LostLeases' })

const showRoute = workerCall({
  method: 'GET',
  path: '/api/worker',
  operation: 'getOwnWorker',
  summary: 'Show whose credential this is',
  answers: {
    200: z
      .strictObject({
        workerId: z.string(),
        credentialId: nullableText,
        kind: z.enum(['token', 'certificate']),
        endsAt: dateTime.nullable().meta({ description: 'When the credential ends.' }),
        leaseSec: z.number().meta({ description: 'How long a job is leased.' }),
        now: dateTime.meta({ description: 'The time of the system.' }),
      })
      .meta({ id: 'OwnWorker' }),
  },
  handle: async ({ by, tokenEndsAt: endsAt, services, now }) => {
    const { id: workerId, kind } = workerOf(by)
    const leaseSec = gatewayOf(services).leaseMs / 1_000
    return {
      status: 200,
      body: { workerId, credentialId: by.clientApp, kind, endsAt, leaseSec, now },
    }
  },
})

const waitRoute = workerCall({
  method: 'POST',
  path: '/api/worker/jobs/wait',
  operation: 'awaitJobs',
  summary: 'Wait until a job may be there',
  about: 'Answers at once when one is; takes nothing. Ends early when the server stops.',
  takes: 'json',
  body: z.strictObject({ seconds: z.int().min(1).max(WAIT_MAX_SEC) }),
  answers: { 200: z.strictObject({ mayHaveJobs: z.boolean() }).meta({ id: 'AwaitedJobs' }) },
  handle: async ({ by, body: { seconds }, services, signal }) => {
    const { wait } = services
    const over = new AbortController()
    const ended = AbortSignal.any([signal, over.signal])
    void wait(seconds * 1_000, ended).then(() => over.abort())
    try {
      const mayHaveJobs = await gatewayOf(services).awaitJob(workerOf(by).id, ended, wait)
      return { status: 200, body: { mayHaveJobs } }
    } finally {
      over.abort()
    }
  },
})

const takeRoute = workerCall({
  method: 'POST',
  path: '/api/worker/jobs/take',
  operation: 'takeJobs',
  summary: 'Take jobs of this worker, each under a lease',
  about:
    'Take as many as you can start. A job whose answer is lost is delivered again after its lease.',
  errors: ['WORKER_IS_ANOTHER'],
  takes: 'json',
  body: z.strictObject({
    workerId: z.string().min(1).max(200).meta({
      description: 'Who asks. A worker with the credential of another would refuse its jobs.',
    }),
    limit: z.int().min(1).max(GATEWAY_MAX),
  }),
  answers: { 200: z.strictObject({ jobs: z.array(takenJob) }).meta({ id: 'TakenJobs' }) },
  handle: async ({ by, body: { workerId: named, limit }, services }) => {
    const { id: workerId } = workerOf(by)
    if (named !== workerId) throw new MatoolkitError('WORKER_IS_ANOTHER', { workerId, named })
    const found = await gatewayOf(services).take(workerId, limit)
    const jobs = found.map(({ messageId, type, body, deliveryCount, enqueuedAt, lease: held }) => ({
      messageId,
      type,
      body,
      deliveryCount,
      enqueuedAt,
      lease: { ...held },
    }))
    return { status: 200, body: { jobs } }
  },
})

const renewRoute = workerCall({
  method: 'POST',
  path: '/api/worker/jobs/renew',
  operation: 'renewJobs',
  summary: 'Start new leases for jobs under way',
  errors: ['LEASE_OF_ANOTHER'],
  takes: 'json',
  body: z.strictObject({ leases }),
  answers: { 200: lostAnswer },
  handle: async ({ by, body, services }) => ({
    status: 200,
    body: { lost: await gatewayOf(services).renew(workerOf(by).id, body.leases) },
  }),
})

const endRoute = workerCall({
  method: 'POST',
  path: '/api/worker/jobs/end',
  operation: 'endJobs',
  summary: 'End jobs: done, given back, or among the dead letters',
  about:
    'Send the result first. `given-back` returns a job to the queue, counted as a delivery or not.',
  errors: ['LEASE_OF_ANOTHER'],
  takes: 'json',
  body: z.strictObject({
    leases,
    end: z.discriminatedUnion('as', [
      z.strictObject({ as: z.literal('done') }),
      z.strictObject({
        as: z.literal('given-back'),
        isCounted: z.boolean(),
        delayMs: z.int().min(0).max(DELAY_MAX_MS).default(0),
      }),
      z.strictObject({
        as: z.literal('dead'),
        reason: z.string().min(1).max(200),
        description: z.string().max(4_000),
      }),
    ]),
  }),
  answers: { 200: lostAnswer },
  handle: async ({ by, body, services }) => ({
    status: 200,
    body: { lost: await gatewayOf(services).end(workerOf(by).id, body.leases, body.end) },
  }),
})

const sendRoute = workerCall({
  method: 'POST',
  path: '/api/worker/results',
  operation: 'sendResults',
  summary: 'Send results and announcements in the name of this worker',
  about:
    'All are stored, or none. A message id that came within ten minutes is dropped, so sending again is safe.',
  errors: ['RESULT_OF_ANOTHER', 'MESSAGE_BODY_INVALID', 'MESSAGE_ID_INVALID', 'MESSAGE_TOO_LARGE'],
  takes: 'json',
  body: z.strictObject({
    messages: z
      .array(
        z.strictObject({
          messageId: z.string().min(1).max(200),
          type: z.enum(SENT_BY_WORKERS),
          body: z.string().meta({ description: 'JSON; docs/bus.md lists the fields.' }),
        }),
      )
      .min(1)
      .max(GATEWAY_MAX),
  }),
  answers: { 200: z.strictObject({}).meta({ id: 'ResultsSent' }) },
  handle: async ({ by, body: { messages }, services }) => {
    await gatewayOf(services).send(workerOf(by).id, messages)
    return { status: 200, body: {} }
  },
})

export const WORKER_CALL_ROUTES = [showRoute, waitRoute, takeRoute, renewRoute, endRoute, sendRoute]
