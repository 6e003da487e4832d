// Builds a Runbook from a document without errors. Trusts the checks before it: a missing value is a bug of ours and throws.
import { parseDurationSec, parseOffsetMinutes } from '../../base/text/duration.ts'
import type { Json } from '../../base/text/json.ts'
import { SEND_MESSAGE } from '../member-messages/message-text.ts'
import { WEEKDAYS } from '../notifications/quiet-hours.ts'
import type { ChangeWindows } from '../windows/change-windows.ts'
import type { Comparable, StepCondition } from './conditions.ts'
import type {
  DataSource,
  Gate,
  Notify,
  People,
  RetryPolicyDefinition,
  Runbook,
  RunbookMessage,
  RunbookMessages,
  RunbookPhase,
  RunbookStep,
  Safeguards,
} from './model.ts'
import {
  BACKOFF,
  type Choice,
  CONDITION,
  chosen,
  DEFAULTS,
  MESSAGE_FORMAT,
  MULTI_VALUED_FORMAT,
  REMOVALS,
  SOURCE_TYPE,
  WEEKDAY,
} from './shape.ts'
import type { MapNode, Node } from './tree.ts'

export function buildRunbook(root: MapNode): Runbook {
  const retry = retryOf(root)
  const steps = (node: Node): RunbookStep[] => itemsOf(node).map((item) => stepOf(item, retry))
  const stepsAt = (key: string): RunbookStep[] => optionally(root, key, steps) ?? []
  return {
    name: text(root, 'name'),
    description: optionalText(root, 'description'),
    dataSource: dataSourceOf(mapAt(root, 'data_source')),
    retry,
    safeguards: safeguardsOf(root),
    notifications: (optionally(root, 'notifications', itemsOf) ?? []).map((rule) => ({
      conditions: (optionally(rule, 'conditions', listOf) ?? []).map(
        (node) => chosen(CONDITION, textValue(node))!,
      ),
      channels: listOf(at(rule, 'channels')).map(textValue),
    })),
    windows: optionally(root, 'windows', (node) => windowsOf(mapOf(node))),
    messages: messagesOf(root),
    people: optionally(root, 'people', (node) => peopleOf(mapOf(node))),
    init: stepsAt('init'),
    phases: itemsOf(at(root, 'phases')).map((node) => phaseOf(node, steps)),
    onMemberRemoved: stepsAt('on_member_removed'),
    rollbacks: new Map(
      entriesAt(root, 'rollbacks').map(([name, node]) => [name.toLowerCase(), steps(node)]),
    ),
  }
}

function dataSourceOf(map: MapNode): DataSource {
  return {
    type: choice(map, 'type', SOURCE_TYPE)!,
    connection: optionalText(map, 'connection'),
    warehouseId: optionalText(map, 'warehouse_id'),
    path: optionalText(map, 'path'),
    query: optionalText(map, 'query'),
    primaryKey: text(map, 'primary_key'),
    batchTimeColumn: optionalText(map, 'batch_time_column'),
    timeZone: optionalText(map, 'time_zone'),
    columns: optionally(map, 'columns', (list) => listOf(list).map(textValue)),
    multiValuedColumns: (optionally(map, 'multi_valued_columns', itemsOf) ?? []).map((column) => ({
      name: text(column, 'name'),
      format: choice(column, 'format', MULTI_VALUED_FORMAT) ?? DEFAULTS.format,
    })),
  }
}

function messagesOf(root: MapNode): RunbookMessages | null {
  const map = optionally(root, 'messages', mapOf)
  if (!map) return null
  const source = mapAt(root, 'data_source')
  return {
    from: text(map, 'from'),
    defaultLanguage: text(map, 'default_language').toLowerCase(),
    timeZone: optionalText(map, 'time_zone') ?? optionalText(source, 'time_zone') ?? 'UTC',
    templates: new Map(
      entriesAt(map, 'templates').map(([name, node]) => [
        name.toLowerCase(),
        messageOf(name, mapOf(node)),
      ]),
    ),
  }
}

