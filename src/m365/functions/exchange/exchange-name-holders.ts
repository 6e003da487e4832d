// Who holds a name or an address that a new mail user needs, and the remedy that fits each. A guest of the same person is converted and
// keeps its groups and teams; deleting it would lose them.
import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { defineM365Function } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { storedPassword } from '../entra/password.ts'
import { isNoGuid, isSameText, listParameter, nameParameter, withoutSmtp } from '../parameters.ts'
import type { ReplicationContext } from '../replication.ts'
import { runOrNone, textsOf } from './exchange-recipient.ts'

const nameHolder = z.object({
  Name: z.string(),
  Kind: z.string(),
  Holder: z.string(),
  Remedy: z.string(),
})
type NameHolder = z.infer<typeof nameHolder>

const SHOWN = [
  'Guid',
  'DisplayName',
  'Alias',
  'PrimarySmtpAddress',
  'EmailAddresses',
  'ExternalEmailAddress',
  'WindowsLiveID',
  'UserPrincipalName',
  'ExternalDirectoryObjectId',
  'RecipientTypeDetails',
  'IsDirSynced',
]

type Caller = Pick<ReplicationContext, 'tenant' | 'signal'>

/** Exchange matches loosely, so only an object that has the very name counts. An account without mail is no recipient. */
export async function holdersOf(
  caller: Caller,
  names: readonly string[],
  isOurs: (upn: string) => Promise<boolean> = async () => false,
): Promise<readonly NameHolder[]> {
  const holders: NameHolder[] = []
  for (const name of new Set(names.map((one) => one.toLowerCase()))) {
    const living = await ask(caller, 'Get-Recipient', { Identity: name })
    const deleted = await ask(caller, 'Get-MailUser', { Identity: name, SoftDeletedMailUser: true })
    const isSignIn = living.length === 0 && name.includes('@')
    const accounts = isSignIn ? await ask(caller, 'Get-User', { Identity: name }) : []
    const found = [
      ...living.map((one) => ({ one, Kind: textOf(one.RecipientTypeDetails) || 'recipient' })),
      ...accounts.map((one) => ({ one, Kind: WITHOUT_MAIL })),
      ...deleted.map((one) => ({ one, Kind: DELETED })),
    ]
    for (const { one, Kind } of found.filter(({ one }) => has(one, name)))
      if (Kind === DELETED || !(await isOurs(upnOf(one))))
        holders.push({ Name: name, Kind, Holder: shownAs(one), Remedy: remedyOf(Kind, one) })
  }
  return holders
}

const WITHOUT_MAIL = 'account without mail'
const DELETED = 'deleted mail user'
const upnOf = (one: JsonObject): string =>
  textOf(one.UserPrincipalName) || textOf(one.WindowsLiveID)

const ask = ({ tenant, signal }: Caller, cmdlet: string, parameters: JsonObject) =>
  runOrNone(() => tenant.exchange.run(cmdlet, parameters, { signal, select: SHOWN }))

const has = (one: JsonObject, name: string): boolean =>
  [
    textOf(one.Alias),
    textOf(one.PrimarySmtpAddress),
    upnOf(one),
    textOf(one.ExternalEmailAddress),
    ...textsOf(one.EmailAddresses),
  ].some((own) => isSameText(withoutSmtp(own), name))

function shownAs(one: JsonObject): string {
  const id = textOf(one.ExternalDirectoryObjectId)
  const address = textOf(one.PrimarySmtpAddress) || upnOf(one)
  const names = [textOf(one.DisplayName), address, isNoGuid(id) ? '' : id]
  return names.filter((name) => name !== '').join(', ')
}

function remedyOf(kind: string, one: JsonObject): string {
  if (one.IsDirSynced === true)
    return 'It is synchronised: change it in Active Directory, and wait for the synchronisation.'
  if (isSameText(kind, 'GuestMailUser'))
    return 'If it is a guest account of this person, do not delete it: convert it (Convert-EntraB2BToInternal), and it keeps its groups and teams.'
  if (isSameText(kind, 'MailContact'))
    return 'It is a contact: remove it in Exchange (Remove-MailContact), or take the address from it.'
  if (kind === DELETED)
    return 'A deleted mail user keeps its names: remove it for good (Remove-ExchangeMailUser).'
  if (kind === WITHOUT_MAIL)
    return 'Exchange makes no mail user where an account exists: rename the account, or delete it for good if it was made for this person.'
  return 'It belongs to someone here: choose another name, or find out whether it is this person.'
}

export const holderText = ({ Name, Kind, Holder, Remedy }: NameHolder): string =>
  `"${Name}" is taken (${Kind}: ${Holder}). ${Remedy}`

const tested = z.object({
  complete: z.boolean(),
  data: z.object({
    Free: z.boolean(),
    Collisions: z.array(nameHolder).describe('Each with what to do.'),
    Kinds: z
      .array(z.string())
      .describe('Of the holders, for conditions: GuestMailUser and others.'),
    Reason: z.string().nullable(),
  }),
})

export const testExchangeNamesFree = defineM365Function({
  name: 'Test-ExchangeNamesFree',
  description:
    'Tests before an account is created whether guests, contacts, namesakes, deleted or synchronised objects hold its names. Unconfirmed: whether Exchange shows IsDirSynced of every recipient.',
  parameters: z.strictObject({
    Names: listParameter(nameParameter).describe(
      'User principal name, alias and addresses, the external one included.',
    ),
  }),
  result: tested,
  permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  run: async (call): Promise<z.infer<typeof tested>> => {
    // The account of an earlier run of this wave is in no one's way.
    const isOurs = async (upn: string) => upn !== '' && (await storedPassword(call, upn)) !== null
    const Collisions = [...(await holdersOf(call, call.params.Names, isOurs))]
    const Free = Collisions.length === 0
    const Reason = Free ? null : Collisions.map(holderText).join(' ')
    const Kinds = [...new Set(Collisions.map(({ Kind }) => Kind))]
    return { complete: Free, data: { Free, Collisions, Kinds, Reason } }
  },
})
