// PowerShell processes that share work: as many as there are calls at the same time, which the worker's slots limit. One that ended is replaced
// by the next call.
import type { Json, JsonObject } from '../../base/text/json.ts'
import { type PowerShellOptions, PowerShellSession } from './session.ts'

export class PowerShellSessions {
  readonly #modules: readonly string[]
  readonly #options: Omit<PowerShellOptions, 'modules'>
  readonly #idle: PowerShellSession[] = []
  readonly #all = new Set<PowerShellSession>()
  #isClosed = false

  constructor(modules: readonly string[], options: Omit<PowerShellOptions, 'modules'>) {
    this.#modules = modules
    this.#options = options
  }

  /** What each module offers, or why it cannot be imported. */
  async describe(): Promise<Json> {
    const session = await this.#take()
    this.#idle.push(session)
    return session.modules
  }

  /** `onSent` is told before the request leaves: without it, nothing can have run. */
  async run(request: JsonObject, signal: AbortSignal, onSent?: () => void) {
    const session = await this.#take()
    try {
      if (!signal.aborted) onSent?.()
      return await session.run(request, signal)
    } finally {
      // Also one whose call was aborted before it began: no other call would find it, and it would outlive the worker.
      if (signal.aborted) session.kill()
      if (session.isEnded || signal.aborted) this.#all.delete(session)
      else this.#idle.push(session)
    }
  }

  /** Ends all processes. */
  close(): void {
    this.#isClosed = true
    for (const session of this.#all) session.kill()
    this.#all.clear()
  }

  async #take(): Promise<PowerShellSession> {
    this.#requireOpen()
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (!idle.isEnded) return idle
      this.#all.delete(idle)
    }
    const { program, clock } = this.#options
    const started = await PowerShellSession.start({ program, modules: this.#modules, clock })
    if (this.#isClosed) started.kill()
    this.#requireOpen()
    this.#all.add(started)
    return started
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new Error('The worker is stopping.')
  }
}
