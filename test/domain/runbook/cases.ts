// The possible problems of a runbook: at least one case per code. «…» marks the offending text: its start is the
// expected line and column, its content the expected text.

import type { ProblemCode } from '../../../src/domain/runbook/problems.ts'
import type { FunctionCatalogue } from '../../../src/domain/runbook/read.ts'
import { MESSAGE_CASES } from './message-cases.ts'
import { START_CASES } from './start-cases.ts'
import { VALID } from './valid-runbook.ts'

export interface Case {
  readonly code: ProblemCode
  /** A piece of VALID and its replacement, or a whole file. */
  readonly edit: readonly [from: string, to: string] | string
  readonly says: RegExp
  readonly columns?: readonly string[]
  readonly catalogues?: readonly FunctionCatalogue[]
  readonly allowMissingParameters?: true
}

const step = (name: string, more = '') =>
  `{name: ${name}, worker_id: w, function: Do-It${more && `, ${more}`}}`
const END = 'params: {A: "{{Upn}}"}\n'
const withStepKey = (key: string): [string, string] => [END, `${END}        ${key}\n`]
const withRoot = (text: string): [string, string] => ['phases:\n', `${text}\nphases:\n`]

const withWindows = (text: string): [string, string] => withRoot(`windows:\n  ${text}`)

/** Announcements of workers. */
const CHANGES = { effect: 'changes', isIdempotent: true, undoneBy: [] } as const

const catalogues: readonly FunctionCatalogue[] = [
  {
    workerId: 'worker-1',
    functions: [
      {
        name: 'Do-It',
        parameters: {
          type: 'object',
          properties: { A: {}, Name: {} },
          required: ['A'],
          additionalProperties: false,
        },
        facts: { ...CHANGES, returns: ['Id', 'DisplayName'] },
      },
      { name: 'Own-It', parameters: {}, facts: { ...CHANGES, isCustom: true } },
    ],
  },
  { workerId: null, functions: [{ name: 'own-it', parameters: {}, facts: CHANGES }] },
]

