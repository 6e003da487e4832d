// Settings of mailboxes besides addresses: type, archive, automatic replies. Exchange wraps the texts of replies in HTML.
import { isDeepStrictEqual } from 'node:util'
import { isSameAddress } from '../addresses.ts'
import { recordUserEffect, type SandboxCall } from '../call.ts'
import { guidOf } from '../identity.ts'
import { CmdletRefusal } from '../refusal.ts'
import type { Recipient } from '../state.ts'
import type { Cmdlet } from './cmdlets.ts'
import { type Parameters, refuseParameter } from './parameters.ts'
import { NOTHING, type Output, type RecipientUser, recipientOf } from './recipients.ts'

const mailboxOf = (call: SandboxCall, parameters: Parameters): RecipientUser =>
  recipientOf(call, parameters.required('Identity'), 'mailbox')

function save(call: SandboxCall, user: RecipientUser, change: Partial<Recipient>, what: string) {
  call.tenant.change(user, { recipient: { ...user.recipient, ...change } })
  recordUserEffect(call, what, user)
}

function enableMailbox(call: SandboxCall, parameters: Parameters): Output {
  const user = mailboxOf(call, parameters)
  if (!parameters.flag('Archive'))
    throw refuseParameter('The sandbox enables archives only: use the parameter Archive.')
  if (user.recipient.archiveGuid !== null)
    throw new CmdletRefusal(
      400,
      'Microsoft.Exchange.Configuration.Tasks.RecipientTaskException',
      `The user "${user.mailNickname}" already has an archive.`,
    )
  save(call, user, { archiveGuid: guidOf(user.id, 'archive') }, 'archive enabled')
  return NOTHING
}

const STATES = ['Enabled', 'Disabled', 'Scheduled']

function getAutoReply(call: SandboxCall, parameters: Parameters): Output {
  const { mailNickname, recipient } = mailboxOf(call, parameters)
  const { autoReply } = recipient
  return {
    items: [
      {
        Identity: mailNickname,
        AutoReplyState: autoReply.state,
        InternalMessage: autoReply.internal,
        ExternalMessage: autoReply.external,
        ExternalAudience: autoReply.audience,
        StartTime: autoReply.start,
        EndTime: autoReply.end,
      },
    ],
  }
}

const htmlOf = (text: string): string =>
  text === '' || /^<html>/i.test(text) ? text : `<html>\n<body>\n${text}\n</body>\n</html>\n`

function setAutoReply(call: SandboxCall, parameters: Parameters): Output {
  const user = mailboxOf(call, parameters)
  const { autoReply } = user.recipient
  const state = parameters.text('AutoReplyState') ?? autoReply.state
  if (!STATES.some((one) => isSameAddress(one, state)))
    throw refuseParameter(`Cannot convert value "${state}" to type "OofState".`)
  const messageOf = (name: string, before: string) =>
    parameters.has(name) ? htmlOf(parameters.text(name) ?? '') : before
  const internal = messageOf('InternalMessage', autoReply.internal)
  const changed = {
    state: STATES.find((one) => isSameAddress(one, state))! as typeof autoReply.state,
    internal,
    external: messageOf('ExternalMessage', autoReply.external),
    audience: parameters.text('ExternalAudience') ?? autoReply.audience,
    start: parameters.instant('StartTime') ?? autoReply.start,
    end: parameters.instant('EndTime') ?? autoReply.end,
  }
  if (isDeepStrictEqual(changed, autoReply)) return NOTHING
  save(call, user, { autoReply: changed }, 'automatic replies changed')
  return NOTHING
}

export const SETTING_CMDLETS: Readonly<Record<string, Cmdlet>> = {
  'Enable-Mailbox': {
    parameters: ['Identity', 'Archive'],
    about: 'Gives a mailbox an archive. Refused for a second one.',
    run: enableMailbox,
  },
  'Get-MailboxAutoReplyConfiguration': {
    parameters: ['Identity'],
    about: 'Returns the automatic replies of a mailbox.',
    run: getAutoReply,
  },
  'Set-MailboxAutoReplyConfiguration': {
    parameters: [
      'Identity',
      'AutoReplyState',
      'InternalMessage',
      'ExternalMessage',
      'ExternalAudience',
      'StartTime',
      'EndTime',
    ],
    about: 'Sets the automatic replies of a mailbox; wraps texts in HTML.',
    run: setAutoReply,
  },
}
