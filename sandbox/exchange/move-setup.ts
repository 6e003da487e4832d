// What administrators set up once: organisation relationships and Microsoft's own test of the way to the source for mailbox moves, and
// whether mail may be forwarded to others.

import type { SandboxCall } from '../call.ts'
import type { JsonObject } from '../json.ts'
import { isMailboxOf, relationshipProblem, scopeProblem, sourceOf } from '../mailbox-moves.ts'
import { CmdletRefusal } from '../refusal.ts'
import type { OrganizationRelationship } from '../state.ts'
import { noObject, type Parameters } from './parameters.ts'
import { type Output, recipientOf } from './recipients.ts'

export function getRelationships(call: SandboxCall, parameters: Parameters): Output {
  const identity = parameters.text('Identity')
  const { organizationRelationships } = call.tenant.state
  const found = organizationRelationships.filter(
    ({ name }) => identity === null || name.toLowerCase() === identity.toLowerCase(),
  )
  if (identity !== null && found.length === 0) throw noObject(call, identity)
  return { items: found.map((one) => shown(call, one)) }
}

function shown({ tenant }: SandboxCall, one: OrganizationRelationship): JsonObject {
  const scope = tenant.group(tenant.state.moveScopeGroupId ?? '')?.displayName
  const isOutbound = one.moveCapability === 'RemoteOutbound'
  return {
    Identity: one.name,
    Name: one.name,
    DomainNames: [...one.domainNames],
    Enabled: one.isEnabled,
    MailboxMoveEnabled: one.isMoveEnabled,
    MailboxMoveCapability: one.moveCapability,
    MailboxMovePublishedScopes: isOutbound && scope !== undefined ? [scope] : [],
    OAuthApplicationId: one.applicationId ?? '',
  }
}

export function testAvailability(call: SandboxCall, parameters: Parameters): Output {
  const { connectionTest } = call.tenant.state.dialect
  if (connectionTest === 'refused')
    throw new CmdletRefusal(
      400,
      'System.Management.Automation.ParameterBindingException',
      'Parameter set cannot be resolved using the specified named parameters.',
    )
  if (connectionTest === 'empty') return { items: [{}] }
  const endpoint = parameters.required('Endpoint')
  const source = sourceOf(call.world, call.tenant, { sourceEndpoint: endpoint })
  if (!source) throw noObject(call, endpoint)
  const problem = relationshipProblem(call.tenant, source)
  const identity = parameters.text('TestMailbox')
  if (identity === null || problem !== null) return answer(problem)
  const { recipient } = recipientOf(call, identity, 'mailUser')
  const from = source.users().find((one) => isMailboxOf(one, recipient.exchangeGuid))
  if (!from)
    return answer(`The source tenant has no mailbox with the ExchangeGuid of "${identity}".`)
  return answer(scopeProblem(source, from))
}

const answer = (problem: string | null): Output => ({
  items: [
    {
      Result: problem === null ? 'Success' : 'Failed',
      Message: problem ?? '',
      SupportsCutover: false,
      ErrorDetail: problem ?? '',
    },
  ],
})

export function getOutboundPolicies(call: SandboxCall, parameters: Parameters): Output {
  const identity = parameters.text('Identity') ?? 'Default'
  if (identity.toLowerCase() !== 'default') throw noObject(call, identity)
  const AutoForwardingMode = call.tenant.state.autoForwardingMode
  return { items: [{ Identity: 'Default', Name: 'Default', IsDefault: true, AutoForwardingMode }] }
}
