// What a database role may do, as data: the statements that grant it and the check that compares it with the catalog both follow from
// it. Nothing here creates roles or passwords: that is up to the administrator.
import { createHash } from 'node:crypto'
import type { Queryable } from '../connection/db.ts'

type Action = 'select' | 'insert' | 'update' | 'delete'

/** An action on the whole table, or on these columns only. */
export type TableRights = Partial<Readonly<Record<Action, true | readonly string[]>>>

/** Which rows of a table a role sees and writes. */
export interface RowRule {
  readonly table: string
  readonly action: Action | 'all'
  readonly sees?: string
  readonly writes?: string
}

export interface Rights {
  readonly tables: Readonly<Record<string, TableRights>>
  readonly rows: readonly RowRule[]
  /** Names of those that it may execute. */
  readonly functions: readonly string[]
}

export interface RightsReport {
  readonly missing: readonly string[]
  readonly excess: readonly string[]
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The name follows from the rule's text, so that a changed rule is found missing. */
function policyOf(role: string, rule: RowRule): string {
  const text = JSON.stringify([role, rule])
  return `matoolkit_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}

/** Takes everything from the role. A policy that names others too is not ours and stays. */
export function revokeStatements(role: string, schema: string): string[] {
  return [
    `do $$
declare policy record;
begin
  for policy in select polname, polrelid::regclass as place from pg_policy where polroles = array[${literal(quoted(role))}::regrole::oid] loop
    execute format('drop policy %I on %s', policy.polname, policy.place);
  end loop;
end
$$`,
    `revoke all on all tables in schema ${quoted(schema)} from ${quoted(role)}`,
    `revoke all on all sequences in schema ${quoted(schema)} from ${quoted(role)}`,
    `revoke all on all functions in schema ${quoted(schema)} from ${quoted(role)}`,
    `revoke all on schema ${quoted(schema)} from ${quoted(role)}`,
  ]
}

/** Takes everything from the role, then grants its rights: running them again changes nothing. */
export function grantStatements(role: string, schema: string, rights: Rights): string[] {
  const { tables, rows, functions } = rights
  const name = quoted(role)
  return [
    ...revokeStatements(role, schema),
    // Databases made by PostgreSQL 14 or older let everybody create tables.
    `revoke create on schema ${quoted(schema)} from public`,
    `grant usage on schema ${quoted(schema)} to ${name}`,
    ...Object.entries(tables).map(
      ([table, rights]) =>
        `grant ${Object.entries(rights)
          .map(([action, on]) => (on === true ? action : `${action} (${on.join(', ')})`))
          .join(', ')} on ${table} to ${name}`,
    ),
    `grant execute on function ${functions.join(', ')} to ${name}`,
    ...[...new Set(rows.map(({ table }) => table))].map(
      (table) => `alter table ${table} enable row level security`,
    ),
    ...rows.map((rule) => {
      const { table, action, sees, writes } = rule
      const using = sees === undefined ? '' : ` using (${sees})`
      const check = writes === undefined ? '' : ` with check (${writes})`
      return `create policy ${policyOf(role, rule)} on ${table} for ${action} to ${name}${using}${check}`
    }),
  ]
}

interface HeldRight {
  readonly table: string
  readonly action: string
  readonly onTable: boolean
  readonly columns: readonly string[]
}

/** The rights on tables and functions that the role of this connection lacks. */
export async function listMissingRights(
  db: Queryable,
  role: string,
  { tables, functions }: Rights,
): Promise<string[]> {
  const held = await db.query<HeldRight>(HELD, [role, Object.keys(tables)])
  return [
    ...Object.entries(tables).flatMap(([table, may]) => missingOn(table, may, held)),
    ...without(functions, await listExecutable(db, role, functions)),
  ]
}

const without = (names: readonly string[], others: readonly string[]): string[] =>
  names.filter((name) => !others.includes(name)).map((name) => `execute on function ${name}`)

interface HeldRow {
  readonly table: string
  readonly policy: string
}

/** What there is to have a right on. */
export interface Things {
  readonly tables: readonly string[]
  readonly functions: readonly string[]
}

/** Compares the rights of an existing role on these, also those it inherits, with what it should have. */
export async function reportRights(
  db: Queryable,
  role: string,
  rights: Rights,
  all: Things,
): Promise<RightsReport> {
  const held = await db.query<HeldRight>(HELD, [role, all.tables])
  const executable = await listExecutable(db, role, all.functions)
  const policies = await db.query<HeldRow>(HELD_POLICIES, [role])
  const wanted = rights.rows.map((rule) => `${policyOf(role, rule)} on ${rule.table}`)
  const found = policies.map(({ table, policy }) => `${policy} on ${table}`)
  return {
    missing: [
      ...Object.entries(rights.tables).flatMap(([table, may]) => missingOn(table, may, held)),
      ...without(rights.functions, executable),
      ...wanted.filter((policy) => !found.includes(policy)).map((policy) => `policy ${policy}`),
    ],
    excess: [
      ...(await listPowers(db, role)),
      ...held.flatMap((right) => excessOf(right, rights.tables[right.table] ?? {})),
      ...without(executable, rights.functions),
      ...found.filter((policy) => !wanted.includes(policy)).map((policy) => `policy ${policy}`),
    ],
  }
}

// By rights of the role itself or of one that it inherits from. A superuser has all.
const HELD = `
  select c.relname as "table", a.name as action, has_table_privilege($1::name, c.oid, a.name) as on_table,
         case when a.name in ('select', 'insert', 'update', 'references') then array(
           select n.attname::text from pg_attribute n where n.attrelid = c.oid and n.attnum > 0 and not n.attisdropped
              and has_column_privilege($1::name, c.oid, n.attnum, a.name)) else '{}' end as columns
    from pg_class c
    cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as a (name)
   where c.relnamespace = current_schema()::regnamespace and c.relname = any ($2::text[])
   order by c.relname, a.name`

const HELD_POLICIES = `
  select c.relname as "table", p.polname as policy
    from pg_policy p join pg_class c on c.oid = p.polrelid
   where c.relnamespace = current_schema()::regnamespace and c.relrowsecurity
     and exists (select from unnest(p.polroles) as r (oid) where r.oid = 0 or pg_has_role($1::name, r.oid, 'usage'))
   order by 1, 2`

async function listExecutable(
  db: Queryable,
  role: string,
  names: readonly string[],
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select p.proname::text as name from pg_proc p
      where p.pronamespace = current_schema()::regnamespace and p.proname = any ($2::text[])
        and has_function_privilege($1::name, p.oid, 'execute') order by 1`,
    [role, names],
  )
  return rows.map(({ name }) => name)
}

