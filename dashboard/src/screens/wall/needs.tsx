// What needs a person: the sentence, where to handle it here, and the command that does it too.
import { Link } from 'wouter'
import { KINDS } from '../../../../src/domain/needs/kinds.ts'
import type { Answer } from '../../api/routes.ts'
import { Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Sign } from '../../ui/sign.tsx'

type Verdict = Answer<'GET /api/needs'>
type Need = Verdict['needs'][number]

/** The colour says how urgent it is; the word says what it is. */
const LOOKS: Readonly<Record<Need['severity'], readonly [look: string, sign: string]>> = {
  urgent: ['bad', '!'],
  soon: ['warn', '?'],
  later: ['idle', 'i'],
  planned: ['idle', '⏸'],
}

/** The colour of a verdict. */
export const lookOf = ({ severity }: Pick<Verdict, 'severity'>): string =>
  severity === null ? 'good' : LOOKS[severity][0]

export function Needs({ needs, planned }: Pick<Verdict, 'needs' | 'planned'>) {
  return (
    <>
      <NeedList title="Needs a person" needs={needs} />
      <NeedList title="Held as planned" needs={planned} />
    </>
  )
}

interface NeedListProps {
  readonly title: string
  readonly needs: readonly Need[]
}

function NeedList({ title, needs }: NeedListProps) {
  if (needs.length === 0) return null
  return (
    <Section title={title}>
      <ul className="needs">
        {needs.map((need) => (
          <NeedLine key={need.key} need={need} />
        ))}
      </ul>
    </Section>
  )
}

function NeedLine({ need: { kind, severity, text, page, command } }: { readonly need: Need }) {
  const [look, sign] = LOOKS[severity]
  return (
    <li className="need" data-look={look}>
      <span className="status">
        <Sign sign={sign} /> {KINDS[kind].word}
      </span>
      <span className="need-text">
        <TextWithTimes text={text} />.
      </span>
      <Link href={page.path} className="need-link">
        {page.link}
      </Link>
      <code className="need-command">{command}</code>
    </li>
  )
}
