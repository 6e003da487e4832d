// The part of the contract about everything at once: two consumers take, settle, give back, renew and put aside parts of what they
// hold, in any order, also when it is no longer theirs. A plain account of every message says what must come of it. Run by contract.ts.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type Bus,
  MAX_DELIVERIES,
  ORCHESTRATOR_EVENTS,
  type ReceivedMessage,
} from '../../src/bus/bus.ts'
import { seeded } from '../seeded.ts'
import { type BusUnderTest, drain, event, idsOf, MINUTE, SECOND, type Suite } from './under-test.ts'

const COURSES = 12
const STEPS = 60
const ACTIONS = ['send', 'take', 'take', 'ack', 'renew', 'abandon', 'put aside', 'wait'] as const

/** What a course knows of one message. */
interface Account {
  deliveries: number
  /** The last delivery that was not given back, and when its lease ends. */
  held: ReceivedMessage | null
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
      this.accounts.set(messageId, { deliveries: 0, held: null, untilMs: 0, isOver: false })
  }

  take(messages: ReceivedMessage[]): void {
    for (const message of messages) {
      const account = this.accounts.get(message.messageId)
      assert.ok(account, `${message.messageId} was sent in this course`)
      assert.ok(!account.isOver, `${message.messageId} was settled or put aside`)
      assert.ok(!this.isHeld(account), `${message.messageId} is somebody's`)
      account.deliveries += 1
      assert.equal(message.deliveryCount, account.deliveries)
      account.held = message
      account.untilMs = +this.under.now() + this.under.bus.leaseMs
    }
    if (messages.length > 0) this.taken.push(messages)
  }

  private isHeld(account: Account): boolean {
    return account.held !== null && account.untilMs > +this.under.now()
  }

  /** Some of what was taken together, at any time before: all of it every third time. */
  private some(): ReceivedMessage[] {
    const { draw, taken } = this
    if (taken.length === 0) return []
    const list = taken[draw(taken.length)]!
    return draw(3) === 0 ? list : list.filter(() => draw(2) === 0)
  }

  private async act(bus: Bus, action: 'ack' | 'renew' | 'abandon' | 'put aside'): Promise<void> {
    const messages = this.some()
    if (messages.length === 0) return
    const ours = messages.filter((message) => {
      const account = this.accounts.get(message.messageId)!
      return account.held === message && this.isHeld(account)
    })
    const lost = idsOf(messages.filter((message) => !ours.includes(message)))
    if (action === 'ack') assert.deepEqual(idsOf(await bus.ack(messages)), lost)
    else if (action === 'renew') assert.deepEqual(idsOf(await bus.renew(messages)), lost)
    else if (action === 'abandon') await bus.abandon(messages)
    else await bus.deadLetter(messages, 'Odd', 'in the course of things')
    for (const { messageId } of ours) {
      const account = this.accounts.get(messageId)!
      if (action === 'renew') account.untilMs = +this.under.now() + this.under.bus.leaseMs
      else account.held = null
      account.isOver = action === 'ack' || action === 'put aside'
    }
  }

  /** What nobody is done with comes again when all leases have ended. Only the bus itself may have put something aside. */
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
  it('loses nothing and gives nothing to two, whatever consumers do with parts of what they hold', async () => {
    for (let seed = 1; seed <= COURSES; seed += 1) {
      const course = new Course(suite(), seed)
      for (let step = 0; step < STEPS; step += 1) await course.step()
      assert.ok(course.taken.length > 5, 'the course had something to do')
      await course.end()
    }
  })
}
