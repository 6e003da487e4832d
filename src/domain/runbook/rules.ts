// Rules between values: unique names, existing rollbacks, keys that belong to one type of data source, durations that fit
// together. The same rules apply to every kind of step.

import { parseDurationSec } from '../../base/text/duration.ts'
import { hintFor } from '../../base/text/spelling.ts'
import { foldKey } from '../state/member-key.ts'
import { checkConditions } from './condition-rules.ts'
import { checkMessages } from './message-rules.ts'
import {
  mapAt,
  mapsOf,
  nodeAt,
  type Outline,
  outlinedSteps,
  type PhaseOutline,
  type StepOutline,
  scalarAt,
  textAt,
  textsAt,
} from './outline.ts'
import { checkPeople } from './people-rules.ts'
import type { Findings, Span } from './problems.ts'
import { chosen, SOURCE_TYPE, type SOURCE_TYPES } from './shape.ts'
import { asName } from './text-formats.ts'
import type { MapNode } from './tree.ts'

export function checkRules(
  root: MapNode,
  outline: Outline,
  findings: Findings,
  fileColumns: readonly string[] | undefined,
): void {
  if (outline.dataSource) {
    checkSourceKeys(outline.dataSource, findings)
    checkColumns(outline.dataSource, findings, fileColumns)
  }
  checkNames(outline, findings)
  checkRollbackUse(outline, findings)
  checkMessages(outline, outlinedSteps(outline), findings)
  checkPeople(outline, outlinedSteps(outline), findings)
  checkRetry(root, '', findings)
  checkWindows(mapAt(root, 'windows'), 'windows', findings)
  for (const phase of outline.phases) checkRamp(phase, findings)
  for (const step of outlinedSteps(outline)) {
    checkRetry(step.node, step.path, findings)
    checkPoll(step, findings)
    checkConditions(step, findings)
  }
}

// --- Data source ---------------------------------------------------------------------------------

/** The keys each type of source needs and refuses. */
const SOURCE_KEYS: Record<(typeof SOURCE_TYPES)[number], { needs: string[]; refuses: string[] }> = {
  csv: { needs: ['path'], refuses: ['query', 'connection', 'warehouse_id'] },
  databricks: { needs: ['connection', 'query', 'warehouse_id'], refuses: ['path'] },
  dataverse: { needs: ['connection', 'query'], refuses: ['warehouse_id', 'path'] },
  postgres: { needs: ['connection', 'query'], refuses: ['warehouse_id', 'path'] },
  sqlserver: { needs: ['connection', 'query'], refuses: ['warehouse_id', 'path'] },
}

const sourceTypeIn = (source: MapNode): (typeof SOURCE_TYPES)[number] | null =>
  chosen(SOURCE_TYPE, textAt(source, 'type') ?? '')

function checkSourceKeys(source: MapNode, findings: Findings): void {
  const missing = (key: string, place: string) =>
    findings.add('MISSING_KEY', source, 'data_source', { place, key })
  const refuse = (key: string, condition: string) => {
    const entry = source.entries.get(key)
    if (entry)
      findings.add('CONFLICTING_KEYS', entry.keySpan, `data_source.${key}`, { key, condition })
  }
  const type = sourceTypeIn(source)
  const keys = type === null ? { needs: [], refuses: [] } : SOURCE_KEYS[type]
  for (const key of keys.needs) {
    if (!source.entries.has(key)) missing(key, `A data_source of type ${type}`)
  }
  for (const key of keys.refuses) refuse(key, `in a data_source of type ${type}`)
  const immediate = source.entries.get('batch_time')
  const column = source.entries.get('batch_time_column')
  if (column) {
    // In the earlier system `immediate` won.
    const at = { start: column.keySpan.start, end: column.value.end }
    if (immediate)
      findings.add('TWO_BATCH_TIMES', immediate.keySpan, 'data_source.batch_time', undefined, {
        at,
        write: null,
      })
  } else if (!source.entries.has('batch_time')) {
    missing('batch_time_column', 'Without "batch_time: immediate", data_source')
  }
}

