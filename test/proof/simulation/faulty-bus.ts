// A process's view of a faulty bus: messages arrive twice, late and in any order, acknowledgements get lost, and processes die
// between taking and acknowledging a message. The broker's own actions (delays, dead letters) are events of the world. Copies are
// made here, not in the table, which refuses duplicate ids on sending.
import {
  DUPLICATE_WINDOW_MS,
  type ReceivedMessage,
  type Subscription,
} from '../../../src/bus/bus.ts'
import type { PostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { Chance } from './chance.ts'
import type { Faults } from './faults.ts'
import type { Process } from './process.ts'

/** A repeated delivery. */
interface Copy {
  readonly address: string
  readonly message: ReceivedMessage
  readonly atMs: number
}

/** Shared by all processes: the repetitions still to come. */
export interface Broker {
  readonly copies: Copy[]
  readonly nowMs: () => number
  /** Called with each acknowledged message: its effect must be in the database by then. */
  readonly acknowledged: (messages: readonly ReceivedMessage[]) => Promise<void>
}

const COPY = 'copy'
export const isCopy = ({ lease }: ReceivedMessage): boolean => lease.token === COPY
const COPIES_KEPT_MAX = 60
const SOON_MS = 5 * 60_000

export function faultyBus(
  bus: PostgresBus,
  process: Process,
  broker: Broker,
  faults: Faults,
  chance: Chance,
): PostgresBus {
  const real = (messages: readonly ReceivedMessage[]) => messages.filter((one) => !isCopy(one))
  return {
    ...bus,
    receive: async (subscription, limit) => {
      const size = faults.isHealed ? limit : chance.between(1, limit)
      const taken = await bus.receive(subscription, size)
      remember(broker, addressOf(subscription), taken, faults, chance)
      const all = [...taken, ...dueCopies(broker, addressOf(subscription))]
      if (all.length > 0 && faults.strikes('crash after receive')) return process.die()
      const isMixed = all.length > 1 && faults.strikes('messages reordered')
      return isMixed ? chance.shuffled(all) : all
    },
    ack: async (messages) => {
      if (faults.strikes('crash before ack')) return process.die()
      // The consumer believes that they are acknowledged; they return when the lease ends.
      if (real(messages).length > 0 && faults.strikes('ack lost')) return []
      const lost = await bus.ack(real(messages))
      await broker.acknowledged(messages.filter((one) => !lost.includes(one)))
      return lost
    },
    abandon: (messages, delayMs) => bus.abandon(real(messages), delayMs),
    release: (messages, delayMs) => bus.release(real(messages), delayMs),
    renew: (messages) => bus.renew(real(messages)),
    deadLetter: (messages, reason, description) =>
      bus.deadLetter(real(messages), reason, description),
  }
}

const addressOf = ({ topic, name }: Subscription): string => `${topic}/${name}`

function remember(
  { copies, nowMs }: Broker,
  address: string,
  taken: readonly ReceivedMessage[],
  faults: Faults,
  chance: Chance,
): void {
  for (const message of taken) {
    const isSoon = faults.strikes('message duplicated')
    const isLate = faults.strikes('message duplicated after the detection window')
    if (!(isSoon || isLate) || copies.length >= COPIES_KEPT_MAX) continue
    const copy = { ...message, lease: { sequence: message.lease.sequence, token: COPY } }
    const delayMs = isLate ? DUPLICATE_WINDOW_MS + chance.below(SOON_MS) : chance.below(SOON_MS)
    copies.push({ address, message: copy, atMs: nowMs() + delayMs })
  }
}

/** Removes and returns the copies that are due. */
function dueCopies({ copies, nowMs }: Broker, address: string): ReceivedMessage[] {
  const due = copies.filter((copy) => copy.address === address && copy.atMs <= nowMs())
  for (const copy of due) copies.splice(copies.indexOf(copy), 1)
  return due.map(({ message }) => message)
}
