// The quotas behind Microsoft Graph. Each service that it fronts throttles on its own: a mailbox that is busy does not slow the
// directory, nor another mailbox. Source: learn.microsoft.com/graph/throttling-limits.
import { Throttle, type ThrottleOptions, type ThrottleState } from '../../worker/http/throttle.ts'

type WorkloadOptions = Omit<ThrottleOptions, 'name' | 'start' | 'max'> & {
  /** Processes that share the app's quotas. */
  readonly replicas: number
}

/** Microsoft names no number for the directory, only rates: these bound how much is under way when the rate is exceeded. */
const DIRECTORY = { start: 8, max: 64 }
const INVITATIONS = { start: 4, max: 16 }
/** "4 concurrent requests" for an app and a mailbox: Outlook service limits, same page. */
const CALLS_A_MAILBOX = 4
/** Idle mailboxes are forgotten from here on. */
const MAILBOXES_KEPT = 200

/** Resources that the Outlook service limits list: mail, calendar, contacts, photo and settings of a mailbox. */
const OUTLOOK =
  /^\/users\/([^/]+)\/(?:sendMail|messages|mailFolders|mailboxSettings|inferenceClassification|outlook|events?|calendar\w*|contact\w*|photos?)(?:[/(]|$)/i

const NAMES = {
  directory: 'Microsoft Graph directory',
  invitations: 'Microsoft Graph invitations',
  mail: 'Microsoft Graph mail',
} as const

export class GraphWorkloads {
  readonly #options: WorkloadOptions
  readonly #directory: Throttle
  readonly #invitations: Throttle
  readonly #mailboxes = new Map<string, Throttle>()
  /** What forgotten mailboxes had. */
  #past = { throttled: 0, throttledSec: 0 }

  constructor(options: WorkloadOptions) {
    this.#options = options
    this.#directory = this.#open(NAMES.directory, DIRECTORY)
    this.#invitations = this.#open(NAMES.invitations, INVITATIONS)
  }

  /** The quota that a path counts against. */
  of(path: string): Throttle {
    const mailbox = OUTLOOK.exec(path)?.[1]?.toLowerCase()
    if (mailbox !== undefined) return this.#mailbox(mailbox)
    return path === '/invitations' ? this.#invitations : this.#directory
  }

  #open(name: string, { start, max }: { readonly start: number; readonly max: number }): Throttle {
    const { replicas, ...options } = this.#options
    const share = (count: number) => Math.max(1, Math.floor(count / replicas))
    const first = options.isAdaptive === false ? max : start
    return new Throttle({ ...options, name, start: share(first), max: share(max) })
  }

  #mailbox(name: string): Throttle {
    const known = this.#mailboxes.get(name)
    if (known) return known
    if (this.#mailboxes.size >= MAILBOXES_KEPT) this.#forgetIdle()
    const max = CALLS_A_MAILBOX
    const made = this.#open(NAMES.mail, { start: max, max })
    this.#mailboxes.set(name, made)
    return made
  }

  #forgetIdle(): void {
    for (const [name, mailbox] of this.#mailboxes) {
      if (!mailbox.isIdle()) continue
      const { throttled, throttledSec } = mailbox.state()
      this.#past.throttled += throttled
      this.#past.throttledSec += throttledSec
      this.#mailboxes.delete(name)
    }
  }

  /** One line for all mailboxes: the latest closing, and sums. */
  states(): ThrottleState[] {
    const all = [this.#directory.state(), this.#invitations.state(), this.#mailState()]
    return all.filter(({ name, calls, queued, throttled }) =>
      name === NAMES.directory ? true : calls + queued + throttled > 0,
    )
  }

  #mailState(): ThrottleState {
    const states = [...this.#mailboxes.values()].map((mailbox) => mailbox.state())
    const sum = (of: (state: ThrottleState) => number) =>
      states.reduce((total, state) => total + of(state), 0)
    const untilMs = Math.max(...states.map(({ closedUntil }) => +(closedUntil ?? 0)), 0)
    return {
      name: NAMES.mail,
      closedUntil: untilMs > 0 ? new Date(untilMs) : null,
      concurrency: Math.min(CALLS_A_MAILBOX, ...states.map(({ concurrency }) => concurrency)),
      calls: sum(({ calls }) => calls),
      queued: sum(({ queued }) => queued),
      throttled: this.#past.throttled + sum(({ throttled }) => throttled),
      throttledSec: this.#past.throttledSec + sum(({ throttledSec }) => throttledSec),
    }
  }
}
