// The connection to a namespace by Microsoft's SDK, loaded only here. The SDK reconnects by itself, but calls in flight at that moment may
// never end. So each call has a limit, and after a call that reached it the next one uses a new client.
import type {
  PeekMessagesOptions,
  ServiceBusClient,
  ServiceBusClientOptions,
  ServiceBusReceiver,
  ServiceBusSender,
} from '@azure/service-bus'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { type Clock, realClock } from '../../base/run/clock.ts'
import { loadOptional } from '../../base/run/optional-packages.ts'
import type { Subscription, Topic } from '../bus.ts'

/** Where the namespace is, and who we are there. A connection string is for the emulator and tests. */
export type ServiceBusAccess =
  | { readonly connectionString: string }
  | {
      readonly namespace: string
      readonly credential: ServiceBusCredential
      /** AMQP inside WebSockets, port 443: through a proxy, and where 5671 is closed. */
      readonly isOverWebSockets?: boolean
    }

/** The part of the SDK's TokenCredential that it needs. */
export interface ServiceBusCredential {
  getToken(): Promise<{ readonly token: string; readonly expiresOnTimestamp: number }>
}

/** The SDK's own waits 60 s and then three times 30 s. */
const RETRY = { maxRetries: 3, retryDelayInMs: 250, maxRetryDelayInMs: 5_000, timeoutInMs: 10_000 }
/** Of a try's limit. A call lasts longer than all of the SDK's tries; a glance is one small question, so it finds a hanging client soon. */
const TRIES_PER_CALL = 5
const TRIES_PER_GLANCE = 1.5
const CLOSE_LIMIT_MS = 1_000

export interface ConnectionOptions {
  readonly access: ServiceBusAccess
  readonly clock: Clock
  /** Shorter in tests. */
  readonly retry?: Partial<typeof RETRY>
}

type Sdk = typeof import('@azure/service-bus')

export const loadSdk = (): Promise<Sdk> =>
  loadOptional('BUS_PACKAGE_MISSING', ['@azure/service-bus'], () => import('@azure/service-bus'))

export class ServiceBusConnection {
  readonly #sdk: Sdk
  readonly #options: ConnectionOptions
  #client: ServiceBusClient
  #senders = new Map<string, ServiceBusSender>()
  #receivers = new Map<string, ServiceBusReceiver>()
  /** Rises with every new client: what was opened on an older one is gone. */
  generation = 0

  constructor(sdk: Sdk, options: ConnectionOptions) {
    this.#sdk = sdk
    this.#options = options
    this.#client = this.#open()
  }

