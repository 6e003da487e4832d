// What workers are told, read without taking it away: every process of a worker sees all of it, and the broker deletes it after ten minutes.
import { type ControlPage, workerControl } from '../bus.ts'
import { longOf, type ServiceBusConnection } from './connection.ts'
import { bodyText } from './wire.ts'

const READ_AT_ONCE = 100

export async function readControl(
  connection: ServiceBusConnection,
  workerId: string,
  after: string | null,
): Promise<ControlPage> {
  const receiver = connection.receiver(workerControl(workerId), 'calls')
  const fromSequenceNumber = longOf(after === null ? 0 : Number(after) + 1)
  const found = await connection.call(`reading what ${workerId} is told`, () =>
    receiver.peekMessages(READ_AT_ONCE, { fromSequenceNumber }),
  )
  const last = found.at(-1)?.sequenceNumber
  return { bodies: found.map(bodyText), last: last === undefined ? after : String(last) }
}
