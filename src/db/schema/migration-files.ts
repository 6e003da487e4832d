// The numbered files of sql/, and what each declares about programs that are at work while it is applied, in a line of its own:
//
//   -- upgrade: additive             adds only: programs of the former release continue
//   -- upgrade: backfill             additive; its one statement is repeated in short transactions until it changes no row
//   -- upgrade: index                additive; its one index is built while rows are written
//   -- upgrade: contracting from 6   takes away what programs before migration 6 use; only those that know it continue
//
// Without the line, only programs that know the migration itself continue: so it is for the files of the first release.
import { readdirSync, readFileSync } from 'node:fs'

export interface Migration {
  readonly version: number
  readonly file: string
  readonly sql: string
}

const UPGRADE_KINDS = ['additive', 'backfill', 'index', 'contracting'] as const
export interface Upgrade {
  readonly kind: (typeof UPGRADE_KINDS)[number]
  /** Programs that know this migration or a newer one continue; null when the migration ends no program. */
  readonly from: number | null
}

const FOLDER = new URL('../../../sql/', import.meta.url)

export function migrationsOnDisk(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{3}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 3)),
      file,
      sql: readFileSync(new URL(file, FOLDER), 'utf8'),
    }))
}

const DECLARED = /^-- upgrade: *(.*?) *$/gm
const CONTRACTING = /^contracting from ([1-9]\d{0,2})$/

/** Throws when a file declares something else than the four, or two of them: a guess would end programs at work. */
export function upgradeOf({ version, file, sql }: Migration): Upgrade {
  const [declared, ...more] = [...sql.matchAll(DECLARED)].map(([, words]) => words!)
  if (declared === undefined) return { kind: 'contracting', from: version }
  const kind = UPGRADE_KINDS.find((one) => one === declared && one !== 'contracting')
  const from = Number(CONTRACTING.exec(declared)?.[1] ?? Number.NaN)
  if (more.length === 0 && kind) return { kind, from: null }
  if (more.length === 0 && from <= version) return { kind: 'contracting', from }
  throw new Error(`${file} declares "upgrade: ${[declared, ...more].join('", "')}"`)
}