export const CASES: readonly Case[] = [
  ...START_CASES,
  ...MESSAGE_CASES,
  // The file.
  { code: 'TOO_LARGE', edit: `«»# ${'x'.repeat(1_048_577)}`, says: /1048576 bytes/ },
  { code: 'NOT_UTF8', edit: '«»name: \ud800', says: /half a surrogate/ },
  { code: 'CONTROL_CHARACTER', edit: 'name: a\nb: «»\u0000', says: /a NUL character/ },
  { code: 'CONTROL_CHARACTER', edit: 'name: a\n«»\u001b[31m', says: /U\+001B/ },
  { code: 'CONTROL_CHARACTER', edit: 'name: a«»\rb: c', says: /carriage return/ },
  { code: 'CONTROL_CHARACTER', edit: ['{A: "{{Upn}}"}', '{A: «"\\0"»}'], says: /a NUL character/ },
  { code: 'CONTROL_CHARACTER', edit: ['{A: "{{Upn}}"}', '{A: «"\\ud800"»}'], says: /half a/ },
  { code: 'CONTROL_CHARACTER', edit: ['{A: "{{Upn}}"}', '{«"\\0"»: 1}'], says: /a NUL character/ },
  { code: 'EMPTY_DOCUMENT', edit: '«»', says: /no runbook/ },
  { code: 'EMPTY_DOCUMENT', edit: '«»# only a comment\n', says: /no runbook/ },
  { code: 'EMPTY_DOCUMENT', edit: '«»---\n...\n', says: /no runbook/ },
  {
    code: 'SEVERAL_DOCUMENTS',
    edit: '---\nname: a\n«---»\nname: b\n',
    says: /one runbook per file/,
  },
  { code: 'SEVERAL_DOCUMENTS', edit: 'name: a\n«---»\nname: b\n', says: /one runbook per file/ },
  { code: 'TOO_DEEP', edit: `a: ${'['.repeat(50)}«[»`, says: /50 levels/ },
  { code: 'TOO_MANY_NODES', edit: `a:\n${'- 1\n'.repeat(19_997)}- «1»\n- 1\n`, says: /20000 keys/ },
  { code: 'TOO_MANY_PROBLEMS', edit: `${manyKeys(500)}«k500»: 1\n`, says: /500 problems/ },
  { code: 'YAML_SYNTAX', edit: 'name: "a«»', says: /Missing closing/ },
  { code: 'YAML_SYNTAX', edit: 'name: a\n«»\tb: c', says: /[Tt]abs/ },
  { code: 'YAML_SYNTAX', edit: '«{»a: 1}: 2', says: /a key must be plain text/ },
  { code: 'YAML_TAG', edit: ['name: wave', 'name: «!secret» wave'], says: /tag !secret/ },
  { code: 'YAML_TAG', edit: ['name: wave', 'name: «!!js/function» wave'], says: /!!js\/function/ },
  { code: 'YAML_TAG', edit: ['name: wave', 'name: «!!binary» wave'], says: /!!binary/ },
  { code: 'YAML_ALIAS', edit: ['{A: "{{Upn}}"}', '{A: &a [x], B: «*a»}'], says: /[Aa]liases/ },
  { code: 'YAML_DIRECTIVE', edit: '«%YAML 1.1»\n---\nname: a\n', says: /Remove this line/ },
  { code: 'DUPLICATE_KEY', edit: ['phases:', '«name»: other\nphases:'], says: /first in line 1/ },
  { code: 'DUPLICATE_KEY', edit: ['{A: "{{Upn}}"}', '{A: 1, «A»: 2}'], says: /"A"/ },
  { code: 'RESERVED_NAME', edit: ['{A: "{{Upn}}"}', '{«__proto__»: 1}'], says: /__proto__/ },
  { code: 'RESERVED_NAME', edit: ['phases:', '«constructor»: 1\nphases:'], says: /constructor/ },
  {
    code: 'RESERVED_NAME',
    edit: withStepKey('output_params: {«_batch_id»: Id}'),
    says: /_batch_id/,
  },
  {
    code: 'RESERVED_NAME',
    edit: withStepKey('output_params: {«_Batch_Start_Time»: Id}'),
    says: /_Batch_Start_Time/,
  },
  { code: 'RESERVED_NAME', edit: withStepKey('output_params: {«_own»: Id}'), says: /_own/ },
  {
    code: 'CONDITION_TESTS',
    edit: withStepKey('when: [«{variable: Name, is: a, in: [b]}»]'),
    says: /has 2 tests. Keep exactly one/,
  },
  {
    code: 'CONDITION_VALUE',
    edit: withStepKey('when: [{variable: Name, in: [a, «"{{Upn}}"»]}]'),
    says: /"in" compares with a text, a number, true or false, and with no template/,
  },
  {
    code: 'CONDITION_VALUE',
    edit: withStepKey('when: [{variable: Name, is: «[a]»}]'),
    says: /Write "present: true"/,
  },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: withStepKey('when: [{variable: «Nmae», present: true}]'),
    says: /Nmae.*Name/,
  },
  {
    code: 'NO_PEOPLE',
    edit: withStepKey('when: [{variable: «"person:Name"», present: true}]'),
    says: /looks people up/,
  },
  {
    code: 'NO_PEOPLE',
    edit: ['{A: "{{Upn}}"}', '{A: «"{{person:Upn}}"»}'],
    says: /"person:Upn" looks people up.* Add "people"/,
  },
  {
    code: 'PEOPLE_ELSEWHERE',
    edit: [
      'phases:\n  - name: cutover\n    offset: T-0\n    steps:\n      - name: first\n        worker_id: worker-1\n        function: Do-It\n        params: {A: "{{Upn}}"}',
      'people: {worker_id: there, source: ["{{Upn}}"], target: "{{Name}}"}\nphases:\n  - name: cutover\n    offset: T-0\n    steps:\n      - name: first\n        worker_id: worker-1\n        function: Do-It\n        params: {A: [«"{{waiting:Name}}"»]}',
    ],
    says: /names in the tenant of worker "there", and this step runs on "worker-1"/,
  },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: withRoot('people: {worker_id: worker-1, source: ["{{Upn}}"], target: «"{{Acount}}"»}'),
    says: /Acount/,
  },
  // Keys and types.
  { code: 'UNKNOWN_KEY', edit: withRoot('«rollback»: {}'), says: /Did you mean "rollbacks"/ },
  { code: 'UNKNOWN_KEY', edit: withStepKey('«zzz»: 1'), says: /Use one of: name, worker_id/ },
  { code: 'UNKNOWN_KEY', edit: withRoot('«<<»: {a: 1}'), says: /"<<" is not a key/ },
  {
    code: 'MISSING_KEY',
    edit: ['name: wave\ndata', '«data'],
    says: /A runbook needs the key "name"/,
  },
  {
    code: 'MISSING_KEY',
    edit: ['- name: first\n        worker_id: worker-1', '- «name: first»'],
    says: /A step needs the key "worker_id"/,
  },
  {
    code: 'MISSING_KEY',
    edit: ['type: postgres\n  connection', '«type: databricks»\n  connection'],
    says: /type databricks needs the key "warehouse_id"/,
  },
  {
    code: 'MISSING_KEY',
    edit: ['  type: postgres\n  connection: MATOOLKIT_SOURCE_PEOPLE\n', '  «type: postgres»\n'],
    says: /"connection"/,
  },
  {
    code: 'MISSING_KEY',
    edit: ['type: postgres\n  connection: MATOOLKIT_SOURCE_PEOPLE\n  query: select', '«type: csv»'],
    says: /type csv needs the key "path"/,
  },
  {
    code: 'MISSING_KEY',
    edit: withStepKey('retry: «{max_retries: 3}»'),
    says: /max_retries above 0 needs the key "interval"/,
  },
  { code: 'MISSING_KEY', edit: withStepKey('poll: «{interval: 1m}»'), says: /"timeout"/ },
  { code: 'EMPTY_VALUE', edit: withRoot('«init»:'), says: /Set it to a list, or remove/ },
  { code: 'EMPTY_VALUE', edit: withRoot('«rollbacks»: ~'), says: /"rollbacks" has no value/ },
  { code: 'EMPTY_VALUE', edit: ['name: wave', '«name»: " "'], says: /Set it to a name/ },
  { code: 'EMPTY_VALUE', edit: ['- name: first', '- «»\n      - name: first'], says: /steps\[0\]/ },
  { code: 'EMPTY_VALUE', edit: withStepKey('output_params: {«""»: Id}'), says: /A key/ },
  { code: 'EMPTY_VALUE', edit: withStepKey('output_params: {«Id»: }'), says: /a result field/ },
  {
    code: 'EMPTY_LIST',
    edit: `${VALID.slice(0, VALID.indexOf('phases'))}«phases»: []`,
    says: /one/,
  },
  { code: 'EMPTY_LIST', edit: withRoot('rollbacks: {«undo»: []}'), says: /"undo" is empty/ },
  { code: 'WRONG_TYPE', edit: '«- a»', says: /a list; use a map/ },
  { code: 'WRONG_TYPE', edit: '«just text»', says: /text; use a map/ },
  { code: 'WRONG_TYPE', edit: withRoot('init: «yes»'), says: /Start each entry/ },
  { code: 'WRONG_TYPE', edit: ['name: wave', 'name: «2024»'], says: /in quotes: "2024"/ },
  {
    code: 'WRONG_TYPE',
    edit: withStepKey('retry: {max_retries: «"3"», interval: 1m}'),
    says: /Remove the quotes/,
  },
  { code: 'WRONG_TYPE', edit: ['{A: "{{Upn}}"}', '«[a]»'], says: /a list; use a map/ },
  { code: 'UNKNOWN_VALUE', edit: ['type: postgres', 'type: «postgre»'], says: /mean "postgres"/ },
  {
    code: 'UNKNOWN_VALUE',
    edit: withRoot('notifications: [{conditions: [«phase_over»], channels: [night]}]'),
    says: /phase_ended/,
  },
  {
    code: 'UNKNOWN_VALUE',
    edit: withRoot('safeguards: {removals_after_start: «stop»}'),
    says: /Use one of: hold, run/,
  },
  {
    code: 'CONFLICTING_KEYS',
    edit: ['  query: select\n', '  query: select\n  «path»: a.csv\n'],
    says: /"path" cannot be used in a data_source of type postgres/,
  },
  {
    code: 'TWO_BATCH_TIMES',
    edit: ['batch_time: immediate', 'batch_time_column: Name\n  «batch_time»: immediate'],
    says: /Keep one: "batch_time: immediate" starts members at once/,
  },
  {
    code: 'CONFLICTING_KEYS',
    edit: withRoot(`on_member_removed: [${step('a', '«on_failure»: b')}]`),
    says: /rollback and removal steps/,
  },
  // Single values.
  {
    code: 'BAD_NAME',
    edit: ['name: wave', 'name: «my wave»'],
    says: /letters, digits.*Write my-wave\.$/,
  },
  { code: 'BAD_NAME', edit: withRoot(`rollbacks: {«-x»: [${step('a')}]}`), says: /"-x"/ },
  { code: 'BAD_NAME', edit: ['name: cutover', `name: «${'x'.repeat(64)}»`], says: /at most 63/ },
  { code: 'BAD_WORKER_ID', edit: ['worker-1', '«"{{Upn}}"»'], says: /templates are not allowed/ },
  { code: 'BAD_FUNCTION', edit: ['Do-It', '«rm -rf»'], says: /New-User/ },
  { code: 'BAD_VARIABLE', edit: ['[Upn, Name]', '[Upn, «"{Name}"»]'], says: /without braces/ },
  { code: 'BAD_VARIABLE', edit: withStepKey('output_params: {«" Id"»: x}'), says: /blanks/ },
  { code: 'BAD_DURATION', edit: withStepKey('timeout: «30»'), says: /"30" is not a duration/ },
  { code: 'BAD_DURATION', edit: withStepKey('timeout: «8d»'), says: /1s to 7d/ },
  { code: 'BAD_DURATION', edit: withStepKey('timeout: «1h30m»'), says: /30s, 15m, 4h, 7d/ },
  {
    code: 'BAD_DURATION',
    edit: withStepKey('poll: {interval: «0s», timeout: 1h}'),
    says: /"0s"/,
  },
  {
    code: 'BAD_NUMBER',
    edit: withStepKey('retry: {max_retries: «-1», interval: 1m}'),
    says: /0 to 100/,
  },
  { code: 'BAD_NUMBER', edit: withRoot('safeguards: {max_failed_percent: «0.5»}'), says: /0\.5/ },
  { code: 'BAD_NUMBER', edit: withRoot('safeguards: {max_failed_percent: «101»}'), says: /101/ },
  {
    code: 'NUMBER_NOT_EXACT',
    edit: ['{A: "{{Upn}}"}', '{A: «12345678901234567890»}'],
    says: /in quotes/,
  },
  { code: 'NUMBER_NOT_EXACT', edit: ['{A: "{{Upn}}"}', '{A: «.inf»}'], says: /\.inf/ },
  {
    code: 'BAD_CONNECTION',
    edit: ['MATOOLKIT_SOURCE_PEOPLE', '«DATABASE_URL»'],
    says: /DATAVERSE_, DATABRICKS_, MATOOLKIT_SOURCE_/,
  },
  {
    code: 'BAD_CONNECTION',
    edit: ['MATOOLKIT_SOURCE_PEOPLE', '«"Server=x;Password=y"»'],
    says: /never belongs in a runbook/,
  },
  {
    code: 'BAD_PATH',
    edit: [
      'type: postgres\n  connection: MATOOLKIT_SOURCE_PEOPLE\n  query: select',
      'type: csv\n  path: «../../etc/passwd»',
    ],
    says: /relative/,
  },
  {
    code: 'BAD_TIME_ZONE',
    edit: ['  query: select\n', '  query: select\n  time_zone: «Mars/Olympus»\n'],
    says: /Europe\/Berlin/,
  },
  {
    code: 'BAD_TIME_ZONE',
    edit: ['  query: select\n', '  query: select\n  time_zone: «"+02:00"»\n'],
    says: /IANA/,
  },
  {
    code: 'BAD_CLOCK_TIME',
    edit: withWindows('time_zone: UTC\n  hours: [{ from: «"9:30"», to: "12:00" }]'),
    says: /Write 09:30/,
  },
  {
    code: 'BAD_CLOCK_TIME',
    edit: withWindows('time_zone: UTC\n  hours: [{ from: "22:00", to: «"24:00"» }]'),
    says: /two digits/,
  },
  {
    code: 'UNKNOWN_VALUE',
    edit: withWindows(
      'time_zone: UTC\n  hours: [{ days: [«saturday»], from: "22:00", to: "06:00" }]',
    ),
    says: /sat/,
  },
  {
    code: 'BAD_DATE',
    edit: withWindows(
      'time_zone: UTC\n  freezes: [{ from: «2026-02-30», to: 2026-03-01, reason: x }]',
    ),
    says: /2026-12-19/,
  },
  {
    code: 'MISSING_KEY',
    edit: withWindows('time_zone: UTC\n  freezes: [«{ from: 2026-02-20, to: 2026-03-01 }»]'),
    says: /reason/,
  },
  // Rules between values.
  {
    code: 'FREEZE_BACKWARDS',
    edit: withWindows(
      'time_zone: UTC\n  freezes: [{ from: 2026-12-19, to: «2026-12-01», reason: x }]',
    ),
    says: /before it begins/,
  },
  {
    code: 'WINDOWS_EMPTY',
    edit: withWindows('«time_zone: UTC»'),
    says: /neither hours nor freezes/,
  },
  {
    code: 'DUPLICATE_NAME',
    edit: withStepKey(`\n  - name: «Cutover»\n    offset: T-0\n    steps: [${step('a')}]`),
    says: /phase "Cutover" already exists in line 10/,
  },
  {
    code: 'DUPLICATE_NAME',
    edit: [END, `${END}      - ${step('«FIRST»')}\n`],
    says: /step "FIRST"/,
  },
  {
    code: 'DUPLICATE_NAME',
    edit: withRoot(`init: [${step('a')}, ${step('«a»')}]`),
    says: /init step "a"/,
  },
  {
    code: 'DUPLICATE_NAME',
    edit: withRoot(`on_member_removed: [${step('a')}, ${step('«A»')}]`),
    says: /removal step "A"/,
  },
  {
    code: 'DUPLICATE_NAME',
    edit: withRoot(`rollbacks: {undo: [${step('a')}, ${step('«a»')}]}`),
    says: /step "a"/,
  },
  {
    code: 'DUPLICATE_NAME',
    edit: withRoot(`rollbacks: {undo: [${step('a')}], «Undo»: [${step('a')}]}`),
    says: /rollback "Undo"/,
  },
  { code: 'DUPLICATE_NAME', edit: ['[Upn, Name]', '[Upn, Name, «upn»]'], says: /column "upn"/ },
  { code: 'UNKNOWN_ROLLBACK', edit: withStepKey('on_failure: «undo»'), says: /under "rollbacks"/ },
  {
    code: 'UNKNOWN_ROLLBACK',
    edit: withRoot(
      `init: [${step('a', 'on_failure: «undoo»')}]\nrollbacks: {undo: [${step('b')}]}`,
    ),
    says: /Did you mean "undo"/,
  },
  {
    code: 'UNKNOWN_COLUMN',
    edit: ['primary_key: Upn', 'primary_key: «upm»'],
    says: /"columns" has no column "upm"\. Did you mean "Upn"/,
  },
  {
    code: 'UNKNOWN_COLUMN',
    edit: ['[Upn, Name]', '[Upn, «Name»]'],
    columns: ['Upn'],
    says: /The member file has no column "Name"/,
  },
  {
    code: 'UNKNOWN_COLUMN',
    edit: [
      'columns: [',
      'multi_valued_columns: [{name: «Mails», format: json_array}]\n  columns: [',
    ],
    says: /"Mails"/,
  },
  {
    code: 'POLL_TIMEOUT_SHORT',
    edit: withStepKey('poll: {interval: 1h, timeout: «30m»}'),
    says: /30m is shorter than the interval 1h/,
  },
  {
    code: 'RETRY_INTERVAL_SHORT',
    edit: withRoot(
      'retry: {max_retries: 2, interval: 1h, backoff: exponential, max_interval: «1m»}',
    ),
    says: /1m is shorter than the interval 1h/,
  },
  // Templates and variables.
  { code: 'TEMPLATE_NOT_QUOTED', edit: ['"{{Upn}}"', '«{{Upn}}» x'], says: /in quotes/ },
  { code: 'TEMPLATE_SYNTAX', edit: ['"{{Upn}}"', '«"{{Upn"»'], says: /not closed/ },
  { code: 'TEMPLATE_SYNTAX', edit: ['"{{Upn}}"', '[«"a {{ }}"»]'], says: /has no name/ },
  { code: 'TEMPLATE_SYNTAX', edit: ['Do-It', '«"Do-{{Upn}"»'], says: /brace in its name/ },
  {
    code: 'TEMPLATE_IN_KEY',
    edit: ['{A: "{{Upn}}"}', '{«"{{Upn}}"»: 1}'],
    says: /cannot be a template/,
  },
  {
    code: 'TOO_MANY_VARIABLES',
    edit: ['- name: first', '- «name: first»\n        timeout: 1h'],
    says: /1000 variables/,
  },
  { code: 'UNKNOWN_VARIABLE', edit: ['"{{Upn}}"', '«"{{upm}}"»'], says: /Did you mean "Upn"/ },
  { code: 'UNKNOWN_VARIABLE', edit: ['"{{Upn}}"', '«"{{Zip}}"»'], says: /Known here: Upn, Name/ },
  { code: 'UNKNOWN_VARIABLE', edit: ['Do-It', '«"{{Action}}"»'], says: /Nothing sets/ },
  { code: 'UNKNOWN_VARIABLE', edit: ['"{{Upn}}"', '«"{{constructor}}"»'], says: /constructor/ },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: [
      END,
      `        params: {A: «"{{Later}}"»}\n      - ${step('second', 'output_params: {Later: Id}')}\n`.trimStart(),
    ],
    says: /It comes from step "second" of phase "cutover", which runs later/,
  },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: withRoot(`on_member_removed: [${step('a', 'params: {A: «"{{Zip}}"»}')}]`),
    says: /Zip/,
  },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: [
      END,
      `on_failure: undo\n        output_params: {Own: Id}\nrollbacks: {undo: [${step('b', 'params: {A: «"{{Own}}"»}')}]}\n`,
    ],
    says: /when step "first" fails/,
  },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: withRoot(`rollbacks: {unused: [${step('a', 'params: {A: «"{{Zip}}"»}')}]}`),
    says: /Zip/,
  },
  {
    code: 'MEMBER_DATA_IN_INIT',
    edit: withRoot(`init: [${step('a', 'params: {A: «"{{Upn}}"»}')}]`),
    says: /see no member data.*Known here: _batch_id, _batch_start_time/,
  },
  {
    code: 'MEMBER_DATA_IN_INIT',
    edit: withRoot(
      `init: [${step('a', 'on_failure: undo')}]\nrollbacks: {undo: [${step('b', 'params: {A: «"{{Upn}}"»}')}]}`,
    ),
    says: /when init step "a" fails/,
  },
  // Warnings.
  {
    code: 'VARIABLE_NOT_ALWAYS_SET',
    edit: [
      END,
      `output_params: {Made: Id}\non_member_removed: [${step('a', 'params: {A: «"{{Made}}"»}')}]\n`,
    ],
    says: /after step "first" of phase "cutover"/,
  },
  {
    code: 'SHADOWED_VARIABLE',
    edit: withStepKey('output_params: {«Name»: x}'),
    says: /hides the column/,
  },
  {
    code: 'SHADOWED_VARIABLE',
    edit: ['phases:\n', `init: [${step('a', 'output_params: {«Name»: x}')}]\nphases:\n`],
    says: /hides the column/,
  },
  {
    code: 'SHADOWED_VARIABLE',
    edit: `${VALID}        output_params: {«Group»: x}\ninit: [${step('a', 'output_params: {Group: x}')}]\n`,
    says: /hides the init output/,
  },
  { code: 'STRAY_BRACES', edit: ['"{{Upn}}"', '«"{Upn}}"»'], says: /closes no template/ },
  {
    code: 'UNUSED_ROLLBACK',
    edit: withRoot(`rollbacks: {«undo»: [${step('a')}]}`),
    says: /No on_failure/,
  },
  {
    code: 'NO_EFFECT',
    edit: withRoot('retry: {max_retries: 2, interval: 1m, «max_interval»: 1h}'),
    says: /without "backoff: exponential"/,
  },
  { code: 'NOT_A_BOOLEAN', edit: ['"{{Upn}}"', '«yes»'], says: /Write true/ },
  { code: 'NOT_A_BOOLEAN', edit: ['"{{Upn}}"', '[{B: «Off»}]'], says: /Write false/ },
  {
    code: 'UNKNOWN_FUNCTION',
    edit: ['function: Do-It', 'function: «Do-Itt»'],
    catalogues,
    says: /^Worker "worker-1" has no function "Do-Itt"\. Did you mean "Do-It"\?$/,
  },
  {
    code: 'UNKNOWN_FUNCTION',
    edit: withRoot(`on_member_removed: [{name: a, worker_id: other, function: «Other»}]`),
    catalogues,
    says: /^No known worker has the function "Other"\./,
  },
  {
    code: 'UNKNOWN_PARAMETER',
    edit: ['{A: "{{Upn}}"}', '{a: 1, «Nmae»: 2}'],
    catalogues,
    says: /^Do-It has no parameter "Nmae"\. Did you mean "Name"\?$/,
  },
  {
    code: 'MISSING_PARAMETER',
    edit: ['function: Do-It\n        params: {A: "{{Upn}}"}', 'function: «Do-It»'],
    catalogues,
    says: /^Do-It needs the parameter "A"/,
  },
  {
    code: 'MISSING_PARAMETER_ALLOWED',
    edit: ['function: Do-It\n        params: {A: "{{Upn}}"}', 'function: «Do-It»'],
    catalogues,
    allowMissingParameters: true,
    says: /^Do-It needs the parameter "A"\. Its jobs will be refused/,
  },
  {
    code: 'UNKNOWN_OUTPUT',
    edit: ['{A: "{{Upn}}"}', '{A: "{{Upn}}"}\n        output_params: {Target: «UserId»}'],
    catalogues,
    says: /^Do-It returns no field "UserId"\. It returns: Id, DisplayName\.$/,
  },
  {
    code: 'FUNCTION_NAME_TAKEN',
    edit: ['function: Do-It', 'function: «Own-It»'],
    catalogues,
    says: /^Worker "worker-1" has a function of its own named Own-It, as a built-in one is\. Rename it, or/,
  },
  { code: 'NUMBER_REWRITTEN', edit: ['"{{Upn}}"', '«007»'], says: /the number 7/ },
  { code: 'NUMBER_REWRITTEN', edit: ['"{{Upn}}"', '«+4912345»'], says: /the number 4912345/ },
  {
    code: 'NUMBER_REWRITTEN',
    edit: ['"{{Upn}}"', '«1.10»'],
    says: /^1\.10 is read as the number 1\.1\./,
  },
]

function manyKeys(count: number): string {
  return Array.from({ length: count }, (_, index) => `k${index}: 1\n`).join('')
}
