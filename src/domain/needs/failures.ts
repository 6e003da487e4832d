// Grouping failures: messages that differ only in addresses, times, ids or numbers are the same failure. These parts become words in
// angle brackets, in one pass; the rest is compared as it is.

import type { StepKind } from '../state/facts.ts'
import { FAILED_STEP_STATUSES } from '../state/transitions.ts'

/** Parts that vary from member to member. The order matters: an address is found before the numbers in it. */
const VARYING: readonly (readonly [name: string, pattern: string])[] = [
  ['url', String.raw`\bhttps?:\/\/[^"'<>)]+`],
  ['address', String.raw`[\w.+'-]+@[\w-]+(?:\.[\w-]+)+`],
  ['id', String.raw`\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b`],
  ['time', String.raw`\b\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?`],
  ['time', String.raw`\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?`],
  ['ip', String.raw`\b\d{1,3}(?:\.\d{1,3}){3}\b`],
  ['id', String.raw`\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b`],
  ['number', String.raw`\d+(?:[.,]\d+)*`],
]

const ANY = new RegExp(VARYING.map(([, pattern]) => `(${pattern})`).join('|'), 'gi')
const MAY_VARY = /[\d@]|:\/\//

/** The rest of a longer message is a stack trace or a page of HTML. */
const COMPARED_CHARS = 400

export function errorPattern(message: string): string {
  // Word by word: most words cannot vary, and the others are short.
  return message
    .slice(0, COMPARED_CHARS)
    .trim()
    .split(/\s+/)
    .map((word) => (MAY_VARY.test(word) ? word.replaceAll(ANY, nameOf) : word))
    .join(' ')
    .replaceAll('<time> <time>', '<time>')
}

function nameOf(...found: readonly unknown[]): string {
  const which = VARYING.findIndex((_, index) => found[index + 1] !== undefined)
  return `<${VARYING[which]![0]}>`
}

export interface Failure {
  readonly stepId: number
  readonly kind: StepKind
  readonly memberId: number | null
  readonly phaseName: string | null
  readonly stepName: string
  readonly message: string
  readonly at: Date
}

export interface FailureGroup {
  /** The messages' common text. */
  readonly pattern: string
  readonly kind: StepKind
  readonly phaseName: string | null
  readonly stepName: string
  count: number
  firstSeenAt: Date
  lastSeenAt: Date
  /** How many in each hour, by its start in milliseconds; the latest hours only. */
  readonly perHour: Map<number, number>
  /** The first members, up to `PEOPLE_KEPT_MAX`; people are named by them. */
  memberIds: number[]
  /** The newest message. */
  sample: { readonly stepId: number; readonly memberId: number | null; readonly message: string }
}

/** Enough to recognise a failure by; the members' list has all. */
export const PEOPLE_KEPT_MAX = 3

const HOUR_MS = 3_600_000
const HOURS_KEPT_MAX = 48

function countHour(perHour: Map<number, number>, at: Date, count = 1): void {
  const hour = Math.floor(+at / HOUR_MS) * HOUR_MS
  perHour.set(hour, (perHour.get(hour) ?? 0) + count)
  if (perHour.size > HOURS_KEPT_MAX) perHour.delete(Math.min(...perHour.keys()))
}

/** Groups failures page by page: memory grows with the groups, not with the failures. */
export class FailureGroups {
  readonly #groups = new Map<string, FailureGroup>()
  #count = 0

  add({ kind, phaseName, stepName, message, at, stepId, memberId }: Failure): void {
    this.#count += 1
    const pattern = errorPattern(message)
    const key = JSON.stringify([kind, phaseName, stepName, pattern])
    const sample = { stepId, memberId, message }
    const group = this.#groups.get(key)
    if (!group) {
      const memberIds = memberId === null ? [] : [memberId]
      const seen = { firstSeenAt: at, lastSeenAt: at, memberIds, perHour: new Map() }
      countHour(seen.perHour, at)
      const place = { kind, phaseName, stepName }
      this.#groups.set(key, { pattern, ...place, count: 1, ...seen, sample })
      return
    }
    group.count += 1
    countHour(group.perHour, at)
    const { memberIds } = group
    const isNew = memberId !== null && !memberIds.includes(memberId)
    if (isNew && memberIds.length < PEOPLE_KEPT_MAX) memberIds.push(memberId)
    if (at < group.firstSeenAt) group.firstSeenAt = at
    if (at < group.lastSeenAt) return
    group.lastSeenAt = at
    group.sample = sample
  }

  get count(): number {
    return this.#count
  }

  get size(): number {
    return this.#groups.size
  }

