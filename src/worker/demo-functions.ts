// Functions that only pretend, for `matoolkit demo` and for trying out a runbook without a tenant. They take their time, answer
// polls, fail and recover, always the same way: who fails is chosen by a hash of the member's key and how often by the attempt in
// the job id, so two runs are alike and a job that is run again gives the same answer.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Json } from '../domain/json.ts'
import { type JobName, parseJobId } from '../domain/messages.ts'
import { type Call, defineFunction, TOUCHES_NOTHING, type WorkerFunction } from './catalogue.ts'

export interface DemoPace {
  /** About how long a job takes; asking how far it has come takes a tenth of it. */
  readonly workSec: number
}

/** Gone at the next attempt. */
class Hiccup extends Error {
  override readonly name = 'Hiccup'
}

class Obstacle extends Error {
  override readonly name = 'Obstacle'
}

const key = z.string().min(1)
const percent = z.number().min(0).max(100)

/** A number from 0 up to 1 that belongs to these words. */
function shareOf(...words: readonly string[]): number {
  const digest = createHash('sha256').update(words.join('\n')).digest()
  return digest.readUInt32BE(0) / 2 ** 32
}

const pick = (choices: readonly string[], ...words: readonly string[]): string =>
  choices[Math.floor(shareOf(...words) * choices.length)]!

/** Half as long to half as long again as the pace says; throws when the job is stopped. */
async function work({ clock, signal, jobId }: Call<unknown>, seconds: number): Promise<void> {
  await clock.wait(seconds * 1_000 * (0.5 + shareOf('time', jobId)), signal)
  signal.throwIfAborted()
}

const nameOf = (jobId: string): Pick<JobName, 'attempt' | 'poll'> =>
  parseJobId(jobId) ?? { attempt: 0, poll: 0 }

const succeed = ({ workSec }: DemoPace) =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Demo-Succeed',
    description: 'Works for a while and succeeds. Gives an Id that belongs to Key.',
    parameters: z.looseObject({ Key: key.optional() }),
    run: async (call) => {
      await work(call, workSec)
      return {
        Id: `demo-${shareOf('id', call.params.Key ?? '')
          .toString(16)
          .slice(2, 10)}`,
      }
    },
  })

const wait = ({ workSec }: DemoPace) =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Demo-Wait',
    description:
      'Begins something that takes its time: not complete for up to Polls polls; for StuckPercent of the keys never.',
    parameters: z.looseObject({
      Key: key,
      Polls: z.int().min(0).max(100).default(3),
      StuckPercent: percent.default(0),
    }),
    run: async (call): Promise<Json> => {
      const { Key, Polls, StuckPercent } = call.params
      const { poll } = nameOf(call.jobId)
      await work(call, poll === 0 ? workSec : workSec / 10)
      const isStuck = shareOf('stuck', Key) * 100 < StuckPercent
      const needed = Math.floor(shareOf('polls', Key) * (Polls + 1))
      if (isStuck || poll < needed) return { complete: false }
      return { complete: true, data: { Items: Math.floor(shareOf('items', Key) * 9_000) } }
    },
  })

const HICCUPS = ['service busy', 'connection reset', 'replica behind']

const flaky = ({ workSec }: DemoPace) =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Demo-Flaky',
    description:
      'Fails the first attempt for FailPercent of the keys, for a quarter of those the second too, then succeeds.',
    parameters: z.looseObject({ Key: key, FailPercent: percent.default(20) }),
    run: async (call) => {
      const { Key, FailPercent } = call.params
      await work(call, workSec)
      const share = shareOf('flaky', Key) * 100
      const failures = share < FailPercent / 4 ? 2 : share < FailPercent ? 1 : 0
      if (nameOf(call.jobId).attempt < failures) throw new Hiccup(pick(HICCUPS, call.jobId))
      return true
    },
  })

const OBSTACLES = ['mailbox on litigation hold', 'address is taken', 'no licence left']

const fail = ({ workSec }: DemoPace) =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Demo-Fail',
    description: 'Fails for FailPercent of the keys, however often it is tried.',
    parameters: z.looseObject({ Key: key, FailPercent: percent.default(5) }),
    run: async (call) => {
      const { Key, FailPercent } = call.params
      await work(call, workSec)
      if (shareOf('fail', Key) * 100 < FailPercent) throw new Obstacle(pick(OBSTACLES, Key))
      return true
    },
  })

const undo = ({ workSec }: DemoPace) =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Demo-Undo',
    description: 'Takes back what was done for Key.',
    parameters: z.looseObject({ Key: key }),
    run: async (call) => {
      await work(call, workSec)
      return { Undone: true }
    },
  })

export const demoFunctions = (pace: DemoPace): WorkerFunction[] =>
  [succeed, wait, flaky, fail, undo].map((make) => make(pace))
