// A Service Bus namespace for the tests: AMQP 1.0 over TCP, spoken by the real SDK. It keeps what Azure documents, and breaks on request:
// lost answers, busy servers, cut links and connections, refused tokens. Time is the caller's.
import type { AddressInfo } from 'node:net'
import rhea, {
  type Connection,
  type Container,
  type Delivery,
  type EventContext,
  type Message,
  type Receiver,
  type Sender,
} from 'rhea'
import { type Entry, Namespace, type Queue } from './entities.ts'
import { Faults } from './faults.ts'
import { manage } from './management.ts'
import {
  accepted,
  answerTo,
  bytesOf,
  deliverable,
  lockLost,
  MESSAGE_MAX_BYTES,
  messagesIn,
  tagOf,
} from './wire.ts'

export interface BrokerOptions {
  readonly now: () => Date
  /** A lost link frees its messages at once. Azure keeps them locked until their time is over. */
  readonly freesLocksOfLinks?: boolean
  /** Key and certificate, PEM: then it speaks TLS, as Azure does. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** A token that a client gave for an entity. */
export interface GivenToken {
  readonly type: string
  readonly audience: string
  readonly token: string
}

/** A client's receiver: its link here is a sender. */
interface Consumer {
  readonly link: Sender
  readonly queue: Queue
  /** Each with the lock of its delivery: the same message may have come here again under another. */
  readonly sent: Map<Delivery, { readonly entry: Entry; readonly token: string }>
  /** Settled, and not yet answered. */
  readonly finished: { readonly delivery: Delivery; readonly isLost: boolean }[]
  isPumping: boolean
  isClosed: boolean
}

/** rhea keeps these to itself. */
interface RheaSender extends Sender {
  credit: number
  delivery_count: number
  _draining: boolean
  _drained: boolean
  _get_drain(): boolean
}

/** Some clients write the whole address: `amqps://namespace/topic`. */
const entityIn = (address: string): string => address.replace(/^amqps?:\/\/[^/]+\//, '')

const isManagement = (address: string): boolean => /\$management$/i.test(address)

export class Broker {
  readonly namespace = new Namespace()
  readonly faults = new Faults()
  /** Every token that came, refused ones included. */
  readonly tokens: GivenToken[] = []
  /** Which tokens it takes. */
  takesToken: (given: GivenToken) => boolean = () => true
  readonly #tls: BrokerOptions['tls']
  readonly #now: () => Date
  readonly #freesLocks: boolean
  readonly #container: Container
  readonly #consumers = new Map<Sender, Consumer>()
  readonly #replies = new Map<string, Sender>()
  readonly #connections = new Set<Connection>()
  #server: ReturnType<Container['listen']> | null = null

  constructor({ now, freesLocksOfLinks = false, tls }: BrokerOptions) {
    this.#now = now
    this.#tls = tls
    this.#freesLocks = freesLocksOfLinks
    this.#container = rhea.create_container({ id: 'servicebus' })
    const mechanisms = this.#container.sasl_server_mechanisms
    mechanisms.enable_anonymous()
    // Azure's name for "the token comes by $cbs": Microsoft's SDK for Python knows no other.
    Object.assign(mechanisms, { MSSBCBS: mechanisms.ANONYMOUS })
    this.#listenToLinks()
  }

  async open(port = 0): Promise<number> {
    const server = this.#container.listen({
      host: '127.0.0.1',
      port,
      ...(this.#tls && { transport: 'tls', ...this.#tls }),
      sender_options: { autosettle: false, treat_modified_as_released: false },
      receiver_options: { autoaccept: false, credit_window: 1_000 },
    } as Parameters<Container['listen']>[0])
    this.#server = server
    await new Promise<void>((resolve) => server.once('listening', resolve))
    return (server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = null
    await this.dropConnections()
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()))
  }

