// The tenants that a runbook expects: what its steps name and do not create.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stateOf } from '../../../sandbox/seed.ts'
import { expectedTenants, labelOf } from '../../../src/app/rehearsal/expected-tenants.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { example } from './rehearsing.ts'

const tenantsOf = (yaml: string, rows: readonly Record<string, string>[]) =>
  stateOf(expectedTenants(readRunbook(yaml).runbook!, rows)).tenants

describe('expected tenants', () => {
  const PERSON = {
    UserPrincipalName: 'ada@fabrikam.example',
    SourceObjectId: '9df6ab8b-ba18-4a02-9906-87b99a870d8f',
    DisplayName: 'Ada Adler',
    Department: 'Sales',
    MailNickname: 'ada',
    TargetUpn: 'ada@contoso.example',
    CutoverTime: '2030-03-01T20:00:00Z',
  }

  it('have people with their ids and mailboxes where steps look for them, and not where steps create them', () => {
    const tenants = tenantsOf(example('full-migration.yaml'), [PERSON])
    const [contoso, fabrikam] = tenants
    assert.deepEqual(
      tenants.map(({ displayName }) => displayName),
      ['contoso', 'fabrikam'],
    )
    const [ada, ...others] = fabrikam!.users
    assert.deepEqual(others, [])
    assert.deepEqual(
      [ada!.id, ada!.userPrincipalName, ada!.displayName, ada!.recipient?.kind],
      [PERSON.SourceObjectId, PERSON.UserPrincipalName, 'Ada Adler', 'mailbox'],
    )
    assert.deepEqual(contoso!.users.map(({ userPrincipalName }) => userPrincipalName).sort(), [
      'integration.lead@contoso.example',
      'migration@contoso.example',
    ])
    assert.ok(contoso!.domains.includes('contoso.example'))
    assert.ok(!contoso!.domains.includes('fabrikam.example'))
  })

  it('have groups, with the members that steps expect and none that steps add', () => {
    const [contoso, fabrikam] = tenantsOf(example('full-migration.yaml'), [PERSON])
    assert.deepEqual(
      fabrikam!.groups.map(({ mail, members }) => [mail, members]),
      [['migration-scope@fabrikam.example', [PERSON.SourceObjectId]]],
    )
    assert.deepEqual(
      contoso!.groups.map(({ id, members }) => [id, members]),
      [['6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10', []]],
    )
    assert.deepEqual(contoso!.migrationEndpoints, [
      { name: 'fabrikam', remoteTenant: 'fabrikam.example' },
    ])
  })

  it('do not verify a domain that hardly any created name has', () => {
    const rows = Array.from({ length: 30 }, (_, at) => ({
      UserPrincipalName: `p${at}@contoso.example`,
      TargetUpn: `p${at}@${at === 7 ? 'fabricam' : 'fabrikam'}.example`,
    }))
    const [fabrikam] = tenantsOf(example('first-migration.yaml'), rows)
    assert.deepEqual(fabrikam!.domains, ['fabrikam.example', 'fabrikam.onmicrosoft.com'])
  })

  it('are named after their workers', () => {
    assert.deepEqual(['contoso-worker', 'Contoso', 'cloud_worker.eu'].map(labelOf), [
      'contoso',
      'contoso',
      'cloud-worker-eu',
    ])
  })
})
