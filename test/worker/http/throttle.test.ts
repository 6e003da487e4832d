// One quota: what closes its gate, who goes next, and that nothing is stuck or left behind whatever happens. Time is virtual.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type VirtualClock, virtualClock } from '../../../src/base/run/clock.ts'
import { GraphWorkloads } from '../../../src/m365/client/graph-workloads.ts'
import { Throttle, type ThrottleOptions } from '../../../src/worker/http/throttle.ts'
import { START } from '../../kit/scripted-service.ts'

const { signal: NEVER } = new AbortController()
const PLAIN = new Headers()
const WRITES_ONLY = 'Tenant_Application/Write/app/tenant'

function open(options: Partial<ThrottleOptions> = {}) {
  const clock = virtualClock(START)
  const told: string[] = []
  const throttle = new Throttle({
    clock,
    name: 'the service',
    onGate: ({ isClosed, isNew, seconds }) =>
      told.push(`${isClosed ? (isNew ? 'closed' : 'longer by') : 'open'} ${seconds}`),
    ...options,
  })
  const enter = (kind: 'read' | 'write' = 'read', signal = NEVER) => throttle.enter(signal, kind)
  return { clock, throttle, told, enter }
}

async function isGoing(promise: Promise<unknown>, clock: VirtualClock): Promise<boolean> {
  let isDone = false
  void promise.then(() => {
    isDone = true
  })
  await clock.advance(0)
  return isDone
}

describe('the places', () => {
  it('become more while calls wait and are answered, and fewer after a refusal', async () => {
    const { clock, throttle, enter } = open({ start: 2, max: 6 })
    const running = Array.from({ length: 60 }, async () => {
      const call = await enter()
      await clock.wait(1_000)
      call.answered(PLAIN)
    })
    for (let sec = 0; sec < 60; sec++) await clock.advance(1_000)
    await Promise.all(running)
    assert.equal(throttle.state().concurrency, 6)
    const calls = await Promise.all(Array.from({ length: 6 }, () => enter()))
    calls[0]!.refused(1_000, null)
    // Sent before the refusal: their answers say nothing new.
    for (const call of calls) call.answered(PLAIN)
    assert.deepEqual([throttle.state().concurrency, throttle.state().calls], [3, 0])
  })

  it('stay as many when the throttle is not adaptive', async () => {
    const { throttle, enter } = open({ start: 4, max: 8, isAdaptive: false })
    ;(await enter()).refused(1_000, null)
    assert.equal(throttle.state().concurrency, 4)
  })

  it('are left once, however often the end of a call is told', async () => {
    const { throttle, enter } = open({ start: 4, max: 4 })
    const [first] = await Promise.all([enter(), enter()])
    first!.answered(PLAIN)
    first!.leave()
    first!.refused(5_000, null)
    const { calls, closedUntil, throttled } = throttle.state()
    assert.deepEqual([calls, closedUntil, throttled], [1, null, 0])
  })
})

describe('the queue', () => {
  it('serves first come first, also before those who come when a place is just free', async () => {
    const { clock, enter } = open({ start: 1, max: 1 })
    const order: string[] = []
    const first = await enter()
    const go = (name: string) =>
      enter().then((call) => {
        order.push(name)
        call.answered(PLAIN)
      })
    const waiting = [go('a'), go('b')]
    await clock.advance(0)
    first.answered(PLAIN)
    await Promise.all([...waiting, go('late')])
    assert.deepEqual(order, ['a', 'b', 'late'])
  })

  it('keeps its order across a closed gate, and reads pass one closed for writes', async () => {
    for (const scope of [null, WRITES_ONLY]) {
      const { clock, throttle, enter } = open({ start: 2, max: 2 })
      const calls = await Promise.all([enter(), enter()])
      const order: string[] = []
      const go = async (name: string, kind: 'read' | 'write') => {
        const call = await enter(kind)
        order.push(name)
        call.answered(PLAIN)
      }
      const all = [go('a', 'write'), go('b', 'write'), go('c', 'read'), go('d', 'write')]
      await clock.advance(0)
      for (const call of calls) call.refused(5_000, scope)
      await clock.advance(4_999)
      assert.deepEqual(order, scope === null ? [] : ['c'])
      await clock.advance(1)
      await Promise.all(all)
      assert.deepEqual(order, scope === null ? ['a', 'b', 'c', 'd'] : ['c', 'a', 'b', 'd'])
      assert.deepEqual([throttle.state().calls, throttle.state().queued], [0, 0])
    }
  })

  it('lets an aborted call go, and gives its place to the next', async () => {
    const { clock, throttle, enter } = open({ start: 1, max: 1 })
    const abort = new AbortController()
    const first = await enter()
    const second = enter('read', abort.signal)
    const third = enter()
    assert.equal(throttle.state().queued, 2)
    abort.abort(new Error('the job is over'))
    await assert.rejects(second, /the job is over/)
    assert.equal(await isGoing(third, clock), false)
    first.leave()
    assert.equal(await isGoing(third, clock), true)
    assert.deepEqual([throttle.state().calls, throttle.state().queued], [1, 0])
  })

  it('takes a place back when the call aborts in the moment in which it gets it', async () => {
    const { throttle, enter } = open({ start: 1, max: 1 })
    const abort = new AbortController()
    const first = await enter()
    const second = enter('read', abort.signal)
    first.leave()
    abort.abort(new Error('the job is over'))
    await assert.rejects(second, /the job is over/)
    assert.deepEqual([throttle.state().calls, throttle.state().queued], [0, 0])
  })
})

