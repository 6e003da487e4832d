// Who works on this database. Every process names its release, the newest migration it knows, its roles and its host in the name of its
// connections, and the server lists those: nothing is stored, and a process that died is gone.
import type { Queryable } from '../connection/db.ts'

export interface ProgramProcess {
  /** Its release. */
  readonly version: string
  /** The newest migration that it knows. */
  readonly schema: number
  /** Its roles, its host (the end of the name) and its process id, such as `api,orchestrator@web-1#4711`. */
  readonly name: string
}

export interface ProcessName extends Omit<ProgramProcess, 'name'> {
  readonly roles: readonly string[]
  readonly host: string
  readonly pid: number
}

/** The server cuts a longer name. */
const NAME_CHARS_MAX = 63
const ALL_ROLES = 4

/** The name of a process's connections. The end of a long host name is kept: there replicas differ. */
export function connectionNameOf({ version, schema, roles, host, pid }: ProcessName): string {
  const start = `matoolkit ${version}/${schema} ${roles.length === ALL_ROLES ? 'all' : roles.join(',')}@`
  const end = `#${pid}`
  const room = Math.max(0, NAME_CHARS_MAX - start.length - end.length)
  return `${start}${room === 0 ? '' : host.replace(/[^\w.-]/g, '').slice(-room)}${end}`
}

const NAME = /^matoolkit (\S+)\/(\d{1,3}) (\S+)$/

/** In the order of their names. */
export async function listProcesses(db: Queryable): Promise<ProgramProcess[]> {
  const rows = await db.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
      where datname = current_database() and application_name like 'matoolkit %' order by 1`,
  )
  return rows.flatMap(({ name }) => {
    const [, version, schema, rest] = NAME.exec(name) ?? []
    return rest === undefined ? [] : [{ version: version!, schema: Number(schema), name: rest }]
  })
}
