// Rows of cases.ts for functions that move files and whole people.
import type { Case } from './cases.ts'
import { BOX, FABRIKAM, NOBODY as NO_ONE, OBRIEN, READY_JOB } from './tenants.ts'

const KIM = "kim.o'brien@contoso.example"
const ROUTE = {
  SourceUserPrincipalName: KIM,
  TargetUserPrincipalName: "kim.o'brien@fabrikam.example",
  TargetOrganizationHost: 'https://fabrikam-my.sharepoint.com',
}
const NOBODY = { SourceUserPrincipalName: 'nobody@contoso.example' }

const NO_JOB = /has no migration job "00000000-0000-4000-8000-000000000999"/

export const FILE_CASES: Readonly<Record<string, Case>> = {
  'Test-OneDriveMoveReadiness': {
    params: ROUTE,
    gives: { complete: true, data: { Reason: null } },
    again: {},
    effects: [],
    wrong: { TargetOrganizationHost: 'http://fabrikam-my.sharepoint.com' },
    missing: { params: NOBODY, says: /404 .*nobody@contoso\.example/ },
  },
  'Start-OneDriveMove': {
    params: { ...ROUTE, PreferredStartDateTime: '2030-03-01T20:00:00+01:00' },
    gives: { Status: 'notStarted', Changed: true },
    again: { Changed: false },
    effects: ['OneDrive move made'],
    wrong: { PreferredStartDateTime: 'tonight' },
    missing: { params: NOBODY, says: /404 .*nobody@contoso\.example/ },
  },
  'Stop-OneDriveMove': {
    params: { SourceUserPrincipalName: 'lead@contoso.example' },
    gives: { Status: 'cancelled', Changed: true },
    again: { Changed: false },
    effects: ['OneDrive move cancelled'],
    wrong: { SourceUserPrincipalName: 'lead' },
    // Nothing to stop is a success.
    missing: null,
  },
  'Test-OneDriveMove': {
    params: { SourceUserPrincipalName: 'lead@contoso.example' },
    gives: { complete: false, data: { Status: 'notStarted' } },
    again: {},
    effects: [],
    wrong: { SourceUserPrincipalName: '' },
    missing: { params: NOBODY, says: /"nobody@contoso\.example" has no OneDrive move/ },
  },
  'New-CrossTenantMigrationJob': {
    params: {
      Name: "wave 1, O'Brien",
      SourceTenantId: FABRIKAM,
      UserIds: OBRIEN,
      CompleteAfter: '2030-03-01T20:00:00+01:00',
      TargetDeliveryDomain: 'Contoso.onmicrosoft.com',
      SourceEndpoint: 'fabrikam',
    },
    gives: { Status: 'validateSubmitted', Created: true, Changed: true },
    again: { Created: false, Changed: false },
    effects: ['migration job made', 'migration job validated'],
    wrong: { SourceEndpoint: '' },
    missing: {
      params: { CompleteAfter: '2020-01-01T00:00:00Z' },
      says: /completeAfterDateTime: minThresholdFailed/,
    },
  },
  'Start-CrossTenantMigrationJob': {
    params: { JobId: READY_JOB },
    gives: { Status: 'processing', Changed: true },
    again: { Changed: false },
    effects: ['migration job started'],
    wrong: { JobId: 'ready' },
    missing: { params: { JobId: NO_ONE }, says: NO_JOB },
  },
  'Stop-CrossTenantMigrationJob': {
    params: { JobId: READY_JOB },
    gives: { Status: 'pendingCancel', Changed: true },
    again: { Changed: false },
    effects: ['migration job cancelled'],
    wrong: { JobId: '' },
    // Nothing to stop is a success.
    missing: null,
  },
  'Test-CrossTenantMigrationJob': {
    params: { JobId: READY_JOB, WaitFor: 'validated', UserId: BOX },
    gives: { complete: true, data: { Status: 'validatePassed', Services: { ODSP: 'valid' } } },
    again: {},
    effects: [],
    wrong: { WaitFor: 'Synced' },
    missing: { params: { JobId: NO_ONE }, says: NO_JOB },
  },
}
