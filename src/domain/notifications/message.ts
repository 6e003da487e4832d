// One message to a channel: what it says about one condition or several, as text, as an Adaptive Card, as JSON. The reader was woken: what
// happened, to which batch, since when, and the command to type next.
import { commandLine } from '../../base/text/command-line.ts'
import type { Json } from '../../base/text/json.ts'
import { withZonedTimes, zonedTimeText } from '../../base/text/zoned-time.ts'
import type { Condition } from './conditions.ts'

export const ITEM_STATES = ['open', 'cleared', 'ended', 'test'] as const

export interface MessageItem {
  readonly state: (typeof ITEM_STATES)[number]
  /** Of the condition: the same when it opens and when it is cleared. */
  readonly key: string
  readonly kind: string
  readonly title: string
  readonly text: string
  readonly command: string
  readonly runbookName: string | null
  readonly batchId: number | null
  /** Instants. */
  readonly since: string
  readonly at: string
}

/** What a channel needs to write a message. */
export interface PeopleMessage {
  /** The same at every attempt: who has seen it drops it. */
  readonly id: string
  /** For people: commandLine`notification list 12`. */
  readonly number: number
  readonly items: readonly MessageItem[]
  /** Left out of `items`. */
  readonly left: number
  /** An earlier attempt had no answer: people who have it twice read why. */
  readonly mayHaveArrived?: boolean
}

/** A message holds no more; the rest is counted. */
export const ITEMS_MAX = 50

export const itemOf = (
  { key, kind, title, text, command, runbookNames, batchId, since, isEnding }: Condition,
  at: Date,
): MessageItem => ({
  state: isEnding ? 'ended' : 'open',
  key,
  kind,
  title,
  text,
  command,
  runbookName: runbookNames?.length === 1 ? runbookNames[0]! : null,
  batchId,
  since: since.toISOString(),
  at: at.toISOString(),
})

/** Proves that a channel works. */
export const testItem = (channel: string, by: string, at: Date): MessageItem => ({
  state: 'test',
  key: `test:${channel}`,
  kind: 'test',
  title: `Test of channel ${channel}`,
  text: `${by} asked for this message. Nothing is wrong`,
  command: commandLine`notification list`,
  runbookName: null,
  batchId: null,
  since: at.toISOString(),
  at: at.toISOString(),
})

const titleOf = ({ state, title }: MessageItem): string =>
  state === 'cleared' ? `Cleared: ${title}` : title

export function subjectOf({ items, left }: PeopleMessage): string {
  const [first] = items
  const more = items.length + left - 1
  return `[matoolkit] ${titleOf(first!)}${more > 0 ? ` and ${more} more` : ''}`
}

interface Line {
  readonly title: string
  readonly text: string
  readonly facts: readonly (readonly [string, string])[]
}

function lineOf(item: MessageItem, zone: string): Line {
  const { state, text, since, at, runbookName, batchId, command } = item
  const now = new Date(at)
  const time = (instant: string) => zonedTimeText(new Date(instant), now, zone)
  const when: [string, string][] =
    state === 'open'
      ? [['Since', time(since)]]
      : state === 'cleared'
        ? [
            ['Since', time(since)],
            ['Cleared', time(at)],
          ]
        : [['At', time(since)]]
  const where = [
    ...(runbookName === null ? [] : [['Runbook', runbookName] as const]),
    ...(batchId === null ? [] : [['Batch', String(batchId)] as const]),
  ]
  return {
    title: titleOf(item),
    text: `${withZonedTimes(text, now, zone)}.`,
    facts: [...where, ...when, ...(state === 'cleared' ? [] : [['Next', command] as const])],
  }
}

const leftText = (left: number, number: number): string =>
  `And ${left} more: ${commandLine`notification list ${number}`}`

/** A program recognises the id; people are told. */
const lastLine = ({ number, id, mayHaveArrived }: PeopleMessage): string => {
  const again = mayHaveArrived
    ? '. Sent again: an earlier attempt had no answer, so you may have it twice'
    : ''
  return `Message ${number}, id ${id}${again}`
}

/** For mail. */
export function plainText(message: PeopleMessage, zone: string): string {
  const { items, left, number } = message
  const parts = items.map((item) => {
    const { title, text, facts } = lineOf(item, zone)
    return [title, text, ...facts.map(([name, value]) => `${name}: ${value}`)].join('\n')
  })
  return [...parts, ...(left > 0 ? [leftText(left, number)] : []), lastLine(message)].join('\n\n')
}

/** Teams refuses messages above 28 KB; the envelope and its own markup need room. */
const CARD_BYTES_MAX = 24_000

/** The envelope of a Teams workflow: a workflow that posts a card takes it from `attachments`, and fails without. */
export function teamsEnvelope(message: PeopleMessage, zone: string): Json {
  for (let kept = message.items.length; ; kept -= 1) {
    const items = message.items.slice(0, kept)
    const left = message.left + message.items.length - kept
    const envelope = envelopeOf({ ...message, items, left }, zone)
    if (kept <= 1 || Buffer.byteLength(JSON.stringify(envelope)) <= CARD_BYTES_MAX) return envelope
  }
}

const COLORS = { open: 'attention', cleared: 'good', ended: 'default', test: 'accent' } as const

const block = (text: string, more: Record<string, Json> = {}): Json => ({
  type: 'TextBlock',
  text,
  wrap: true,
  ...more,
})

function envelopeOf(message: PeopleMessage, zone: string): Json {
  const { items, left, number } = message
  const bodies = items.flatMap((item): Json[] => {
    const { title, text, facts } = lineOf(item, zone)
    return [
      block(plain(title), {
        size: 'Medium',
        weight: 'Bolder',
        color: COLORS[item.state],
        separator: true,
      }),
      block(plain(text), { spacing: 'None' }),
      {
        type: 'FactSet',
        facts: facts.map(([name, value]) => ({ title: name, value: plain(value) })),
      },
    ]
  })
  const end = [
    ...(left > 0 ? [block(leftText(left, number))] : []),
    block(lastLine(message), { size: 'Small', isSubtle: true }),
  ]
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          msteams: { width: 'Full' },
          body: [...bodies, ...end],
        },
      },
    ],
  }
}

/** Cards read Markdown: a reason or an error must neither make a link nor lose its characters. */
const plain = (text: string): string => text.replaceAll(/[\\`*_[\]<>#|~]/g, (mark) => `\\${mark}`)
