// The set of standard functions: complete, self-describing, and all used by the example runbook with valid parameters.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import {
  catalogueOf,
  parametersSchema,
  resultSchema,
} from '../../../src/worker/functions/catalogue.ts'

describe('the standard functions', () => {
  const catalogue = catalogueOf(STANDARD_FUNCTIONS)

  for (const one of STANDARD_FUNCTIONS) {
    it(`${one.name} describes itself`, () => {
      assert.match(one.description, /^[A-Z].*\.$/)
      const { graph = [], exchange = [] } = one.permissions
      assert.ok(graph.length + exchange.length > 0, 'it says what the app must be granted')
      assert.equal(parametersSchema(one).additionalProperties, false)
      assert.equal(resultSchema(one).type, 'object')
      if (one.name.startsWith('Test-')) assert.equal(one.undo, null)
      assert.ok(one.effect, 'it says whether it reads, tells or changes')
      if (one.effect === 'reads') assert.deepEqual([one.undo, one.undoneBy], [null, undefined])
      if (one.effect !== 'tells') assert.ok(one.subject, 'it says what it is about')
      for (const other of one.undoneBy ?? []) assert.ok(one.undo?.includes(other), other)
    })
  }

  it('state the effect that their verbs promise', () => {
    const effects = Object.groupBy(STANDARD_FUNCTIONS, ({ effect }) => effect!)
    const verbsOf = (effect: 'reads' | 'tells' | 'changes') => [
      ...new Set(effects[effect]!.map(({ name }) => name.split('-')[0])),
    ]
    assert.deepEqual(verbsOf('reads').sort(), ['Get', 'Test'])
    assert.deepEqual(verbsOf('tells'), ['Send'])
    assert.ok(!verbsOf('changes').some((verb) => ['Get', 'Send', 'Test'].includes(verb!)))
  })

  it('name existing functions in their undo', () => {
    for (const { name, undo } of STANDARD_FUNCTIONS) {
      for (const [other] of undo?.matchAll(/\b[A-Z][a-z]+-[A-Z]\w+/g) ?? [])
        assert.ok(catalogue.has(other.toLowerCase()), `${name} is undone by ${other}`)
    }
  })
})

/** Parts for other runbooks than the examples. */
const NOT_IN_EXAMPLES = [
  'Send-Message',
  'Set-EntraUserAttributes',
  'Reset-EntraPassword',
  'Test-EntraLicense',
  'Test-EntraInvitationRedeemed',
  'New-EntraGuest',
  'Test-OneDriveMoveReadiness',
  'Start-OneDriveMove',
  'Stop-OneDriveMove',
  'Test-OneDriveMove',
  'New-CrossTenantMigrationJob',
  'Start-CrossTenantMigrationJob',
  'Stop-CrossTenantMigrationJob',
  'Test-CrossTenantMigrationJob',
  'Remove-UserDomain',
  'Restore-UserDomain',
  'Get-DomainReferences',
  'Set-ExchangeAutoReply',
  'Set-ExchangeHiddenFromAddressLists',
  'Enable-ExchangeArchive',
  'Convert-ExchangeMailboxToShared',
  'Set-ExchangeLitigationHold',
  'Remove-ExchangeMailboxPermission',
  'Set-ExchangeCalendarPermission',
  'Remove-ExchangeCalendarPermission',
  'Set-ExchangeMailUserGuids',
  'Set-ExchangeExternalAddress',
  'Remove-ExchangeSecondaryEmail',
  'New-EntraB2BInvitation',
  'Convert-EntraB2BToInternal',
  'New-MigrationBatch',
  'Remove-MigrationBatch',
  'Set-MigrationUser',
  'Start-MigrationUser',
  'Remove-EntraUser',
  'Restore-EntraUser',
  'Clear-ExchangePreviousMailbox',
  'Add-ExchangeGroupMember',
  'Remove-ExchangeGroupMember',
]

const examples = join(import.meta.dirname, '../../../examples')

function stepsIn(file: string) {
  const { runbook } = readRunbook(readFileSync(join(examples, file), 'utf8'))
  return [
    ...runbook!.init,
    ...runbook!.phases.flatMap((phase) => phase.steps),
    ...runbook!.onMemberRemoved,
    ...[...runbook!.rollbacks.values()].flat(),
  ]
}

describe('the examples of migrations', () => {
  const steps = ['full-migration.yaml', 'user-migration.yaml'].flatMap(stepsIn)
  const catalogue = catalogueOf(STANDARD_FUNCTIONS)

  it('use every function but those that are listed here', () => {
    const used = new Set(steps.map((step) => step.function))
    const unused = STANDARD_FUNCTIONS.map(({ name }) => name).filter((name) => !used.has(name))
    assert.deepEqual(
      unused.sort(),
      [...NOT_IN_EXAMPLES].sort(),
      'use it in an example, or list it in NOT_IN_EXAMPLES',
    )
  })

  it('give each function the parameters it takes and needs', () => {
    for (const step of steps) {
      const schema = parametersSchema(catalogue.get(step.function.toLowerCase())!) as {
        properties: object
        required?: string[]
      }
      const given = Object.keys(step.params)
      assert.deepEqual(
        given.filter((name) => !Object.hasOwn(schema.properties, name)),
        [],
        step.name,
      )
      assert.deepEqual(
        (schema.required ?? []).filter((name) => !given.includes(name)),
        [],
        step.name,
      )
    }
  })

  it('poll only functions whose result has complete; the full migration all of them', () => {
    for (const step of stepsIn('full-migration.yaml')) {
      const result = resultSchema(catalogue.get(step.function.toLowerCase())!)
      const isPollable = Object.hasOwn(result.properties as object, 'complete')
      assert.equal(isPollable, step.poll !== null, step.name)
    }
  })
})