describe('the gate', () => {
  it('tells when it closes, closes for longer and opens, and sums up how long', async () => {
    const { clock, throttle, told, enter } = open({ max: 8 })
    const calls = await Promise.all([enter(), enter()])
    calls[0]!.refused(3_000, null)
    calls[1]!.refused(5_000, null)
    const next = enter()
    await clock.advance(4_999)
    assert.equal(await isGoing(next, clock), false)
    assert.deepEqual(throttle.state().closedUntil, new Date(+START + 5_000))
    await clock.advance(1)
    ;(await next).answered(PLAIN)
    assert.deepEqual(told, ['closed 3', 'longer by 2', 'open 5'])
    const { closedUntil, throttledSec } = throttle.state()
    assert.deepEqual([closedUntil, throttledSec], [null, 5])
  })

  it('is never opened earlier by a later refusal', async () => {
    const { clock, throttle, enter } = open({ max: 8 })
    const calls = await Promise.all([enter(), enter()])
    calls[0]!.refused(60_000, null)
    calls[1]!.refused(1_000, null)
    const next = enter()
    await clock.advance(59_999)
    assert.equal(await isGoing(next, clock), false)
    assert.equal(throttle.state().throttledSec, 60)
    await clock.advance(1)
    assert.equal(await isGoing(next, clock), true)
  })

  it('leaves no timer behind when everyone who waits gives up', async () => {
    const { clock, enter } = open({ max: 8 })
    ;(await enter()).refused(3_600_000, null)
    const abort = new AbortController()
    const waiting = enter('read', abort.signal)
    assert.notEqual(clock.nextWakeAt(), null)
    abort.abort(new Error('the worker stops'))
    await assert.rejects(waiting, /the worker stops/)
    assert.equal(clock.nextWakeAt(), null)
  })

  it('closes for the kind of calls that x-ms-throttle-scope names', async () => {
    for (const [scope, reads, writes] of [
      [WRITES_ONLY, true, false],
      ['Tenant_Application/Read/app/tenant', false, true],
      ['Tenant_Application/ReadWrite/app/tenant', false, false],
      ['something else', false, false],
    ] as const) {
      const { clock, enter } = open({ max: 8 })
      ;(await enter()).refused(5_000, scope)
      assert.equal(await isGoing(enter('read'), clock), reads, scope)
      assert.equal(await isGoing(enter('write'), clock), writes, scope)
    }
  })
})

describe('the workloads of Graph', () => {
  it('have a gate each: the directory, invitations, and every mailbox', async () => {
    const clock = virtualClock(START)
    const workloads = new GraphWorkloads({ clock, replicas: 1 })
    const paths = ['/users/ada', '/invitations', '/users/ada/sendMail', '/users/kim/sendMail']
    const enter = (path: string) => workloads.of(path).enter(NEVER, 'write')
    for (const path of paths) {
      ;(await enter(path)).refused(5_000, null)
      for (const other of paths) {
        const entering = enter(other)
        assert.equal(await isGoing(entering, clock), other !== path, `${path}, ${other}`)
        void entering.then((call) => call.leave())
      }
      await clock.advance(60_000)
    }
    assert.equal(workloads.of('/users/ADA/messages'), workloads.of('/users/ada/sendMail'))
    assert.equal(workloads.of('/users/ada/memberOf'), workloads.of('/groups/7'))
  })

  it('forget idle mailboxes and keep their sums; four calls go to a mailbox, fewer with replicas', async () => {
    const clock = virtualClock(START)
    const workloads = new GraphWorkloads({ clock, replicas: 2 })
    const first = workloads.of('/users/0/sendMail')
    assert.equal(first.state().concurrency, 2)
    ;(await first.enter(NEVER, 'write')).refused(1_000, null)
    await clock.advance(1_000)
    for (let index = 1; index < 500; index++) workloads.of(`/users/${index}/sendMail`)
    assert.notEqual(workloads.of('/users/0/sendMail'), first)
    const mail = workloads.states().find(({ name }) => name === 'Microsoft Graph mail')
    assert.deepEqual([mail?.throttled, mail?.throttledSec], [1, 1])
  })
})
