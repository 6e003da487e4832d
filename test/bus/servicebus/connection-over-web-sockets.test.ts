// Service Bus over WebSockets, as a worker behind a firewall reaches it: TLS on port 443, and only through the proxy of the environment.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setGlobalProxyFromEnv } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import tls from 'node:tls'
import { makeAuthority } from '../../../sandbox/authority.ts'
import { serviceBusAccess } from '../../../src/app/roles/transports.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import { type Bus, workerJobs } from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import type { Broker } from '../../kit/broker/broker.ts'
import { openNamespace } from '../../kit/namespace.ts'
import {
  type OpenPort,
  openProxy,
  openWebSocketPort,
  type TestProxy,
} from '../../kit/web-sockets.ts'
import { fresh, job, takeOne } from '../under-test.ts'

const HOST = 'contoso.servicebus.test'
const RETRY = { maxRetries: 1, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 2_000 }
const clock = realClock()

describe('Service Bus over WebSockets', () => {
  let broker: Broker
  let port: OpenPort
  let proxy: TestProxy
  let bus: Bus
  let leaveProxy = () => {}
  const trusted = tls.getCACertificates('default')
  before(async () => {
    const authority = await makeAuthority([HOST], clock.now())
    tls.setDefaultCACertificates([...trusted, authority.certificate])
    const namespace = await openNamespace(clock, ['w1'])
    broker = namespace.broker
    const amqp = Number(/127\.0\.0\.1:(\d+)/.exec(namespace.connectionString)![1])
    port = await openWebSocketPort(authority.server, amqp)
    proxy = await openProxy(port.port)
    leaveProxy = setGlobalProxyFromEnv({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` })
    const token = { token: 'token', expiresOnTimestamp: +clock.now() + 3_600_000 }
    const read = readConfig({
      MATOOLKIT_SERVICEBUS_NAMESPACE: HOST,
      MATOOLKIT_SERVICEBUS_PROTOCOL: 'websockets',
    })
    assert.ok('config' in read, JSON.stringify(read))
    const access = serviceBusAccess(read.config, clock)
    bus = await openServiceBus({
      db: null,
      clock,
      newToken: randomUUID,
      retry: RETRY,
      access: { ...access, credential: { getToken: async () => token } },
    })
  })
  beforeEach(() => {
    proxy.refusal = null
    proxy.asked.length = 0
  })
  after(async () => {
    await bus.close()
    leaveProxy()
    await Promise.all([proxy.close(), port.close(), broker.close()])
    tls.setDefaultCACertificates(trusted)
  })

  it('sends and receives through the proxy, and asks it for port 443 of the namespace only', async () => {
    const sent = job('w1', fresh('ws'))
    await bus.publish([sent])
    const taken = await takeOne(bus, workerJobs('w1'))
    assert.equal(taken.messageId, sent.messageId)
    await bus.ack([taken])
    assert.deepEqual(new Set(proxy.asked), new Set([`${HOST}:443`]))
    assert.ok(broker.tokens.length > 0 && broker.tokens.every(({ token }) => token === 'token'))
  })

  it('carries a job of 150,000 bytes and one of 1,000 whole', async () => {
    for (const length of [1_000, 150_000]) {
      const small = job('w1', fresh('ws'))
      const text = 'ä'.repeat(length / 2)
      const sent = { ...small, body: { ...(small.body as object), parameters: { text } } }
      await bus.publish([sent as unknown as typeof small])
      const taken = await takeOne(bus, workerJobs('w1'))
      assert.deepEqual(JSON.parse(String(taken.body)).parameters, { text })
      await bus.ack([taken])
    }
  })

  it('opens a new connection through the proxy after the old one was cut', async () => {
    await broker.dropConnections()
    const sent = job('w1', fresh('ws'))
    await bus.publish([sent])
    const taken = await takeOne(bus, workerJobs('w1'))
    assert.equal(taken.messageId, sent.messageId)
    await bus.ack([taken])
    assert.ok(proxy.asked.length > 0, 'the proxy was asked again')
  })

  it('says what to check when the proxy refuses, and works as soon as it does not', async () => {
    proxy.refusal = '407 Proxy Authentication Required'
    await broker.dropConnections()
    const sent = job('w1', fresh('ws'))
    await assert.rejects(bus.publish([sent]), {
      code: 'BUS_UNREACHABLE',
      message: /WebSocket was not opened\. Check HTTPS_PROXY, .*port 443/,
    })
    proxy.refusal = null
    await bus.publish([sent])
    assert.equal((await takeOne(bus, workerJobs('w1'))).messageId, sent.messageId)
  })
})
