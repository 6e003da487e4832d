// A cluster for benchmarks: a fresh PostgreSQL server, orchestrators and workers in processes of their own, and for Service Bus the tests'
// broker in another. Also the raw loop of the SDK through that broker, in two processes.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { migrate } from '../src/db/schema/migrate.ts'
import { configureWorkers } from '../src/db/state/workers.ts'
import { startPostgres } from '../test/kit/postgres-server.ts'
import { canMeasureCpu, cpuOfProcessUs, cpuOfServerUs } from './cpu.ts'
import { WORKER_ID } from './engine-process.ts'

export type Transport = 'postgres' | 'servicebus'

export interface Cluster {
  readonly url: string
  readonly db: Db
  /** Of all orchestrators together, of one worker, and of the broker, since the last look. */
  look(): Promise<ClusterLook>
  /** Processor time so far by role; null where it cannot be read. */
  cpuUs(): Promise<ClusterCpuUs | null>
  close(): Promise<void>
}

export interface ClusterCpuUs {
  readonly orchestrators: number
  readonly workers: number
  readonly postgres: number
  readonly broker: number
}

export interface ClusterLook {
  readonly orchestratorsMb: number
  readonly latencies: readonly number[]
  /** Messages at the broker, dead ones included; 0 without one. */
  readonly atBroker: number
}

interface Answer {
  readonly rssMb?: number
  readonly latencies?: readonly number[]
  readonly atBroker?: number
  readonly connectionString?: string
  readonly perSec?: number
}

const ENGINE = new URL('./engine-process.ts', import.meta.url)
const RAW_LOOP = new URL('./raw-loop.ts', import.meta.url)
const BROKER = new URL('./broker-process.ts', import.meta.url)
const clock = realClock()

export async function openCluster(
  transport: Transport,
  { orchestrators, workers }: { orchestrators: number; workers: number },
): Promise<Cluster> {
  const server = await startPostgres({ durable: true })
  const db = await openPostgres({ url: server.url, poolSize: 3 })
  await migrate(db, clock.now())
  await configureWorkers(db, [WORKER_ID])
  const broker = transport === 'servicebus' ? await startBroker() : null
  const given = [server.url, ...(broker ? [broker.connectionString] : [])]
  const start = (role: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => startChild(ENGINE, [role, ...given])))
  const leaders = await start('orchestrator', orchestrators)
  const helpers = await start('worker', workers)
  return {
    url: server.url,
    db,
    look: async () => {
      const asked = await Promise.all([...leaders, ...helpers].map(ask))
      const orchestratorsMb = asked
        .slice(0, leaders.length)
        .reduce((sum, one) => sum + one.rssMb!, 0)
      const latencies = asked.flatMap((one) => one.latencies ?? [])
      const atBroker = broker ? ((await ask(broker.child)).atBroker ?? 0) : 0
      return { orchestratorsMb: Math.round(orchestratorsMb), latencies, atBroker }
    },
    cpuUs: async () =>
      canMeasureCpu()
        ? {
            orchestrators: cpuOf(leaders),
            workers: cpuOf(helpers),
            postgres: await cpuOfServerUs(db),
            broker: cpuOf(broker ? [broker.child] : []),
          }
        : null,
    close: async () => {
      for (const child of [...helpers, ...leaders]) await end(child)
      if (broker) await end(broker.child)
      await db.close()
      server.destroy()
    },
  }
}

/** Round trips per second of the SDK alone: a job out, a result back, both settled, as many under way as in the engine's runs. */
export async function measureRawLoop(roundTrips: number): Promise<number> {
  const { child: broker, connectionString } = await startBroker()
  const worker = await startChild(RAW_LOOP, ['worker', connectionString])
  const sender = await startChild(RAW_LOOP, ['sender', connectionString, `${roundTrips}`])
  const { perSec } = await answerOf(sender)
  for (const child of [sender, worker, broker]) await end(child)
  return perSec!
}

async function startBroker(): Promise<{ child: ChildProcess; connectionString: string }> {
  const child = forkFile(BROKER, [])
  const { connectionString } = await answerOf(child)
  return { child, connectionString: connectionString! }
}

async function startChild(file: URL, args: readonly string[]): Promise<ChildProcess> {
  const child = forkFile(file, args)
  await once(child, 'message')
  return child
}

function forkFile(file: URL, args: readonly string[]): ChildProcess {
  const child = fork(file, args)
  // Without it a benchmark would wait forever for work that nobody does.
  child.once('exit', (code, signal) => {
    if (code === 0 || signal === 'SIGTERM') return
    console.error(`${file.pathname} ${args[0] ?? ''} ended: ${signal ?? `code ${code}`}`)
    process.exit(1)
  })
  return child
}

const cpuOf = (children: readonly ChildProcess[]): number =>
  children.reduce((sum, { pid }) => sum + cpuOfProcessUs(pid!), 0)

const answerOf = async (child: ChildProcess): Promise<Answer> =>
  (await once(child, 'message'))[0] as Answer

function ask(child: ChildProcess): Promise<Answer> {
  const answer = answerOf(child)
  child.send('look')
  return answer
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
