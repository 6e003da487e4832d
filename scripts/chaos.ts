// `npm run chaos -- [--mode kills] [--minutes n] [--members n] [--seed n] [--json]`: real processes on a real server, sabotaged
// in the way that the mode names, and then everything checked. Lines for people on stderr; with --json the figures as one object on
// stdout. Ends with 0 when everything held, 1 when something did not, 2 when the options are wrong.
import { parseArgs } from 'node:util'
import type { ChaosMode } from '../test/proof/chaos/mode.ts'
import { CHAOS_MODES, chaosMode } from '../test/proof/chaos/modes.ts'

const DEFAULTS_WIDTH = 11
const NAME_WIDTH = Math.max(...CHAOS_MODES.map(({ name }) => name.length)) + 2
const USAGE = `Usage: npm run chaos -- [--mode kills] [--minutes n] [--members n] [--seed n] [--json]

  --mode      the sabotage; see below
  --minutes   how long it lasts; then everything may finish
  --members   in each batch or source; a new batch begins when one has ended
  --seed      what happens when; a run says the one it took
  --json      the figures as one object on stdout

Modes, with their minutes and members:
${CHAOS_MODES.map(lineOf).join('\n')}`

function lineOf({ name, sabotage, defaults: { minutes, members } }: ChaosMode): string {
  return `  ${name.padEnd(NAME_WIDTH)}${`${minutes}, ${members}`.padEnd(DEFAULTS_WIDTH)}${sabotage}`
}

function read() {
  try {
    return parseArgs({
      options: {
        mode: { type: 'string', default: CHAOS_MODES[0].name },
        minutes: { type: 'string' },
        members: { type: 'string' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}

const values = read()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const mode = chaosMode(values.mode)
if (!mode) {
  const names = CHAOS_MODES.map(({ name }) => name).join(', ')
  console.error(`There is no mode "${values.mode}". Use one of: ${names}.`)
  process.exit(2)
}

const seed = Number(values.seed)
const minutes = Number(values.minutes ?? mode.defaults.minutes)
const members = Number(values.members ?? mode.defaults.members)
if (!(seed >= 0 && minutes > 0 && members > 0)) {
  console.error(USAGE)
  process.exit(2)
}

const giveUp = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => giveUp.abort())

console.error(`mode ${mode.name}, seed ${seed}, ${minutes} minutes, ${members} members a batch`)
const { figures, findings, report } = await mode
  .run({
    seed,
    minutes,
    members,
    takeoverMaxMs: 5_000,
    giveUp: giveUp.signal,
    say: (line) => console.error(line),
  })
  .catch((error: unknown): never => {
    // What the run had started is ended by now; a fault that was under way may still wait for its time.
    console.error(error)
    process.exit(1)
  })
if (values.json) console.log(JSON.stringify({ mode: mode.name, seed, ...figures }))
else console.error(JSON.stringify(figures, null, 2))
if (findings.length > 0) console.error(report)
else console.error(`held: ${mode.holds}`)
process.exitCode = findings.length > 0 ? 1 : 0
