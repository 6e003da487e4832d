// The inverses of the functions on recipients and mailboxes of Exchange.
import { IF_STILL, type LedgerEffect } from '../../../domain/state/effects.ts'
import {
  by,
  type EffectOf,
  type Fields,
  listChange,
  never,
  noReturn,
  whenChanged,
  whenOwn,
} from '../inverse.ts'

const GUIDS_STAY =
  'A GUID that was stamped cannot be taken back; it goes when the mail user is removed.'

interface Right {
  readonly User: string
  readonly AccessRight: string | null
}

/** One call gives everybody the same right back. */
function calendarRights(
  identity: string,
  before: readonly Right[],
  given: string | null,
): LedgerEffect {
  const rights = [...new Set(before.map(({ AccessRight }) => AccessRight))]
  const shown = Object.fromEntries(before.map(({ User, AccessRight }) => [User, AccessRight]))
  if (rights.length > 1)
    return never(identity, `They had different rights before: ${JSON.stringify(shown)}.`)
  const [right = null] = rights
  const still = { [IF_STILL]: { AccessRight: given } }
  const people = { Identity: identity, User: before.map(({ User }) => User), ...still }
  return by({
    target: identity,
    before: shown,
    run: right === null ? 'Remove-ExchangeCalendarPermission' : 'Set-ExchangeCalendarPermission',
    with: right === null ? people : { ...people, AccessRight: right },
  })
}

const mailboxRights = (run: string): EffectOf =>
  whenChanged((_, { Identity, FullAccess, SendAs, SendOnBehalf }) =>
    by({ target: Identity, before: {}, run, with: { Identity, FullAccess, SendAs, SendOnBehalf } }),
  )

function autoReply({ InternalMessage }: Fields, result: Fields): LedgerEffect {
  const { Identity, State, PreviousState, PreviousInternalMessage: text } = result
  const still = { State, ...(InternalMessage === null ? {} : { InternalMessage }) }
  const isScheduled = PreviousState === 'Scheduled'
  const texts = {
    InternalMessage: text,
    ExternalMessage: result.PreviousExternalMessage,
    ExternalAudience: result.PreviousExternalAudience || 'All',
    ...(isScheduled && {
      StartTime: result.PreviousStartTime,
      EndTime: result.PreviousEndTime,
    }),
  }
  return by({
    target: Identity,
    before: { State: PreviousState, ...texts },
    run: 'Set-ExchangeAutoReply',
    with: { Identity, State: PreviousState, ...texts, [IF_STILL]: still },
    keeps: text === '' && 'The text stays stored, switched off.',
  })
}

