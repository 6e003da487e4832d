// `npm run chaos -- [--minutes 5] [--members 2000] [--seed n] [--json]`: real processes on a real server, killed, frozen and cut
// off at random, and then everything checked. Lines for people on stderr; with --json the figures as one object on stdout.
import { parseArgs } from 'node:util'
import { runChaos } from '../test/chaos/world.ts'

const USAGE = `Usage: npm run chaos -- [--minutes 5] [--members 2000] [--seed n] [--json]

  --minutes   how long processes are killed, frozen and cut off; then everything may finish
  --members   in each batch; a new batch begins when one has ended
  --seed      what happens when; a run says the one it took
  --json      the figures as one object on stdout`

function read() {
  try {
    return parseArgs({
      options: {
        minutes: { type: 'string', default: '5' },
        members: { type: 'string', default: '2000' },
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
const [seed, minutes, members] = [values.seed, values.minutes, values.members].map(Number)
if (!(seed! >= 0 && minutes! > 0 && members! > 0)) {
  console.error(USAGE)
  process.exit(2)
}

const giveUp = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => giveUp.abort())

console.error(`seed ${seed}, ${minutes} minutes, ${members} members × 5 steps a batch`)
const { figures, findings, report } = await runChaos({
  ...{ seed: seed!, minutes: minutes!, members: members! },
  takeoverMaxMs: 5_000,
  giveUp: giveUp.signal,
  say: (line) => console.error(line),
}).catch((error: unknown): never => {
  // What the run had started is ended by now; a fault that was under way may still wait for its time.
  console.error(error)
  process.exit(1)
})
if (values.json) console.log(JSON.stringify({ seed, ...figures }))
else console.error(JSON.stringify(figures, null, 2))
if (findings.length > 0) console.error(report)
else console.error('nothing lost, nothing out of order, everything ended')
process.exitCode = findings.length > 0 ? 1 : 0
