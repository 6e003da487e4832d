// The two tenants of the function tests: Contoso, where most functions work, and Fabrikam, the source of mailbox moves. Some
// names contain an apostrophe on purpose.
import { guidOf } from '../../../sandbox/identity.ts'
import type { Seed } from '../../../sandbox/state.ts'

/** An id that is easy to recognise. */
export const id = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

export const ADA = id(1)
export const OBRIEN = id(2)
export const LEAD = id(3)
export const BOX = id(4)
export const GUEST = id(5)
export const OUTSIDER = id(6)
export const FORMER = id(7)
export const GONE = id(9)
export const SOURCE = id(50)
export const EVERYBODY = id(101)
export const NEWCOMERS = id(100)

export const CONTOSO = guidOf('tenant', 'contoso.example')
export const FABRIKAM = id(900)
export const READY_JOB = id(850)
export const NOBODY = id(999)
export const MAILBOX_GUID = id(501)
export const ARCHIVE_GUID = id(502)
export const OBRIEN_DN = '/o=ExchangeLabs/ou=Fabrikam/cn=Recipients/cn=obrien'

export const SEED = {
  tenants: [
    {
      domains: ['contoso.example', 'contoso.onmicrosoft.com'],
      migrationEndpoints: [{ name: 'fabrikam', remoteTenant: 'fabrikam.example' }],
      crossTenantJobs: [
        {
          id: READY_JOB,
          displayName: 'ready',
          sourceTenantId: FABRIKAM,
          completeAfter: '2030-03-01T20:00:00.000Z',
          workloads: ['ODSP'],
          resources: [BOX],
          status: 'validatePassed',
          validatedAt: '2030-02-13T00:00:00.000Z',
          createdAt: '2030-02-13T00:00:00.000Z',
          updatedAt: '2030-02-13T00:00:00.000Z',
        },
      ],
      oneDriveMoves: [
        {
          id: id(800),
          sourceUserPrincipalName: 'lead@contoso.example',
          targetUserPrincipalName: "kim.o'brien@fabrikam.example",
          targetOrganizationHost: 'https://fabrikam-my.sharepoint.com',
          status: 'notStarted',
          dueAt: '2031-01-01T00:00:00.000Z',
        },
      ],
      groups: [
        { id: NEWCOMERS, displayName: 'Newcomers', members: [LEAD] },
        {
          displayName: 'All staff',
          kind: 'distribution',
          mail: 'all@contoso.example',
          members: [OBRIEN],
        },
        {
          displayName: 'Scope',
          kind: 'mailEnabledSecurity',
          mail: 'scope@contoso.example',
          members: [BOX],
        },
        { id: EVERYBODY, displayName: 'Everybody' },
      ],
      users: [
        {
          id: ADA,
          userPrincipalName: 'ada@contoso.example',
          displayName: 'Ada Adler',
          accountEnabled: false,
        },
        {
          id: OBRIEN,
          userPrincipalName: "kim.o'brien@contoso.example",
          displayName: "Kim O'Brien",
          mail: "kim.o'brien@contoso.example",
          proxyAddresses: [
            "SMTP:kim.o'brien@contoso.example",
            'smtp:kim@contoso.example',
            `x500:${OBRIEN_DN}`,
          ],
          usageLocation: 'IE',
          recipient: {
            kind: 'mailUser',
            externalEmailAddress: "kim.o'brien@fabrikam.example",
            exchangeGuid: id(500),
          },
        },
        {
          id: LEAD,
          userPrincipalName: 'lead@contoso.example',
          displayName: 'Integration Lead',
          assignedLicenses: [{ skuId: '078d2b04-f1bd-4111-bbd4-b4b1b354cef4', groupId: NEWCOMERS }],
        },
        {
          id: BOX,
          userPrincipalName: 'box@contoso.example',
          mail: 'box@contoso.example',
          proxyAddresses: ['SMTP:box@contoso.example'],
          usageLocation: 'DE',
          assignedLicenses: [{ skuId: '6fd2c87f-b296-42f0-b197-1e91e994b900' }],
          recipient: {
            kind: 'mailbox',
            sizeBytes: 3_221_225_472,
            itemCount: 1_200,
            isOnLitigationHold: true,
            inPlaceHolds: ['UniH1', '-mbx2', 'mbx3:1'],
            fullAccess: ['lead@contoso.example'],
            sendAs: ["kim.o'brien@contoso.example"],
            sendOnBehalf: ['lead'],
            calendarName: 'Kalender',
            calendarRights: [{ userId: OBRIEN, right: 'Reviewer' }],
          },
        },
        {
          id: GUEST,
          userPrincipalName: 'eve_fabrikam.example#EXT#@contoso.onmicrosoft.com',
          displayName: 'Eve Fabrikam',
          mail: 'eve@fabrikam.example',
          userType: 'Guest',
          creationType: 'Invitation',
          externalUserState: 'Accepted',
        },
        {
          id: OUTSIDER,
          userPrincipalName: 'max@contoso.example',
          displayName: 'Max Mover',
          mail: 'max@fabrikam.example',
        },
        {
          id: FORMER,
          userPrincipalName: 'former@contoso.example',
          previousMailboxGuid: id(510),
        },
        {
          id: GONE,
          userPrincipalName: 'gone@contoso.example',
          deletedDateTime: '2030-02-10T00:00:00.000Z',
        },
      ],
    },
    {
      id: FABRIKAM,
      domains: ['fabrikam.example', 'fabrikam.onmicrosoft.com'],
      users: [
        {
          id: SOURCE,
          userPrincipalName: "kim.o'brien@fabrikam.example",
          mail: "kim.o'brien@fabrikam.example",
          proxyAddresses: [
            "SMTP:kim.o'brien@fabrikam.example",
            'x500:/o=Old/cn=kim',
            'X500:/o=Older/cn=kim',
          ],
          recipient: {
            kind: 'mailbox',
            exchangeGuid: id(500),
            legacyExchangeDn: OBRIEN_DN,
          },
        },
      ],
    },
  ],
} as const satisfies Seed

/** A migration batch in progress before any function runs. */
export const UNDER_WAY = {
  id: id(700),
  name: 'under way',
  sourceEndpoint: 'fabrikam',
  targetDeliveryDomain: 'contoso.onmicrosoft.com',
  createdAt: '2030-02-01T00:00:00.000Z',
  startedAt: '2030-02-01T00:00:00.000Z',
  stoppedAt: null,
  completeAfter: null,
  mailboxMoves: [
    {
      guid: id(701),
      address: 'box@contoso.example',
      userId: BOX,
      status: 'Syncing',
      dueAt: '2031-01-01T00:00:00.000Z',
      error: null,
    },
    {
      guid: id(702),
      address: 'synced@contoso.example',
      userId: null,
      status: 'Synced',
      dueAt: '2030-02-02T00:00:00.000Z',
      error: null,
    },
    {
      guid: id(703),
      address: 'stopped@contoso.example',
      userId: null,
      status: 'Stopped',
      dueAt: null,
      error: null,
    },
  ],
} as const
