// A member that nobody is, for plans before there are people.

import type { SampleMember } from '../plan/run-plan.ts'
import { instantOf } from '../sources/source-time.ts'
import { templateOf } from '../state/member-columns.ts'
import { spellingOf } from '../state/member-key.ts'
import type { Runbook } from './model.ts'

export function madeUpMember({ dataSource }: Runbook, data: SampleMember['data']): SampleMember {
  const column = spellingOf(dataSource.primaryKey, Object.keys(data))
  const key = column === undefined ? null : data[column]
  return { key: typeof key === 'string' ? key : 'somebody', data, outputs: {} }
}

/** From the sample row of the member file's template. */
export function sampleMemberOf(runbook: Runbook): SampleMember {
  const { header, sample } = templateOf(runbook)
  return madeUpMember(
    runbook,
    Object.fromEntries(header.map((column, at) => [column, sample[at]!])),
  )
}

/** The start in the member's row; null when there is none, or none that can be read. */
export function startTimeOf({ dataSource }: Runbook, { data }: SampleMember): Date | null {
  const { batchTimeColumn, timeZone } = dataSource
  const column = batchTimeColumn && spellingOf(batchTimeColumn, Object.keys(data))
  const found = column ? instantOf(data[column], timeZone) : null
  return found && 'at' in found ? found.at : null
}
