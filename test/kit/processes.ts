// Starts the program in its own process, without settings of this machine. No process outlives the tests: one left behind by a failed
// assertion would keep them from ending.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { atEnd } from './at-end.ts'

export const ROOT = join(import.meta.dirname, '../..')
/** A slow machine starts the program within seconds; longer than this means that it hangs. */
const SAYING_MS_MAX = 120_000
/** Node's own setting: its compile cache. */
const COMPILED = process.env.NODE_COMPILE_CACHE

/** Processes of one machine would want the same health port. */
const OWN = { NO_COLOR: '1', MATOOLKIT_HEALTH_PORT: '0' }

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Started {
  readonly ended: Promise<Ended>
  /** Resolves when the output matches; rejects with the output when the process ends first or the time is over. */
  saying(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal: NodeJS.Signals): void
  /** Ends the process in whatever state it is, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

const running = new Set<Started>()
atEnd(() => Promise.all([...running].map((one) => one[Symbol.asyncDispose]())))

export function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = ROOT,
  /** Of another copy of the program. */
  root = ROOT,
): Started {
  const child = spawn(process.execPath, [join(root, 'src/main.ts'), ...args], {
    cwd,
    env: { ...OWN, PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, ...env },
  })
  let [out, err] = ['', '']
  const waiting = new Set<() => void>()
  const heard = () => {
    for (const check of waiting) check()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    heard()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
    heard()
  })
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }))
  })
  const saying = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const giveUp = (why: string) => {
        waiting.delete(check)
        reject(new Error(`${why} without ${pattern}:\n${out}\n${err}`))
      }
      const check = () => {
        const found = pattern.exec(`${out}\n${err}`)
        if (!found) return
        waiting.delete(check)
        resolve(found)
      }
      const limit = AbortSignal.timeout(SAYING_MS_MAX)
      limit.addEventListener('abort', () => giveUp('The time is over'))
      waiting.add(check)
      check()
      void ended.then(() => giveUp('The process ended'))
    })
  const started: Started = {
    ended,
    saying,
    kill: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
  running.add(started)
  void ended.then(() => running.delete(started))
  return started
}
