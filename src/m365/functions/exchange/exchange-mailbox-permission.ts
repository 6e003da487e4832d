// Who may open a mailbox, send as it, or send on its behalf. Parameters and results are lists by right, as Get-ExchangeMoveSource
// returns them: what one step read or granted, another can grant or take back.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { FunctionRefused } from '../failure.ts'
import { by, type EffectOf, whenChanged } from '../inverse.ts'
import { anyList, isSameText, LIST_ITEMS_MAX, personId, recipientId } from '../parameters.ts'
import { findMailbox, readMailbox } from './exchange-mailbox.ts'
import { textsOf } from './exchange-recipient.ts'
import { accessRightsOf, isTrustee, readTrustees, type Trustee } from './exchange-trustee.ts'

const trustees = (about: string) => anyList(personId).optional().describe(about)

const lists = {
  FullAccess: trustees('Who may open the mailbox.'),
  SendAs: trustees('Who may send as the mailbox.'),
  SendOnBehalf: trustees('Who may send on behalf of the mailbox.'),
}

const mailboxes = z
  .union([recipientId, z.array(recipientId).max(LIST_ITEMS_MAX)])
  .describe(
    'Address, id or alias of the mailbox. A list, such as `{{waiting:SendAs}}`, is for one right of one person.',
  )

const granting = z.strictObject({
  Identity: mailboxes,
  ...lists,
  AutoMapping: z
    .boolean()
    .default(true)
    .describe('Outlook shows the mailbox to those who may open it.'),
})
type Granting = z.infer<typeof granting>
const taking = z.strictObject({ Identity: granting.shape.Identity, ...lists })
type Lists = z.infer<typeof taking>

const changed = z.object({
  Identity: z
    .union([z.string(), z.array(z.string())])
    .describe('Of a list, the mailboxes that were changed.'),
  FullAccess: z.array(z.string()).describe('Those whose right was changed.'),
  SendAs: z.array(z.string()),
  SendOnBehalf: z.array(z.string()),
  NotYet: z
    .array(z.string())
    .describe('Of a list, those that are no mailboxes here yet: their own step comes later.'),
  Changed: z.boolean(),
})
type Changed = z.infer<typeof changed>

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }

interface Mailbox {
  readonly guid: string
  readonly onBehalf: readonly string[]
}

const SELECT = ['Guid', 'GrantSendOnBehalfTo']
const mailboxOf = (found: JsonObject): Mailbox => ({
  guid: textOf(found.Guid),
  onBehalf: textsOf(found.GrantSendOnBehalfTo),
})

const GRANTS = {
  FullAccess: { cmdlet: 'MailboxPermission', who: 'User' },
  SendAs: { cmdlet: 'RecipientPermission', who: 'Trustee' },
} as const
type Right = keyof typeof GRANTS

/** Those of the given who have the right already: explicit grants only. */
async function holdersOf(
  { tenant, signal }: M365Call<Lists>,
  { guid }: Mailbox,
  right: Right,
  given: readonly Trustee[],
): Promise<Trustee[]> {
  if (given.length === 0) return []
  const { cmdlet, who } = GRANTS[right]
  const select = [who, 'AccessRights', 'IsInherited', 'Deny', 'AccessControlType']
  const entries = await tenant.exchange.run(`Get-${cmdlet}`, { Identity: guid }, { signal, select })
  const holds = entries.filter(
    (entry) =>
      entry.IsInherited !== true &&
      entry.Deny !== true &&
      !isSameText(textOf(entry.AccessControlType), 'Deny') &&
      accessRightsOf(entry).some((one) => isSameText(one, right)),
  )
  return given.filter((one) => holds.some((entry) => isTrustee(one, textOf(entry[who]))))
}

/** Repeating it is harmless: Exchange only warns that the entry is there, or gone, already. */
async function changeGrant(
  { tenant, signal }: M365Call<Lists>,
  verb: 'Add' | 'Remove',
  right: Right,
  { guid }: Mailbox,
  trustee: Trustee,
  more: JsonObject,
): Promise<void> {
  const { cmdlet, who } = GRANTS[right]
  const given = { Identity: guid, [who]: trustee.guid, AccessRights: [right], ...more }
  const options = { signal, isIdempotent: true }
  await tenant.exchange.run(`${verb}-${cmdlet}`, { ...given, Confirm: false }, options)
}

const OF_HASHTABLE = { '@odata.type': '#Exchange.GenericHashTable' }

async function changeOnBehalf(
  { tenant, signal }: M365Call<Lists>,
  key: 'Add' | 'Remove',
  { guid }: Mailbox,
  given: readonly Trustee[],
): Promise<void> {
  if (given.length === 0) return
  const GrantSendOnBehalfTo = { ...OF_HASHTABLE, [key]: given.map((one) => one.guid) }
  await tenant.exchange.run('Set-Mailbox', { Identity: guid, GrantSendOnBehalfTo }, { signal })
}

const namesOf = (given: readonly Trustee[]): string[] => given.map(({ name }) => name)

