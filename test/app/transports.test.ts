import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTransport } from '../../src/app/transports.ts'
import type { Bus, TransportOptions } from '../../src/bus/bus.ts'
import { readConfig } from '../../src/config.ts'

const OPTIONS = { leaseMs: 7 } as TransportOptions

it('opens the transport that MATOOLKIT_TRANSPORT names', () => {
  const read = readConfig({ MATOOLKIT_TRANSPORT: 'postgres' })
  assert.ok('config' in read)
  const opened: TransportOptions[] = []
  const bus = {} as Bus
  const transports = {
    postgres: (options: TransportOptions) => {
      opened.push(options)
      return bus
    },
  }
  assert.equal(openTransport(read.config, OPTIONS, transports), bus)
  assert.deepEqual(opened, [OPTIONS])
})

it('refuses a transport that does not exist', () => {
  const read = readConfig({ MATOOLKIT_TRANSPORT: 'postgre' })
  assert.ok('problems' in read)
  assert.match(read.problems[0]!, /is "postgre", but must be "postgres"\. Did you mean "postgres"/)
})
