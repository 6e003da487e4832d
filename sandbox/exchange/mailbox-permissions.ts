// Rights on mailboxes and their calendars. Adding a right twice or taking away none is a warning for mailboxes and an error for folders,
// as Exchange has it.

import { isSameAddress } from '../addresses.ts'
import { recordUserEffect, type SandboxCall } from '../call.ts'
import type { JsonObject } from '../json.ts'
import { CmdletRefusal } from '../refusal.ts'
import type { Recipient } from '../state.ts'
import type { Cmdlet } from './cmdlets.ts'
import { noObject, type Parameters, refuseParameter } from './parameters.ts'
import { NOTHING, type Output, type RecipientUser, recipientOf } from './recipients.ts'

type Grants = 'fullAccess' | 'sendAs'

const trusteeOf = (call: SandboxCall, name: string): RecipientUser =>
  recipientOf(call, name, 'mailUser', 'mailbox')

function changeGrant(
  call: SandboxCall,
  parameters: Parameters,
  grants: Grants,
  who: string,
  isAdding: boolean,
): Output {
  const mailbox = recipientOf(call, parameters.required('Identity'), 'mailbox')
  const { userPrincipalName } = trusteeOf(call, parameters.required(who))
  const right = grants === 'fullAccess' ? 'FullAccess' : 'SendAs'
  if (!parameters.texts('AccessRights').some((one) => isSameAddress(one, right)))
    throw refuseParameter(`The sandbox knows the access right ${right} only.`)
  const holders = mailbox.recipient[grants]
  const others = holders.filter((one) => !isSameAddress(one, userPrincipalName))
  if (others.length < holders.length === isAdding)
    return {
      items: [],
      warnings: [
        isAdding
          ? `The appropriate access control entry is already present on the object "${mailbox.displayName}" for account "${userPrincipalName}".`
          : `Can't remove the access control entry on the object "${mailbox.displayName}" for account "${userPrincipalName}" because the ACE doesn't exist on the object.`,
      ],
    }
  const changed = isAdding ? [...others, userPrincipalName] : others
  save(call, mailbox, { [grants]: changed }, `${right} ${isAdding ? 'granted' : 'taken away'}`)
  return NOTHING
}

function save(
  call: SandboxCall,
  mailbox: RecipientUser,
  change: Partial<Recipient>,
  what: string,
): void {
  call.tenant.change(mailbox, { recipient: { ...mailbox.recipient, ...change } })
  recordUserEffect(call, what, mailbox)
}

/** `mailbox:\Kalender` names the calendar; the sandbox has no other folder. */
function calendarOf(call: SandboxCall, parameters: Parameters): RecipientUser {
  const identity = parameters.required('Identity')
  const [name = '', path = ''] = identity.split(/:(?=\\)/)
  const mailbox = recipientOf(call, name, 'mailbox')
  if (isSameAddress(path, `\\${mailbox.recipient.calendarName}`)) return mailbox
  throw noObject(call, identity)
}

type Entry = Recipient['calendarRights'][number]

const entryOf = (mailbox: RecipientUser, user: RecipientUser): Entry | undefined =>
  mailbox.recipient.calendarRights.find(({ userId }) => userId === user.id)

const noEntry = (user: RecipientUser): CmdletRefusal =>
  new CmdletRefusal(
    400,
    'Microsoft.Exchange.Management.StoreTasks.UserNotFoundInPermissionEntryException',
    `There is no existing permission entry found for user: ${user.displayName}.`,
  )

function getFolderPermissions(call: SandboxCall, parameters: Parameters): Output {
  const mailbox = calendarOf(call, parameters)
  const shown = (User: string, right: string): JsonObject => ({
    FolderName: mailbox.recipient.calendarName,
    User,
    AccessRights: [right],
  })
  const name = parameters.text('User')
  if (name !== null) {
    const user = trusteeOf(call, name)
    const entry = entryOf(mailbox, user)
    if (!entry) throw noEntry(user)
    return { items: [shown(user.displayName, entry.right)] }
  }
  const items = mailbox.recipient.calendarRights.map(({ userId, right }) =>
    shown(call.tenant.user(userId)?.displayName ?? userId, right),
  )
  return { items: [shown('Default', 'AvailabilityOnly'), shown('Anonymous', 'None'), ...items] }
}