function checkColumns(
  source: MapNode,
  findings: Findings,
  fileColumns: readonly string[] | undefined,
): void {
  const declared = textsAt(source, 'columns')
  const multiValued = mapsOf(nodeAt(source, 'multi_valued_columns'), 'multi_valued_columns')
  checkUnique(
    'column',
    declared.map(({ node, text, path }) => [text, node, path]),
    findings,
  )
  const multiValuedNames = multiValued.flatMap(({ node, path }) => {
    const name = scalarAt(node, 'name')
    return name ? [[String(name.value), name, `${path}.name`] as const] : []
  })
  checkUnique('multi-valued column', multiValuedNames, findings)

  const known = fileColumns ?? (declared.length > 0 ? declared.map(({ text }) => text) : null)
  if (!known) return
  const knownSet = new Set(known.map(foldKey))
  const expectColumn = (name: string, at: Span, path: string) => {
    if (knownSet.has(foldKey(name))) return
    const owner = fileColumns ? 'The member file has' : '"columns" has'
    findings.add('UNKNOWN_COLUMN', at, `data_source.${path}`, () => ({
      source: owner,
      name,
      hint: hintFor(name, known, 'There are'),
    }))
  }
  if (fileColumns) for (const { node, text, path } of declared) expectColumn(text, node, path)
  for (const [name, node, path] of multiValuedNames) expectColumn(name, node, path)
  // A member file for a manual batch has no cut-over times; a person starts its phases.
  const timesNeeded = !fileColumns || sourceTypeIn(source) === 'csv'
  for (const key of timesNeeded ? ['primary_key', 'batch_time_column'] : ['primary_key']) {
    const column = scalarAt(source, key)
    if (column) expectColumn(String(column.value), column, key)
  }
}

// --- Names ---------------------------------------------------------------------------------------

type Named = readonly [name: string, at: Span, path: string]

function checkNames({ init, phases, removal, rollbacks }: Outline, findings: Findings): void {
  checkUnique('phase', phases.flatMap(nameOf), findings)
  checkUnique('init step', init.flatMap(nameOf), findings)
  checkUnique('removal step', removal.flatMap(nameOf), findings)
  const rollbackNames = rollbacks.map(
    ({ entry, path }) => [entry.key, entry.keySpan, path] as const,
  )
  checkUnique('rollback', rollbackNames, findings)
  for (const { steps } of [...phases, ...rollbacks]) {
    checkUnique('step', steps.flatMap(nameOf), findings)
  }
}

function nameOf({ node, path }: { node: MapNode; path: string }): Named[] {
  const name = scalarAt(node, 'name')
  return name ? [[String(name.value), name, `${path}.name`]] : []
}

function checkUnique(kind: string, names: readonly Named[], findings: Findings): void {
  const seen = new Map<string, Span>()
  for (const [name, at, path] of names) {
    const former = seen.get(name.toLowerCase())
    if (!former) seen.set(name.toLowerCase(), at)
    else
      findings.add('DUPLICATE_NAME', at, path, { kind, name, first: findings.lineOf(former.start) })
  }
}

function checkRollbackUse({ init, phases, rollbacks }: Outline, findings: Findings): void {
  const names = rollbacks.map(({ entry }) => entry.key)
  const known = new Set(names.map((name) => name.toLowerCase()))
  const used = new Set<string>()
  for (const { node, path } of [...init, ...phases.flatMap(({ steps }) => steps)]) {
    const value = scalarAt(node, 'on_failure')
    if (!value) continue
    const name = String(value.value)
    used.add(name.toLowerCase())
    if (known.has(name.toLowerCase())) continue
    const details = () => ({
      name,
      hint: hintFor(name, names, 'There are') || 'Add it under "rollbacks".',
    })
    const renamed = names.find((one) => one === asName(name))
    const mend = renamed === undefined ? undefined : { write: renamed }
    findings.add('UNKNOWN_ROLLBACK', value, `${path}.on_failure`, details, mend)
  }
  for (const { entry, path } of rollbacks) {
    if (!used.has(entry.key.toLowerCase())) findings.add('UNUSED_ROLLBACK', entry.keySpan, path)
  }
}

