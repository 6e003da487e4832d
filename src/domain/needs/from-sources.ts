// Needs of what arrives from outside: changes of a data source, failing sources, rows left out, dead letters, failing channels.
import { commandLine } from '../../base/text/command-line.ts'
import { countText } from '../../base/text/count-text.ts'
import { isoSeconds } from '../sources/compare.ts'
import { type EventRecord, eventRecord } from '../state/event-record.ts'
import { makeNeed, type Need } from './needs.ts'

/** Counted by runbook, batch and time. */
export interface WaitingAtSource {
  readonly kind: 'removals' | 'moves' | 'latecomers' | 'source_failing' | 'rows_left_out'
  readonly runbookName: string
  /** The batch of reviews; latecomers may have none. */
  readonly batchId: number | null
  /** Reviews or rows; 1 for a failing source. */
  readonly count: number
  /** Active members of the batch. */
  readonly membersActive: number | null
  readonly since: Date | null
  /** Moves: the batch's start, and the time that the source has now. */
  readonly fromTime: Date | null
  readonly toTime: Date | null
  /** Moves: the source has no one left at the batch's own time. */
  readonly isWholeWave: boolean
  /** Moves: others of the batch lead to another time. */
  readonly hasOtherTimes: boolean
  /** Of a failing source. */
  readonly error: string | null
}

export function sourceNeed(item: WaitingAtSource, now: Date): Need {
  const { kind, runbookName, count } = item
  const given = { runbookNames: [runbookName], batchIds: [], count, since: item.since ?? now }
  const identity = runbookName.toLowerCase()
  switch (kind) {
    case 'source_failing':
      return makeNeed(
        {
          kind,
          ...given,
          title: `the source of ${runbookName} fails`,
          text: `the source of ${runbookName} fails: ${sentenceOf(item.error)}`,
          command: commandLine`query preview ${runbookName}`,
        },
        identity,
      )
    case 'rows_left_out':
      return makeNeed(
        {
          kind,
          ...given,
          title: `rows of ${runbookName} were left out`,
          text: `the last tick of ${runbookName} left out ${countText(count, 'row')}`,
          command: commandLine`source list ${runbookName} --issues`,
        },
        identity,
      )
    default:
      return reviewNeed(item, given)
  }
}

const sentenceOf = (error: string | null): string => error?.replace(/\.$/, '') ?? ''

type Waiting = Pick<Need, 'runbookNames' | 'batchIds' | 'count' | 'since'>

const REVIEWED = { removals: 'removal', moves: 'move', latecomers: 'latecomer' } as const

function reviewNeed(item: WaitingAtSource, given: Waiting): Need {
  const { kind, batchId, runbookName, toTime, count } = item
  const where = batchId === null ? runbookName : `batch ${batchId}`
  const noun = REVIEWED[kind as keyof typeof REVIEWED]
  const need = count === 1 ? 'needs your decision' : 'need your decision'
  return makeNeed(
    {
      kind: 'review_waiting',
      ...given,
      batchIds: batchId === null ? [] : [batchId],
      noun,
      title: `a decision about ${where} is needed`,
      text: kind === 'moves' ? moveText(item) : `${countText(count, noun)} of ${where} ${need}`,
      command: commandLine`review list ${scopeOf(item)}`,
      decide: decidingCommands(item),
    },
    kind,
    runbookName.toLowerCase(),
    batchId ?? '',
    toTime === null ? '' : +toTime,
  )
}

/** All 29 people of batch 2 now have cut-over 23:20 in the source, not 23:17 */
function moveText({ batchId, count, membersActive, fromTime, toTime }: WaitingAtSource): string {
  const all = Math.max(membersActive ?? 0, count)
  const who =
    count === all ? `all ${countText(count, 'person', 'people')}` : `${count} of ${all} people`
  const former = fromTime === null ? '' : `, not ${fromTime.toISOString()}`
  const have = count === 1 ? 'has' : 'have'
  return `${who} of batch ${batchId} now ${have} cut-over ${toTime!.toISOString()} in the source${former}`
}

function decidingCommands(item: WaitingAtSource): string[] {
  const scope = scopeOf(item)
  const dismiss = commandLine`review dismiss --all ${scope}`
  if (item.kind !== 'moves') return [commandLine`review approve --all ${scope}`, dismiss]
  const choices = item.isWholeWave ? ['reschedule', 'move'] : ['move']
  return [
    ...choices.map((choice) => commandLine`review approve --all ${scope} --choice ${choice}`),
    dismiss,
  ]
}

const scopeOf = ({ kind, batchId, runbookName, toTime, hasOtherTimes }: WaitingAtSource) => [
  '--kind',
  REVIEWED[kind as keyof typeof REVIEWED],
  ...(batchId === null ? ['--runbook', runbookName] : ['--batch', batchId]),
  ...(hasOtherTimes ? ['--to', isoSeconds(+toTime!)] : []),
]

/** They belong to no batch and no runbook. */
const OF_NONE = { runbookNames: null, batchIds: [] }

export const deadLetterNeed = (topic: string, count: number, now: Date): Need =>
  makeNeed(
    {
      kind: 'dead_letters',
      ...OF_NONE,
      title: `messages on ${topic} could not be handled`,
      text: `${countText(count, 'message')} on ${topic} could not be handled`,
      count,
      since: now,
      command: commandLine`deadletters list`,
    },
    topic,
  )

export interface FailingChannel {
  readonly channel: string
  readonly since: Date
  readonly error: string
}

export const channelNeed = ({ channel, since, error }: FailingChannel): Need =>
  makeNeed(
    {
      kind: 'channel_failing',
      ...OF_NONE,
      title: `channel ${channel} does not take messages`,
      text: `channel ${channel} does not take messages: ${sentenceOf(error)}`,
      since,
      command: commandLine`notification test ${channel}`,
    },
    channel,
  )

/** By the kinds of needs that a tick finds; the others have events of their own. */
const EVENTS: Readonly<Partial<Record<Need['kind'], string>>> = {
  review_waiting: 'review_opened',
  source_failing: 'source_failing',
  rows_left_out: 'rows_left_out',
  dead_letters: 'dead_letters_waiting',
}

/** That the need has appeared. `details`: for who looks for it again. */
export function needEvent(
  { kind, batchIds, runbookNames, count, text, command }: Need,
  details: Readonly<Record<string, string>> = {},
): EventRecord {
  const entity = runbookNames === null ? 'worker' : batchIds?.length === 0 ? 'runbook' : 'batch'
  return eventRecord(entity, EVENTS[kind] ?? kind, `${text}: ${command}`, {
    details: { kind, count, command, ...details },
  })
}
