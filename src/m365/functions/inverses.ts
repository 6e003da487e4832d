// The inverse of every standard function, from its parameters and its result: what the undo ledger keeps. A function that found nothing
// to change has no effect. docs/undo.md lists them with what Microsoft's documents confirm.

import type { Json, JsonObject } from '../../base/text/json.ts'
import { IF_STILL, type LedgerEffect, NOTHING_CHANGED } from '../../domain/state/effects.ts'
import { valueFor } from './entra/entra-attribute.ts'
import { EXCHANGE_INVERSES } from './exchange/exchange-inverses.ts'
import {
  by,
  type EffectOf,
  type Fields,
  listChange,
  never,
  noReturn,
  whenChanged,
  whenCreated,
  whenOwn,
} from './inverse.ts'

const ENTRA_USERS: Readonly<Record<string, EffectOf>> = {
  'New-EntraUser': whenOwn((_, { Id, UserPrincipalName }) =>
    by({
      target: UserPrincipalName,
      before: { exists: false },
      run: 'Remove-EntraUser',
      with: { UserId: Id, UserPrincipalName },
      creates: [Id, UserPrincipalName],
    }),
  ),
  'Set-EntraUserUPN': whenChanged((params, result) => {
    const { UserId, UserPrincipalName, PreviousUserPrincipalName: before } = result
    return by({
      target: UserPrincipalName,
      before: { UserPrincipalName: before },
      run: 'Set-EntraUserUPN',
      with: { UserId, NewUserPrincipalName: before, [IF_STILL]: { UserPrincipalName } },
      keeps: params.OnPremisesImmutableId !== null && 'The immutable id stays as it was set.',
    })
  }),
  'Set-EntraUserAttribute': whenChanged((_, result) => {
    const { UserId, AttributeName, Value, PreviousValue } = result
    if (AttributeName === 'usageLocation' && PreviousValue === null)
      return never(UserId, NO_CLEARING)
    return by({
      target: UserId,
      before: { [AttributeName]: PreviousValue },
      run: 'Set-EntraUserAttribute',
      with: { UserId, AttributeName, Value: PreviousValue, [IF_STILL]: { Value } },
    })
  }),
  'Set-EntraUserAttributes': whenChanged((params, { UserId, Previous }) => {
    const { usageLocation, ...others } = Previous as Record<string, Json>
    const before = usageLocation === null ? others : (Previous as JsonObject)
    const names = Object.keys(before)
    if (names.length === 0) return never(UserId, NO_CLEARING)
    const set = names.map((name) => [name, valueFor(name, params.Attributes[name])])
    return by({
      target: UserId,
      before,
      run: 'Set-EntraUserAttributes',
      with: { UserId, Attributes: before, [IF_STILL]: Object.fromEntries(set) },
      keeps: usageLocation === null && NO_CLEARING,
    })
  }),
  'Set-EntraUserManager': whenChanged((_, result) => {
    const { UserId, ManagerId, PreviousManagerId, PreviousIsKnown } = result
    if (!PreviousIsKnown)
      return never(UserId, 'The app may not read the manager, so the former one is not known.')
    return by({
      target: UserId,
      before: { ManagerId: PreviousManagerId },
      run: 'Set-EntraUserManager',
      with: { UserId, ManagerId: PreviousManagerId, [IF_STILL]: { ManagerId } },
    })
  }),
  'Enable-EntraUser': whenChanged((_, { UserId }) =>
    by({
      target: UserId,
      before: { accountEnabled: false },
      run: 'Disable-EntraUser',
      with: { UserId },
    }),
  ),
  'Disable-EntraUser': whenChanged((_, { UserId }) =>
    by({
      target: UserId,
      before: { accountEnabled: true },
      run: 'Enable-EntraUser',
      with: { UserId },
    }),
  ),
  'Revoke-EntraUserSessions': (_, { UserId, Revoked }) =>
    Revoked
      ? never(UserId, 'The person must sign in again; nothing else changed.')
      : NOTHING_CHANGED,
  'Reset-EntraPassword': (_, { UserId }) => never(UserId, 'The former password is not known.'),
  'New-EntraTemporaryAccessPass': (_, { UserId }) => never(UserId, 'A pass expires by itself.'),
  'Remove-EntraUser': whenChanged((_, { UserId }) =>
    by({
      target: UserId,
      before: { exists: true },
      run: 'Restore-EntraUser',
      with: { UserId },
      keeps: 'Entra restores an account for 30 days only.',
    }),
  ),
  'Restore-EntraUser': whenChanged((_, { UserId, UserPrincipalName }) =>
    by({
      target: UserPrincipalName,
      before: { exists: false },
      run: 'Remove-EntraUser',
      with: { UserId, UserPrincipalName },
    }),
  ),
}

