// Errors of Microsoft Graph about licences.
import { type ErrorEntry, graphSays } from './entry.ts'

const LICENCES = 'github.com/microsoftgraph/microsoft-graph-docs/pull/3167'

export const LICENCE_ERRORS: readonly ErrorEntry[] = [
  {
    id: 'graph-usage-location-missing',
    when: graphSays(/invalid usage location/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: License assignment cannot be done for user with invalid usage location.',
    means: 'The account has no country, and a licence needs one.',
    actor: 'runbook_author',
    todo: 'Set UsageLocation in the step of Add-EntraUserLicense.',
    retry: 'after_fix',
    source: 'github.com/microsoft/Partner-Center-DotNet-Samples/issues/131',
  },
  {
    id: 'graph-licences-exhausted',
    when: graphSays(/does not have any available licenses|CountViolation/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Subscription with SKU f8a1db68-be16-40ed-86d5-cb42ce701560 does not have any available licenses.',
    means: 'All licences of this product are assigned.',
    actor: 'tenant_administrator',
    todo: 'Buy licences, or take unused ones back.',
    retry: 'after_fix',
    source: LICENCES,
  },
  {
    id: 'graph-licence-conflict',
    when: graphSays(/MutuallyExclusiveViolation|conflicting service plans/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: License assignment failed: MutuallyExclusiveViolation.',
    means: 'The licence has a service plan that excludes one the person has.',
    actor: 'runbook_author',
    todo: 'Disable the plan with DisabledPlans, or remove the other licence first.',
    retry: 'after_fix',
    source: LICENCES,
  },
  {
    id: 'graph-licence-dependency',
    when: graphSays(/DependencyViolation/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: License assignment failed: DependencyViolation.',
    means: 'The licence needs a service plan that the person does not have.',
    actor: 'runbook_author',
    todo: 'Assign the licence with the needed plan first.',
    retry: 'after_fix',
    source: LICENCES,
  },
  {
    id: 'graph-licence-country',
    when: graphSays(/ProhibitedInUsageLocationViolation/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: License assignment failed: ProhibitedInUsageLocationViolation.',
    means: 'Microsoft does not offer a service of this licence in the country of the person.',
    actor: 'runbook_author',
    todo: 'Disable that service plan, or correct the country.',
    retry: 'after_fix',
    source: LICENCES,
  },
  {
    id: 'graph-licence-address-taken',
    when: graphSays(/UniquenessViolation/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: License assignment failed: UniquenessViolation.',
    means: 'The licence would give the person an address that another object has.',
    actor: 'operator',
    todo: 'Remove the address from the other object.',
    retry: 'after_fix',
    source: LICENCES,
  },
  {
    id: 'graph-licence-inherited',
    when: graphSays(/licen[sc]e is inherited from a group/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: User license is inherited from a group membership and it cannot be removed directly from the user.',
    means: 'A group gives the person this licence; it cannot be taken from the person.',
    actor: 'runbook_author',
    todo: 'Remove the person from the group: Remove-EntraGroupMember.',
    retry: 'never',
    source: 'learn.microsoft.com/entra/fundamentals/licensing-groups-resolve-problems',
  },
  {
    id: 'graph-licence-unknown',
    when: graphSays(/does not correspond to a valid company License/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: License f8a1db68-be16-40ed-86d5-cb42ce701560 does not correspond to a valid company License.',
    means: 'The tenant does not own this product.',
    actor: 'runbook_author',
    todo: 'Correct SkuId, or buy the product.',
    retry: 'after_fix',
    source: 'learn.microsoft.com/graph/api/user-assignlicense',
    isUnconfirmed: true,
  },
]
