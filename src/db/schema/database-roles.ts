// The database roles that were set up, and what the application may do. Its tables are those that the migrations create; it cannot
// change them, and what is written once stays as it is.
import type { Queryable, Tx } from '../connection/db.ts'
import { migrationsOnDisk } from './migration-files.ts'
import type { TableRights } from './rights.ts'

/** Without worker ids it is the application's. */
export interface DatabaseRole {
  readonly name: string
  readonly workerIds: readonly string[]
}

const READ: TableRights = { select: true }
const APPEND: TableRights = { select: true, insert: true }
const CHANGE: TableRights = { select: true, insert: true, update: true, delete: true }

/** All others it may change. */
const LIMITED: Readonly<Record<string, TableRights>> = {
  schema_migrations: READ,
  database_roles: READ,
  attempts: APPEND,
  events: APPEND,
  // Sealing writes three columns. Triggers let nothing else be updated, and nothing be deleted but by a sealed pruning.
  audit: {
    select: true,
    insert: [
      'at',
      'actor',
      'actor_name',
      'client_app',
      'request_id',
      'action',
      'subject',
      'reason',
      'source',
      'before_json',
      'after_json',
    ],
    update: ['seal_number', 'previous_hash', 'hash'],
    delete: true,
  },
  messages: READ,
}

const CREATED = /^create (?:table|view) (\w+)/gm

export function applicationTables(): Record<string, TableRights> {
  const names = migrationsOnDisk().flatMap(({ sql }) =>
    [...sql.matchAll(CREATED)].map(([, name]) => name!),
  )
  return Object.fromEntries(
    ['schema_migrations', ...names].map((name) => [name, LIMITED[name] ?? CHANGE]),
  )
}

const FUNCTION = /^create function (\w+)\([^)]*\)\s+returns (\w+)/gm

/** Functions of triggers are nobody's to call. */
export function schemaFunctions(): { readonly name: string; readonly isTrigger: boolean }[] {
  return migrationsOnDisk().flatMap(({ sql }) =>
    [...sql.matchAll(FUNCTION)].map(([, name, returns]) => ({
      name: name!,
      isTrigger: returns === 'trigger',
    })),
  )
}

/** In the order of their names. */
export async function listDatabaseRoles(db: Queryable): Promise<DatabaseRole[]> {
  return db.query<DatabaseRole>(
    `select role_name as name, coalesce(array_agg(worker_id order by worker_id) filter (where worker_id is not null), '{}') as worker_ids
       from database_roles group by role_name order by role_name`,
  )
}

export async function replaceDatabaseRole(tx: Tx, role: DatabaseRole, now: Date): Promise<void> {
  await forgetDatabaseRole(tx, role.name)
  const workerIds = role.workerIds.length === 0 ? [null] : role.workerIds
  await tx.query(
    'insert into database_roles (role_name, worker_id, granted_at) select $1, id, $3 from unnest($2::text[]) as w (id)',
    [role.name, workerIds, now],
  )
}

export async function forgetDatabaseRole(tx: Tx, name: string): Promise<boolean> {
  return (await tx.change('delete from database_roles where role_name = $1', [name])) > 0
}

export async function hasDatabaseRole(db: Queryable, name: string): Promise<boolean> {
  return (await db.query('select from pg_roles where rolname = $1', [name])).length > 0
}

export async function findCurrentSchema(db: Queryable): Promise<string> {
  const [row] = await db.query<{ name: string }>('select current_schema()::text as name')
  return row!.name
}

/** Whether this connection's role is set up to take the jobs of the worker; for null, to do everything. */
export async function mayServe(db: Queryable, workerId: string | null): Promise<boolean> {
  const [row] = await db.query<{ may: boolean }>("select may_serve(coalesce($1, '')) as may", [
    workerId,
  ])
  return row!.may
}
