// The part of the contract that mixes everything: two consumers receive, ack, abandon, renew and dead-letter parts of their chunks
// in random order, also after their lease lapsed. An account of every message says what must happen to it. Run by contract.ts.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type Bus,
  MAX_DELIVERIES,
  ORCHESTRATOR_EVENTS,
  type ReceivedMessage,
} from '../../src/bus/bus.ts'
import { seeded } from '../kit/seeded.ts'
import { type BusUnderTest, drain, event, idsOf, MINUTE, SECOND, type Suite } from './under-test.ts'

const COURSES = 12
const STEPS = 60
const ACTIONS = ['send', 'take', 'take', 'ack', 'renew', 'abandon', 'dead-letter', 'wait'] as const

/** What a course expects of one message. */
interface Account {
  deliveries: number
  /** The last delivery that was not abandoned, and when its lease ends. */
  leased: ReceivedMessage | null
  untilMs: number
  isOver: boolean
}

class Course {
  readonly accounts = new Map<string, Account>()
  readonly taken: ReceivedMessage[][] = []
  private readonly under: BusUnderTest
  private readonly draw: (limit: number) => number

  constructor(under: BusUnderTest, seed: number) {
    this.under = under
    this.draw = seeded(seed)
  }

  async step(): Promise<void> {
    const { under, draw } = this
    const bus = draw(2) === 0 ? under.bus : under.other
    const action = ACTIONS[draw(ACTIONS.length)]!
    if (action === 'send') await this.send(bus)
    else if (action === 'take')
      this.take(await bus.receive(ORCHESTRATOR_EVENTS, 1 + draw(draw(2) === 0 ? 8 : 60)))
    else if (action === 'wait') await under.advance(draw(25) * SECOND)
    else await this.act(bus, action)
  }

  private async send(bus: Bus): Promise<void> {
    const messages = Array.from({ length: 1 + this.draw(40) }, () => event())
    await bus.publish(messages)
    for (const { messageId } of messages)
      this.accounts.set(messageId, { deliveries: 0, leased: null, untilMs: 0, isOver: false })
  }

  take(messages: ReceivedMessage[]): void {
    for (const message of messages) {
      const account = this.accounts.get(message.messageId)
      assert.ok(account, `${message.messageId} was sent in this course`)
      assert.ok(!account.isOver, `${message.messageId} was acknowledged or dead-lettered`)
      assert.ok(!this.isLeased(account), `${message.messageId} is leased`)
      account.deliveries += 1
      assert.equal(message.deliveryCount, account.deliveries)
      account.leased = message
      account.untilMs = +this.under.now() + this.under.bus.leaseMs
    }
    if (messages.length > 0) this.taken.push(messages)
  }

  private isLeased(account: Account): boolean {
    return account.leased !== null && account.untilMs > +this.under.now()
  }

  /** A part of an earlier chunk; all of it every third time. */
  private partOfChunk(): ReceivedMessage[] {
    const { draw, taken } = this
    if (taken.length === 0) return []
    const list = taken[draw(taken.length)]!
    return draw(3) === 0 ? list : list.filter(() => draw(2) === 0)
  }

  private async act(bus: Bus, action: 'ack' | 'renew' | 'abandon' | 'dead-letter'): Promise<void> {
    const messages = this.partOfChunk()
    if (messages.length === 0) return
    const ours = messages.filter((message) => {
      const account = this.accounts.get(message.messageId)!
      return account.leased === message && this.isLeased(account)
    })
    const lost = idsOf(messages.filter((message) => !ours.includes(message)))
    if (action === 'ack') assert.deepEqual(idsOf(await bus.ack(messages)), lost)
    else if (action === 'renew') assert.deepEqual(idsOf(await bus.renew(messages)), lost)
    else if (action === 'abandon') await bus.abandon(messages)
    else await bus.deadLetter(messages, 'Odd', 'in the course of things')
    for (const { messageId } of ours) {
      const account = this.accounts.get(messageId)!
      if (action === 'renew') account.untilMs = +this.under.now() + this.under.bus.leaseMs
      else account.leased = null
      account.isOver = action === 'ack' || action === 'dead-letter'
    }
  }

  /** Unfinished messages come again when all leases have lapsed, or the bus itself has dead-lettered them. */
  async end(): Promise<void> {
    await this.under.advance(2 * MINUTE)
    const rest = await drain(this.under.bus, ORCHESTRATOR_EVENTS)
    this.take(rest)
    const came = new Set(idsOf(rest))
    for (const [id, { isOver, deliveries }] of this.accounts)
      assert.ok(isOver || came.has(id) || deliveries >= MAX_DELIVERIES, `${id} is lost`)
    assert.deepEqual(await this.under.bus.ack(rest), [])
  }
}

export function courses(suite: Suite): void {
  it('loses nothing and delivers nothing to two consumers at once, whatever they do with parts of chunks', async () => {
    for (let seed = 1; seed <= COURSES; seed += 1) {
      const course = new Course(suite(), seed)
      for (let step = 0; step < STEPS; step += 1) await course.step()
      assert.ok(course.taken.length > 5, 'the course received messages')
      await course.end()
    }
  })
}
