// The processes of a run, each restarted when it ends. Records when each was killed, frozen or asked to stop, to tell that from a
// process that ended on its own, which is a finding.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, realClock } from '../../../src/base/run/clock.ts'
import { NO_DATABASE, type Part } from './process.ts'

export interface Happened {
  readonly at: number
  readonly what: string
  /** The target of the fault: a process by name and id, the database, or the network. */
  readonly who: string
  readonly pid?: number
  /** The end of a lasting fault. */
  until?: number
}

interface Slot {
  readonly part: Part
  child: ChildProcess | undefined
  isReady: boolean
  isFrozen: boolean
  isRetired: boolean
  /** The fault that makes it end. */
  ending: 'killed' | 'asked to stop' | undefined
}

const RESTART_AFTER_MS = 300
const ENDS_MAX = 10
const LAST_WORDS_CHARS = 1_000

const logOf = ({ folder, name }: Part): string => join(folder, `${name}.log`)
const lastWords = (part: Part): string =>
  readFileSync(logOf(part), 'utf8').slice(-LAST_WORDS_CHARS).trim()

export class Fleet {
  readonly happened: Happened[] = []
  /** Exits that no fault caused. */
  readonly findings: string[] = []
  restarts = 0
  readonly #slots: Slot[]
  readonly #clock: Clock
  #isOver = false

  constructor(parts: readonly Part[], clock: Clock = realClock()) {
    this.#clock = clock
    this.#slots = parts.map((part) => ({
      part,
      child: undefined,
      isReady: false,
      isFrozen: false,
      isRetired: false,
      ending: undefined,
    }))
  }

  /** Starts all processes and waits until they work. */
  async start(): Promise<void> {
    for (const slot of this.#slots) this.#launch(slot)
    await this.allReady()
  }

  /** Throws when processes end by themselves again and again: they will never be ready. */
  async allReady(): Promise<void> {
    const before = this.findings.length
    while (!this.#slots.every(({ isReady }) => isReady)) {
      if (this.findings.length - before > ENDS_MAX) throw new Error(this.findings.at(-1))
      await this.#clock.wait(RESTART_AFTER_MS)
    }
  }

  /** Names of the working processes of one kind. */
  atWork(role: Part['roles'][number]): string[] {
    return this.#slots
      .filter(({ part, isReady, isFrozen }) => part.roles.includes(role) && isReady && !isFrozen)
      .map(({ part }) => part.name)
  }

  has(name: string): boolean {
    return this.#slots.some(({ part }) => part.name === name)
  }

  pidOf(name: string): number | undefined {
    return this.#slot(name).child?.pid
  }

  kill(name: string): void {
    this.#end(name, 'killed', 'SIGKILL')
  }

  askToStop(name: string): void {
    this.#end(name, 'asked to stop', 'SIGTERM')
  }

  /** Asks it to stop, and does not restart it. */
  retire(name: string): void {
    this.#slot(name).isRetired = true
    this.askToStop(name)
  }

  async freeze(name: string, ms: number): Promise<void> {
    const slot = this.#slot(name)
    const { child } = slot
    if (!child?.pid || !slot.isReady || slot.isFrozen) return
    slot.isFrozen = true
    const happened = this.#note(`frozen for ${ms} ms`, name, child.pid)
    child.kill('SIGSTOP')
    await this.#clock.wait(ms)
    happened.until = Date.now()
    slot.isFrozen = false
    child.kill('SIGCONT')
  }

  /** Asks all processes to stop and restarts none. Returns the exit codes by name. */
  async stop(): Promise<Map<string, number | null>> {
    this.#isOver = true
    const exits = this.#slots.map(async ({ part, child }) => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return null
      const exit = once(child, 'exit')
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      const [code] = (await exit) as [number | null]
      return [part.name, code] as const
    })
    return new Map((await Promise.all(exits)).filter((exit) => exit !== null))
  }

  /** Kills all processes at once and restarts none. */
  async killAll(): Promise<void> {
    this.#isOver = true
    const exits = this.#slots.map(async ({ child }) => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    })
    await Promise.all(exits)
  }

  #slot(name: string): Slot {
    return this.#slots.find(({ part }) => part.name === name)!
  }

  #note(what: string, who: string, pid?: number): Happened {
    const happened = { at: Date.now(), what, who, ...(pid !== undefined && { pid }) }
    this.happened.push(happened)
    return happened
  }

  #end(name: string, ending: 'killed' | 'asked to stop', signal: 'SIGKILL' | 'SIGTERM'): void {
    const slot = this.#slot(name)
    if (!slot.child?.pid || slot.ending) return
    slot.ending = ending
    slot.isReady = false
    this.#note(ending, name, slot.child.pid)
    slot.child.kill(signal)
  }

  #launch(slot: Slot): void {
    const { part } = slot
    const output = openSync(logOf(part), 'a')
    const child = fork(new URL('./process.ts', import.meta.url), [JSON.stringify(part)], {
      stdio: ['ignore', output, output, 'ipc'],
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      ...(part.heapMb !== undefined && { execArgv: [`--max-old-space-size=${part.heapMb}`] }),
    })
    closeSync(output)
    slot.child = child
    slot.ending = undefined
    child.on('message', () => {
      if (slot.child === child) slot.isReady = true
    })
    child.on('exit', (code, signal) => void this.#ended(slot, code, signal))
  }

  async #ended(slot: Slot, code: number | null, signal: string | null): Promise<void> {
    slot.isReady = false
    const wasCaused =
      slot.ending === 'killed' ? signal === 'SIGKILL' : slot.ending !== undefined && code === 0
    const foundNoDatabase = code === NO_DATABASE && slot.ending === undefined
    if (!wasCaused && !foundNoDatabase && !this.#isOver) {
      const how = signal ?? `code ${code}`
      const asked = slot.ending ? ` after it was ${slot.ending}` : ' by itself'
      this.findings.push(`${slot.part.name} ended with ${how}${asked}: ${lastWords(slot.part)}`)
    }
    await this.#clock.wait(RESTART_AFTER_MS)
    if (this.#isOver || slot.isRetired) return
    this.restarts += 1
    this.#launch(slot)
  }
}