function missingOn(table: string, may: TableRights, held: readonly HeldRight[]): string[] {
  return Object.entries(may).flatMap(([action, on]) => {
    const right = held.find((one) => one.table === table && one.action === action)
    if (right?.onTable) return []
    if (on === true) return [`${action} on ${table}`]
    const columns = on.filter((column) => !right?.columns.includes(column))
    return columns.length === 0 ? [] : [`${action} (${columns.join(', ')}) on ${table}`]
  })
}

function excessOf({ table, action, onTable, columns }: HeldRight, may: TableRights): string[] {
  const on = may[action as Action]
  if (on === true) return []
  if (onTable) return [`${action} on ${table}`]
  const more = columns.filter((column) => !on?.includes(column))
  return more.length === 0 ? [] : [`${action} (${more.join(', ')}) on ${table}`]
}

interface Powers {
  readonly isSuper: boolean
  readonly bypassesRows: boolean
  readonly owns: boolean
  readonly creates: boolean
  readonly createsSchemas: boolean
}

/** The only power that can be taken away without an administrator. */
export const CAN_CREATE = 'it can create tables'

/** Powers that make every right pointless. */
export async function listPowers(db: Queryable, role: string): Promise<string[]> {
  const [row] = await db.query<Powers>(
    `select r.rolsuper as is_super, r.rolbypassrls as bypasses_rows,
            coalesce((select pg_has_role(r.oid, c.relowner, 'member') from pg_class c where c.oid = to_regclass('schema_migrations')), false) as owns,
            has_schema_privilege(r.oid, current_schema(), 'create') as creates,
            has_database_privilege(r.oid, current_database(), 'create') as creates_schemas
       from pg_roles r where r.rolname = $1`,
    [role],
  )
  if (!row) return []
  if (row.isSuper) return ['it is a superuser']
  return [
    ...(row.bypassesRows ? ['it bypasses row security'] : []),
    ...(row.owns ? ['it can become the owner of the tables'] : []),
    // In one with the owner's name, its tables would come before ours for every statement of the owner.
    ...(row.createsSchemas ? ['it can create schemas'] : []),
    ...(row.creates ? [CAN_CREATE] : []),
  ]
}