// --- Retry and poll ------------------------------------------------------------------------------

function checkRetry(parent: MapNode, parentPath: string, findings: Findings): void {
  const retry = mapAt(parent, 'retry')
  if (!retry) return
  const path = parentPath === '' ? 'retry' : `${parentPath}.retry`
  const isOff = scalarAt(retry, 'max_retries')?.value === 0
  if (!isOff && !retry.entries.has('interval')) {
    findings.add('MISSING_KEY', retry, path, {
      place: 'A retry with max_retries above 0',
      key: 'interval',
    })
  }
  const limit = retry.entries.get('max_interval')
  if (!limit) return
  if (textAt(retry, 'backoff') !== 'exponential') {
    const details = { key: 'max_interval', condition: 'without "backoff: exponential"' }
    findings.add('NO_EFFECT', limit.keySpan, `${path}.max_interval`, details)
  }
  const interval = textAt(retry, 'interval') ?? ''
  const max = textAt(retry, 'max_interval') ?? ''
  if (isShorter(max, interval)) {
    findings.add('RETRY_INTERVAL_SHORT', limit.value, `${path}.max_interval`, { max, interval })
  }
}

function checkPoll({ node, path }: StepOutline, findings: Findings): void {
  const poll = mapAt(node, 'poll')
  const timeoutNode = scalarAt(poll, 'timeout')
  const interval = textAt(poll, 'interval') ?? ''
  const timeout = textAt(poll, 'timeout') ?? ''
  if (!timeoutNode || !isShorter(timeout, interval)) return
  findings.add('POLL_TIMEOUT_SHORT', timeoutNode, `${path}.poll.timeout`, { timeout, interval })
}

// --- Ramp ----------------------------------------------------------------------------------------

function checkRamp({ node, path }: PhaseOutline, findings: Findings): void {
  if (!node.entries.has('ramp')) {
    for (const key of ['soak', 'max_failed_percent']) {
      const entry = node.entries.get(key)
      if (entry)
        findings.add('NO_EFFECT', entry.keySpan, `${path}.${key}`, {
          key,
          condition: 'without "ramp"',
        })
    }
    return
  }
  const shares = textsAt(node, 'ramp').map((share) => ({
    ...share,
    percent: parseInt(share.text, 10),
  }))
  for (const [at, share] of shares.entries()) {
    const former = shares[at - 1]
    if (former && !(share.percent > former.percent)) {
      const details = { value: share.text, former: former.text }
      findings.add('RAMP_NOT_RISING', share.node, `${path}.${share.path}`, details)
    }
  }
  const last = shares.at(-1)
  if (last && last.percent < 100)
    findings.add('RAMP_INCOMPLETE', last.node, `${path}.${last.path}`, { value: last.text })
}

function isShorter(a: string, b: string): boolean {
  const [secondsA, secondsB] = [parseDurationSec(a), parseDurationSec(b)]
  return secondsA !== null && secondsB !== null && secondsA < secondsB
}

// --- Change windows --------------------------------------------------------------------------------

export function checkWindows(windows: MapNode | null, path: string, findings: Findings): void {
  if (!windows) return
  if (!windows.entries.has('hours') && !windows.entries.has('freezes'))
    findings.add('WINDOWS_EMPTY', windows, path)
  const under = path === '' ? 'freezes' : `${path}.freezes`
  for (const freeze of mapsOf(nodeAt(windows, 'freezes'), under)) {
    const [from, to] = [textAt(freeze.node, 'from'), textAt(freeze.node, 'to')]
    // Dates in this form sort as texts.
    if (from !== null && to !== null && to < from)
      findings.add('FREEZE_BACKWARDS', scalarAt(freeze.node, 'to')!, `${freeze.path}.to`, {
        from,
        to,
      })
  }
}
