// Workers of a story that run their jobs in the tenants of a sandbox, as real ones do. A function's own waiting takes no time.

import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { Clock } from '../../src/base/run/clock.ts'
import type { ConnectedTenant } from '../../src/m365/client/connect.ts'
import { STANDARD_FUNCTIONS } from '../../src/m365/functions/standard.ts'
import { catalogueOf } from '../../src/worker/functions/catalogue.ts'
import { runJob } from '../../src/worker/jobs/run-job.ts'
import { configFor, connect } from '../m365/functions/setting.ts'
import type { Answer, Job, World } from './world.ts'

/** A tenant of the sandbox, as its worker reaches it. */
export function tenantAt(world: World, sandbox: Sandbox, at: number): ConnectedTenant {
  const { id } = sandbox.state().tenants[at]!
  return connect(configFor(sandbox.url, id), clockOf(world))
}

const clockOf = ({ clock }: World): Clock => ({
  kind: 'virtual',
  now: () => clock.now(),
  wait: async () => undefined,
})

/** By worker id, the place of its tenant in the sandbox. */
export function workersIn(
  world: World,
  sandbox: Sandbox,
  places: Readonly<Record<string, number>>,
): (job: Job) => Promise<Answer> {
  const tenants = new Map(
    Object.entries(places).map(([worker, at]) => [worker, tenantAt(world, sandbox, at)]),
  )
  const catalogue = catalogueOf(STANDARD_FUNCTIONS)
  const { signal: stopping } = new AbortController()
  return async ({ jobId, batchId, workerId, functionName, parameters, isPolled }) => {
    const job = {
      jobId,
      batchId,
      functionName,
      parameters,
      timeoutSec: null,
      notAfter: null,
      isRepeated: false,
      isPolled: isPolled === true,
      correlation: null,
    }
    const clock = clockOf(world)
    const tenant = tenants.get(workerId)!
    const done = await runJob(job, { workerId, catalogue, clock, tenant, stopping })
    if (done!.status === 'Success') return { ok: done!.result }
    const { message, effect } = done!.error!
    return { fail: message, ...(effect === 'none' ? { effect } : {}) }
  }
}
