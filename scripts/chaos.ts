// `npm run chaos -- [--minutes 5] [--members 2000] [--seed n] [--json]`: real processes on a real server, killed, frozen and cut
// off at random, and then everything checked. Lines for people on stderr; with --json the figures as one object on stdout.
import { parseArgs } from 'node:util'
import { runChaos } from '../test/chaos/world.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    members: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
  },
})
const [seed, minutes, members] = [values.seed, values.minutes, values.members].map(Number)
if (!(seed! >= 0 && minutes! > 0 && members! > 0)) {
  console.error('Usage: npm run chaos -- [--minutes 5] [--members 2000] [--seed n] [--json]')
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
