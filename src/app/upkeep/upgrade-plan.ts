// What an upgrade of the schema would do: the missing migrations, and whether each program at work continues.
import type { Column, Show } from '../../cli/terminal/show.ts'
import { showSection } from '../../cli/terminal/show.ts'
import type { SchemaVersions } from '../../db/schema/migrate.ts'
import { type Migration, type Upgrade, upgradeOf } from '../../db/schema/migration-files.ts'
import type { ProgramProcess } from '../../db/schema/processes.ts'

export interface PendingMigration {
  readonly file: string
  readonly kind: Upgrade['kind']
  /** The lowest program that works with the schema after it. */
  readonly lowestProgram: number
}

export interface PlannedProcess extends ProgramProcess {
  /** The migration that ends its work; null when it continues. */
  readonly endsWith: string | null
}

export interface UpgradePlan {
  readonly found: number
  readonly known: number
  readonly pending: readonly PendingMigration[]
  readonly processes: readonly PlannedProcess[]
}

export function planSchemaUpgrade(
  { found, known, lowest }: SchemaVersions,
  migrations: readonly Migration[],
  processes: readonly ProgramProcess[],
): UpgradePlan {
  let lowestProgram = lowest
  const pending = migrations
    .filter(({ version }) => version > found)
    .map((migration): PendingMigration => {
      const { kind, from } = upgradeOf(migration)
      lowestProgram = Math.max(lowestProgram, from ?? 0)
      return { file: migration.file, kind, lowestProgram }
    })
  const endOf = (schema: number) => pending.find((one) => schema < one.lowestProgram)?.file ?? null
  return {
    found,
    known,
    pending,
    processes: processes.map((one) => ({ ...one, endsWith: endOf(one.schema) })),
  }
}

const MIGRATIONS: readonly Column<UpgradePlan['pending'][number]>[] = [
  ['MIGRATION', 'file', 'whole'],
  ['UPGRADE', 'kind'],
  ['PROGRAMS THAT CONTINUE', ({ lowestProgram }) => `schema ${lowestProgram} and newer`],
]

const PROCESSES: readonly Column<UpgradePlan['processes'][number]>[] = [
  ['PROCESS', 'name', 'whole'],
  ['RELEASE', 'version'],
  ['SCHEMA', 'schema'],
  ['CONTINUES', ({ endsWith }) => (endsWith === null ? 'yes' : `until ${endsWith}`)],
]

/** For people. */
export async function showPlan(show: Show, plan: UpgradePlan): Promise<void> {
  const { found, known, pending, processes } = plan
  show.say(`The schema has version ${found}; "matoolkit db migrate" makes it ${known}.`)
  await showSection(show, 'Missing', pending, MIGRATIONS)
  await showSection(show, 'At work now', processes, PROCESSES)
}

/** After it is done: who is left to replace. */
export const olderLines = ({ processes, known }: UpgradePlan): string[] =>
  processes.flatMap(({ name, version, schema, endsWith }) => {
    if (schema >= known) return []
    const now = endsWith === null ? 'continues; replace it' : 'ends its work; replace it'
    return [`${name} runs ${version} and ${now}`]
  })