function changeFolderPermission(
  call: SandboxCall,
  parameters: Parameters,
  verb: 'add' | 'set' | 'remove',
): Output {
  const mailbox = calendarOf(call, parameters)
  const user = trusteeOf(call, parameters.required('User'))
  const before = entryOf(mailbox, user)
  if (verb === 'add' && before)
    throw new CmdletRefusal(
      400,
      'Microsoft.Exchange.Management.StoreTasks.UserAlreadyExistsInPermissionEntryException',
      `An existing permission entry was found for user: ${user.displayName}.`,
    )
  if (verb !== 'add' && !before) throw noEntry(user)
  const others = mailbox.recipient.calendarRights.filter((entry) => entry !== before)
  const [right] = verb === 'remove' ? [] : parameters.texts('AccessRights')
  if (right === before?.right) return NOTHING
  const calendarRights = right === undefined ? others : [...others, { userId: user.id, right }]
  save(call, mailbox, { calendarRights }, 'calendar rights changed')
  return NOTHING
}

function getFolders(call: SandboxCall, parameters: Parameters): Output {
  const { recipient } = recipientOf(call, parameters.required('Identity'), 'mailbox')
  const Name = recipient.calendarName
  const calendar = { Name, FolderPath: `/${Name}`, FolderType: 'Calendar' }
  const birthdays = {
    Name: 'Birthdays',
    FolderPath: `/${Name}/Birthdays`,
    FolderType: 'User Created',
  }
  return { items: [birthdays, calendar] }
}

export const PERMISSION_CMDLETS: Readonly<Record<string, Cmdlet>> = {
  'Add-MailboxPermission': {
    parameters: ['Identity', 'User', 'AccessRights', 'AutoMapping', 'InheritanceType'],
    about: 'Grants `FullAccess`. Only a warning when it is granted already.',
    run: (call, given) => changeGrant(call, given, 'fullAccess', 'User', true),
  },
  'Remove-MailboxPermission': {
    parameters: ['Identity', 'User', 'AccessRights', 'InheritanceType'],
    about: 'Takes `FullAccess` away. Only a warning when there is none.',
    run: (call, given) => changeGrant(call, given, 'fullAccess', 'User', false),
  },
  'Add-RecipientPermission': {
    parameters: ['Identity', 'Trustee', 'AccessRights'],
    about: 'Grants `SendAs`. Only a warning when it is granted already.',
    run: (call, given) => changeGrant(call, given, 'sendAs', 'Trustee', true),
  },
  'Remove-RecipientPermission': {
    parameters: ['Identity', 'Trustee', 'AccessRights'],
    about: 'Takes `SendAs` away. Only a warning when there is none.',
    run: (call, given) => changeGrant(call, given, 'sendAs', 'Trustee', false),
  },
  'Get-MailboxFolderStatistics': {
    parameters: ['Identity', 'FolderScope'],
    about: 'Returns the calendar under its name in the language of the owner, and a folder in it.',
    run: getFolders,
  },
  'Get-MailboxFolderPermission': {
    parameters: ['Identity', 'User', 'ResultSize'],
    about:
      'Returns rights on the calendar, people by display name. `UserNotFoundInPermissionEntryException` for a `User` without an entry.',
    run: getFolderPermissions,
  },
  'Add-MailboxFolderPermission': {
    parameters: ['Identity', 'User', 'AccessRights', 'SendNotificationToUser'],
    about:
      'Adds an entry to the calendar. `UserAlreadyExistsInPermissionEntryException` for a second one.',
    run: (call, given) => changeFolderPermission(call, given, 'add'),
  },
  'Set-MailboxFolderPermission': {
    parameters: ['Identity', 'User', 'AccessRights', 'SendNotificationToUser'],
    about: 'Changes an entry of the calendar.',
    run: (call, given) => changeFolderPermission(call, given, 'set'),
  },
  'Remove-MailboxFolderPermission': {
    parameters: ['Identity', 'User'],
    about: 'Removes an entry from the calendar.',
    run: (call, given) => changeFolderPermission(call, given, 'remove'),
  },
}
