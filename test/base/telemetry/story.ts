// A batch with two members on the real engine, bus and workers, with signed jobs: a call that is answered at the second try, a step that
// fails once, and one that polls. Time is a virtual clock; telemetry goes over HTTP.
import { randomBytes } from 'node:crypto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { z } from 'zod'
import { JobKeys } from '../../../src/base/keys/job-keys.ts'
import type { Collector } from '../../../src/base/telemetry/exporters.ts'
import { type Exporting, exportTo } from '../../../src/base/telemetry/exporting.ts'
import { Measures } from '../../../src/base/telemetry/measures.ts'
import { loadDatabaseMark } from '../../../src/db/schema/database-mark.ts'
import { watchCommits } from '../../../src/engine/transactions/commit-watch.ts'
import { Graph } from '../../../src/m365/client/graph.ts'
import { NO_M365_TENANT } from '../../../src/m365/client/tenant.ts'
import { defineM365Function } from '../../../src/m365/functions/define.ts'
import { TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { startService } from '../../kit/scripted-service.ts'
import { openWorld, type World } from '../../stories/world.ts'

export const RUNBOOK = `
name: traced
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
phases:
  - name: prepare
    offset: T-1h
    steps:
      - { name: look, worker_id: w1, function: Get-Person, params: { Upn: "{{UserPrincipalName}}", Password: hunter2 } }
      - { name: shaky, worker_id: w1, function: Set-Shaky, params: { Upn: "{{UserPrincipalName}}" }, retry: { max_retries: 2, interval: 1m } }
      - { name: wait, worker_id: w1, function: Test-Ready, params: { Upn: "{{UserPrincipalName}}" }, poll: { interval: 15m, timeout: 2d } }
`
/** What nobody may read from telemetry. */
export const SECRETS = /user[12]|contoso|hunter2|s3cret-token|Bearer|signature/i

export interface TracedStory {
  readonly world: World
  readonly telemetry: Exporting
  readonly measures: Measures
  /** Jobs hang from now on, and their worker with them. */
  hang: boolean
  worker(): Worker
  /** Works until nothing is left to do now. */
  settle(worker: Worker): Promise<void>
  close(): Promise<void>
}

export async function openStory(collectors: readonly Collector[], ratio = 1): Promise<TracedStory> {
  const keys = new JobKeys([randomBytes(32)])
  const world = await openWorld({ jobKeys: keys })
  world.workers = []
  const { clock, bus, db, engine } = world
  const measures = new Measures()
  const telemetry = exportTo({
    collectors,
    clock,
    measures,
    ratio,
    messagingSystem: 'postgresql',
    sender: {
      resource: resourceFromAttributes({ 'service.name': 'matoolkit' }),
      scope: { name: 'matoolkit', version: '1' },
    },
    families: async () => [],
    onError: () => {},
  })
  const traces = { telemetry, database: await loadDatabaseMark(db) }
  Object.assign(engine, { watch: watchCommits({ measures, clock, traces }) })
  const graphService = await startService(clock, (_seen, index) =>
    index === 0 ? { status: 500 } : { status: 200, body: { id: '1' } },
  )
  const graph = new Graph({
    clock,
    url: graphService.url,
    token: async () => 's3cret-token',
    random: () => 0.5,
    policy: { attempts: 3, baseSec: 0, maxSec: 0 },
    quota: { unitsPerSec: 1_000, writesPerSec: 1_000, invitationsPerSec: 1_000 },
    timeout: () => new AbortController().signal,
  })
  const story: TracedStory = {
    world,
    telemetry,
    measures,
    hang: false,
    worker: () =>
      new Worker({
        workerId: 'w1',
        version: '1',
        bus,
        clock,
        keys,
        telemetry,
        maxParallelism: 10,
        functions: functionsOf(story),
        tenant: Object.create(
          NO_M365_TENANT,
          Object.getOwnPropertyDescriptors({ ...NO_TENANT_PARTS, graph }),
        ),
        onResult: ({ functionName, status, durationMs }) =>
          measures.observe(
            'matoolkit_job_seconds',
            { worker: 'w1', function: functionName, status },
            durationMs,
          ),
        onError: (error) => {
          throw error
        },
      }),
    settle: async (worker) => {
      do {
        await world.orchestrate()
        await worker.takeJobs()
        await worker.idle()
        await worker.sendResults()
      } while ((await bus.depth()).messages.some(({ oldestAt }) => oldestAt))
      await world.orchestrate()
    },
    close: async () => {
      await telemetry.stop()
      await graphService.close()
      await world.close()
    },
  }
  await world.publish(RUNBOOK)
  return story
}

const NO_TENANT_PARTS = {
  id: 'tenant',
  organization: 'contoso.onmicrosoft.com',
  token: async () => 's3cret-token',
}

function functionsOf(story: TracedStory) {
  const parameters = z.looseObject({ Upn: z.string() })
  const shaken = new Set<string>()
  let looks = 0
  const base = { ...TOUCHES_NOTHING, description: '', parameters }
  return [
    defineM365Function({
      ...base,
      name: 'Get-Person',
      run: async ({ tenant, params, signal }) => {
        if (story.hang) return new Promise<never>(() => {})
        await tenant.graph.call({ method: 'GET', path: `/users/${params.Upn}/manager`, signal })
        return { mail: params.Upn }
      },
    }),
    defineM365Function({
      ...base,
      name: 'Set-Shaky',
      run: async ({ params }) => {
        if (shaken.has(params.Upn)) return true
        shaken.add(params.Upn)
        throw new Error(`${params.Upn} is shaky, password=hunter2`)
      },
    }),
    defineM365Function({
      ...base,
      name: 'Test-Ready',
      run: async () => ({ complete: ++looks > 2, data: {} }),
    }),
  ]
}
