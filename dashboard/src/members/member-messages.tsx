// Messages to people as a table: what each was told, when, and which start time. For a batch and for one person.
import { messageStateText } from '../../../src/domain/member-messages/message-state.ts'
import type { Answer } from '../api/routes.ts'
import { Status } from '../ui/status.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'

export type MessageLine = Answer<'GET /api/batches/{batchId}/messages'>['messages'][number]

const LOOKS: Readonly<Record<MessageLine['state'], string>> = {
  sent: 'good',
  correction_owed: 'partial',
  not_sent: 'pending',
  failed: 'failed',
}

export const messageKey = ({
  memberId,
  stepId,
  phaseName,
  stepName,
  sentAt,
}: MessageLine): string => [memberId, stepId, phaseName, stepName, sentAt].join(' ')

export const MESSAGE_COLUMNS: readonly Column<MessageLine>[] = [
  { name: 'Message', cell: ({ message }) => message },
  {
    name: 'State',
    cell: (line) => (
      <>
        <Status status={LOOKS[line.state]} text={messageStateText(line)} />
        {line.error !== null && <div className="error-text">{line.error}</div>}
      </>
    ),
  },
  { name: 'Language', cell: ({ language }) => language ?? '–' },
  { name: 'To', cell: ({ to }) => to ?? '–' },
  { name: 'At', cell: ({ sentAt }) => (sentAt === null ? '–' : <Time at={sentAt} />) },
  {
    name: 'Start sent',
    cell: ({ startTime }) => (startTime === null ? '–' : <Time at={startTime} />),
  },
  {
    name: 'Step',
    cell: ({ phaseName, stepName }) =>
      [phaseName, stepName].filter((name) => name !== null).join(' / '),
  },
]
