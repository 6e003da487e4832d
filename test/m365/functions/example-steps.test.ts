// The step of every function in docs/reference/steps.yaml: a valid step of a runbook whose parameters the function takes.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import type { Json } from '../../../src/base/text/json.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import {
  resolveTemplates,
  scopeOf,
  variableIn,
  variablesOf,
} from '../../../src/domain/runbook/template.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { fitParameters } from '../../../src/worker/jobs/fit-parameters.ts'
import { id } from './tenants.ts'

const steps = readFileSync(join(import.meta.dirname, '../../../docs/reference/steps.yaml'), 'utf8')

/** What a member file and earlier steps may hold. */
const MEMBER: Readonly<Record<string, Json>> = {
  UserPrincipalName: "kim.o'brien@fabrikam.example",
  TargetUpn: 'kim@contoso.example',
  DisplayName: "Kim O'Brien",
  MailNickname: 'kim',
  Department: 'Sales',
  Phones: ['+49 1'],
  AccountId: id(2),
  SourceObjectId: id(50),
  JobId: id(850),
  ManagerUpn: 'lead@contoso.com',
  ExchangeGuid: id(500),
  ArchiveGuid: null,
  X500Addresses: ['x500:/o=Old/cn=kim'],
  SourceAddresses: ['SMTP:kim@fabrikam.example'],
  Holds: [],
  SizeBytes: 1_024,
  AccessPassSecret: 'matoolkit-access-pass-kim',
  PrivateMail: 'kim@home.example',
  SendAs: [],
  SendOnBehalf: [],
  CalendarEditors: ['lead@contoso.example'],
  OldAddresses: ['kim@old.example'],
  PreviousUpn: 'kim@fabrikam.example',
  PreviousPrimary: null,
  PreviousMail: null,
  RemovedAddresses: [],
}
const BUILT_IN = { _batch_id: 7, _batch_start_time: '2030-03-01T20:00:00Z' }

const exampleOf = (name: string): string => {
  const found = steps.split('\n\n').find((step) => step.includes(`\n  function: ${name}\n`))
  if (!found) throw new Error(`docs/reference/steps.yaml shows no step of ${name}: npm run docs`)
  return `${found}\n`
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '      ')

describe('the example of', () => {
  for (const definition of STANDARD_FUNCTIONS) {
    const { name } = definition
    it(`${name} is a step that validation accepts, with parameters that the function takes`, () => {
      const example = exampleOf(name)
      const [step] = parse(example) as [{ function: string; params: Record<string, Json> }]
      assert.equal(step.function, name)
      const columns = variablesOf(step.params).filter((one) => !Object.hasOwn(BUILT_IN, one))
      const unknown = columns.filter((one) => !Object.hasOwn(MEMBER, one))
      assert.deepEqual(unknown, [], 'the member has no such column')
      const { problems } = readRunbook(runbookWith(example, columns), {
        catalogues: [M365_CATALOGUE],
      })
      assert.deepEqual(problems, [])
      const scope = scopeOf([BUILT_IN, MEMBER])
      const lookup = (name: string) => scope.lookup(variableIn(name))
      const resolved = resolveTemplates(step.params, { ...scope, lookup })
      assert.ok(resolved.ok)
      const fitted = fitParameters(definition, resolved.value as Record<string, Json>)
      assert.ok('params' in fitted, 'misfits' in fitted ? fitted.misfits : '')
    })
  }
})

const runbookWith = (example: string, columns: readonly string[]): string =>
  `name: example
data_source:
  type: csv
  path: people.csv
  primary_key: Key
  batch_time_column: CutoverTime
  columns: ${JSON.stringify([...new Set(['Key', 'CutoverTime', ...columns])])}
people: { worker_id: contoso-worker, source: ["{{Key}}"], target: "{{Key}}" }
phases:
  - name: only
    offset: T-0
    steps:
${indented(example)}`
