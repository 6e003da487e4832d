// Runbooks of the earlier system: they are understood, or the author is told the place and what to write instead.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { MATERIAL, type MaterialName } from '../../fixtures/earlier/material.ts'

/** No worker has announced itself: the standard functions are known all the same. */
const catalogues = [M365_CATALOGUE]
const textOf = (name: MaterialName) => readFileSync(MATERIAL[name], 'utf8')

/** "line:column code: sentence" of every problem. */
function problemsIn(text: string): string[] {
  const { problems } = readRunbook(text, { catalogues })
  return problems.map(({ line, column, code, message }) => `${line}:${column} ${code}: ${message}`)
}

describe('a runbook in the style of the earlier system', () => {
  it('is valid as it is: group remediation', () => {
    assert.deepEqual(problemsIn(textOf('group-remediation')), [])
  })

  it('needs another name for its connection: provisioning', () => {
    assert.deepEqual(problemsIn(textOf('provisioning')), [
      '6:15 BAD_CONNECTION: "SQL_CONNECTION_STRING" is not an allowed environment variable. Name one that starts with DATAVERSE_, DATABRICKS_, MATOOLKIT_SOURCE_; its value never belongs in a runbook. Write MATOOLKIT_SOURCE_SQL_CONNECTION_STRING.',
    ])
  })

  it('is valid, with warnings for functions that no worker has: user migration', () => {
    assert.deepEqual(
      problemsIn(textOf('user-migration')).map((problem) => problem.split(':', 2).join(':')),
      ['22:15 UNKNOWN_FUNCTION', '93:17 UNKNOWN_FUNCTION'],
    )
  })

  it('calls SQL Server "sql", and writes choices in any case', () => {
    const text = textOf('provisioning')
      .replace('SQL_CONNECTION_STRING', 'MATOOLKIT_SOURCE_HR')
      .replace('type: sql', 'type: SQL')
      .replace(
        'batch_time: immediate',
        'batch_time: Immediate\n  multi_valued_columns: [{name: upn}, {name: alias, format: JSON_Array}]',
      )
    const { runbook, problems } = readRunbook(text, { catalogues })
    assert.deepEqual(problems, [])
    assert.equal(runbook?.dataSource.type, 'sqlserver')
    assert.deepEqual(runbook?.dataSource.multiValuedColumns, [
      { name: 'upn', format: 'semicolon_delimited' },
      { name: 'alias', format: 'json_array' },
    ])
  })
})

/** What the earlier system took, and the end of what is said now. */
const TOLD: readonly (readonly [taken: string, from: string, to: string, told: RegExp])[] = [
  ['names with blanks', 'name: add-to-group', 'name: Add to group', /Write Add-to-group\.$/],
  ['blanks in an offset', 'offset: T-0', 'offset: T- 5d', /Write T-5d\.$/],
  ['a zero with a unit', 'offset: T-0', 'offset: T-0d', /Write T-0\.$/],
  ['no waiting time', 'interval: 30s\n          timeout', 'interval: 0s\n          timeout', /1s/],
  [
    'an empty section',
    'retry:\n  max',
    'init:\nretry:\n  max',
    /"init" has no value.*remove the key/,
  ],
  [
    'both kinds of batch time',
    'batch_time: immediate',
    'batch_time: immediate\n  batch_time_column: upn',
    /Keep one/,
  ],
  [
    'a rollback for a rollback step',
    'retry:\n  max',
    'on_member_removed: [{name: a, worker_id: w, function: Revoke-EntraUserSessions, params: {UserId: x}, on_failure: b}]\nretry:\n  max',
    /"on_failure" cannot be used on rollback and removal steps\. Remove it\.$/,
  ],
  [
    'keys it ignored',
    'description:',
    'owner: me\ndescription:',
    /"owner" is not a key of a runbook/,
  ],
  [
    'a parameter that does not exist',
    'ExpectedValue:',
    'ExpectedValues:',
    /no parameter "ExpectedValues"\. Did you mean "ExpectedValue"/,
  ],
  ['unbalanced braces', '"{{alias}}"', '"{{alias}"', /Write \{\{Name\}\}/],
  [
    'a wrong unit',
    'interval: 30s\n          timeout',
    'interval: 30 S\n          timeout',
    /Write 30s\.$/,
  ],
]

describe('what the earlier system took is refused with the correction', () => {
  for (const [taken, from, to, told] of TOLD) {
    it(taken, () => {
      const text = textOf('provisioning').replace('SQL_CONNECTION_STRING', 'MATOOLKIT_SOURCE_HR')
      assert.ok(text.includes(from), 'the fixture has changed')
      const problems = problemsIn(text.replace(from, to))
      assert.ok(
        problems.some((problem) => told.test(problem)),
        problems.join('\n'),
      )
    })
  }
})
