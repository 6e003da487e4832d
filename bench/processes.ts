// A fresh PostgreSQL server with an orchestrator and a no-op worker in processes of their own, for benchmarks.
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

const clock = realClock()

export interface CpuUs {
  readonly orchestrator: number
  readonly worker: number
  readonly postgres: number
}

export interface Processes {
  readonly url: string
  readonly db: Db
  rssMb(): Promise<number>
  /** Processor time so far; null where it cannot be read. */
  cpuUs(): Promise<CpuUs | null>
  close(): Promise<void>
}

/** A fresh server with an orchestrator and a worker, each in its own process. */
export async function openProcesses({
  orchestratorHeapMb,
}: {
  orchestratorHeapMb?: number
} = {}): Promise<Processes> {
  const server = await startPostgres({ durable: true })
  const db = await openPostgres({ url: server.url, poolSize: 3 })
  await migrate(db, clock.now())
  await configureWorkers(db, [WORKER_ID])
  const children = await Promise.all([
    startProcess('orchestrator', server.url, orchestratorHeapMb),
    startProcess('worker', server.url),
  ])
  return {
    url: server.url,
    db,
    rssMb: async () => {
      children[0]!.send('rss')
      const [answer] = (await once(children[0]!, 'message')) as [{ rssMb: number }]
      return Math.round(answer.rssMb)
    },
    cpuUs: async () => {
      if (!canMeasureCpu()) return null
      const [orchestrator, worker] = children.map(({ pid }) => cpuOfProcessUs(pid!))
      return { orchestrator: orchestrator!, worker: worker!, postgres: await cpuOfServerUs(db) }
    },
    close: async () => {
      for (const child of children) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      await db.close()
      server.destroy()
    },
  }
}

async function startProcess(role: string, url: string, heapMb?: number): Promise<ChildProcess> {
  const child = fork(new URL('./engine-process.ts', import.meta.url), [role, url], {
    execArgv: heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`],
  })
  await once(child, 'message')
  // Without it a benchmark would wait forever for work that nobody does.
  child.once('exit', (code, signal) => {
    if (code === 0 || signal === 'SIGTERM') return
    console.error(`the ${role} ended: ${signal ?? `code ${code}`}`)
    process.exit(1)
  })
  return child
}
