// `npm run fuzz`: mutated runbooks, member files, messages and requests, for as long as wanted. Each input has a number, from which
// it is made again.
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { realClock } from '../../../src/base/run/clock.ts'
import { everyLoop } from '../../../src/base/run/service.ts'
import { TARGETS } from './targets.ts'
import type { ThreadFinding, ThreadWork } from './thread.ts'

const USAGE = `npm run fuzz -- yaml|csv|messages|api [options]
  --minutes 1     for how long (1)
  --from 1        the number of the first input (1)
  --input 42      this one input only
  --most 20       stop after so many findings (20)`

/** An input takes seconds of processor time at most. Waiting says little: next to other work one got no processor for ten minutes. */
const HANG_CPU_SEC = 120
const HANG_SEC = 3_600
const LOOK_EVERY_MS = 1_000
const SAY_EVERY_SEC = 300
const INPUTS_MAX = 2 ** 31 - 1

export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
      input: { type: 'string' },
      most: { type: 'string', default: '20' },
      help: { type: 'boolean', default: false },
    },
  })
  const [target] = positionals
  if (values.help || target === undefined || !Object.hasOwn(TARGETS, target)) {
    console.log(USAGE)
    return values.help ? 0 : 2
  }
  const from = Number(values.input ?? values.from)
  const count = values.input === undefined ? INPUTS_MAX - from : 1
  return fuzz({
    target,
    from,
    count,
    seconds: Number(values.minutes) * 60,
    most: Number(values.most),
  })
}

interface Wanted {
  readonly target: string
  readonly from: number
  readonly count: number
  readonly seconds: number
  readonly most: number
}

/** 0 without findings, 1 with some. */
async function fuzz({ target, from, count, seconds, most }: Wanted): Promise<number> {
  const progress = new Int32Array(new SharedArrayBuffer(8))
  const workerData: ThreadWork = { target, from, count, progress }
  const thread = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData,
    // The thread has nothing to say but findings; the tests' doubles print a summary of no tests.
    stdout: true,
  })
  let findings = 0
  const say = ({ input, found }: ThreadFinding) => {
    findings += 1
    console.log(`input ${input}: ${found}\n`)
    if (findings >= most) Atomics.store(progress, 1, 1)
  }
  thread.on('message', say)
  const clock = realClock()
  const begun = +clock.now()
  const elapsedSec = () => (+clock.now() - begun) / 1_000
  const seen = { input: -1, atSec: 0, atCpuSec: 0, saidSec: 0 }
  const look = async () => {
    const input = Atomics.load(progress, 0)
    const sec = elapsedSec()
    const cpuSec = processorSec()
    if (input !== seen.input) Object.assign(seen, { input, atSec: sec, atCpuSec: cpuSec })
    if (sec - seen.saidSec > SAY_EVERY_SEC) {
      seen.saidSec = sec
      console.log(
        `${target}: ${input - from} inputs, ${findings} findings, ${Math.round(sec / 60)} min`,
      )
    }
    if (sec > seconds) Atomics.store(progress, 1, 1)
    if (sec - seen.atSec <= HANG_SEC && cpuSec - seen.atCpuSec <= HANG_CPU_SEC) return
    const [waited, worked] = [sec - seen.atSec, cpuSec - seen.atCpuSec].map(Math.round)
    say({ input, found: `no answer after ${waited} s (${worked} s of processor time)` })
    await thread.terminate()
  }
  const looking = everyLoop({
    name: 'looking',
    clock,
    intervalMs: LOOK_EVERY_MS,
    runOnce: look,
    onError: (error) => console.error(error),
  })
  looking.start()
  await new Promise((resolve) => thread.once('exit', resolve))
  await looking.stop()
  const inputs = Atomics.load(progress, 0) - from
  const minutes = (elapsedSec() / 60).toFixed(1)
  const cpu = (processorSec() / 60).toFixed(1)
  console.log(
    `${target}: ${inputs} inputs in ${minutes} min (${cpu} min of processor time), ${findings} findings`,
  )
  return findings > 0 ? 1 : 0
}

function processorSec(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000_000
}
