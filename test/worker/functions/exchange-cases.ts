// Rows of cases.ts for functions that change distribution groups and mailboxes.
import type { Case } from './cases.ts'

const KIM = "kim.o'brien@contoso.example"
const NO_RECIPIENT = /has no recipient "nobody@contoso\.example"/

export const EXCHANGE_CASES: Readonly<Record<string, Case>> = {
  'Add-ExchangeGroupMember': {
    params: {
      GroupIdentity: ['all@contoso.example', 'scope@contoso.example'],
      MemberIdentity: KIM,
    },
    gives: { GroupIdentity: ['scope@contoso.example'], Changed: true },
    again: { GroupIdentity: [], Changed: false },
    effects: ['member added'],
    wrong: { GroupIdentity: [] },
    missing: {
      params: { GroupIdentity: 'nobody@contoso.example' },
      says: /no distribution group "nobody@contoso\.example"/,
    },
  },
  'Remove-ExchangeGroupMember': {
    params: { GroupIdentity: 'all@contoso.example', MemberIdentity: KIM },
    gives: { GroupIdentity: ['all@contoso.example'], Changed: true },
    again: { GroupIdentity: [], Changed: false },
    effects: ['member removed'],
    wrong: { MemberIdentity: '' },
    missing: {
      params: { MemberIdentity: 'nobody@contoso.example' },
      says: NO_RECIPIENT,
    },
  },
}
