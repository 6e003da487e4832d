// Rows of cases.ts for functions that move files and whole people.
import type { Case } from './cases.ts'

const KIM = "kim.o'brien@contoso.example"
const ROUTE = {
  SourceUserPrincipalName: KIM,
  TargetUserPrincipalName: "kim.o'brien@fabrikam.example",
  TargetOrganizationHost: 'https://fabrikam-my.sharepoint.com',
}
const NOBODY = { SourceUserPrincipalName: 'nobody@contoso.example' }

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
}