const peopleOf = (map: MapNode): People => ({
  workerId: text(map, 'worker_id'),
  source: listOf(at(map, 'source')).map(textValue),
  target: text(map, 'target'),
})

const messageOf = (name: string, map: MapNode): RunbookMessage => ({
  name,
  isHtml: choice(map, 'format', MESSAGE_FORMAT) === 'html',
  correction: optionalText(map, 'correction')?.toLowerCase() ?? null,
  texts: new Map(
    entriesAt(map, 'texts').map(([language, node]) => [
      language.toLowerCase(),
      { subject: text(mapOf(node), 'subject'), body: text(mapOf(node), 'body') },
    ]),
  ),
})

function safeguardsOf(root: MapNode): Safeguards {
  const map = optionally(root, 'safeguards', mapOf)
  const value = <T>(key: string, defaultValue: T): T =>
    ((map && optionally(map, key, scalarValue)) as T | null) ?? defaultValue
  return {
    maxRemovalPercent: value<number>('max_removal_percent', DEFAULTS.maxRemovalPercent),
    removalsAfterStart:
      (map && choice(map, 'removals_after_start', REMOVALS)) ?? DEFAULTS.removalsAfterStart,
    maxFailedPercent: value<number>('max_failed_percent', DEFAULTS.maxFailedPercent),
  }
}

export const windowsOf = (map: MapNode): ChangeWindows => ({
  timeZone: text(map, 'time_zone'),
  hours: (optionally(map, 'hours', itemsOf) ?? []).map((hours) => ({
    days: optionally(hours, 'days', (days) =>
      listOf(days).map((day) => chosen(WEEKDAY, textValue(day))!),
    ) ?? [...WEEKDAYS],
    fromMin: clockMinutes(text(hours, 'from')),
    toMin: clockMinutes(text(hours, 'to')),
  })),
  freezes: (optionally(map, 'freezes', itemsOf) ?? []).map((freeze) => ({
    from: text(freeze, 'from'),
    to: text(freeze, 'to'),
    reason: text(freeze, 'reason'),
  })),
})

const clockMinutes = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

const phaseOf = (map: MapNode, steps: (node: Node) => RunbookStep[]): RunbookPhase => ({
  name: text(map, 'name'),
  offsetMinutes: parseOffsetMinutes(text(map, 'offset'))!,
  gate: optionally(map, 'gate', (node) => gateOf(mapOf(node))),
  ramp: optionally(map, 'ramp', (node) => ({
    percents: listOf(node).map((share) => parseInt(textValue(share), 10)),
    soakSec: durationSec(map, 'soak') ?? 0,
    maxFailedPercent: optionally(map, 'max_failed_percent', scalarValue) as number | null,
  })),
  steps: steps(at(map, 'steps')),
})

const gateOf = (map: MapNode): Gate => ({
  approvals: (optionally(map, 'approvals', scalarValue) as number | null) ?? DEFAULTS.approvals,
  survives:
    (optionally(map, 'approval_survives', scalarValue) as number | null) ??
    DEFAULTS.approvalSurvives,
  readyPercent: optionally(map, 'ready', (node) => parseInt(textValue(node), 10)),
})

function stepOf(map: MapNode, globalRetry: RetryPolicyDefinition | null): RunbookStep {
  return {
    name: text(map, 'name'),
    workerId: text(map, 'worker_id'),
    notify: optionally(map, 'notify', (node) => notifyOf(mapOf(node))),
    function: optionalText(map, 'function') ?? SEND_MESSAGE,
    params: Object.fromEntries(entriesAt(map, 'params').map(([key, node]) => [key, jsonOf(node)])),
    outputParams: Object.fromEntries(
      entriesAt(map, 'output_params').map(([variable, field]) => [variable, textValue(field)]),
    ),
    when: (optionally(map, 'when', itemsOf) ?? []).map(conditionOf),
    onFailure: optionalText(map, 'on_failure')?.toLowerCase() ?? null,
    poll: optionally(map, 'poll', (node) => ({
      intervalSec: durationSec(mapOf(node), 'interval')!,
      timeoutSec: durationSec(mapOf(node), 'timeout')!,
    })),
    retry: retryOf(map) ?? globalRetry,
    timeoutSec: durationSec(map, 'timeout') ?? DEFAULTS.timeoutSec,
  }
}

