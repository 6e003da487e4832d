// What needs a person: the sentence, where to handle it here, the command that does it too, and who takes care of it.
import { useState } from 'react'
import { Link } from 'wouter'
import { kindRow } from '../../../src/domain/needs/kinds.ts'
import { useChange, useReading } from '../api/hooks.ts'
import { LOOK_OF_SEVERITY, type Verdict } from '../layout/verdict-bar.tsx'
import { useSession } from '../sign-in/use-session.ts'
import { Button } from '../ui/button.tsx'
import { Decision } from '../ui/decision.tsx'
import { Section } from '../ui/page.tsx'
import { TextWithTimes } from '../ui/sentence.tsx'
import { Sign } from '../ui/sign.tsx'
import { Time } from '../ui/time.tsx'
import './needs.css'

type Need = Verdict['needs'][number]

interface NeedsProps extends Pick<Verdict, 'needs' | 'planned'> {
  /** A screen on the wall has no actions. */
  readonly isBare?: boolean
}

export function Needs({ needs, planned, isBare = false }: NeedsProps) {
  return (
    <>
      <NeedList title="Needs a person" needs={needs} isBare={isBare} />
      <NeedList title="As planned, or accepted" needs={planned} isBare={isBare} />
    </>
  )
}

const EVERY_MS = 5_000

/** Asked for by itself: the wall's answer is shared for a second, and this list agrees with the bar over the page. */
export function CurrentNeeds({ isBare = false }: Pick<NeedsProps, 'isBare'>) {
  const { data } = useReading('GET /api/needs', {}, { everyMs: EVERY_MS })
  return data ? <Needs needs={data.needs} planned={data.planned} isBare={isBare} /> : null
}

interface NeedListProps {
  readonly title: string
  readonly needs: readonly Need[]
  readonly isBare: boolean
}

function NeedList({ title, needs, isBare }: NeedListProps) {
  if (needs.length === 0) return null
  return (
    <Section title={title}>
      <ul className="needs">
        {needs.map((need) => (
          <NeedLine key={need.key} need={need} isBare={isBare} />
        ))}
      </ul>
    </Section>
  )
}

interface NeedLineProps {
  readonly need: Need
  readonly isBare: boolean
}
function NeedLine({ need, isBare }: NeedLineProps) {
  const { kind, severity, text, page, command } = need
  const [look, sign] = LOOK_OF_SEVERITY[severity]
  return (
    <li className="need" data-look={look}>
      <span className="status">
        <Sign sign={sign} /> {kindRow(kind).word}
      </span>
      <span className="need-text">
        <TextWithTimes text={text} />.
      </span>
      <Link href={page.path} className="need-link">
        {page.link}
      </Link>
      <span className="need-owner">
        <Owner decision={need.decision} /> {!isBare && <DecideNeed need={need} />}
      </span>
      <code className="need-command">{command}</code>
    </li>
  )
}

function Owner({ decision }: Pick<Need, 'decision'>) {
  if (decision === null) return <span className="quiet">No one has it yet.</span>
  const { owner, by, at, reason, isAccepted } = decision
  return (
    <>
      {owner !== null && <strong>{owner} takes care of it. </strong>}
      {isAccepted && 'Accepted. '}
      <span className="quiet">
        {by}, <Time at={at} />: {reason}
      </span>
    </>
  )
}

function DecideNeed({ need }: { readonly need: Need }) {
  const { mayChange, me } = useSession()
  const [isAsked, setAsked] = useState(false)
  const [owner, setOwner] = useState(need.decision?.owner ?? me.name)
  const [accepts, setAccepts] = useState(false)
  const change = useChange('POST /api/needs')
  if (!mayChange) return null
  const close = () => setAsked(false)
  const confirm = (reason: string) =>
    change.mutate(
      {
        body: {
          key: need.key,
          owner: owner.trim() === '' ? null : owner,
          ...(accepts && { isAccepted: true }),
          reason,
        },
      },
      { onSuccess: close },
    )
  return (
    <>
      <Button onClick={() => setAsked(true)}>Take or assign…</Button>
      {isAsked && (
        <Decision
          title="Who takes care of it?"
          verb="Save"
          reason="required"
          isBusy={change.isPending}
          error={change.error}
          onClose={close}
          onConfirm={confirm}
        >
          <p>
            <TextWithTimes text={need.text} />.
          </p>
          <label className="field">
            Owner
            <input
              value={owner}
              onChange={({ target }) => setOwner(target.value)}
              maxLength={200}
            />
          </label>
          {kindRow(need.kind).mayBeAccepted && (
            <label className="check">
              <input
                type="checkbox"
                checked={accepts}
                onChange={({ target }) => setAccepts(target.checked)}
              />{' '}
              Accepted as it is: no one is needed until there is more to it
            </label>
          )}
        </Decision>
      )}
    </>
  )
}
