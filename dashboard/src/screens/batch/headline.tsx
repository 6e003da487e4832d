// Where the batch stands, as one or two sentences.
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { overrideOf, WindowNote } from '../../ui/change-window.tsx'
import { isLate } from '../../ui/late.ts'
import { countText } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Status } from '../../ui/status.tsx'
import { Distance, Time, useNow } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'
import { outerHold } from './outer-hold.ts'

export const Headline = ({ summary }: { readonly summary: Summary }) => (
  <>
    <Status status={summary.batch.status} />{' '}
    {(summary.batch.held || outerHold(summary)) && <Status status="held" text="on hold" />}{' '}
    {sentence(summary)} {summary.batch.endedAt === null && <Window summary={summary} />}
  </>
)

function sentence(summary: Summary): ReactNode {
  const { batch, estimate, verdict } = summary
  const held = outerHold(summary)
  if (batch.endedAt !== null)
    return (
      <>
        Ended <Time at={batch.endedAt} />.
      </>
    )
  if (held)
    return (
      <>
        <TextWithTimes text={held.text} />. <Link href={held.page.path}>{held.page.link}</Link>
      </>
    )
  if (batch.held)
    return (
      <>
        On hold since <Time at={batch.held.at} /> by {batch.held.by}: {batch.held.reason}. Nothing
        new starts.
      </>
    )
  return (
    <>
      {verdict.isActionNeeded && (
        <>
          <TextWithTimes text={verdict.headline} />{' '}
        </>
      )}
      <RunningPhases summary={summary} /> <NextPhase summary={summary} />{' '}
      {estimate.night?.endsAt && (
        <>
          {estimate.night.phaseName} ends about <Time at={estimate.night.endsAt} />, latest{' '}
          <Time at={estimate.night.p90} />.
        </>
      )}
    </>
  )
}

/** Waiting and overrides are for everybody to see; an open window only tells its end. */
function Window({ summary: { batch, window } }: { readonly summary: Summary }) {
  const now = useNow()
  const { changeWindow } = batch
  if (changeWindow?.closedAt || overrideOf(changeWindow, now))
    return (
      <strong className="window-note">
        <WindowNote changeWindow={changeWindow} />
      </strong>
    )
  if (!window?.isOpen || window.closesAt === null) return null
  return (
    <>
      The change window closes <Time at={window.closesAt} />.
    </>
  )
}

function RunningPhases({ summary: { batch, phases } }: { readonly summary: Summary }) {
  const running = phases.filter(({ status }) => status === 'dispatched')
  if (batch.status === 'init_dispatched') return <>The init steps run.</>
  if (running.length === 0) return <>No phase runs now.</>
  return running.map(({ id, phaseName, members }) => (
    <span key={id}>
      {phaseName} runs: {countText(members.passed)} of {countText(members.total)} people are through
      it
      {members.failed > 0 && <>, {countText(members.failed)} failed</>}.{' '}
    </span>
  ))
}

function NextPhase({ summary: { batch, phases } }: { readonly summary: Summary }) {
  const now = useNow()
  const next = phases.find(({ status }) => status === 'pending')
  if (!next) return null
  if (batch.isManual || next.dueAt === null) return <>Next is {next.phaseName}, by hand.</>
  return (
    <>
      {isLate(next.dueAt, now) ? `${next.phaseName} is late` : `Next is ${next.phaseName}`}, due{' '}
      <Distance to={next.dueAt} />.
    </>
  )
}
