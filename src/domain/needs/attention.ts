// What waits for a person: reviews, failing sources, rows left out, dead letters. One sentence and one set of commands for every place
// that shows them: tick, lists, doctor, status, events, log.
import { commandLine } from '../../base/text/command-line.ts'
import { countText } from '../../base/text/count-text.ts'
import { isoSeconds } from '../sources/compare.ts'
import { type EventRecord, eventRecord } from '../state/event-record.ts'

export const ATTENTION_KINDS = [
  'removals',
  'moves',
  'latecomers',
  'source_failing',
  'rows_left_out',
  'dead_letters',
  'channel_failing',
] as const
export type AttentionKind = (typeof ATTENTION_KINDS)[number]

export interface Attention {
  readonly kind: AttentionKind
  /** Null for dead letters. */
  readonly runbookName: string | null
  /** The batch of reviews; latecomers may have none. */
  readonly batchId: number | null
  /** Reviews, rows or messages; 1 for a failing source. */
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
  /** Dead letters; of a failing channel its name. */
  readonly topic: string | null
  /** A failing source or channel. */
  readonly error: string | null
}

/** The sentence, without its full stop. `showTime` writes a time for its reader. */
export function attentionText(item: Attention, showTime: (at: Date) => string): string {
  const { kind, batchId, runbookName, count } = item
  const whose = batchId === null ? `of ${runbookName}` : `of batch ${batchId}`
  const needs = count === 1 ? 'needs your decision' : 'need your decision'
  switch (kind) {
    case 'removals':
      return `${countText(count, 'removal')} ${whose} ${needs}`
    case 'latecomers':
      return `${countText(count, 'latecomer')} ${whose} ${needs}`
    case 'moves':
      return moveText(item, showTime)
    case 'source_failing':
      return `The source of ${runbookName} fails: ${item.error?.replace(/\.$/, '')}`
    case 'rows_left_out':
      return `The last tick of ${runbookName} left out ${countText(count, 'row')}`
    case 'dead_letters':
      return `${countText(count, 'message')} on ${item.topic!} could not be handled`
    case 'channel_failing':
      return `Channel ${item.topic!} does not take messages: ${item.error?.replace(/\.$/, '')}`
  }
}

/** All 29 people of batch 2 now have cut-over 23:20 in the source, not 23:17 */
function moveText(
  { batchId, count, membersActive, fromTime, toTime }: Attention,
  showTime: (at: Date) => string,
): string {
  const all = Math.max(membersActive ?? 0, count)
  const who =
    count === all ? `All ${countText(count, 'person', 'people')}` : `${count} of ${all} people`
  const former = fromTime === null ? '' : `, not ${showTime(fromTime)}`
  const have = count === 1 ? 'has' : 'have'
  return `${who} of batch ${batchId} now ${have} cut-over ${showTime(toTime!)} in the source${former}`
}

/** The command that shows the item in full. */
function attentionCommand(item: Attention): string {
  switch (item.kind) {
    case 'source_failing':
      return commandLine`query preview ${item.runbookName!}`
    case 'rows_left_out':
      return commandLine`source-issues ${item.runbookName!}`
    case 'dead_letters':
      return commandLine`deadletters list`
    case 'channel_failing':
      return commandLine`notification test ${item.topic!}`
    case 'removals':
    case 'moves':
    case 'latecomers':
      return commandLine`review list ${scopeOf(item)}`
  }
}

/** The commands that decide it; empty when each message or row is decided by itself. */
function decidingCommands(item: Attention): string[] {
  const { kind, isWholeWave } = item
  if (kind !== 'removals' && kind !== 'latecomers' && kind !== 'moves') return []
  const scope = scopeOf(item)
  const dismiss = commandLine`review dismiss --all ${scope}`
  if (kind !== 'moves') return [commandLine`review approve --all ${scope}`, dismiss]
  const choices = isWholeWave ? ['reschedule', 'move'] : ['move']
  return [
    ...choices.map((choice) => commandLine`review approve --all ${scope} --choice ${choice}`),
    dismiss,
  ]
}

const FLAGS = { removals: 'removal', moves: 'move', latecomers: 'latecomer' } as const

function scopeOf({ kind, batchId, runbookName, toTime, hasOtherTimes }: Attention) {
  return [
    '--kind',
    FLAGS[kind as keyof typeof FLAGS],
    ...(batchId === null ? ['--runbook', runbookName!] : ['--batch', batchId]),
    ...(hasOtherTimes ? ['--to', isoSeconds(+toTime!)] : []),
  ]
}

/** An item with its sentence and its commands, for programs. */
export interface DescribedAttention extends Attention {
  /** Times in UTC. */
  readonly text: string
  readonly command: string
  readonly decide: readonly string[]
}

export const describeAttention = (item: Attention): DescribedAttention => ({
  ...item,
  text: attentionText(item, (at) => isoSeconds(+at)),
  command: attentionCommand(item),
  decide: decidingCommands(item),
})

/** What is new or different since `before`: worth an event and a line in the log, once. */
export function newAttention(
  before: readonly Attention[],
  after: readonly Attention[],
): DescribedAttention[] {
  const known = new Set(before.map(stateOf))
  return after.filter((item) => !known.has(stateOf(item))).map(describeAttention)
}

const stateOf = ({ kind, runbookName, batchId, toTime, topic, count, error }: Attention): string =>
  JSON.stringify([kind, runbookName, batchId, toTime, topic, count, error])

const EVENTS: Readonly<Record<AttentionKind, string>> = {
  removals: 'review_opened',
  moves: 'review_opened',
  latecomers: 'review_opened',
  source_failing: 'source_failing',
  rows_left_out: 'rows_left_out',
  dead_letters: 'dead_letters_waiting',
  channel_failing: 'notification_failed',
}

export function attentionEvent({
  text,
  command,
  decide,
  ...item
}: DescribedAttention): EventRecord {
  const { kind, batchId, topic, count } = item
  const entity = topic !== null ? 'worker' : batchId === null ? 'runbook' : 'batch'
  const details = { kind, count, command, ...(topic !== null && { topic }) }
  return eventRecord(entity, EVENTS[kind], `${text}: ${command}`, { details })
}
