// What waits for a person: the sentence, where to handle it here, and the command that does it too.
import { Link } from 'wouter'
import { Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Sign } from '../../ui/sign.tsx'
import type { WallAnswer } from './use-wall.ts'

type Need = WallAnswer['needs'][number]

const WORDS: Readonly<Record<Need['kind'], readonly [look: string, sign: string, word: string]>> = {
  decision: ['warn', '?', 'Decide'],
  failure: ['bad', '✕', 'Failed'],
  stuck: ['bad', '!', 'Stuck'],
  hold: ['warn', '⏸', 'Held'],
  miss: ['warn', '!', 'Late'],
}

export function Needs({ needs }: { readonly needs: readonly Need[] }) {
  if (needs.length === 0) return null
  return (
    <Section title="Needs a person">
      <ul className="needs">
        {needs.map((need) => (
          <NeedLine key={`${need.kind} ${need.text}`} need={need} />
        ))}
      </ul>
    </Section>
  )
}

function NeedLine({ need }: { readonly need: Need }) {
  const [look, sign, word] = WORDS[need.kind]
  const place = placeOf(need)
  return (
    <li className="need" data-look={look}>
      <span className="status">
        <Sign sign={sign} /> {word}
      </span>
      <span className="need-text">
        <TextWithTimes text={need.text} />.
      </span>
      <Link href={place.href} className="need-link">
        {place.name}
      </Link>
      <code className="need-command">{need.command}</code>
    </li>
  )
}

interface Place {
  readonly href: string
  readonly name: string
}

/** By what the command is about: `matoolkit <what> …`. */
const PLACES: Readonly<Record<string, Place>> = {
  review: { href: '/sources', name: 'Decide' },
  query: { href: '/sources', name: 'See the source' },
  'source-issues': { href: '/sources', name: 'See the source' },
  deadletters: { href: '/dead-letters', name: 'See the messages' },
  notification: { href: '/notifications', name: 'See the channel' },
}

function placeOf({ kind, batchId, command }: Need): Place {
  const [, noun = '', flag = ''] = command.split(' ')
  const known = PLACES[noun]
  if (known) return known
  if (kind === 'failure' && batchId !== null)
    return { href: `/failures?batchId=${batchId}`, name: 'See the failures' }
  if (batchId !== null) return { href: `/batches/${batchId}`, name: `See batch ${batchId}` }
  if (flag === '--worker') return { href: '/workers', name: 'See the workers' }
  if (flag === '--runbook') return { href: '/runbooks', name: 'See the runbook' }
  return { href: '/batches', name: 'See the batches' }
}