const NO_CLEARING = 'usageLocation cannot be cleared.'

interface Licence {
  readonly SkuId: string
  readonly DisabledPlans: readonly string[]
}
const plansOf = ({ DisabledPlans }: Licence): JsonObject =>
  DisabledPlans.length > 0 ? { DisabledPlans: [...DisabledPlans] } : {}

/** New licences go; one whose plans were changed gets its plans back. */
function licencesGiven(_: Fields, result: Fields): LedgerEffect {
  const { UserId, SkuId, UsageLocationSet } = result
  const changed = result.Previous as readonly Licence[]
  const [only] = changed
  const notes = [UsageLocationSet && NO_CLEARING]
  const before = { licences: changed as unknown as Json }
  if (SkuId.length === 0 && only && changed.length === 1) {
    const plans = { UserId, SkuId: [only.SkuId], ...plansOf(only) }
    return by({ target: UserId, before, run: 'Add-EntraUserLicense', with: plans })
  }
  if (SkuId.length === 0) return never(UserId, 'The plans of several licences were changed.')
  if (changed.length > 0)
    notes.push(`The plans of ${changed.map((one) => one.SkuId).join(', ')} stay as they were set.`)
  const keeps = notes.filter(Boolean).join(' ')
  return by({
    target: UserId,
    before,
    run: 'Remove-EntraUserLicense',
    with: { UserId, SkuId },
    keeps,
  })
}

function licencesTaken(_: Fields, result: Fields): LedgerEffect {
  const { UserId, SkuId } = result
  const before = result.Previous as readonly Licence[]
  const withPlans = before.filter(({ DisabledPlans }) => DisabledPlans.length > 0)
  const names = withPlans.map((one) => one.SkuId).join(', ')
  const isLost = before.length > 1 && names !== ''
  const plans = isLost ? ` The disabled plans of ${names} come back enabled.` : ''
  return by({
    target: UserId,
    before: { licences: before as unknown as Json },
    run: 'Add-EntraUserLicense',
    with: { UserId, SkuId, ...(before.length === 1 ? plansOf(before[0]!) : {}) },
    keeps: `Microsoft deletes the data of a licence after 30 days.${plans}`,
  })
}

const ENTRA_OTHERS: Readonly<Record<string, EffectOf>> = {
  'Add-EntraGroupMember': listChange('Remove-EntraGroupMember', 'GroupId', 'UserId'),
  'Remove-EntraGroupMember': listChange('Add-EntraGroupMember', 'GroupId', 'UserId'),
  'Add-EntraUserLicense': whenChanged(licencesGiven),
  'Remove-EntraUserLicense': whenChanged(licencesTaken),
  'New-EntraGuest': whenCreated((_, { CreatedUserId, InvitedUserEmailAddress }) =>
    by({
      target: InvitedUserEmailAddress,
      before: { exists: false },
      run: 'Remove-EntraUser',
      with: { UserId: CreatedUserId },
      keeps: 'The invitation was sent.',
      creates: [CreatedUserId, InvitedUserEmailAddress],
    }),
  ),
  'New-EntraB2BInvitation': whenChanged((_, { InvitedUserEmailAddress }) =>
    never(
      InvitedUserEmailAddress,
      'The invitation was sent. Convert-EntraB2BToInternal makes the account internal again, with a new password.',
    ),
  ),
  'Convert-EntraB2BToInternal': whenChanged((_, { NewUserPrincipalName }) =>
    never(
      NewUserPrincipalName,
      'Only the person can make it external again: by accepting an invitation.',
    ),
  ),
  'Remove-UserDomain': whenChanged((_, result) => {
    const { UserId, UserPrincipalName, PrimarySmtpAddress, Removed, Added } = result
    const { PreviousUserPrincipalName, PreviousPrimarySmtpAddress, PreviousMail } = result
    const before = {
      UserPrincipalName: PreviousUserPrincipalName,
      PrimarySmtpAddress: PreviousPrimarySmtpAddress,
      Mail: PreviousMail,
    }
    const still = {
      ...(PreviousUserPrincipalName === null ? {} : { UserPrincipalName }),
      ...(PreviousPrimarySmtpAddress === null ? {} : { PrimarySmtpAddress }),
    }
    return by({
      target: UserPrincipalName,
      before: { ...before, EmailAddresses: Removed },
      run: 'Restore-UserDomain',
      with: { UserId, ...before, EmailAddresses: Removed, DropFormer: Added, [IF_STILL]: still },
    })
  }),
  'Restore-UserDomain': whenChanged((_, { UserId }) =>
    never(UserId, 'Remove-UserDomain takes the domain away again.'),
  ),
}

