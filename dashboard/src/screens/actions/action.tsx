// One change of many members: who asked for what and why, and what has become of each person since.

import { Link, useParams } from 'wouter'
import { PERSON_STATES, stateWord } from '../../../../src/domain/state/person-state.ts'
import { usePages, useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { Loaded } from '../../ui/feedback.tsx'
import { ChoiceFilter, Filters, useFilter } from '../../ui/filters.tsx'
import { countText, Figure, Page, Section } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { lookOf, Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { actionWord, selectionText } from './action-words.ts'

type Action = Answer<'GET /api/actions/{actionId}'>

const RESULTS = [
  ['done', 'Done'],
  ['refused', 'Refused'],
] as const

export default function ActionScreen() {
  const actionId = Number(useParams<{ actionId: string }>().actionId)
  const reading = useReading('GET /api/actions/{actionId}', { params: { actionId } })
  useLive({ batchId: reading.data?.batchId })
  return (
    <Loaded reading={reading} what={`action ${actionId}`}>
      {(action) => (
        <Page
          title={`${actionWord(action.action)}: action ${action.id}`}
          lead={<ActionLead action={action} />}
        >
          <Section title="What became of them">
            <div className="figures">
              {PERSON_STATES.filter((state) => action.now[state] > 0).map((state) => (
                <Figure
                  key={state}
                  name={stateWord(state)}
                  value={action.now[state]}
                  look={lookOf(state)}
                />
              ))}
              <Figure name="Changed" value={`= ${countText(action.doneCount)}`} />
              <Figure name="of these failed again" value={action.failedAgain} />
              <Figure name="of these on hold" value={action.heldNow} />
              <Figure name="Refused" value={action.refusedCount} />
            </div>
          </Section>
          <ActionMembers action={action} />
        </Page>
      )}
    </Loaded>
  )
}

const ActionLead = ({ action }: { readonly action: Action }) => (
  <>
    <Status status={action.state} /> {action.by}, <Time at={action.startedAt} />: {action.reason}.
    Selected in <Link href={`/batches/${action.batchId}`}>batch {action.batchId}</Link>:{' '}
    {selectionText(action.selection)} ({countText(action.selectedCount)}).
  </>
)

function ActionMembers({ action }: { readonly action: Action }) {
  const [result] = useFilter('result')
  const reading = usePages('GET /api/actions/{actionId}/members', {
    params: { actionId: action.id },
    query: result === 'done' || result === 'refused' ? { result } : {},
  })
  return (
    <Section title="People">
      <Filters>
        <ChoiceFilter name="result" label="Result" options={RESULTS} />
      </Filters>
      <Loaded reading={reading} what="people">
        {({ pages }) => (
          <Table
            caption="People of this action"
            rows={pages.flatMap(({ members }) => members)}
            rowKey={({ member }) => member.id}
            total={pages[0]!.total}
            more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
            columns={[
              {
                name: 'Person',
                cell: ({ member }) => (
                  <Link href={`/batches/${action.batchId}/members/${member.id}`}>
                    {member.memberKey}
                  </Link>
                ),
              },
              { name: 'Result', cell: ({ refusal }) => (refusal === null ? 'Done' : refusal) },
              {
                name: 'Now',
                cell: ({ member, failedAgain }) => (
                  <>
                    <Status status={member.state} />{' '}
                    {failedAgain && <Status status="failed" text="failed again" />}
                  </>
                ),
              },
              { name: 'Where', cell: ({ member }) => <Sentence text={member.where} /> },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