  /** What happens by itself when time passes: locks and messages run out, scheduled messages come. */
  tick(): void {
    this.namespace.tick(this.#nowMs())
  }

  /** Cuts every connection, without a word. Resolves when both sides have noticed. */
  async dropConnections(): Promise<void> {
    for (const connection of this.#connections) socketOf(connection)?.destroy()
    for (let turn = 0; turn < TURNS_TO_NOTICE; turn += 1)
      await new Promise((resolve) => setImmediate(resolve))
  }

  /** Closes every receiver's link, as Azure does when it moves an entity. */
  detachConsumers(): void {
    const error = { condition: 'amqp:link:detach-forced', description: 'The link is detached.' }
    for (const { link } of this.#consumers.values()) link.close(error)
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  #nowMs(): number {
    return this.#now().getTime()
  }

  #listenToLinks(): void {
    const container = this.#container
    container.on('connection_open', ({ connection }: EventContext) => {
      this.#connections.add(connection)
      // Otherwise each answer waits 40 ms for the acknowledgement of the one before.
      socketOf(connection)?.setNoDelay(true)
      // Destroying a socket here gives no `disconnected`.
      socketOf(connection)?.once('close', () => this.#forget(connection))
    })
    container.on('receiver_open', ({ receiver }: EventContext) => this.#openSender(receiver!))
    container.on('sender_open', ({ sender }: EventContext) => this.#openReceiver(sender!))
    container.on('sender_close', ({ sender }: EventContext) => this.#dropSoon(sender!))
    container.on('session_close', ({ session }: EventContext) => {
      for (const link of [...this.#consumers.keys()])
        if (link.session === session) this.#dropSoon(link)
    })
    container.on('message', (context: EventContext) => this.#receive(context))
    // An answer to each flow: without one, the next waits 40 ms in the client's socket.
    container.on('sender_flow', ({ connection }: EventContext) => heartbeat(connection))
    container.on('sendable', ({ sender }: EventContext) => this.#pump(sender!))
    container.on('sender_draining', ({ sender }: EventContext) => this.#drain(sender!))
    container.on('accepted', (context: EventContext) => this.#settle(context, 'accepted'))
    container.on('modified', (context: EventContext) => this.#settle(context, 'modified'))
    container.on('released', (context: EventContext) => this.#settle(context, 'modified'))
    container.on('rejected', (context: EventContext) => this.#settle(context, 'rejected'))
    // A cut connection is part of the tests.
    for (const event of [
      'disconnected',
      'error',
      'connection_error',
      'session_error',
      'protocol_error',
    ])
      container.on(event, () => {})
  }

  #forget(connection: Connection): void {
    this.#connections.delete(connection)
    // rhea would send heartbeats into a closed socket forever.
    const beats = connection as unknown as Record<'heartbeat_in' | 'heartbeat_out', NodeJS.Timeout>
    clearTimeout(beats.heartbeat_in)
    clearTimeout(beats.heartbeat_out)
    for (const link of [...this.#consumers.keys()])
      if (link.connection === connection) this.#drop(link)
  }

  /** rhea tells of a close first, and then of the settlements that came before it in the same packet. */
  #dropSoon(link: Sender): void {
    const consumer = this.#consumers.get(link)
    if (consumer) consumer.isClosed = true
    setImmediate(() => this.#drop(link))
  }

  #drop(link: Sender): void {
    const consumer = this.#consumers.get(link)
    if (!consumer) return
    this.#consumers.delete(link)
    consumer.isClosed = true
    if (this.#freesLocks) consumer.queue.drop(consumer)
  }

  /** A client sends: to an entity, to `$cbs` or to `$management`. */
  #openSender(receiver: Receiver): void {
    const address = String(receiver.target.address)
    receiver.set_target({ address })
    // Azure names both ends; a link without a source counts as refused for Microsoft's SDK for Python.
    receiver.set_source({ address: receiver.source?.address ?? address } as Receiver['source'])
    const local = receiver as unknown as { local: { attach: { max_message_size: number } } }
    local.local.attach.max_message_size = MESSAGE_MAX_BYTES
    const isKnown =
      address === '$cbs' || isManagement(address) || this.namespace.topic(entityIn(address))
    if (!isKnown) receiver.close(notFound(address))
  }

  /** A client receives: messages, or answers to its requests. */
  #openReceiver(link: Sender): void {
    const address = String(link.source.address)
    link.set_source({ address } as Sender['source'])
    link.set_target({ address: link.target?.address ?? '' })
    if (address === '$cbs' || isManagement(address)) {
      this.#replies.set(link.name, link)
      this.#replies.set(String(link.target?.address), link)
      return
    }
    const queue = this.namespace.queue(entityIn(address))
    if (!queue) {
      link.close(notFound(address))
      return
    }
    answerEveryDrain(link as RheaSender)
    const consumer = {
      link,
      queue,
      sent: new Map(),
      finished: [],
      isPumping: false,
      isClosed: false,
    }
    this.#consumers.set(link, consumer)
    queue.onReady = () => this.#pumpAll(queue)
  }

  #pumpAll(queue: Queue): void {
    for (const consumer of this.#consumers.values())
      if (consumer.queue === queue) this.#pump(consumer.link)
  }

  /** Later in this turn: rhea counts credit down only when it writes. */
  #pump(link: Sender): void {
    const consumer = this.#consumers.get(link)
    if (!consumer || consumer.isPumping) return
    consumer.isPumping = true
    setImmediate(() => {
      consumer.isPumping = false
      if (!consumer.isClosed) this.#fill(consumer)
    })
  }

  #fill(consumer: Consumer): void {
    const { link, queue, sent } = consumer
    for (let credit = (link as RheaSender).credit; credit > 0; credit -= 1) {
      const entry = queue.take(consumer, this.#nowMs())
      if (!entry) return
      const { token } = entry.lock!
      sent.set(link.send(deliverable(entry), tagOf(token)), { entry, token })
    }
  }

  #drain(link: Sender): void {
    const consumer = this.#consumers.get(link)
    if (!consumer) return link.set_drained(true)
    // After what is being pumped.
    setImmediate(() => {
      if (!consumer.isClosed) this.#fill(consumer)
      link.set_drained(true)
      const connection = link.connection as unknown as { _register(): void }
      connection._register()
    })
  }

  #receive({ receiver, delivery, message }: EventContext): void {
    const address = entityIn(String(receiver!.target.address))
    if (address === '$cbs') {
      delivery!.accept()
      this.#answerToken(message as Message, receiver!)
    } else if (isManagement(address)) {
      delivery!.accept()
      this.#answerRequest(address, message as Message, receiver!)
    } else this.#publish(address, delivery!, message as Message | Buffer)
  }

  /** To the link that the request names; without a name, to the one of the same connection. */
  #repliesTo(request: Message, asked: Receiver): Sender | undefined {
    if (request.reply_to) return this.#replies.get(String(request.reply_to))
    const { connection, target } = asked
    return [...this.#replies.values()].find(
      (link) => link.connection === connection && link.source.address === target.address,
    )
  }

  #answerToken(request: Message, asked: Receiver): void {
    const { type, name } = request.application_properties as Record<string, string>
    const given = { type: type!, audience: name!, token: String(request.body) }
    this.tokens.push(given)
    const isRefused = this.faults.take('refuse-token') || !this.takesToken(given)
    this.#repliesTo(request, asked)?.send({
      correlation_id: request.message_id!,
      application_properties: {
        'status-code': rhea.types.wrap_int(isRefused ? 401 : 202),
        'status-description': isRefused ? 'Unauthorized' : 'Accepted',
      },
      body: null,
    })
  }

  #answerRequest(address: string, request: Message, asked: Receiver): void {
    if (this.faults.take('ignore-request')) return
    const answer = this.faults.take('busy-request')
      ? { status: 503, description: BUSY, condition: 'com.microsoft:server-busy' }
      : manage(this.namespace, address, request, this.#nowMs())
    this.#repliesTo(request, asked)?.send(answerTo(request, answer))
  }

  #publish(address: string, delivery: Delivery, received: Message | Buffer): void {
    if (this.faults.take('busy-send')) {
      delivery.reject({ condition: 'com.microsoft:server-busy', description: BUSY })
      return
    }
    if (bytesOf(received) > MESSAGE_MAX_BYTES) {
      const description = 'The received message exceeds the maximum of the link.'
      delivery.reject({ condition: 'amqp:link:message-size-exceeded', description })
      return
    }
    const topic = this.namespace.topic(address)
    for (const message of messagesIn(received, delivery.format))
      topic?.publish(message, this.#nowMs())
    if (this.faults.take('cut-after-send')) void this.dropConnections()
    else if (!this.faults.take('lose-answer')) delivery.accept()
  }

  #settle({ sender, delivery }: EventContext, outcome: 'accepted' | 'modified' | 'rejected'): void {
    const consumer = sender && this.#consumers.get(sender)
    const sent = consumer?.sent.get(delivery!)
    if (!consumer || !sent) return
    consumer.sent.delete(delivery!)
    const { queue } = consumer
    const { entry, token } = sent
    const ours = this.faults.take('lose-lock') ? null : queue.locked(token, this.#nowMs())
    if (ours !== entry) return this.#finish(consumer, delivery!, true)
    if (outcome === 'accepted') queue.complete(entry)
    else if (outcome === 'modified') queue.abandon(entry)
    else queue.deadLetter(entry, ...reasonOf(delivery!))
    this.#finish(consumer, delivery!, false)
  }

  #finish(consumer: Consumer, delivery: Delivery, isLost: boolean): void {
    consumer.finished.push({ delivery, isLost })
    if (consumer.finished.length === 1) setImmediate(() => this.#answerSettled(consumer))
  }

  /** Only equal outcomes in one turn: rhea writes neighbours as one range with the first one's outcome. */
  #answerSettled(consumer: Consumer): void {
    const { finished, isClosed } = consumer
    if (isClosed) return
    const { isLost } = finished[0]!
    const other = finished.findIndex((one) => one.isLost !== isLost)
    const equal = finished.splice(0, other < 0 ? finished.length : other)
    for (const { delivery } of equal) finish(delivery, isLost ? lockLost() : accepted())
    if (finished.length > 0) setImmediate(() => this.#answerSettled(consumer))
  }
}

const TURNS_TO_NOTICE = 20
const BUSY = 'The request was terminated because the entity is being throttled. Error code : 50009.'

const notFound = (address: string) => ({
  condition: 'amqp:not-found',
  description: `The messaging entity '${address}' could not be found.`,
})

const socketOf = (connection: Connection) =>
  (connection as unknown as { socket?: import('node:net').Socket }).socket

const heartbeat = (connection: Connection): void =>
  (connection as unknown as { _write_frame(): void })._write_frame()

/** rhea answers a drain only while credit is left; a client waits for an answer in any case. */
function answerEveryDrain(link: RheaSender): void {
  link._get_drain = () => {
    if (!link._draining || !link._drained) return false
    link.delivery_count += link.credit
    link.credit = 0
    link._draining = false
    return true
  }
}

/** The SDK never settles in return, and rhea stalls after 2,048 deliveries that only one side has settled. */
function finish(delivery: Delivery, state: unknown): void {
  delivery.update(true, state)
  setImmediate(() => {
    ;(delivery as { remote_settled: boolean }).remote_settled = true
  })
}

function reasonOf(delivery: Delivery): [string, string] {
  const state = delivery.remote_state as { error?: { info?: Record<string, unknown> } } | undefined
  const info = state?.error?.info ?? {}
  return [String(info.DeadLetterReason ?? ''), String(info.DeadLetterErrorDescription ?? '')]
}
