// The rights of each database role. The application reads and writes all rows. A worker has the tables of the bus only: it takes,
// leases and ends jobs of its own ids, sends results and hellos in its own name, and gives its own jobs up. It reads no result, sends no
// other message and cannot choose the number of a row.

import type { Queryable } from '../db/connection/db.ts'
import {
  applicationTables,
  type DatabaseRole,
  hasDatabaseRole,
  listDatabaseRoles,
  schemaFunctions,
} from '../db/schema/database-roles.ts'
import { type Rights, type RightsReport, type RowRule, reportRights } from '../db/schema/rights.ts'
import { BUNDLE_MAX } from './bundles.ts'
import { MESSAGE_MAX_BYTES, workerJobs } from './bus.ts'

export const rightsOf = ({ workerIds }: Pick<DatabaseRole, 'workerIds'>): Rights =>
  workerIds.length === 0 ? applicationRights() : workerRights(workerIds)

export const reportRole = (db: Queryable, role: DatabaseRole): Promise<RightsReport> =>
  reportRights(db, role.name, rightsOf(role), {
    tables: Object.keys(applicationTables()),
    functions: schemaFunctions().map(({ name }) => name),
  })

export interface RoleReport {
  readonly name: string
  readonly workerIds: string[]
  readonly missing: string[]
  readonly excess: string[]
}

/** All roles that were set up. There are as many as processes have credentials: some dozen at most. */
export async function listRoleReports(db: Queryable): Promise<RoleReport[]> {
  const reports: RoleReport[] = []
  for (const role of await listDatabaseRoles(db)) {
    const { missing, excess } = (await hasDatabaseRole(db, role.name))
      ? await reportRole(db, role)
      : { missing: ['the role itself'], excess: [] }
    const { name, workerIds } = role
    reports.push({
      name,
      workerIds: [...workerIds],
      missing: [...missing],
      excess: [...excess],
    })
  }
  return reports
}

/** Row security hides rows from every role but the owner, so the application needs a rule too. */
const applicationRights = (): Rights => ({
  tables: applicationTables(),
  functions: schemaFunctions().flatMap(({ name, isTrigger }) => (isTrigger ? [] : [name])),
  rows: ['bundles', 'message_ids', 'dead_letters'].map(
    (table): RowRule => ({ table, action: 'all', sees: 'true', writes: 'true' }),
  ),
})

const ENVELOPE = ['topic', 'subscription', 'message_type', 'worker_id', 'enqueued_at', 'expires_at']

// What a worker writes others read. A bundle that could not be taken apart, or a time that no program can show, stopped the results of
// everybody and the list of dead letters.
const lines = (column: string): string =>
  `octet_length(${column}) - octet_length(replace(${column}, E'\\n', '')) = size - 1`
const IS_WHOLE = `size <= ${BUNDLE_MAX} and ${lines('message_ids')} and (size = 1 or ${lines('bodies')})`
const areDated = (...columns: readonly string[]): string =>
  columns.map((column) => `${column} between '2000-01-01Z' and '3000-01-01Z'`).join(' and ')
const IS_LEASE = `delivery_count < 1000000 and ${areDated('visible_at', "coalesce(leased_until, '2000-01-01Z')")}`
const TEXT_MAX_BYTES = 65_536
const IS_SHOWABLE = `delivery_count between 0 and 1000000 and octet_length(body) <= ${MESSAGE_MAX_BYTES}
  and octet_length(message_id || original_message_id || message_type || reason || description) <= ${TEXT_MAX_BYTES}
  and ${areDated('enqueued_at', 'expires_at', 'dead_lettered_at')}`

/** Constants, so that the planner uses the index of the queue. Ids are letters, digits, "_", "." and "-". */
function workerRights(workerIds: readonly string[]): Rights {
  const oneOf = (column: string, values: readonly string[]) =>
    `${column} in (${values.map((value) => `'${value}'`).join(', ')})`
  const queues = workerIds.map((id) => workerJobs(id).name)
  const jobs = `topic = 'worker-jobs' and ${oneOf('subscription', queues)}`
  const own = oneOf('worker_id', workerIds)
  const answers = `topic = 'worker-results' and ${own} and message_type in ('worker-result', 'worker-hello')
    and ${IS_WHOLE} and ${areDated('enqueued_at', 'visible_at', 'expires_at')}`
  const remembered = oneOf(
    'topic',
    workerIds.map((id) => `worker-results/${id}`),
  )
  return {
    tables: {
      schema_migrations: { select: true },
      bundles: {
        select: true,
        insert: [...ENVELOPE, 'message_ids', 'bodies', 'visible_at', 'size'],
        update: ['visible_at', 'delivery_count', 'leased_until', 'lease_token'],
        delete: true,
      },
      // On columns: a right on the whole table is also one to lock it.
      message_ids: { select: true, insert: true, update: ['topic', 'message_id', 'seen_at'] },
      dead_letters: {
        insert: [
          ...ENVELOPE,
          'message_id',
          'original_message_id',
          'body',
          'delivery_count',
          'reason',
          'description',
          'dead_lettered_at',
        ],
      },
    },
    functions: [
      'may_serve',
      'newest_event',
      'claim_bundles',
      'split_bundles',
      'messages_in_bundle',
      'remember_message_ids',
    ],
    rows: [
      { table: 'bundles', action: 'select', sees: jobs },
      { table: 'bundles', action: 'update', sees: jobs, writes: `${jobs} and ${IS_LEASE}` },
      { table: 'bundles', action: 'delete', sees: jobs },
      { table: 'bundles', action: 'insert', writes: answers },
      { table: 'message_ids', action: 'all', sees: remembered, writes: remembered },
      { table: 'dead_letters', action: 'insert', writes: `${jobs} and ${own} and ${IS_SHOWABLE}` },
    ],
  }
}
