// `npm run simulate`: a sweep of seeds, one seed with its whole log, or the bug bank.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { openRenewablePglite } from '../../kit/renewable-pglite.ts'
import { FAULT_KINDS } from './faults.ts'
import { MUTANTS } from './mutants.ts'
import { runSeed } from './run.ts'
import { missing, report, type Sweep, type SweepOptions, sweep } from './sweep.ts'
import { runTasks } from './thread-pool.ts'

const USAGE = `npm run simulate -- [options]
  --seeds 300     how many seeds to run (300)
  --from 1        the first of them (1)
  --seed 42       one seed, with its whole log
  --mutants       the bug bank: after how many seeds each known mistake is found
  --jobs 2        how many worlds at once (as many as there are cores)
  --json          figures as JSON`

/** A smaller sweep need not see everything. */
const SEEDS_THAT_SEE_ALL = 150
const SAY_EVERY = 50

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '300' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      mutants: { type: 'boolean', default: false },
      jobs: { type: 'string', default: String(cpus().length) },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return 0
  }
  if (values.seed !== undefined) return showSeed(Number(values.seed))
  const range = { from: Number(values.from), seeds: Number(values.seeds) }
  const threads = Number(values.jobs)
  return values.mutants
    ? huntAll({ ...range, threads })
    : sweepAll({ ...range, threads }, values.json)
}

async function showSeed(seed: number): Promise<number> {
  const run = await runSeed({ db: await openRenewablePglite(), seed })
  console.log(run.log.join('\n'))
  console.log(
    run.found.length > 0
      ? report(run)
      : `Seed ${seed}: ${run.events} events, nothing found, ${run.fingerprint}`,
  )
  return run.found.length > 0 ? 1 : 0
}

type Wanted = Omit<SweepOptions, 'onRun'>

async function huntAll({ from, seeds, threads }: Wanted): Promise<number> {
  const tried = Array.from({ length: seeds }, (_, index) => from + index)
  let missed = 0
  await runTasks({
    tasks: MUTANTS.map(({ name }) => ({ kind: 'hunt', mutant: name, seeds: tried })),
    threads,
    onResult: (result) => {
      if (!('verdict' in result)) return
      const { mutant, seed, found } = result.verdict
      if (seed === null) missed += 1
      console.log(`${seed ?? 'none'}\t${mutant}\t${found.slice(0, 160)}`)
    },
  })
  console.log(
    `${MUTANTS.length - missed} of ${MUTANTS.length} found by seeds from ${from} on, ${seeds} tried`,
  )
  return missed > 0 ? 1 : 0
}

async function sweepAll(wanted: Wanted, isJson: boolean): Promise<number> {
  const startMs = performance.now()
  let done = 0
  const result = await sweep({
    ...wanted,
    onRun: (run) => {
      done += 1
      if (run.found.length > 0) console.error(`${report(run)}\n`)
      if (!isJson && done % SAY_EVERY === 0) console.log(`${done} of ${wanted.seeds} seeds`)
    },
  })
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  console.log(isJson ? asJson(result, seconds) : asText(result, seconds))
  const unseen = wanted.seeds >= SEEDS_THAT_SEE_ALL ? missing(result) : []
  if (unseen.length > 0)
    console.error(`Never seen, so the sweep proves less than it says: ${unseen.join(', ')}`)
  return result.failed.length > 0 || unseen.length > 0 ? 1 : 0
}

function asText({ seeds, events, faults, failed }: Sweep, seconds: number): string {
  const rows = FAULT_KINDS.map((kind) => `  ${String(faults.get(kind) ?? 0).padStart(7)}  ${kind}`)
  return [
    `${seeds} seeds, ${events} events, ${seconds} s (${cpus().length} cores), ${failed.length} failed`,
    'Faults that struck:',
    ...rows,
  ].join('\n')
}

function asJson({ seeds, events, faults, occurred, failed }: Sweep, seconds: number): string {
  const sorted = (map: ReadonlyMap<string, number>) => Object.fromEntries([...map].sort())
  const figures = { seeds, events, seconds, failed: failed.map(({ seed }) => seed) }
  return JSON.stringify({ ...figures, faults: sorted(faults), occurred: sorted(occurred) }, null, 2)
}
