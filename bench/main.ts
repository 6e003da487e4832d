// `npm run bench -- [name] [--json]`: lines for people on stderr; with --json the figures as one object, the last line of
// stdout. The load of the machine is part of the figures: a busy neighbour halves every rate.
import { availableParallelism, loadavg } from 'node:os'
import { apiBench } from './api.ts'
import type { Bench } from './bench.ts'
import { round } from './bench.ts'
import { busBench } from './bus.ts'
import { cliBench } from './cli.ts'
import { clusterBench, soakBench } from './cluster.ts'
import { dashboardBench } from './dashboard.ts'
import { engineBench } from './engine.ts'
import { evidenceBench } from './evidence.ts'
import { growthBench } from './growth.ts'
import { memoryBench } from './memory.ts'
import { overloadBench } from './overload.ts'
import { pollsBench } from './polls.ts'
import { rehearsalBench } from './rehearsal.ts'
import { giantBench, manyBatchesBench } from './scale.ts'
import { schedulerBench } from './scheduler.ts'
import { telemetryBench } from './telemetry.ts'
import { throttlingBench } from './throttling.ts'

const BENCHES: readonly Bench[] = [
  engineBench,
  busBench,
  schedulerBench,
  apiBench,
  cliBench,
  manyBatchesBench,
  giantBench,
  pollsBench,
  growthBench,
  memoryBench,
  throttlingBench,
  rehearsalBench,
  telemetryBench,
  dashboardBench,
  evidenceBench,
  clusterBench,
  soakBench,
  overloadBench,
]

const asked = process.argv.slice(2).filter((arg) => !arg.startsWith('--'))
const isHelp = process.argv.includes('--help')
const bench = asked.length === 0 ? engineBench : BENCHES.find(({ name }) => name === asked[0])
if (isHelp || !bench || asked.length > 1) {
  console.error('Usage: npm run bench -- [name] [--json]')
  for (const { name, about } of BENCHES) console.error(`  ${name.padEnd(13)} ${about}`)
  process.exit(isHelp ? 0 : 2)
}

const load = () => round(loadavg()[0]!)
const before = load()
const figures = await bench.run((line) => console.error(line))
const machine = { cores: availableParallelism(), node: process.version, loadBefore: before }
console.error(`load before ${before}, after ${load()} on ${machine.cores} cores`)
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ bench: bench.name, machine, ...figures }))
}