export const EXCHANGE_INVERSES: Readonly<Record<string, EffectOf>> = {
  'New-ExchangeMailUser': whenOwn((_, { Id, UserPrincipalName, PrimarySmtpAddress }) =>
    by({
      target: UserPrincipalName,
      before: { exists: false },
      run: 'Remove-ExchangeMailUser',
      with: { UserId: Id, UserPrincipalName },
      creates: [Id, UserPrincipalName, PrimarySmtpAddress],
    }),
  ),
  'Set-ExchangeMoveTarget': whenChanged((_, { Identity }) => never(Identity, GUIDS_STAY)),
  'Set-ExchangeMailUserGuids': whenChanged((_, { Identity }) => never(Identity, GUIDS_STAY)),
  'Remove-ExchangeMailUser': whenChanged((_, { UserId }) =>
    noReturn(UserId, 'The mail user is removed permanently.'),
  ),
  'Clear-ExchangePreviousMailbox': whenChanged((_, { Identity }) =>
    noReturn(Identity, 'The former mailbox is lost permanently.'),
  ),
  'Add-ExchangeSecondaryEmail': listChange(
    'Remove-ExchangeSecondaryEmail',
    'EmailAddress',
    'Identity',
  ),
  'Remove-ExchangeSecondaryEmail': listChange(
    'Add-ExchangeSecondaryEmail',
    'EmailAddress',
    'Identity',
  ),
  'Set-ExchangePrimaryEmail': whenChanged((_, result) => {
    const { Identity, PrimaryEmail, PreviousPrimaryEmail, Added } = result
    const still = { [IF_STILL]: { PrimaryEmail } }
    return by({
      target: Identity,
      before: { PrimaryEmail: PreviousPrimaryEmail },
      run: 'Set-ExchangePrimaryEmail',
      with: { Identity, NewPrimaryEmail: PreviousPrimaryEmail, DropFormer: Added, ...still },
    })
  }),
  'Set-ExchangeExternalAddress': whenChanged((_, result) => {
    const { Identity, ExternalEmailAddress, PreviousExternalEmailAddress: before } = result
    return by({
      target: Identity,
      before: { ExternalEmailAddress: before },
      run: 'Set-ExchangeExternalAddress',
      with: { Identity, ExternalEmailAddress: before, [IF_STILL]: { ExternalEmailAddress } },
    })
  }),
  'Set-ExchangeForwarding': whenChanged((_, result) => {
    const { Identity, ForwardingSmtpAddress, PreviousForwardingAddress: inside } = result
    const before = {
      ForwardingSmtpAddress: result.PreviousForwardingSmtpAddress,
      DeliverToMailboxAndForward: result.PreviousDeliverToMailboxAndForward,
    }
    return by({
      target: Identity,
      before,
      run: 'Set-ExchangeForwarding',
      with: { Identity, ...before, [IF_STILL]: { ForwardingSmtpAddress } },
      keeps: inside !== null && `Forwarding to the recipient "${inside}" is not set again.`,
    })
  }),
  'Add-ExchangeGroupMember': listChange(
    'Remove-ExchangeGroupMember',
    'GroupIdentity',
    'MemberIdentity',
  ),
  'Remove-ExchangeGroupMember': listChange(
    'Add-ExchangeGroupMember',
    'GroupIdentity',
    'MemberIdentity',
  ),
  'Add-ExchangeMailboxPermission': mailboxRights('Remove-ExchangeMailboxPermission'),
  'Remove-ExchangeMailboxPermission': mailboxRights('Add-ExchangeMailboxPermission'),
  'Set-ExchangeCalendarPermission': whenChanged(({ AccessRight }, { Identity, Previous }) =>
    calendarRights(Identity, Previous, AccessRight),
  ),
  'Remove-ExchangeCalendarPermission': whenChanged((_, { Identity, Previous }) =>
    calendarRights(Identity, Previous, null),
  ),
  'Set-ExchangeAutoReply': whenChanged(autoReply),
  'Set-ExchangeHiddenFromAddressLists': whenChanged((_, { Identity, Hidden }) =>
    by({
      target: Identity,
      before: { Hidden: !Hidden },
      run: 'Set-ExchangeHiddenFromAddressLists',
      with: { Identity, Hidden: !Hidden },
    }),
  ),
  'Convert-ExchangeMailboxToShared': whenChanged((_, { Identity, PreviousType }) =>
    by({
      target: Identity,
      before: { Type: PreviousType },
      run: 'Convert-ExchangeMailboxToShared',
      with: { Identity, Type: PreviousType },
    }),
  ),
  'Enable-ExchangeArchive': whenChanged((_, { Identity }) =>
    never(Identity, 'An archive that is switched off is lost after 30 days.'),
  ),
  'Set-ExchangeLitigationHold': whenChanged((_, { Identity, Enabled, IsMailUser }) =>
    IsMailUser
      ? never(
          Identity,
          'The hold for migration of a mail user ends on the mailbox, after the move.',
        )
      : by({
          target: Identity,
          before: { Enabled: !Enabled },
          run: 'Set-ExchangeLitigationHold',
          with: { Identity, Enabled: !Enabled },
        }),
  ),
}
