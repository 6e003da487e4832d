// Members of distribution groups and mail-enabled security groups, which Graph cannot change. The app owns no group, so it always
// asks to bypass the owners' check, which Microsoft allows to Organization Management only (Add-DistributionGroupMember).

import { z } from 'zod'
import type { ApiError } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { NotFound, noRecipient } from '../failure.ts'
import { listChange } from '../inverse.ts'
import { anyList, nameParameter, personId } from '../parameters.ts'
import { changeOnce, retryNamed } from '../replication.ts'
import { runOrNone } from './exchange-recipient.ts'

const parameters = z.strictObject({
  GroupIdentity: anyList(nameParameter).describe(
    'Address, id or name of each group; an empty list does nothing.',
  ),
  MemberIdentity: personId,
})
type Membership = z.infer<typeof parameters>

const changed = z.object({
  GroupIdentity: z.array(z.string()).describe('The groups that were changed.'),
  MemberIdentity: z.string(),
  Changed: z.boolean(),
})

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Administrator'] }

const isMemberAlready = ({ code, message }: ApiError): boolean =>
  code === 'MemberAlreadyExistsException' || /is already a member of/i.test(message)

const isNoListMember = ({ code, message }: ApiError): boolean =>
  code === 'MemberNotFoundException' || /(?:isn['’]t|is not) a member of/i.test(message)

/** Changes one group after the other; a run after a failure changes those that are left. */
async function changeMembership(
  call: M365Call<Membership>,
  cmdlet: string,
  isAlready: (error: ApiError) => boolean,
): Promise<z.infer<typeof changed>> {
  const { MemberIdentity } = call.params
  const groups: string[] = []
  for (const group of call.params.GroupIdentity)
    if (await changeGroup(call, group, cmdlet, isAlready)) groups.push(group)
  return { GroupIdentity: groups, MemberIdentity, Changed: groups.length > 0 }
}

async function changeGroup(
  call: M365Call<Membership>,
  group: string,
  cmdlet: string,
  isAlready: (error: ApiError) => boolean,
): Promise<boolean> {
  const { tenant, signal, params } = call
  const given = {
    Identity: group,
    Member: params.MemberIdentity,
    BypassSecurityGroupManagerCheck: true,
    Confirm: false,
  }
  const isMissing = (error: ApiError) => isNotFound(error) && !isAlready(error)
  const change = () =>
    retryNamed(call, () => tenant.exchange.run(cmdlet, given, { signal }), isMissing)
  try {
    return await changeOnce(call, change, isAlready)
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw (await hasGroup(call, group)) ? noRecipient(params.MemberIdentity) : noList(group)
  }
}

const noList = (group: string): NotFound =>
  new NotFound(`Exchange has no distribution group "${group}". Check its address.`)

async function hasGroup({ tenant, signal }: M365Call<Membership>, group: string): Promise<boolean> {
  const options = { signal, select: ['Guid'] }
  const look = () => tenant.exchange.run('Get-DistributionGroup', { Identity: group }, options)
  return (await runOrNone(look)).length > 0
}

export const addExchangeGroupMember = defineM365Function({
  name: 'Add-ExchangeGroupMember',
  description:
    'Adds a recipient to distribution groups or mail-enabled security groups. The app need not own them.',
  parameters,
  result: changed,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  people: ['MemberIdentity'],
  undo: 'Remove-ExchangeGroupMember with the GroupIdentity of the result.',
  undoneBy: ['Remove-ExchangeGroupMember'],
  effectOf: listChange('Remove-ExchangeGroupMember', 'GroupIdentity', 'MemberIdentity'),
  run: (call) => changeMembership(call, 'Add-DistributionGroupMember', isMemberAlready),
})

export const removeExchangeGroupMember = defineM365Function({
  name: 'Remove-ExchangeGroupMember',
  description:
    'Removes a recipient from distribution groups or mail-enabled security groups. The app need not own them.',
  parameters,
  result: changed,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  people: ['MemberIdentity'],
  undo: 'Add-ExchangeGroupMember with the GroupIdentity of the result.',
  undoneBy: ['Add-ExchangeGroupMember'],
  effectOf: listChange('Add-ExchangeGroupMember', 'GroupIdentity', 'MemberIdentity'),
  run: (call) => changeMembership(call, 'Remove-DistributionGroupMember', isNoListMember),
})