  /** The largest first. */
  largest(most: number): FailureGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count).slice(0, most)
  }
}

export interface GroupOfBatches extends Omit<FailureGroup, 'memberIds' | 'sample'> {
  readonly runbookName: string
  readonly batches: { readonly batchId: number; readonly count: number }[]
  /** The newest message, with its batch. */
  sample: FailureGroup['sample'] & { readonly batchId: number }
}

export interface FailuresOfBatch {
  readonly batchId: number
  readonly runbookName: string
  readonly groups: readonly FailureGroup[]
}

/** The same failure in several batches of a runbook as one group, the largest first. */
export function groupOverBatches(all: readonly FailuresOfBatch[]): GroupOfBatches[] {
  const found = new Map<string, GroupOfBatches>()
  for (const { batchId, runbookName, groups } of all) {
    for (const { memberIds, ...group } of groups) {
      const { kind, phaseName, stepName, pattern, sample, count } = group
      const key = JSON.stringify([runbookName, kind, phaseName, stepName, pattern])
      const together = found.get(key)
      if (together) {
        addGroup(together, group, batchId)
        continue
      }
      const perHour = new Map(group.perHour)
      const batches = [{ batchId, count }]
      found.set(key, { ...group, runbookName, perHour, batches, sample: { ...sample, batchId } })
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count)
}

function addGroup(
  together: GroupOfBatches,
  { count, firstSeenAt, lastSeenAt, perHour, sample }: Omit<FailureGroup, 'memberIds'>,
  batchId: number,
): void {
  together.count += count
  together.batches.push({ batchId, count })
  for (const [hour, many] of perHour) countHour(together.perHour, new Date(hour), many)
  if (firstSeenAt < together.firstSeenAt) together.firstSeenAt = firstSeenAt
  if (lastSeenAt <= together.lastSeenAt) return
  together.lastSeenAt = lastSeenAt
  together.sample = { ...sample, batchId }
}

type GroupPlace = Pick<FailureGroup, 'kind' | 'phaseName' | 'stepName' | 'pattern' | 'sample'>

export interface GroupFlags {
  /** Select the group's members; null for failures outside phases, which no flags select. */
  readonly flags: string | null
  /** They select nobody else. */
  readonly isOnlyGroup: boolean
}

/** Flags that select the people of a group among all groups of the batch: by place, and by error where several share it. */
export function flagsOfGroup(
  group: GroupPlace,
  all: readonly GroupPlace[],
  areAll: boolean,
): GroupFlags {
  if (group.kind !== 'phase') return { flags: null, isOnlyGroup: false }
  const place = `--failed-phase ${group.phaseName} --failed-step ${group.stepName}`
  const others = all.filter((other) => other !== group && placeOf(other) === placeOf(group))
  if (others.length === 0) return { flags: place, isOnlyGroup: areAll }
  const text = commonText(group)
  const isOwn = text !== null && !others.some(({ sample }) => includes(sample.message, text))
  return isOwn
    ? { flags: `${place} --error "${text}"`, isOnlyGroup: areAll }
    : { flags: place, isOnlyGroup: false }
}

const placeOf = ({ kind, phaseName, stepName }: GroupPlace): string =>
  JSON.stringify([kind, phaseName, stepName]).toLowerCase()

const includes = (text: string, part: string): boolean =>
  text.toLowerCase().includes(part.toLowerCase())

const TEXT_CHARS_MIN = 4
const TEXT_CHARS_MAX = 80

/** The longest part of the messages that does not vary and that a shell leaves as it is between quotes. */
function commonText({ pattern, sample }: GroupPlace): string | null {
  const [longest] = pattern
    .split(/<[a-z]+>|[^\w .,:;()/'-]/)
    .map((part) => part.trim().slice(0, TEXT_CHARS_MAX).trim())
    .filter((part) => part.length >= TEXT_CHARS_MIN && includes(sample.message, part))
    .sort((a, b) => b.length - a.length)
  return longest ?? null
}

/** Lists everybody of the group, without the program's name. */
export const listCommand = (
  batchId: number,
  { kind, stepName }: GroupPlace,
  flags: string | null,
) =>
  flags === null
    ? `batch steps ${batchId} --kind ${kind} --step ${stepName} --status ${FAILED_STEP_STATUSES.join(',')} --all`
    : `batch members ${batchId} ${flags} --all`

/** `ada, ben and 27 more`. */
export function peopleText(people: readonly string[], count: number): string {
  const more = count - people.length
  if (more <= 0) return people.join(', ')
  return `${people.join(', ')}${people.length === 0 ? '' : ' and '}${more}${people.length === 0 ? ' people' : ' more'}`
}
