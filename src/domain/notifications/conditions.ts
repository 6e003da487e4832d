// What a channel may hear of: the needs of people (domain/needs/kinds.ts), and endings, which are told once. Texts name batches, runbooks
// and workers, never a member: channels lead out of the house.
import { commandLine } from '../../base/text/command-line.ts'
import { countText } from '../../base/text/count-text.ts'
import { KINDS, kindRow, NEED_KINDS, type NeedKind } from '../needs/kinds.ts'
import { batchIdOf, type Need } from '../needs/needs.ts'

const ENDINGS = {
  phase_ended: 'A phase has ended.',
  batch_ended: 'A batch has ended.',
} as const
type EndingKind = keyof typeof ENDINGS

type ToldKind = { [K in NeedKind]: (typeof KINDS)[K]['isTold'] extends true ? K : never }[NeedKind]
const isTold = (kind: NeedKind): kind is ToldKind => KINDS[kind].isTold

export type ConditionKind = ToldKind | EndingKind
export const CONDITION_KINDS: readonly ConditionKind[] = [
  ...NEED_KINDS.filter(isTold),
  ...(Object.keys(ENDINGS) as EndingKind[]),
]

const isOfNeed = (kind: ConditionKind): kind is ToldKind => Object.hasOwn(KINDS, kind)

export const conditionText = (kind: ConditionKind): string =>
  isOfNeed(kind) ? KINDS[kind].about : ENDINGS[kind]

/** They pass quiet hours and digests, unless the settings say otherwise. */
export const URGENT_KINDS: readonly ConditionKind[] = CONDITION_KINDS.filter(
  (kind) => isOfNeed(kind) && kindRow(kind).severity === 'urgent',
)

export interface Condition {
  /** The same for as long as it is open, and never again for an ending. */
  readonly key: string
  readonly kind: ConditionKind
  /** The runbooks concerned; null: all. */
  readonly runbookNames: readonly string[] | null
  readonly batchId: number | null
  /** A few words. */
  readonly title: string
  /** A sentence without its full stop; times are instants. */
  readonly text: string
  /** Handles it, or shows it in full. */
  readonly command: string
  readonly since: Date
  /** It is over when it is told, and is not cleared. */
  readonly isEnding: boolean
  /** Of an urgent kind, and not urgent yet: it waits for the end of quiet hours. */
  readonly isEarly: boolean
}

const TITLE_CHARS_MAX = 120
const TEXT_CHARS_MAX = 600
const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`

/** Null where no channel hears of it. */
export function needCondition(need: Need): Condition | null {
  const { kind, key, severity, runbookNames, title, text, command, since } = need
  if (!isTold(kind)) return null
  return {
    kind,
    key,
    runbookNames,
    batchId: batchIdOf(need),
    title: cut(title, TITLE_CHARS_MAX),
    text: cut(text, TEXT_CHARS_MAX),
    command,
    since,
    isEnding: false,
    isEarly: severity === 'soon' && kindRow(kind).severity === 'urgent',
  }
}

export interface Ending {
  readonly kind: EndingKind
  /** Of the phase or the batch. */
  readonly id: number
  readonly batchId: number
  readonly runbookName: string
  /** Null for a batch. */
  readonly phaseName: string | null
  readonly status: string
  readonly endedAt: Date
  readonly failed: number
  readonly total: number
}

export function endingCondition(ending: Ending): Condition {
  const { kind, id, batchId, runbookName, phaseName, status, endedAt, failed, total } = ending
  const what = phaseName === null ? `Batch ${batchId}` : `Phase ${phaseName} of batch ${batchId}`
  return {
    kind,
    key: [kind, id, +endedAt].join(':'),
    runbookNames: [runbookName],
    batchId,
    title: cut(`${what}: ${status}`, TITLE_CHARS_MAX),
    text: `${failed === 0 ? 'None' : failed} of ${countText(total, 'person', 'people')} failed`,
    command: failed > 0 ? commandLine`failures ${batchId}` : commandLine`batch get ${batchId}`,
    since: endedAt,
    isEnding: true,
    isEarly: false,
  }
}
