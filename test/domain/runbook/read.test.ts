import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { RUNBOOK_SHAPE, type Shape } from '../../../src/domain/runbook/shape.ts'

const FULL = `name: Full
description: Everything once.
data_source:
  type: databricks
  connection: DATABRICKS_HOST
  warehouse_id: DATABRICKS_WAREHOUSE
  query: select
  primary_key: Id
  batch_time_column: Start
  time_zone: Europe/Berlin
  columns: [Id, Start, Mails]
  multi_valued_columns:
    - {name: Mails, format: comma_delimited}
retry: {max_retries: 2, interval: 1m, backoff: exponential, max_interval: 1h}
safeguards: {max_removal_percent: 0, removals_after_start: run, max_failed_percent: 100}
windows:
  time_zone: Europe/Berlin
  hours: [{days: [Sat, sun], from: "22:00", to: "06:00"}]
  freezes: [{from: 2026-12-19, to: 2027-01-06, reason: year end}]
notifications: [{conditions: [failure_limit, Phase_Ended], channels: [night]}, {channels: [leads]}]
init:
  - name: open
    worker_id: w.1
    function: Open
    output_params: {Group: groupId}
    on_failure: UNDO
phases:
  - name: after
    offset: T+1d
    steps:
      - {name: check, worker_id: w, function: Check, retry: {max_retries: 0}}
  - name: Before
    offset: T-90s
    gate: {approvals: 2, approval_survives: 5, ready: 95%}
    ramp: [5%, 25%, 100%]
    soak: 30m
    max_failed_percent: 3
    steps:
      - name: create
        worker_id: w
        function: "New-{{Id}}"
        params: {A: 1, B: [true, null, 0.5], C: {D: "{{Group}}"}}
        on_failure: Undo
        poll: {interval: 30s, timeout: 1h}
        retry: {max_retries: 5, interval: 10s}
        timeout: 2h
        when: [{variable: Id, is: 1}, {variable: Mails, not_in: [a, true]}, {variable: Group, present: false}]
on_member_removed:
  - {name: close, worker_id: w, function: Close}
rollbacks:
  Undo:
    - {name: undo, worker_id: w, function: Undo}
`

/** What FULL cannot have besides: a file as source, and messages. */
const MORE = `name: More
data_source:
  type: csv
  path: people.csv
  primary_key: Id
  batch_time: immediate
messages:
  from: a@b.example
  default_language: en
  time_zone: Europe/Berlin
  templates:
    notice:
      format: html
      correction: moved
      texts: {en: {subject: Hello, body: "<p>{{_start_date}}</p>"}}
    moved: {texts: {en: {subject: New, body: "{{_former_date}}"}}}
people: {worker_id: w, source: ["{{Id}}", "{{Mails}}"], target: "{{Account}}"}
phases:
  - name: p
    offset: T-0
    steps:
      - {name: tell, worker_id: w, when: [{variable: Id, is_not: 2}, {variable: Id, in: [1]}], notify: {message: notice, to: "{{Id}}", language: en}}
`

const GLOBAL_RETRY = {
  maxRetries: 2,
  intervalSec: 60,
  backoff: 'exponential',
  maxIntervalSec: 3_600,
}

const step = (name: string, functionName: string) => ({
  name,
  workerId: 'w',
  notify: null,
  function: functionName,
  params: {},
  outputParams: {},
  when: [],
  onFailure: null,
  poll: null,
  retry: GLOBAL_RETRY,
  timeoutSec: 3_600,
})

