// Distribution lists and mail-enabled security groups, which only Exchange can change.

import { isSameAddress, primaryOf } from '../addresses.ts'
import { recordEffect, type SandboxCall } from '../call.ts'
import type { JsonObject } from '../json.ts'
import { CmdletRefusal } from '../refusal.ts'
import type { Group } from '../state.ts'
import { noObject, type Parameters } from './parameters.ts'
import { NOTHING, type Output, recipientOf } from './recipients.ts'

const LIST_KINDS: readonly Group['kind'][] = ['distribution', 'mailEnabledSecurity']
const RESULTS_DEFAULT = 1_000

const isNamed = (group: Group, name: string): boolean =>
  [group.id, group.displayName, group.mail ?? ''].some((one) => isSameAddress(one, name))

function findList(call: SandboxCall, identity: string): Group {
  const list = call.tenant
    .groups()
    .find((group) => LIST_KINDS.includes(group.kind) && isNamed(group, identity))
  if (list) return list
  throw noObject(call, identity)
}

const cmdletList = (group: Group): JsonObject => ({
  Identity: group.displayName,
  Name: group.displayName,
  DisplayName: group.displayName,
  PrimarySmtpAddress: group.mail ?? '',
  ExternalDirectoryObjectId: group.id,
  RecipientTypeDetails:
    group.kind === 'distribution' ? 'MailUniversalDistributionGroup' : 'MailUniversalSecurityGroup',
})

export function getLists(call: SandboxCall, parameters: Parameters): Output {
  const identity = parameters.text('Identity')
  const lists =
    identity === null
      ? call.tenant.groups().filter(({ kind }) => LIST_KINDS.includes(kind))
      : [findList(call, identity)]
  return { items: lists.map(cmdletList) }
}

export function getListMembers(call: SandboxCall, parameters: Parameters): Output {
  const { members } = findList(call, parameters.required('Identity'))
  const items = members.flatMap((id): JsonObject[] => {
    const group = call.tenant.group(id)
    if (group) return [cmdletList(group)]
    const user = call.tenant.user(id)
    if (!user) return []
    const RecipientType =
      user.recipient === null
        ? 'User'
        : user.recipient.kind === 'mailbox'
          ? 'UserMailbox'
          : 'MailUser'
    return [
      {
        Identity: user.mailNickname,
        Name: user.mailNickname,
        Alias: user.mailNickname,
        DisplayName: user.displayName,
        PrimarySmtpAddress: primaryOf(user.proxyAddresses) ?? '',
        WindowsLiveID: user.userPrincipalName,
        ExternalDirectoryObjectId: user.id,
        RecipientType,
      },
    ]
  })
  const size = parameters.text('ResultSize') ?? String(RESULTS_DEFAULT)
  return { items: isSameAddress(size, 'Unlimited') ? items : items.slice(0, Number(size)) }
}

/** An app is in no group's ManagedBy, so nothing but the switch helps it (Add-DistributionGroupMember). */
function requireBypass(parameters: Parameters, list: Group): void {
  if (parameters.flag('BypassSecurityGroupManagerCheck')) return
  throw new CmdletRefusal(
    400,
    'Microsoft.Exchange.Configuration.Tasks.OperationRequiresGroupManagerException',
    `You don't have sufficient permissions. This operation can only be performed by a manager of the group "${list.displayName}".`,
  )
}

export function addListMember(call: SandboxCall, parameters: Parameters): Output {
  const list = findList(call, parameters.required('Identity'))
  requireBypass(parameters, list)
  const member = recipientOf(call, parameters.required('Member'), 'mailUser', 'mailbox')
  if (list.members.includes(member.id))
    throw new CmdletRefusal(
      400,
      'Microsoft.Exchange.Management.Tasks.MemberAlreadyExistsException',
      `The recipient "${member.mailNickname}" is already a member of the group "${list.displayName}".`,
    )
  list.members.push(member.id)
  recordEffect(call, 'member added', { id: list.id, name: list.displayName }, { member: member.id })
  return NOTHING
}

export function removeListMember(call: SandboxCall, parameters: Parameters): Output {
  const list = findList(call, parameters.required('Identity'))
  requireBypass(parameters, list)
  const member = recipientOf(call, parameters.required('Member'), 'mailUser', 'mailbox')
  const index = list.members.indexOf(member.id)
  if (index < 0)
    throw new CmdletRefusal(
      400,
      'Microsoft.Exchange.Management.Tasks.MemberNotFoundException',
      `The recipient "${member.mailNickname}" isn't a member of the group "${list.displayName}".`,
    )
  list.members.splice(index, 1)
  recordEffect(
    call,
    'member removed',
    { id: list.id, name: list.displayName },
    { member: member.id },
  )
  return NOTHING
}
