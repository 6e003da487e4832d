// One PowerShell process that runs functions of modules, one call at a time. A call that is aborted ends the process, because a running
// pipeline cannot be interrupted safely from outside.
import type { Clock } from '../../base/run/clock.ts'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { type HostProcess, startHost } from './host-process.ts'

/** PowerShell itself takes a second or two; importing Microsoft's modules up to half a minute. */
const START_TIMEOUT_MS = 120_000

export interface PowerShellOptions {
  /** The program, such as `pwsh`. */
  readonly program: string
  /** Paths of the modules to import. */
  readonly modules: readonly string[]
  readonly clock: Clock
}

interface Thrown {
  readonly type: string
  readonly message: string
  readonly retryAfterSec?: number | null
  /** The HTTP status behind it. */
  readonly status?: number | null
  /** Microsoft's module puts the id of its request into it. */
  readonly errorId?: string
  /** It was thrown before the function or cmdlet began. */
  readonly isBefore?: boolean
}

/** What a function or cmdlet threw, under the name of its exception. */
export class PowerShellFailure extends Error {
  override readonly name: string
  readonly retryAfterSec: number | null
  readonly thrown: Thrown

  constructor(thrown: Thrown) {
    super(thrown.message)
    this.name = thrown.type
    this.retryAfterSec = thrown.retryAfterSec ?? null
    this.thrown = thrown
  }
}

interface Answer {
  readonly id?: number
  readonly failure?: Thrown
  readonly modules?: Json
  readonly result?: Json
  /** How many objects the function wrote. */
  readonly outputs?: number
  readonly warnings?: readonly string[]
}

type Pending = PromiseWithResolvers<Answer>

export class PowerShellSession {
  readonly #host: HostProcess
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #ended: Error | null = null
  #modules: Json = null

  private constructor(host: HostProcess) {
    this.#host = host
    host.onLine((line) => this.#take(line))
    void host.ended.then((reason) => this.#end(reason))
  }

  /** Starts PowerShell and imports the modules. */
  static async start({ program, modules, clock }: PowerShellOptions): Promise<PowerShellSession> {
    const ready = new AbortController()
    const late = tooLate(clock, ready.signal)
    try {
      const session = new PowerShellSession(await startHost(program, late))
      const imported = session.#ask({ ask: 'modules', paths: [...modules] })
      const answer = await Promise.race([imported, late]).catch((error: unknown) => {
        session.kill()
        throw error
      })
      session.#modules = answer.modules ?? null
      return session
    } finally {
      ready.abort()
    }
  }

  /** What each module offers, or why it cannot be imported. */
  get modules(): Json {
    return this.#modules
  }

  get isEnded(): boolean {
    return this.#ended !== null
  }

  /** Runs a function, or what the request asks. Throws what that throws, or the signal's reason once that aborted. */
  async run(request: JsonObject, signal: AbortSignal) {
    signal.throwIfAborted()
    const abort = () => this.kill()
    signal.addEventListener('abort', abort)
    try {
      const {
        result = null,
        outputs = 1,
        warnings = [],
      } = await this.#ask({
        ask: 'run',
        ...request,
      })
      return { result, outputs, warnings }
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  kill(): void {
    this.#host.kill()
  }

  async #ask(request: JsonObject): Promise<Answer> {
    if (this.#ended) throw this.#ended
    const id = ++this.#lastId
    const pending = Promise.withResolvers<Answer>()
    this.#pending.set(id, pending)
    this.#host.send(JSON.stringify({ id, ...request }))
    const answer = await pending.promise
    if (answer.failure) throw new PowerShellFailure(answer.failure)
    return answer
  }

  #take(line: string): void {
    try {
      const answer = JSON.parse(line) as Answer
      this.#pending.get(answer.id ?? 0)?.resolve(answer)
      this.#pending.delete(answer.id ?? 0)
    } catch {
      this.#end(new Error('PowerShell sent something that is not JSON.'))
      this.kill()
    }
  }

  #end(reason: Error): void {
    this.#ended ??= reason
    for (const { reject } of this.#pending.values()) reject(this.#ended)
    this.#pending.clear()
  }
}

function tooLate(clock: Clock, ready: AbortSignal): Promise<never> {
  const late = clock.wait(START_TIMEOUT_MS, ready).then(() => {
    throw new Error(`PowerShell was not ready within ${START_TIMEOUT_MS / 1_000} s.`)
  })
  // PowerShell is usually ready first, and then nobody waits for this one.
  late.catch(() => {})
  return late
}