describe('a runbook', () => {
  const { runbook, problems } = readRunbook(FULL)

  it('is read completely', () => {
    assert.deepEqual(problems, [])
    assert.deepEqual(runbook, {
      name: 'Full',
      description: 'Everything once.',
      messages: null,
      people: null,
      dataSource: {
        type: 'databricks',
        connection: 'DATABRICKS_HOST',
        warehouseId: 'DATABRICKS_WAREHOUSE',
        path: null,
        query: 'select',
        primaryKey: 'Id',
        batchTimeColumn: 'Start',
        timeZone: 'Europe/Berlin',
        columns: ['Id', 'Start', 'Mails'],
        multiValuedColumns: [{ name: 'Mails', format: 'comma_delimited' }],
      },
      retry: GLOBAL_RETRY,
      safeguards: { maxRemovalPercent: 0, removalsAfterStart: 'run', maxFailedPercent: 100 },
      windows: {
        timeZone: 'Europe/Berlin',
        hours: [{ days: ['sat', 'sun'], fromMin: 1_320, toMin: 360 }],
        freezes: [{ from: '2026-12-19', to: '2027-01-06', reason: 'year end' }],
      },
      notifications: [
        { conditions: ['failure_limit', 'phase_ended'], channels: ['night'] },
        { conditions: [], channels: ['leads'] },
      ],
      init: [
        {
          ...step('open', 'Open'),
          workerId: 'w.1',
          outputParams: { Group: 'groupId' },
          onFailure: 'undo',
        },
      ],
      phases: [
        {
          name: 'after',
          offsetMinutes: -1_440,
          gate: null,
          ramp: null,
          steps: [
            {
              ...step('check', 'Check'),
              retry: { maxRetries: 0, intervalSec: 0, backoff: 'fixed', maxIntervalSec: null },
            },
          ],
        },
        {
          name: 'Before',
          offsetMinutes: 2,
          gate: { approvals: 2, survives: 5, readyPercent: 95 },
          ramp: { percents: [5, 25, 100], soakSec: 1_800, maxFailedPercent: 3 },
          steps: [
            {
              ...step('create', 'New-{{Id}}'),
              params: { A: 1, B: [true, null, 0.5], C: { D: '{{Group}}' } },
              when: [
                { variable: 'Id', test: 'in', values: [1] },
                { variable: 'Mails', test: 'not_in', values: ['a', true] },
                { variable: 'Group', test: 'absent', values: [] },
              ],
              onFailure: 'undo',
              poll: { intervalSec: 30, timeoutSec: 3_600 },
              retry: { maxRetries: 5, intervalSec: 10, backoff: 'fixed', maxIntervalSec: null },
              timeoutSec: 7_200,
            },
          ],
        },
      ],
      onMemberRemoved: [step('close', 'Close')],
      rollbacks: new Map([['undo', [step('undo', 'Undo')]]]),
    })
  })

  it('has defaults', () => {
    const short = readRunbook(
      `name: a
data_source: {type: csv, path: a.csv, primary_key: Id, batch_time: immediate}
phases: [{name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}]`,
    ).runbook
    assert.ok(short)
    assert.deepEqual(short.safeguards, {
      maxRemovalPercent: 20,
      removalsAfterStart: 'hold',
      maxFailedPercent: 30,
    })
    assert.equal(short.dataSource.batchTimeColumn, null)
    assert.equal(short.dataSource.columns, null)
    assert.deepEqual(short.phases[0]?.steps[0], { ...step('s', 'F'), retry: null })
    assert.deepEqual([short.init, short.onMemberRemoved, short.rollbacks.size], [[], [], 0])
  })

  it('can be read from bytes, with or without a byte order mark', () => {
    const bytes = new TextEncoder().encode(FULL)
    assert.deepEqual(readRunbook(bytes).runbook, runbook)
    assert.deepEqual(readRunbook(new Uint8Array([0xef, 0xbb, 0xbf, ...bytes])).runbook, runbook)
  })

  it('is null with an error and usable with warnings', () => {
    const warned = readRunbook(FULL.replace('A: 1', 'A: yes'))
    assert.equal(warned.problems[0]?.severity, 'warning')
    assert.ok(warned.runbook)
    assert.equal(readRunbook(FULL.replace('A: 1', 'A: "{{"')).runbook, null)
  })
})

/** `build.ts` reads every step in one way. */
const calledIn = (called: string): string =>
  called === 'a rollback or removal step' ? 'a step' : called

/** Each key of each map in the shape, as `a step.poll`. */
function keysOf(shape: Shape): string[] {
  if (shape.is === 'list' || shape.is === 'named') return keysOf(shape.item)
  if (shape.is !== 'map') return []
  return Object.entries(shape.keys).flatMap(([key, field]) => [
    `${calledIn(shape.called)}.${key}`,
    ...keysOf(field.shape),
  ])
}

type Place = readonly (string | number)[]

/** The keys of the shape that a value has, and where. */
function placesIn(shape: Shape, value: Json, place: Place = []): [key: string, place: Place][] {
  if (shape.is === 'list')
    return (value as Json[]).flatMap((item, at) => placesIn(shape.item, item, [...place, at]))
  if (shape.is === 'named')
    return Object.entries(value as JsonObject).flatMap(([name, item]) =>
      placesIn(shape.item, item, [...place, name]),
    )
  if (shape.is !== 'map') return []
  return Object.entries(value as JsonObject).flatMap(([key, item]) => [
    [`${calledIn(shape.called)}.${key}`, [...place, key]] as [string, Place],
    ...placesIn(shape.keys[key]!.shape, item, [...place, key]),
  ])
}

function without(source: string, place: Place): string {
  const value = parse(source) as JsonObject
  const parent = place.slice(0, -1).reduce<Json>((at, key) => (at as JsonObject)[key]!, value)
  Reflect.deleteProperty(parent as JsonObject, place.at(-1)!)
  return stringify(value)
}