const AS_FAR = 'What was copied meanwhile stays copied.'
const STARTS_OVER = 'What was copied is gone; a new move starts over.'

const MOVES: Readonly<Record<string, EffectOf>> = {
  'New-MigrationBatch': whenChanged((_, { Name, Created }) =>
    Created
      ? by({
          target: Name,
          before: { exists: false },
          run: 'Remove-MigrationBatch',
          with: { Name },
        })
      : never(Name, 'The batch was there before; take people out of it with Remove-MigrationUser.'),
  ),
  'Remove-MigrationBatch': whenChanged((_, { Name }) => never(Name, STARTS_OVER)),
  'Add-MigrationUser': whenChanged((_, { Identity, BatchName }) =>
    by({
      target: Identity,
      before: { exists: false },
      run: 'Remove-MigrationUser',
      with: { Identity },
      keeps: `The migration batch "${BatchName}" stays, even if it is empty.`,
    }),
  ),
  'Complete-MigrationUser': whenChanged((_, { Identity }) =>
    noReturn(Identity, 'The mailbox is cut over: Exchange completes the move.'),
  ),
  'Set-MigrationUser': (_, { Identity }) =>
    never(Identity, 'Exchange does not tell the former date, and an approval stays.'),
  'Start-MigrationUser': whenChanged((_, { Identity, Status }) =>
    by({
      target: Identity,
      before: { Status },
      run: 'Stop-MigrationUser',
      with: { Identity },
      keeps: AS_FAR,
    }),
  ),
  'Stop-MigrationUser': whenChanged((_, { Identity }) =>
    by({
      target: Identity,
      before: {},
      run: 'Start-MigrationUser',
      with: { Identity },
      keeps: AS_FAR,
    }),
  ),
  'Remove-MigrationUser': whenChanged((_, { Identity }) => never(Identity, STARTS_OVER)),
  'Start-OneDriveMove': whenChanged((_, result) => {
    const { SourceUserPrincipalName, TargetUserPrincipalName } = result
    return by({
      target: SourceUserPrincipalName,
      before: {},
      run: 'Stop-OneDriveMove',
      with: { SourceUserPrincipalName, TargetUserPrincipalName },
      keeps: 'Microsoft cannot stop a move that has started.',
    })
  }),
  'Stop-OneDriveMove': whenChanged((_, { SourceUserPrincipalName }) =>
    never(SourceUserPrincipalName, 'Start-OneDriveMove makes a new move.'),
  ),
  'New-CrossTenantMigrationJob': whenChanged((_, { JobId, Name, Created }) =>
    Created
      ? by({
          target: Name,
          before: { exists: false },
          run: 'Stop-CrossTenantMigrationJob',
          with: { JobId },
          keeps: 'A cancelled job keeps its name.',
        })
      : never(Name, 'The job was there before, with another date or without a validation.'),
  ),
  'Start-CrossTenantMigrationJob': whenChanged((_, { JobId }) =>
    by({
      target: JobId,
      before: {},
      run: 'Stop-CrossTenantMigrationJob',
      with: { JobId },
      keeps: 'Microsoft cannot stop it after its cut-over has begun.',
    }),
  ),
  'Stop-CrossTenantMigrationJob': whenChanged((_, { JobId }) =>
    never(JobId, 'A cancelled job stays cancelled; make one with another name.'),
  ),
  'Send-Notification': (params) =>
    never(String(params.WebhookUrl ?? params.To), 'What was sent cannot be recalled.'),
  'Send-Message': (params) => never(String(params.To), 'What was sent cannot be recalled.'),
}

const INVERSES: Readonly<Record<string, EffectOf>> = {
  ...ENTRA_USERS,
  ...ENTRA_OTHERS,
  ...EXCHANGE_INVERSES,
  ...MOVES,
}

/** Tests and reads change nothing. Undefined for a function whose inverse nobody wrote down: its effect is unknown. */
export function effectOfStandard(name: string): EffectOf | undefined {
  return /^(?:Test|Get)-/.test(name) ? () => NOTHING_CHANGED : INVERSES[name]
}
