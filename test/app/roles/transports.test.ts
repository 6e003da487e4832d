import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type OpenTransportOptions,
  openTransport,
  serviceBusAccess,
} from '../../../src/app/roles/transports.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import type { Bus } from '../../../src/bus/bus.ts'

const OPTIONS = { leaseMs: 7 } as OpenTransportOptions

it('opens the transport that MATOOLKIT_TRANSPORT names', async () => {
  const read = readConfig({ MATOOLKIT_TRANSPORT: 'servicebus' })
  assert.ok('config' in read)
  const opened: OpenTransportOptions[] = []
  const bus = {} as Bus
  const transports = {
    postgres: () => assert.fail('it is not chosen'),
    https: () => assert.fail('it is not chosen'),
    servicebus: (options: OpenTransportOptions) => {
      opened.push(options)
      return bus
    },
  }
  assert.equal(await openTransport(read.config, OPTIONS, transports), bus)
  assert.deepEqual(opened, [OPTIONS])
})

it('refuses a transport that does not exist', () => {
  const read = readConfig({ MATOOLKIT_TRANSPORT: 'postgre' })
  assert.ok('problems' in read)
  assert.match(
    read.problems[0]!,
    /is "postgre", but must be one of postgres, servicebus\. Did you mean "postgres"/,
  )
})

it('reaches a namespace by the managed identity, the emulator by its connection string, and nothing without either', () => {
  const accessOf = (env: Record<string, string>) => {
    const read = readConfig({ MATOOLKIT_TRANSPORT: 'servicebus', ...env })
    assert.ok('config' in read, JSON.stringify(read))
    return serviceBusAccess(read.config, realClock())
  }
  const host = 'contoso.servicebus.windows.net'
  const access = accessOf({ MATOOLKIT_SERVICEBUS_NAMESPACE: host })
  assert.ok('credential' in access && access.namespace === host)
  const emulator = 'Endpoint=sb://localhost;SharedAccessKeyName=a;UseDevelopmentEmulator=true;'
  assert.deepEqual(accessOf({ MATOOLKIT_SERVICEBUS_CONNECTION: emulator }), {
    connectionString: emulator,
  })
  assert.throws(() => accessOf({}), { code: 'BUS_NOT_CONFIGURED' })
  const key = 'Endpoint=sb://contoso.servicebus.windows.net;SharedAccessKey=s3cret'
  const refused = readConfig({ MATOOLKIT_SERVICEBUS_CONNECTION: key })
  assert.ok('problems' in refused && !refused.problems.join().includes('s3cret'))
})
