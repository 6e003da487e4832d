// Signing in to Service Bus as the machine, over TLS: the tokens of src/sign-in go by `$cbs` to the entities that a process uses, a new one
// before the old one ends, and a refusal says what is missing.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import tls from 'node:tls'
import { makeAuthority } from '../../../sandbox/authority.ts'
import { serviceBusAccess } from '../../../src/app/roles/transports.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import { type Bus, workerJobs } from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { fresh, job, takeOne } from '../../bus/under-test.ts'
import type { Broker } from '../../kit/broker/broker.ts'
import { openNamespace } from '../../kit/namespace.ts'
import {
  identityOf,
  startTokenServer,
  type TokenServer,
} from '../../scheduler/sources/token-server.ts'

const clock = realClock()
const RETRY = { maxRetries: 1, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 2_000 }
/** The SDK renews two minutes before the end. */
const RENEWED_AFTER_MS = 1_500
const RENEWED_BEFORE_MS = 120_000

/** A token as Entra ID makes them, as far as a client reads it. */
function tokenOf(name: string, livesMs: number): string {
  const exp = Math.round((+clock.now() + livesMs) / 1_000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return [part({ alg: 'none' }), part({ sub: name, exp }), 'x'].join('.')
}

describe('signing in to Service Bus as the machine', () => {
  let broker: Broker
  let port: number
  let tokens: TokenServer
  const opened: Bus[] = []
  const trusted = tls.getCACertificates('default')
  before(async () => {
    const authority = await makeAuthority(['localhost'], clock.now())
    tls.setDefaultCACertificates([...trusted, authority.certificate])
    const namespace = await openNamespace({ ...clock, tls: authority.server }, ['w1'])
    broker = namespace.broker
    port = Number(/127\.0\.0\.1:(\d+)/.exec(namespace.connectionString)![1])
    tokens = await startTokenServer()
  })
  after(async () => {
    await Promise.all(opened.map((bus) => bus.close()))
    await broker.close()
    await tokens.close()
    tls.setDefaultCACertificates(trusted)
  })
  /** From now on the identity service gives this one; `keptMs` is what it says, and what our cache believes. */
  const give = (name: string, livesMs: number, keptMs = livesMs): string => {
    const token = tokenOf(name, livesMs)
    const expires_on = String(Math.round((+clock.now() + keptMs) / 1_000))
    const body = { access_token: token, token_type: 'Bearer', expires_on }
    tokens.fault = { status: 200, body: JSON.stringify(body) }
    return token
  }
  const open = async (): Promise<Bus> => {
    const { url, header } = identityOf(tokens).identity!
    const read = readConfig({ IDENTITY_ENDPOINT: url, IDENTITY_HEADER: header })
    assert.ok('config' in read)
    const config = { ...read.config, serviceBusNamespace: `localhost:${port}` }
    const access = serviceBusAccess(config, clock)
    const bus = await openServiceBus({
      db: null,
      clock,
      newToken: randomUUID,
      access,
      retry: RETRY,
    })
    opened.push(bus)
    return bus
  }

  it('sends and receives with tokens for exactly what it uses', async () => {
    const token = give('first', 3_600_000)
    const bus = await open()
    const sent = job('w1', fresh('tls'))
    await bus.publish([sent])
    assert.equal((await takeOne(bus, workerJobs('w1'))).messageId, sent.messageId)
    assert.ok(broker.tokens.every((given) => given.type === 'jwt' && given.token === token))
    const audiences = broker.tokens.map(({ audience }) => audience.replace(/^sb:\/\/[^/]+\//, ''))
    assert.ok(audiences.includes('worker-jobs'), audiences.join())
    assert.ok(audiences.some((one) => /^worker-jobs\/subscriptions\/worker-w1$/i.test(one)))
    assert.ok(tokens.asked.every((one) => one.includes('https://servicebus.azure.net')))
  })

  it('gives a new token before the old one ends, on the link that it has', async () => {
    give('old', RENEWED_BEFORE_MS + RENEWED_AFTER_MS, RENEWED_AFTER_MS)
    const bus = await open()
    await bus.publish([job('w1', fresh('tls'))])
    const connections = broker.connectionCount
    const renewed = give('new', 3_600_000)
    while (!broker.tokens.some(({ token }) => token === renewed)) await clock.wait(50)
    await bus.publish([job('w1', fresh('tls'))])
    assert.equal(broker.connectionCount, connections, 'no new connection')
  })

  it('is not ready when its token is refused, and says which right is missing', async () => {
    give('nobody', 3_600_000)
    broker.takesToken = () => false
    const bus = await open()
    await assert.rejects(bus.isReady(), {
      code: 'BUS_REFUSED',
      message: /looking at Service Bus.*role.*doctor bus/s,
    })
    broker.takesToken = () => true
    assert.equal(await bus.isReady(), true, 'and ready as soon as it has the right')
  })

  it('trusts no server whose certificate nobody vouches for', async () => {
    tls.setDefaultCACertificates(trusted)
    const before = broker.tokens.length
    await assert.rejects((await open()).isReady(), { code: 'BUS_UNREACHABLE' })
    assert.equal(broker.tokens.length, before, 'and gives it no token')
  })
})