interface Change {
  readonly verb: 'Add' | 'Remove'
  readonly moreOf: (right: Right) => JsonObject
}
type Given = Readonly<Record<Right | 'SendOnBehalf', readonly Trustee[]>>

/** All trustees are read before anything is changed for one. */
async function change(call: M365Call<Lists>, how: Change): Promise<Changed> {
  const { Identity, FullAccess = [], SendAs = [], SendOnBehalf = [] } = call.params
  if (Array.isArray(Identity) && FullAccess.length + SendAs.length + SendOnBehalf.length > 1)
    throw new FunctionRefused('A list of mailboxes is for one right of one person.')
  const given = {
    FullAccess: await readTrustees(call, FullAccess),
    SendAs: await readTrustees(call, SendAs),
    SendOnBehalf: await readTrustees(call, SendOnBehalf),
  }
  if (!Array.isArray(Identity)) {
    const changed = await changeOne(
      call,
      mailboxOf(await readMailbox(call, Identity, SELECT)),
      given,
      how,
    )
    return { Identity, ...changed, NotYet: [], Changed: isChanged(changed) }
  }
  return changeMany(call, Identity, given, how)
}

type ChangedRights = Record<Right | 'SendOnBehalf', string[]>
const isChanged = (rights: ChangedRights): boolean =>
  Object.values(rights).some((names) => names.length > 0)

/** A mailbox that is not here yet is left to the step of its own person, which comes once it is. */
async function changeMany(
  call: M365Call<Lists>,
  identities: readonly string[],
  given: Given,
  how: Change,
): Promise<Changed> {
  const done: string[] = []
  const notYet: string[] = []
  let rights: ChangedRights = { FullAccess: [], SendAs: [], SendOnBehalf: [] }
  for (const identity of identities) {
    const mailbox = await findMailbox(call, identity, SELECT)
    if (mailbox === null) {
      notYet.push(identity)
      continue
    }
    const changed = await changeOne(call, mailboxOf(mailbox), given, how)
    if (!isChanged(changed)) continue
    done.push(identity)
    rights = changed
  }
  return { Identity: done, ...rights, NotYet: notYet, Changed: done.length > 0 }
}

async function changeOne(
  call: M365Call<Lists>,
  mailbox: Mailbox,
  given: Given,
  { verb, moreOf }: Change,
): Promise<ChangedRights> {
  const onBehalf = given.SendOnBehalf.filter((one) => {
    const isThere = mailbox.onBehalf.some((shown) => isTrustee(one, shown))
    return isThere === (verb === 'Remove')
  })
  const done: Record<Right, string[]> = { FullAccess: [], SendAs: [] }
  for (const right of ['FullAccess', 'SendAs'] as const) {
    const holders = await holdersOf(call, mailbox, right, given[right])
    const left = given[right].filter((one) => holders.includes(one) === (verb === 'Remove'))
    for (const one of left) await changeGrant(call, verb, right, mailbox, one, moreOf(right))
    done[right] = namesOf(left)
  }
  await changeOnBehalf(call, verb, mailbox, onBehalf)
  return { ...done, SendOnBehalf: namesOf(onBehalf) }
}

const UNCONFIRMED =
  'Unconfirmed: the name by which Exchange lists who may send on behalf; all known ones are compared.'

const mailboxRights = (run: string): EffectOf =>
  whenChanged((_, { Identity, FullAccess, SendAs, SendOnBehalf }) =>
    by({
      target: [Identity].flat().join(', '),
      before: {},
      run,
      with: { Identity, FullAccess, SendAs, SendOnBehalf },
    }),
  )

export const addExchangeMailboxPermission = defineM365Function({
  name: 'Add-ExchangeMailboxPermission',
  description: `Lets others open a mailbox, send as it or send on its behalf. FullAccess moves with a mailbox; the others name people of this tenant. ${UNCONFIRMED}`,
  parameters: granting,
  result: changed,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  people: ['FullAccess', 'SendAs', 'SendOnBehalf'],
  undo: 'Remove-ExchangeMailboxPermission with the lists of the result.',
  undoneBy: ['Remove-ExchangeMailboxPermission'],
  effectOf: mailboxRights('Remove-ExchangeMailboxPermission'),
  run: (call: M365Call<Granting>) => {
    const { AutoMapping } = call.params
    const moreOf = (right: Right) => (right === 'FullAccess' ? { AutoMapping } : {})
    return change(call, { verb: 'Add', moreOf })
  },
})

export const removeExchangeMailboxPermission = defineM365Function({
  name: 'Remove-ExchangeMailboxPermission',
  description: `Takes the right to open a mailbox, to send as it or on its behalf away from others. ${UNCONFIRMED}`,
  parameters: taking,
  result: changed,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  people: ['FullAccess', 'SendAs', 'SendOnBehalf'],
  undo: 'Add-ExchangeMailboxPermission with the lists of the result.',
  undoneBy: ['Add-ExchangeMailboxPermission'],
  effectOf: mailboxRights('Add-ExchangeMailboxPermission'),
  run: (call: M365Call<Lists>) => change(call, { verb: 'Remove', moreOf: () => ({}) }),
})
