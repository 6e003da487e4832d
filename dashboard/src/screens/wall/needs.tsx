// What needs a person: the sentence, where to handle it here, and the command that does it too.
import { Link } from 'wouter'
import { KINDS } from '../../../../src/domain/needs/kinds.ts'
import { LOOK_OF_SEVERITY, type Verdict } from '../../layout/verdict-bar.tsx'
import { Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Sign } from '../../ui/sign.tsx'

type Need = Verdict['needs'][number]

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
  const [look, sign] = LOOK_OF_SEVERITY[severity]
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
