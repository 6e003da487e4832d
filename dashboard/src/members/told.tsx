// Messages to people as a table: what each was told, when, and which start time. For a batch and for one person.
import { toldStateText } from '../../../src/domain/member-messages/told-state.ts'
import type { Answer } from '../api/routes.ts'
import { Status } from '../ui/status.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'

export type ToldLine = Answer<'GET /api/batches/{batchId}/told'>['told'][number]

const LOOKS: Readonly<Record<ToldLine['state'], string>> = {
  told: 'good',
  correction_owed: 'partial',
  not_told: 'pending',
  failed: 'failed',
}

export const toldKey = ({ memberId, stepId, phaseName, stepName, toldAt }: ToldLine): string =>
  [memberId, stepId, phaseName, stepName, toldAt].join(' ')

export const TOLD_COLUMNS: readonly Column<ToldLine>[] = [
  { name: 'Message', cell: ({ message }) => message },
  {
    name: 'State',
    cell: (line) => (
      <>
        <Status status={LOOKS[line.state]} text={toldStateText(line)} />
        {line.error !== null && <div className="error-text">{line.error}</div>}
      </>
    ),
  },
  { name: 'Language', cell: ({ language }) => language ?? '–' },
  { name: 'To', cell: ({ to }) => to ?? '–' },
  { name: 'At', cell: ({ toldAt }) => (toldAt === null ? '–' : <Time at={toldAt} />) },
  {
    name: 'Start told',
    cell: ({ startTime }) => (startTime === null ? '–' : <Time at={startTime} />),
  },
  {
    name: 'Step',
    cell: ({ phaseName, stepName }) =>
      [phaseName, stepName].filter((name) => name !== null).join(' / '),
  },
]