function conditionOf(map: MapNode): StepCondition {
  const variable = text(map, 'variable')
  const present = optionally(map, 'present', scalarValue)
  if (present !== null) return { variable, test: present ? 'present' : 'absent', values: [] }
  const isNegated = map.entries.has('is_not') || map.entries.has('not_in')
  const values = ['is', 'is_not', 'in', 'not_in'].flatMap((key) =>
    [optionally(map, key, jsonOf) ?? []].flat(),
  )
  return { variable, test: isNegated ? 'not_in' : 'in', values: values as Comparable[] }
}

const notifyOf = (map: MapNode): Notify => ({
  message: text(map, 'message').toLowerCase(),
  to: text(map, 'to'),
  language: optionalText(map, 'language'),
})

/** A step's retry replaces the global one entirely, so `max_retries: 0` turns retries off for it. */
function retryOf(parent: MapNode): RetryPolicyDefinition | null {
  const map = optionally(parent, 'retry', mapOf)
  if (!map) return null
  return {
    maxRetries: scalarValue(at(map, 'max_retries')) as number,
    intervalSec: durationSec(map, 'interval') ?? 0,
    backoff: choice(map, 'backoff', BACKOFF) ?? DEFAULTS.backoff,
    maxIntervalSec: durationSec(map, 'max_interval'),
  }
}

// --- Reading nodes that are known to be there -----------------------------------------------------

function at(map: MapNode, key: string): Node {
  const entry = map.entries.get(key)
  if (!entry) throw new Error(`The checks passed a document without "${key}".`)
  return entry.value
}

function mapOf(node: Node): MapNode {
  if (node.kind !== 'map') throw new Error(`The checks passed a ${node.kind} as a map.`)
  return node
}

function listOf(node: Node): readonly Node[] {
  if (node.kind !== 'list') throw new Error(`The checks passed a ${node.kind} as a list.`)
  return node.items
}

function scalarValue(node: Node): Json {
  if (node.kind !== 'scalar') throw new Error(`The checks passed a ${node.kind} as a value.`)
  return node.value
}

function jsonOf(node: Node): Json {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.items.map(jsonOf)
  return Object.fromEntries(
    Array.from(node.entries.values(), ({ key, value }) => [key, jsonOf(value)]),
  )
}

const itemsOf = (node: Node): MapNode[] => listOf(node).map(mapOf)
const mapAt = (map: MapNode, key: string): MapNode => mapOf(at(map, key))
const textValue = (node: Node): string => String(scalarValue(node))
const text = (map: MapNode, key: string): string => textValue(at(map, key))

const optionally = <T>(map: MapNode, key: string, read: (node: Node) => T): T | null =>
  map.entries.has(key) ? read(at(map, key)) : null

const optionalText = (map: MapNode, key: string): string | null => optionally(map, key, textValue)

const choice = <Word extends string>(map: MapNode, key: string, shape: Choice<Word>): Word | null =>
  optionally(map, key, (node) => chosen(shape, textValue(node)))

const durationSec = (map: MapNode, key: string): number | null =>
  optionally(map, key, (node) => parseDurationSec(textValue(node)))

function entriesAt(map: MapNode, key: string): [string, Node][] {
  const inner = optionally(map, key, mapOf)
  return inner ? Array.from(inner.entries.values(), (entry) => [entry.key, entry.value]) : []
}
