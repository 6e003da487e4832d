// Asks before a change of members: a dry run says who it concerns and who is refused, then come the reason and the confirmation. A
// selection over several batches is one question and one change a batch. The counts that the person saw are sent along: when
// another number is selected by then, the API refuses.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ComponentProps, type ReactNode, useState } from 'react'
import { type ApiError, client } from '../api/call.ts'
import { usePreviews } from '../api/hooks.ts'
import type { Answer, RequestOf } from '../api/routes.ts'
import { Decision } from '../ui/decision.tsx'
import { Loading } from '../ui/feedback.tsx'
import { countText } from '../ui/page.tsx'
import { ApprovalsLost } from '../ui/starts-at-once.tsx'
import { UndoPlan } from '../undo/undo-plan.tsx'
import { CHANGES, type MembersChange } from './changes.ts'
import './members.css'

type Retry = 'POST /api/batches/{batchId}/members/retry'
export type Selection = NonNullable<RequestOf<Retry>['body']>['select']
export type Outcome = Answer<Retry>

export interface Target {
  readonly batchId: number
  readonly select: Selection
}

interface MembersDecisionProps {
  readonly change: MembersChange
  /** `ada@contoso.com`, `12 people`. */
  readonly who: string
  readonly targets: readonly Target[]
  /** Further parts of the request, such as the step to start from. */
  readonly more?: Readonly<Record<string, unknown>>
  /** Parts that the dry run does without, such as typed outputs. */
  readonly also?: Readonly<Record<string, unknown>>
  /** False while `more` is not complete. */
  readonly isReady?: boolean
  /** Fields for `more`. */
  readonly children?: ReactNode
  readonly onClose: () => void
  /** Instead of showing the refused here. */
  readonly onDone?: (results: readonly Outcome[]) => void
}

/** All changes of members take a selection and give counts; a step that was done is skipped in another way. */
const endpointOf = (change: MembersChange) =>
  `POST /api/batches/{batchId}/members/${change === 'done' ? 'skip' : change}` as Retry
const PREVIEW = 'preview'

export function MembersDecision(props: MembersDecisionProps) {
  const { change, who, targets, more = {}, also, isReady = true, children, onClose } = props
  const { verb, effect, isDanger, reason } = CHANGES[change]
  const endpoint = endpointOf(change)
  const shown = useQueryClient()
  // What was changed already, batch by batch: when one fails, another attempt continues behind it.
  const [results, setResults] = useState<readonly Outcome[]>([])
  const request = ({ batchId, select }: Target, rest: object) =>
    ({ params: { batchId }, body: { select, ...more, ...rest } }) as RequestOf<Retry>
  const previews = usePreviews(
    endpoint,
    isReady ? targets.map((one) => request(one, { reason: PREVIEW, dryRun: true })) : [],
  )
  const failed = previews.find(({ error }) => error)?.error as ApiError | undefined
  const found = previews.flatMap(({ data }) => data ?? [])
  const isSeen = isReady && found.length === targets.length
  const run = useMutation<readonly Outcome[], ApiError, string>({
    mutationFn: async (why) => {
      const all = [...results]
      for (const [at, target] of targets.entries()) {
        if (at < all.length) continue
        const expectedCount = found[at]!.selectedCount
        const seen = { ...also, expectedCount, ...(why && { reason: why }) }
        all.push(
          expectedCount === 0 ? found[at]! : await client.call(endpoint, request(target, seen)),
        )
        setResults([...all])
      }
      return all
    },
    onSuccess: (all) => {
      props.onDone?.(all)
      if (sum(all, 'refusedCount') === 0) onClose()
    },
    onSettled: () => shown.invalidateQueries(),
  })
  if (run.isSuccess) return <Results title={`${verb} ${who}`} results={results} onClose={onClose} />
  return (
    <Decision
      title={`${verb}: ${who}`}
      verb={verb}
      isDanger={isDanger ?? false}
      reason={reason}
      isReady={isSeen && mayWork(found)}
      isBusy={run.isPending}
      error={run.error ?? failed ?? null}
      onClose={onClose}
      onConfirm={(why) => run.mutate(why)}
    >
      <p>{effect}</p>
      {children}
      {isReady && !isSeen && !failed && <Loading what="what it will do" lines={2} />}
      {isSeen && <Preview outcomes={found} />}
      {results.length > 0 && run.error && (
        <p>
          Done in {results.length} of {targets.length} batches.
        </p>
      )}
    </Decision>
  )
}

