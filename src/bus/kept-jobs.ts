// With a broker, jobs of workers that come through the API stay in the database: a broker's locks belong to a connection, and such a worker
// may meet another API each time. The relay leaves their queues alone; hold and cancel withdraw them as without a broker.
import type { Db } from '../db/connection/db.ts'
import type { Bus, Capabilities, MessagePlace, Topic } from './bus.ts'

/** Of a row with a topic and a subscription: its messages are not for the broker. A worker that ever had a credential comes through the API. */
export const isKept = (row: string): string =>
  `(${row}.topic = 'worker-jobs' and exists (select from worker_credentials c where ${row}.subscription = 'worker-' || c.worker_id))`

interface Stored extends Pick<Bus, 'storedJobs' | 'locate' | 'sweep' | 'close'> {
  readonly capabilities: Pick<Capabilities, 'gateway'>
}

/** The broker's bus, and the database's for what stays there. */
export function withKeptJobs(broker: Bus, stored: Stored): Bus {
  return {
    ...broker,
    capabilities: { ...broker.capabilities, gateway: stored.capabilities.gateway },
    storedJobs: {
      workersIn: keptWorkers,
      withdrawIn: stored.storedJobs.withdrawIn,
      // The broker's jobs run as well.
      discardIn: async () => {},
    },
    locate: async (topic, ids) =>
      (await stored.locate(topic, ids)).map((place) => nextToBroker(place, topic)),
    sweep: async () => {
      await broker.sweep()
      await stored.sweep()
    },
    close: async () => {
      await stored.close()
      await broker.close()
    },
  }
}

/** What is not in the database may be at the broker, which does not say. A job whose lease has lapsed is awaited, wherever it is. */
const nextToBroker = (place: MessagePlace, topic: Topic): MessagePlace =>
  place.is === 'gone' || (place.is === 'lapsed' && topic === 'worker-jobs')
    ? { is: 'unknown' }
    : place

async function keptWorkers(
  tx: Pick<Db, 'query'>,
  workerIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.query<{ id: string }>(
    'select distinct worker_id as id from worker_credentials where worker_id = any ($1::text[])',
    [workerIds],
  )
  return new Set(rows.map(({ id }) => id))
}