  #open(): ServiceBusClient {
    const { access, retry } = this.#options
    const mode = this.#sdk.RetryMode?.Exponential ?? 0
    const options: ServiceBusClientOptions = { retryOptions: { ...RETRY, ...retry, mode } }
    const { ServiceBusClient: Client } = this.#sdk
    if ('connectionString' in access) return new Client(access.connectionString, options)
    // Node's own asks the proxy of the environment.
    if (access.isOverWebSockets) options.webSocketOptions = { webSocket: WebSocket }
    return new Client(access.namespace, access.credential, options)
  }

  sender(topic: Topic): ServiceBusSender {
    const known = this.#senders.get(topic)
    if (known) return known
    const sender = this.#client.createSender(topic)
    this.#senders.set(topic, sender)
    return sender
  }

  /** One for calls, one for its stream: the SDK allows a receiver one use at a time. */
  receiver(
    { topic, name }: Subscription,
    use: 'calls' | 'stream' | 'dead letters',
  ): ServiceBusReceiver {
    const key = `${use} ${topic}/${name}`
    const known = this.#receivers.get(key)
    if (known && !known.isClosed) return known
    const receiver = this.#client.createReceiver(topic, name, {
      receiveMode: 'peekLock',
      // The consumer renews: it knows whether anybody works on the message.
      maxAutoLockRenewalDurationInMs: 0,
      skipParsingBodyAsJson: true,
      ...(use === 'dead letters' && { subQueueType: 'deadLetter' as const }),
    })
    this.#receivers.set(key, receiver)
    return receiver
  }

  /** Whether the subscription holds a message, leased or not. Proves that the subscription can be reached. */
  async glance(subscription: Subscription): Promise<boolean> {
    const receiver = this.receiver(subscription, 'calls')
    const options = { fromSequenceNumber: longOf(0) }
    const found = await this.call(
      `looking at ${subscription.name}`,
      () => receiver.peekMessages(1, options),
      TRIES_PER_GLANCE,
    )
    return found.length > 0
  }

  /** Runs a call of the SDK within the limit. Faults of the connection become one of our errors. */
  async call<T>(what: string, run: () => Promise<T>, tries = TRIES_PER_CALL): Promise<T> {
    const { generation } = this
    const { timeoutInMs = RETRY.timeoutInMs } = this.#options.retry ?? {}
    const done = new AbortController()
    const limit = this.#options.clock.wait(tries * timeoutInMs, done.signal).then((): T => {
      if (done.signal.aborted) return undefined as T
      this.#renew(generation)
      throw unreachable(what, new Error('no answer'))
    })
    try {
      return await Promise.race([run(), limit])
    } catch (error) {
      throw translate(what, error)
    } finally {
      done.abort()
    }
  }

  /** A call that hangs stays behind with the old client. */
  #renew(generation: number): void {
    if (generation !== this.generation) return
    const old = this.#client
    this.generation += 1
    this.#senders = new Map()
    this.#receivers = new Map()
    this.#client = this.#open()
    void old.close().catch(() => {})
  }

  async close(): Promise<void> {
    const closed = new AbortController()
    const closing = this.#client.close().finally(() => closed.abort())
    // On a dead connection the SDK may wait for an answer forever. In any clock's time, the process has to end.
    await Promise.race([closing, realClock().wait(CLOSE_LIMIT_MS, closed.signal)])
  }
}

type Position = NonNullable<PeekMessagesOptions['fromSequenceNumber']>

/** What the SDK needs of its number type. Without a position it continues from its last look. */
export function longOf(value: number): Position {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return { __isLong__: true, toBytesBE: () => [...bytes] } as unknown as Position
}

interface SdkError {
  readonly code?: string
  readonly message?: string
  readonly errors?: readonly unknown[]
}

/** Several failed tries come as one error with all of them. */
const lastOf = (error: unknown): SdkError => {
  const { errors } = (error ?? {}) as SdkError
  return (errors && errors.length > 0 ? errors.at(-1) : error) as SdkError
}

const ENTITY = /'([^']+)'/

function translate(what: string, error: unknown): unknown {
  if (error instanceof MatoolkitError || isLost(error)) return error
  const last = lastOf(error)
  if (last.code === 'MessagingEntityNotFound') {
    const entity = ENTITY.exec(last.message ?? '')?.[1] ?? what
    return new MatoolkitError('BUS_ENTITY_MISSING', { entity }, { cause: error })
  }
  if (isRefusal(last)) {
    const reason = last.message || 'Unauthorized'
    return new MatoolkitError('BUS_REFUSED', { what, reason }, { cause: error })
  }
  return unreachable(what, error)
}

const REFUSED = /unauthorized/i

/** The token was not taken, or gives no right to this entity. */
const isRefusal = ({ code, message }: SdkError): boolean =>
  REFUSED.test(code ?? '') || REFUSED.test(message ?? '')

/** Node's WebSocket fails with an empty TypeError, whatever the cause. */
const NO_WEB_SOCKET =
  'the WebSocket was not opened. Check HTTPS_PROXY, and whether port 443 of the namespace is open to this process'

const unreachable = (what: string, error: unknown): MatoolkitError => {
  const { message, code } = lastOf(error)
  const reason = message || code || (error instanceof TypeError ? NO_WEB_SOCKET : 'no reason given')
  return new MatoolkitError('BUS_UNREACHABLE', { what, reason }, { cause: error })
}

const SETTLED = /already settled|has either been deleted/

/** The lock ran out, or somebody has settled the message. */
export function isLost(error: unknown): boolean {
  const all = [error, lastOf(error), ...((error as SdkError)?.errors ?? [])] as SdkError[]
  return all.some(
    (one) =>
      one?.code === 'MessageLockLost' ||
      one?.code === 'MessageNotFound' ||
      SETTLED.test(one?.message ?? ''),
  )
}