const sum = (outcomes: readonly Outcome[], count: 'doneCount' | 'refusedCount' | 'selectedCount') =>
  outcomes.reduce((total, one) => total + one[count], 0)

/** Those that the dry run did not try may still be possible. */
const mayWork = (found: readonly Outcome[]): boolean =>
  found.some(
    ({ doneCount, triedCount, selectedCount }) => doneCount > 0 || triedCount < selectedCount,
  )

/** What the dry run found. */
function Preview({ outcomes }: { readonly outcomes: readonly Outcome[] }) {
  const selected = sum(outcomes, 'selectedCount')
  const tried = outcomes.reduce((total, { triedCount }) => total + triedCount, 0)
  return (
    <div className="change-preview" role="status">
      <p>
        {selected === 0
          ? 'No one is selected any more.'
          : sum(outcomes, 'refusedCount') === 0
            ? `Applies to ${peopleOf(selected)}.`
            : `Applies to ${countText(sum(outcomes, 'doneCount'))} of ${peopleOf(selected)}.`}
        {tried < selected && ` The first ${countText(tried)} were tried.`}
      </p>
      {outcomes.length > 1 && (
        <ul>
          {outcomes.map(({ batchId, selectedCount }) => (
            <li key={batchId}>
              Batch {batchId}: {peopleOf(selectedCount)}
            </li>
          ))}
        </ul>
      )}
      <ApprovalsLost lost={outcomes.flatMap((one) => one.approvalsLost)} />
      <Undone outcomes={outcomes} />
      <UndonePlan outcomes={outcomes} />
      <Refused outcomes={outcomes} />
    </div>
  )
}

export const peopleOf = (count: number): string =>
  count === 1 ? '1 person' : `${countText(count)} people`

interface RolledBack {
  readonly rollbacks?: readonly {
    readonly rollback: string
    readonly rollsBack: readonly string[]
  }[]
  readonly kept?: readonly { readonly step: string }[]
}

/** What a rollback takes back, and what stays. */
function Undone({ outcomes }: { readonly outcomes: readonly (Outcome & RolledBack)[] }) {
  const rollbacks = outcomes.flatMap((one) => one.rollbacks ?? [])
  const kept = outcomes.flatMap((one) => one.kept ?? []).map(({ step }) => step)
  return (
    <>
      {rollbacks.length > 0 && (
        <ol>
          {rollbacks.map(({ rollback, rollsBack }) => (
            <li key={`${rollback} ${rollsBack.join()}`}>
              {rollback} rolls back {rollsBack.join(', ')}
            </li>
          ))}
        </ol>
      )}
      {kept.length > 0 && <p>Has no rollback and stays as it is: {kept.join(', ')}.</p>}
    </>
  )
}

interface Undone {
  readonly effects?: ComponentProps<typeof UndoPlan>['effects']
}
/** What an undo takes back, in its order, and what stays. */
function UndonePlan({ outcomes }: { readonly outcomes: readonly (Outcome & Undone)[] }) {
  const effects = outcomes.flatMap((one) => one.effects ?? [])
  return <UndoPlan effects={effects} isCounted={sum(outcomes, 'selectedCount') > 1} />
}

const REFUSALS_SHOWN = 5

export function Refused({ outcomes }: { readonly outcomes: readonly Outcome[] }) {
  const refused = outcomes.flatMap((one) => one.refused)
  if (refused.length === 0) return null
  const rest = sum(outcomes, 'refusedCount') - Math.min(refused.length, REFUSALS_SHOWN)
  return (
    <>
      <p>Refused:</p>
      <ul>
        {refused.slice(0, REFUSALS_SHOWN).map(({ memberId, memberKey, reason }) => (
          <li key={memberId}>
            {memberKey}: {reason}
          </li>
        ))}
        {rest > 0 && <li>and {countText(rest)} more</li>}
      </ul>
    </>
  )
}

interface ResultsProps {
  readonly title: string
  readonly results: readonly Outcome[]
  readonly onClose: () => void
}
/** Stays open only when somebody was refused. */
const Results = ({ title, results, onClose }: ResultsProps) => (
  <Decision
    title={title}
    verb="Close"
    reason="none"
    isBusy={false}
    error={null}
    onClose={onClose}
    onConfirm={onClose}
  >
    <p>Done for {peopleOf(sum(results, 'doneCount'))}.</p>
    <Refused outcomes={results} />
  </Decision>
)
