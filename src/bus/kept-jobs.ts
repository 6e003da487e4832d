// With a broker, jobs of workers that come through the API stay in the database: a broker's locks belong to a connection, and such a worker
// may meet another API each time. The relay leaves their queues alone; hold and cancel withdraw them as without a broker.
import type { Db, Tx } from '../db/connection/db.ts'
import type { Bus, MessagePlace } from './bus.ts'

/** Of a row with a topic and a subscription: its messages are not for the broker. A worker that ever had a credential comes through the API. */
export const isKept = (row: string): string =>
  `(${row}.topic = 'worker-jobs' and exists (select from worker_credentials c where ${row}.subscription = 'worker-' || c.worker_id))`

export interface KeptJobs {
  /** Of these workers, those whose jobs stay in the database. */
  workersIn(tx: Tx, workerIds: readonly string[]): Promise<ReadonlySet<string>>
  readonly withdrawIn: NonNullable<Bus['withdrawIn']>
}

type Stored = Required<Pick<Bus, 'gateway' | 'withdrawIn'>> &
  Pick<Bus, 'locate' | 'sweep' | 'close'>

/** The broker's bus, and the database's for what stays there. */
export function withKeptJobs(broker: Bus, stored: Stored): Bus {
  return {
    ...broker,
    gateway: stored.gateway,
    kept: { workersIn: keptWorkers, withdrawIn: stored.withdrawIn },
    locate: async (topic, ids) => (await stored.locate(topic, ids)).map(orAtBroker),
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

/** What is not in the database may be at the broker, which does not say. */
const orAtBroker = (place: MessagePlace): MessagePlace =>
  place.is === 'gone' ? { is: 'unknown' } : place

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
