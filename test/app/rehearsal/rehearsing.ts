// Rehearsals for tests: a runbook and its people as text, on a database that other tests have used.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { type RehearsalInput, rehearse } from '../../../src/app/rehearsal/rehearse.ts'
import type { RehearsalReport } from '../../../src/app/rehearsal/report.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { openTestPglite } from '../../kit/databases.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Of the empty databases that rehearsals load: kept between runs, because making one takes 3 s of processor time. */
export const REHEARSAL_HOME = join(ROOT, 'node_modules/.cache/matoolkit-home')

export const example = (file: string): string => readFileSync(join(ROOT, 'examples', file), 'utf8')

/** The header and the first rows. */
export const firstRows = (csv: string, count: number): string =>
  csv
    .split('\n')
    .slice(0, count + 1)
    .join('\n')

export async function rehearseText(
  yaml: string,
  csv: string,
  more: Partial<RehearsalInput> = {},
): Promise<RehearsalReport> {
  const { runbook, problems } = readRunbook(yaml, { catalogues: [M365_CATALOGUE], isLinted: true })
  if (!runbook) throw new Error(problems.map(({ message }) => message).join('\n'))
  const [columns = [], ...rows] = parse(csv, { trim: true, relax_column_count: true }) as string[][]
  const test = await openTestPglite()
  try {
    return await rehearse({
      yaml,
      runbook,
      lint: problems,
      members: {
        file: 'members.csv',
        columns,
        rows: rows.map((cells) =>
          Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])),
        ),
      },
      tenantSeed: null,
      startAt: null,
      now: new Date('2030-01-01T00:00:00Z'),
      seed: 1,
      slots: 32,
      openDatabase: async () => test.db,
      ...more,
    })
  } finally {
    await test.close()
  }
}
