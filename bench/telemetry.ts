// What telemetry costs the engine: a batch runs once, and what it committed is told again and again to the watch of commits, with telemetry off
// and on. Processor time, because rates halve with a busy neighbour; off and on take turns within one run.
import { virtualClock } from '../src/base/run/clock.ts'
import { Measures } from '../src/base/telemetry/measures.ts'
import type { Telemetry } from '../src/base/telemetry/telemetry.ts'
import type { Draft } from '../src/domain/decide/draft.ts'
import { type CommitWatch, watchCommits } from '../src/engine/transactions/commit-watch.ts'
import { type Bench, median, round } from './bench.ts'

const MEMBERS = 500
const STEPS = 4
const ROUNDS = 51

const YAML = `
name: bench
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
phases:
  - name: only
    offset: T-0
    steps:
${Array.from({ length: STEPS }, (_, n) => `      - { name: s${n}, worker_id: w1, function: Do-It, params: { Upn: "{{UserPrincipalName}}" } }`).join('\n')}
`

/** The drafts of a batch that ran to its end, as the engine committed them. */
async function runBatch(): Promise<{ readonly drafts: Draft[]; readonly usPerStep: number }> {
  // Loaded here: it brings the test runner, whose summary would end the output of every other benchmark.
  const { openWorld } = await import('../test/stories/world.ts')
  const world = await openWorld()
  try {
    const drafts: Draft[] = []
    const watch: CommitWatch = {
      traceparentOf: () => null,
      committed: (committed) => void drafts.push(...committed),
    }
    Object.assign(world.engine, { watch })
    await world.publish(YAML)
    await world.batch('bench', MEMBERS)
    const before = process.cpuUsage()
    await world.settle()
    const { user, system } = process.cpuUsage(before)
    return { drafts, usPerStep: (user + system) / (MEMBERS * STEPS) }
  } finally {
    await world.close()
  }
}

/** What the watch takes for the same drafts, in processor time per step. */
function replay(drafts: readonly Draft[], telemetry: Telemetry | null): number {
  const clock = virtualClock(new Date(0))
  const traces = telemetry && { telemetry, database: 'bench' }
  const watch = watchCommits({ measures: new Measures(), clock, traces })
  const before = process.cpuUsage()
  for (const draft of drafts) {
    for (const job of draft.jobs) watch.traceparentOf(draft, job)
    watch.committed([draft])
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (MEMBERS * STEPS)
}

export const telemetryBench: Bench = {
  name: 'telemetry',
  about: 'what telemetry costs a step, off and on',
  run: async (say) => {
    const { drafts, usPerStep } = await runBatch()
    let spans = 0
    const telemetry: Telemetry = {
      messagingSystem: 'postgresql',
      isSampled: () => true,
      event: () => {},
      span: () => {
        spans += 1
      },
    }
    const off: number[] = []
    const on: number[] = []
    for (let turn = 0; turn < ROUNDS; turn++) {
      off.push(replay(drafts, null))
      on.push(replay(drafts, telemetry))
    }
    const us = { step: usPerStep, off: median(off), on: median(on) }
    const spansPerStep = round(spans / ROUNDS / (MEMBERS * STEPS))
    say(`a step: ${round(us.step)} µs of processor time, of one process with database and worker`)
    say(
      `the watch: ${round(us.off)} µs off, ${round(us.on)} µs on, with ${spansPerStep} spans a step`,
    )
    return { usPerStep: us, ratio: { off: us.off / us.step, on: us.on / us.step }, spansPerStep }
  },
}
