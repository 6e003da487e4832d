// One target in a thread of its own, so that an input that never ends can be noticed: the number of the input at hand is in memory
// that the main thread sees.
import { parentPort, workerData } from 'node:worker_threads'
import { seeded } from '../../kit/seeded.ts'
import { TARGETS } from './targets.ts'

export interface ThreadWork {
  readonly target: string
  readonly from: number
  readonly count: number
  /** Place 0: the input at hand. Place 1: not 0 once it should stop. */
  readonly progress: Int32Array
}

export interface ThreadFinding {
  readonly input: number
  readonly found: string
}

const { target, from, count, progress } = workerData as ThreadWork
const opened = await TARGETS[target]!()
const tell = (finding: ThreadFinding) => parentPort!.postMessage(finding)
for (let input = from; input < from + count && Atomics.load(progress, 1) === 0; input++) {
  Atomics.store(progress, 0, input)
  try {
    for (const found of await opened.attempt(seeded(input))) tell({ input, found })
  } catch (error) {
    tell({ input, found: String(error instanceof Error ? error.stack : error) })
  }
}
Atomics.add(progress, 0, 1)
await opened.close()