describe('a key of a runbook', () => {
  const places = [FULL, MORE].flatMap((source) =>
    placesIn(RUNBOOK_SHAPE, parse(source) as Json).map(([key, place]) => ({ source, key, place })),
  )
  assert.deepEqual(readRunbook(MORE).problems, [])

  for (const key of new Set(keysOf(RUNBOOK_SHAPE)))
    it(`changes the runbook that is read: ${key}`, () => {
      const found = places.filter((one) => one.key === key)
      assert.ok(found.length > 0, 'no runbook of this file has the key: write it into FULL or MORE')
      const isRead = ({ source, place }: (typeof found)[number]) => {
        const { runbook } = readRunbook(without(source, place))
        return !isDeepStrictEqual(runbook, readRunbook(source).runbook)
      }
      assert.ok(
        found.some(isRead),
        'without it the runbook is the same: read it in src/domain/runbook/build.ts',
      )
    })
})

describe('variables of a runbook', () => {
  const errorsOf = (source: string, columns?: string[]) =>
    readRunbook(source, columns ? { columns } : {})
      .problems.filter(({ severity }) => severity === 'error')
      .map(({ code }) => code)
  const using = (name: string, offset: string) => `name: a
data_source: {type: csv, path: a.csv, primary_key: Id, batch_time: immediate, columns: [Id]}
init: [{name: i, worker_id: w, function: F, output_params: {FromInit: x}}]
phases:
  - name: user
    offset: ${offset}
    steps: [{name: s, worker_id: w, function: F, params: {A: "{{${name}}}"}}]
  - name: maker
    offset: T-1d
    steps: [{name: s, worker_id: w, function: F, output_params: {Made: x}}]
`

  it('come from phases earlier in time, in any file order', () => {
    assert.deepEqual(errorsOf(using('Made', 'T-0')), [])
    assert.deepEqual(errorsOf(using('Made', 'T+1d')), [])
    assert.deepEqual(errorsOf(using('Made', 'T-2d')), ['UNKNOWN_VARIABLE'])
    // Phases due at the same time run in file order.
    assert.deepEqual(errorsOf(using('Made', 'T-1d')), ['UNKNOWN_VARIABLE'])
  })

  it('are known after the first step that sets them', () => {
    const twice = `${using('Made', 'T-0')}  - name: again
    offset: T+1d
    steps: [{name: s, worker_id: w, function: F, output_params: {Made: x}}]
`
    assert.deepEqual(errorsOf(twice), [])
  })

  it('are not suggested before they are set', () => {
    const source = using('Mad', 'T-1d').replace(
      '"{{Mad}}"}',
      '"{{Mad}}"}, output_params: {Made: x}',
    )
    const [problem] = readRunbook(source).problems
    assert.match(
      problem?.message ?? '',
      /Known here: Id, FromInit, _batch_id, _batch_start_time\.$/,
    )
  })

  it('of a rollback must be set for the earliest step that uses it', () => {
    const source = `${using('Id', 'T-2d').replaceAll('function: F', 'on_failure: undo, function: F').replace('on_failure: undo, ', '')}
  - name: last
    offset: T-0
    steps: [{name: s, worker_id: w, function: F, on_failure: undo}]
rollbacks:
  undo: [{name: a, worker_id: w, function: F, params: {A: "{{Made}}"}}]
`
    assert.deepEqual(errorsOf(source), ['UNKNOWN_VARIABLE'])
  })

  it('come from init, the batch and the columns', () => {
    for (const name of ['FromInit', '_batch_id', '_batch_start_time', 'Id']) {
      assert.deepEqual(errorsOf(using(name, 'T-0')), [], name)
    }
  })

  it('are checked against the columns of a member file when there is one', () => {
    const undeclared = using('Zip', 'T-0').replace(', columns: [Id]', '')
    assert.deepEqual(errorsOf(undeclared), [])
    assert.deepEqual(errorsOf(undeclared, ['Id', 'Zip']), [])
    assert.deepEqual(errorsOf(undeclared, ['Id']), ['UNKNOWN_VARIABLE'])
    assert.deepEqual(errorsOf(undeclared, ['Zip']), ['UNKNOWN_COLUMN'])
  })

  it('need no cut-over time in a member file for a manual batch', () => {
    const source = using('Id', 'T-0').replace(
      'type: csv, path: a.csv, primary_key: Id, batch_time: immediate, columns: [Id]',
      'type: postgres, connection: MATOOLKIT_SOURCE_X, query: q, primary_key: Id, batch_time_column: At',
    )
    assert.deepEqual(errorsOf(source, ['Id']), [])
  })

  it('of a rollback come from its earlier steps too', () => {
    const source = `${using('Id', 'T-0').replace('function: F, params', 'on_failure: undo, function: F, params')}
rollbacks:
  undo:
    - {name: a, worker_id: w, function: F, output_params: {Found: x}}
    - {name: b, worker_id: w, function: F, params: {A: "{{Found}} {{Id}} {{FromInit}}"}}
`
    assert.deepEqual(errorsOf(source), [])
  })
})
