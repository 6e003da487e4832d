// The example that the demonstration runs: runbook, member file, and what people do while it runs.
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { csvTable } from '../../base/files/csv-text.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { findMembersByKey } from '../../db/state/members.ts'
import { type Runbook, readRunbook } from '../../domain/runbook/read.ts'
import { addMembers, createBatch } from '../../engine/orders/create.ts'
import { approveGate } from '../../engine/orders/gates.ts'
import { removeMembers } from '../../engine/orders/member-actions.ts'
import { publishRunbook } from '../../engine/orders/publish.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

const EXAMPLES = join(import.meta.dirname, '../../../examples')
const RUNBOOK_FILE = join(EXAMPLES, 'full-migration.yaml')
const MEMBERS_FILE = join(EXAMPLES, 'full-migration.csv')

const DAY_MS = 24 * 60 * 60_000
const ACTOR = 'demo'
const SECOND_PERSON = { actor: 'demo, a second person', reason: 'the failures are known' }

/** Joins two days before the cut-over, long after the first phase. */
export const LATE_JOINER = {
  UserPrincipalName: 'late.larsen@fabrikam.example',
  SourceObjectId: '3a5e8f10-7c4d-4b29-8e6f-1d2c3b4a5968',
  DisplayName: 'Late Larsen',
  Department: 'Sales',
  MailNickname: 'late.larsen',
  TargetUpn: 'late.larsen@contoso.example',
}
/** The row of the member file that leaves half a day before the cut-over. */
const LEAVER_ROW = 1

export interface ExampleMember {
  readonly key: string
  readonly data: Readonly<Record<string, string>>
}

export interface Sample {
  readonly yaml: string
  readonly runbook: Runbook
  readonly members: readonly ExampleMember[]
  readonly startTime: Date
}

/** The example that comes with the program: one wave. */
export function readSample(): Sample {
  const yaml = readFileSync(RUNBOOK_FILE, 'utf8')
  const { runbook, problems } = readRunbook(yaml)
  if (!runbook) {
    const { line, column, message } = problems[0]!
    const first = `line ${line}, column ${column}: ${message}`
    throw new MatoolkitError('RUNBOOK_INVALID', { count: problems.length, first })
  }
  const { primaryKey, batchTimeColumn } = runbook.dataSource
  const { rows } = csvTable(readFileSync(MEMBERS_FILE))
  const members = rows.map((data) => ({ key: data[primaryKey]!, data }))
  return { yaml, runbook, members, startTime: new Date(rows[0]![batchTimeColumn!]!) }
}

export async function createSampleBatch(engine: Engine, sample: Sample, io: Io): Promise<number> {
  const { yaml, runbook, members, startTime } = sample
  const { version } = await publishRunbook(engine, { yaml, publishedBy: ACTOR })
  io.out(`Published ${basename(RUNBOOK_FILE)} as version ${version}.`)
  const { batchId } = await createBatch(engine, {
    runbookName: runbook.name,
    sourceTime: startTime,
    members,
    createdBy: ACTOR,
  })
  io.out(
    `Created batch ${batchId} with the ${members.length} members of ${basename(MEMBERS_FILE)}.`,
  )
  return batchId
}

/** Something that people do while the migration runs. */
export interface StoryEvent {
  readonly at: Date
  run(): Promise<unknown>
}

export function storyOf(
  engine: Engine,
  batchId: number,
  { startTime, members }: Sample,
): StoryEvent[] {
  const key = LATE_JOINER.UserPrincipalName
  return [
    {
      at: new Date(+startTime - 2 * DAY_MS),
      run: () => addMembers(engine, batchId, [{ key, data: LATE_JOINER }], ACTOR),
    },
    {
      at: new Date(+startTime - DAY_MS / 2),
      run: async () => {
        const found = await findMembersByKey(engine.db, batchId, [members[LEAVER_ROW]!.key])
        await removeMembers(engine, {
          batchId,
          actor: ACTOR,
          by: 'source',
          reason: 'no longer in the member list',
          memberIds: found.map(({ id }) => id),
        })
      },
    },
    {
      at: new Date(+startTime - DAY_MS / 24),
      run: () => approveGate(engine, { batchId, phaseName: 'cutover', ...SECOND_PERSON }),
    },
  ]
}
